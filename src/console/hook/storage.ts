// Texts that the browser stores for the console. A browser that stores nothing acts as on a first visit.

/** Returns the stored text; undefined if there is none, or if the browser denies access. */
export function recallText(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a text if the browser allows it. */
export function keepText(name: string, text: string): void {
  try {
    localStorage.setItem(name, text);
  } catch {
    // Access is denied: the choice is valid until the page is left.
  }
}
