// Query strings without empty parameters.

export type QueryValue = string | number | boolean | null | undefined;

/** Builds `?a=1&b=x` without parameters that are null, undefined or empty; returns '' when none is left. */
export function queryText(fields: Readonly<Record<string, QueryValue>>): '' | `?${string}` {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === null || value === '') continue;
    query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}
