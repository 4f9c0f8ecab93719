// Text of a service's answer for the terminal, where it is no table.

import { printableText } from './printable-text.ts';

/** Returns one `name: value` line for each field. */
export function printAnswer(answer: unknown): string {
  if (!isRecord(answer)) return valueText(answer);
  return Object.entries(answer)
    .map(([name, value]) => `${printableText(name)}: ${valueText(value)}`)
    .join('\n');
}

/**
 * Returns a value as people read it, on one line: `-` for nothing, a list by commas, a record as its fields.
 * What is within another stands in parentheses.
 */
export function valueText(value: unknown): string {
  return printableText(plain(value));
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(nested).join(', ') || '-';
  if (!isRecord(value)) return String(value ?? '') || '-';
  const fields = Object.entries(value).map(([name, each]) => `${name}: ${nested(each)}`);
  return fields.join(', ') || '-';
}

function nested(value: unknown): string {
  const isWhole = typeof value !== 'object' || value === null || Object.keys(value).length === 0;
  return isWhole ? plain(value) : `(${plain(value)})`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
