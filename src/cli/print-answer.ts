// Text of a service's answer for the terminal. Values such as device ids and labels come from clients, so
// control characters, which a terminal would obey, are replaced.

/**
 * Returns one `name: value` line per field. A list of records becomes one paragraph per record, apart from
 * the fields that follow.
 */
export function printAnswer(answer: unknown): string {
  if (!isRecord(answer)) return inline(answer);
  return Object.entries(answer)
    .map(([name, value]) =>
      isRecordList(value)
        ? `${value.map(printAnswer).join('\n\n')}\n`
        : `${name}: ${inline(value)}`,
    )
    .join('\n')
    .replace(/\n$/, '');
}

function inline(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // Unicode category Cc has the C0 and C1 control characters and DEL; escape sequences begin with them.
  return (text ?? '').replace(/\p{Cc}/gu, '\ufffd');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRecordList(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.length > 0 && value.every(isRecord);
}
