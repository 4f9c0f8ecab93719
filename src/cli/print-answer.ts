// Text of a service's answer for the terminal, where it is no table.

import { printableText } from './printable-text.ts';

/**
 * Returns one `name: value` line per field. A list of records becomes one paragraph per record, apart from
 * the fields that follow.
 */
export function printAnswer(answer: unknown): string {
  if (!isRecord(answer)) return printableText(answer);
  return Object.entries(answer)
    .map(([name, value]) =>
      isRecordList(value)
        ? `${value.map(printAnswer).join('\n\n')}\n`
        : `${printableText(name)}: ${printableText(value)}`,
    )
    .join('\n')
    .replace(/\n$/, '');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isRecordList(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.length > 0 && value.every(isRecord);
}
