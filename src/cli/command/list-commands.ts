// Commands that list what an operator has set up, and who changed what, as tables.

import type { Command } from 'commander';
import type { AuditPage, ConsoleAnswers, SessionState } from '../../contract/console.ts';
import type { AuditEntry, ListedChannel, ListedKey } from '../../contract/resource.ts';
import { asking, type Connect, send } from '../call/asking.ts';
import { type Options, query, wholeNumber, withNextPage } from '../call/options.ts';
import { type Column, fieldColumns, printTable, valueText } from '../print/print-answer.ts';

/** Groups of commands that get a `list` command. */
type Groups = Readonly<Record<'org' | 'app' | 'channel' | 'key', Command>>;

/** Adds `list` to each group. */
export function addListCommands({ org, app, channel, key }: Groups, connect: Connect): void {
  listing(org.command('list').description('list the organizations'), connect, {
    path: () => 'session',
    rows: (answer: SessionState) =>
      answer.state === 'signedIn' ? answer.memberships.map(({ organization }) => organization) : [],
    as: 'organizations',
    columns: fieldColumns('id', 'name'),
  });
  listing(ofOrganization(app.command('list').description('list the apps')), connect, {
    path: ({ org: id }) => `apps?${query({ org: id })}`,
    rows: ({ apps }: ConsoleAnswers['GET apps']) => apps,
    as: 'apps',
    columns: [
      ...fieldColumns('ref', 'name', 'id', 'devices'),
      { label: 'channels', value: ({ channels }) => channels.map(({ name }) => name).join(', ') },
    ],
  });
  listing(channel.command('list').description('list the channels'), connect, {
    path: ({ app: ref }) => `channels?${query({ app: ref })}`,
    rows: ({ channels }: ConsoleAnswers['GET channels']) => channels,
    as: 'channels',
    columns: CHANNEL_COLUMNS,
  }).requiredOption('--app <ref>', 'app');
  listing(ofOrganization(key.command('list').description('list the API keys')), connect, {
    path: ({ org: id }) => `keys?${query({ org: id })}`,
    rows: ({ keys }: ConsoleAnswers['GET keys']) => keys,
    as: 'keys',
    columns: KEY_COLUMNS,
  });
}

const CHANNEL_COLUMNS: readonly Column<ListedChannel>[] = [
  ...fieldColumns('name'),
  { label: 'rollout', value: ({ defaultRollout }) => `${defaultRollout} %` },
  { label: 'mode', value: ({ updateMode }) => updateMode },
  { label: 'minimum', value: ({ minimumSupportedVersion }) => minimumSupportedVersion },
  { label: 'signed only', value: ({ requireSignature }) => (requireSignature ? 'yes' : 'no') },
  ...fieldColumns('follows', 'approvals'),
  { label: 'ddi', value: ({ ddi }) => (ddi ? 'yes' : 'no') },
];

/** Column that shows whether a secret still works. */
export const STATE: Column<{ readonly revokedAt: string | null }> = {
  label: 'state',
  value: ({ revokedAt }) => (revokedAt === null ? 'active' : 'revoked'),
  paint: ({ revokedAt }) => (revokedAt === null ? 'green' : 'red'),
};

const KEY_COLUMNS: readonly Column<ListedKey>[] = [
  ...fieldColumns('id', 'name'),
  { label: 'begins with', value: ({ prefix }) => prefix },
  { label: 'apps', value: ({ apps }) => apps?.join(', ') ?? 'all' },
  { label: 'may', value: ({ may }) => may.join(', ') },
  STATE,
  { label: 'until', value: ({ expiresAt }) => expiresAt },
  { label: 'last used', value: ({ lastUsedAt }) => lastUsedAt },
];

type Listing<Answer, Row> = {
  readonly path: (options: Options) => string;
  readonly rows: (answer: Answer) => readonly Row[];
  /** Name of the list in the JSON document, and in the text for an empty list. */
  readonly as: string;
  readonly columns: readonly Column<Row>[];
};

/** Makes a command request a list and print it as a table; returns the command. */
export function listing<Answer, Row>(
  command: Command,
  connect: Connect,
  { path, rows, as, columns }: Listing<Answer, Row>,
): Command {
  return asking(command, connect, (options) => send('GET', path(options)), {
    document: (answer: Answer) => ({ [as]: rows(answer) }),
    text: (answer) => printTable(columns, rows(answer), `no ${as}`),
  });
}

function ofOrganization(command: Command): Command {
  return command.requiredOption('--org <id>', 'organization');
}

const AUDIT_COLUMNS: readonly Column<AuditEntry>[] = [
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

/** Returns what `--json` prints of a page: its entries, without ids, which no option takes, and no `next`. */
function withoutIds({ entries }: AuditPage): unknown {
  return { entries: entries.map(({ id: _, ...entry }) => entry) };
}

function auditText({ entries, next }: AuditPage, options: Options): string {
  const table = printTable(AUDIT_COLUMNS, entries, 'no entries');
  return withNextPage(table, 'audit', options, next === null ? {} : { before: next });
}

/** Returns the fields that a change set, such as `rolloutPct: 10 -> 25`, or what it created or removed. */
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
