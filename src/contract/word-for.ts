// Look-up of words by a key that may have none.

/** Returns the word for a key, or the key itself where there is none. */
export function wordFor(words: Readonly<Record<string, string>>, key: string): string {
  return Object.hasOwn(words, key) ? (words[key] ?? key) : key;
}
