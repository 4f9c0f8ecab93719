// The command that shows who changed what.

import type { Command } from 'commander';
import type { AuditPage } from '../../contract/console.ts';
import type { AuditEntry } from '../../contract/resource.ts';
import { asking, type Connect, send } from '../call/asking.ts';
import { type Options, query, wholeNumber, withNextPage } from '../call/options.ts';
import { type Column, fieldColumns, printTable, valueText } from '../print/print-answer.ts';

const COLUMNS: readonly Column<AuditEntry>[] = [
  ...fieldColumns('at'),
  { label: 'who', value: ({ actor }) => actor },
  { label: 'what', value: ({ action }) => action },
  { label: 'of', value: ({ subject }) => subject },
  { label: 'change', value: changeOf, lengthMax: 80 },
  { label: 'reason', value: ({ reason }) => reason, lengthMax: 60 },
];

/** Adds the command, which calls the console API. */
export function addAuditCommand(program: Command, connect: Connect): void {
  const command = program
    .command('audit')
    .description('show who changed what, newest first')
    .requiredOption('--org <id>', 'organization')
    .option('--limit <n>', 'how many entries (default: 50, at most 1000)', wholeNumber)
    .option('--before <page>', 'the page that the one before it names');
  const showing = { document: withoutIds, text: auditText };
  asking(command, connect, (options) => send('GET', `audit?${query(options)}`), showing);
}

/** Returns the entries of a page without their ids, which only paging needs. */
function withoutIds({ entries }: AuditPage): unknown {
  return { entries: entries.map(({ id: _, ...entry }) => entry) };
}

function auditText({ entries, next }: AuditPage, options: Options): string {
  const table = printTable(COLUMNS, entries, 'no entries');
  return withNextPage(table, 'audit', options, next === null ? {} : { before: next });
}

/** Returns the fields that a change set, such as `rolloutPct: 10 -> 25`, or what it made or removed. */
function changeOf({ before, after }: AuditEntry): string {
  if (!isRecord(before)) return valueText(after);
  if (!isRecord(after)) return `${valueText(before)} -> ${valueText(after)}`;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = names.flatMap((name) => {
    const [from, to] = [valueText(before[name]), valueText(after[name])];
    return from === to ? [] : [`${name}: ${from} -> ${to}`];
  });
  return changed.join(', ') || '-';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
