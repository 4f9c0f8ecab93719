// Text from strangers as the database can hold it: it knows no NUL and no half of a surrogate pair.

const REPLACEMENT = '\ufffd';

/** The text with what cannot be stored replaced: one odd device must not cost the others of its batch. */
export function storableText(text: string): string {
  if (text.isWellFormed() && !text.includes('\u0000')) return text;
  return text.toWellFormed().replaceAll('\u0000', REPLACEMENT);
}
