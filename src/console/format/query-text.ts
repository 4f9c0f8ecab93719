// Query strings, the same everywhere: nothing stands in one that says nothing.

export type QueryValue = string | number | boolean | null | undefined;

/** `?a=1&b=x`, leaving out what is null, undefined or empty; the empty text when nothing is left. */
export function queryText(fields: Readonly<Record<string, QueryValue>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null || value === '') continue;
    query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}
