// Values as text that a terminal may show.

/**
 * Returns a value as text on one line. Values such as device ids and labels come from clients, so control
 * characters, which a terminal would obey, are replaced.
 */
export function printableText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // Unicode category Cc has the C0 and C1 control characters and DEL; escape sequences begin with them.
  return (text ?? '').replace(/\p{Cc}/gu, '\ufffd');
}
