// An answer of the service as lines for a person. Values may come from strangers (device ids, labels), so
// nothing that a terminal would obey gets through.

/** One `name: value` line per field; a list of records becomes one paragraph per record. */
export function printAnswer(answer: unknown): string {
  if (!isRecord(answer)) return inline(answer);
  return Object.entries(answer)
    .map(([name, value]) =>
      isRecordList(value) ? value.map(printAnswer).join('\n\n') : `${name}: ${inline(value)}`,
    )
    .join('\n');
}

function inline(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // Category Cc is C0, DEL and C1: escape sequences begin with them.
  return (text ?? '').replace(/\p{Cc}/gu, '\ufffd');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRecordList(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.length > 0 && value.every(isRecord);
}
