// Checks of JSON that was stored outside the ledger: by another version of the service, by another program,
// or damaged since.

/** Fields of an object whose types are not known yet. */
type Unchecked<Shape> = { readonly [Key in keyof Shape]?: unknown };

/** Parses JSON; returns undefined when the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether the value is an object and no list; its fields remain to be checked. */
export function isObject<Shape>(value: unknown): value is Unchecked<Shape> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether the value is a list of such items. */
export function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

/** Whether all values are texts. */
export function areTexts(...values: readonly unknown[]): boolean {
  return values.every(isText);
}

/** Whether the value is a text. */
export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

/** Whether the value is a whole number from 0. */
export function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether the value is one of these texts. */
export function isOneOf(allowed: readonly string[], value: unknown): boolean {
  return typeof value === 'string' && allowed.includes(value);
}
