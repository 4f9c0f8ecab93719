// PostgreSQL has no text with a NUL in it. A name that cannot be stored names nothing, which is an answer,
// whereas the database would call the statement an error.

/** False when no stored text can equal this one. */
export function isStorable(...texts: readonly string[]): boolean {
  return texts.every((text) => !text.includes('\u0000'));
}
