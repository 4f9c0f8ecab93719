// What this browser keeps for the console. A browser that keeps nothing is as one that was never here.

/** Returns the kept text; undefined if there is none, or if the browser denies it. */
export function recallText(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a text, where the browser allows it. */
export function keepText(name: string, text: string): void {
  try {
    localStorage.setItem(name, text);
  } catch {
    // Denied: the choice holds until the page is left.
  }
}
