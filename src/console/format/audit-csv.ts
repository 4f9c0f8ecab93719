// Audit entries as a table for other programs: comma-separated values (RFC 4180).

import type { AuditEntry } from '../../contract/resource.ts';
import { auditSentence } from './audit-sentence.ts';

const CSV_COLUMNS = [
  'at',
  'actor',
  'action',
  'what',
  'subject',
  'reason',
  'before',
  'after',
  'request',
];
/** Beginnings of a text that a spreadsheet would compute instead of showing it. */
const FORMULA = /^[=+\-@\t\r]/;

/** Returns the entries, one a line, below a line with the names of the columns. */
export function auditCsv(entries: readonly AuditEntry[]): string {
  const rows = entries.map((entry) => [
    entry.at,
    entry.actor,
    entry.action,
    auditSentence(entry).text,
    entry.subject,
    entry.reason ?? '',
    stateText(entry.before),
    stateText(entry.after),
    entry.requestId ?? '',
  ]);
  return [CSV_COLUMNS, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function stateText(state: unknown): string {
  return state === null || state === undefined ? '' : JSON.stringify(state);
}

/** Quotes a cell. One that looks like a formula gets an apostrophe, after which it is shown as text. */
function cell(text: string): string {
  const shown = FORMULA.test(text) ? `'${text}` : text;
  return `"${shown.replaceAll('"', '""')}"`;
}
