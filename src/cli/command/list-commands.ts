// Commands that list what an operator has set up, as tables.

import type { Command } from 'commander';
import type { ConsoleAnswers, SessionState } from '../../contract/console.ts';
import type { ListedChannel, ListedKey } from '../../contract/resource.ts';
import { asking, type Connect } from '../call/asking.ts';
import { type Options, query } from '../call/options.ts';
import { type Column, printTable, takesColours } from '../print/print-answer.ts';

/** Groups of commands that get one which lists. */
type Groups = Readonly<Record<'org' | 'app' | 'channel' | 'key', Command>>;

/** Adds `list` to each group. */
export function addListCommands({ org, app, channel, key }: Groups, connect: Connect): void {
  listing(org.command('list').description('list the organizations'), connect, {
    path: () => 'session',
    rows: (answer: SessionState) =>
      answer.state === 'signedIn' ? answer.memberships.map(({ organization }) => organization) : [],
    as: 'organizations',
    columns: [
      { label: 'id', value: ({ id }) => id },
      { label: 'name', value: ({ name }) => name },
    ],
  });
  listing(ofOrganization(app.command('list').description('list the apps')), connect, {
    path: ({ org: id }) => `apps?${query({ org: id })}`,
    rows: ({ apps }: ConsoleAnswers['GET apps']) => apps,
    as: 'apps',
    columns: [
      { label: 'ref', value: ({ ref }) => ref },
      { label: 'name', value: ({ name }) => name },
      { label: 'id', value: ({ id }) => id },
      { label: 'devices', value: ({ devices }) => devices },
      { label: 'channels', value: ({ channels }) => channels.map(({ name }) => name).join(', ') },
    ],
  });
  listing(
    channel.command('list').description('list the channels').requiredOption('--app <ref>', 'app'),
    connect,
    {
      path: ({ app: ref }) => `channels?${query({ app: ref })}`,
      rows: ({ channels }: ConsoleAnswers['GET channels']) => channels,
      as: 'channels',
      columns: CHANNEL_COLUMNS,
    },
  );
  listing(ofOrganization(key.command('list').description('list the API keys')), connect, {
    path: ({ org: id }) => `keys?${query({ org: id })}`,
    rows: ({ keys }: ConsoleAnswers['GET keys']) => keys,
    as: 'keys',
    columns: KEY_COLUMNS,
  });
}

const CHANNEL_COLUMNS: readonly Column<ListedChannel>[] = [
  { label: 'name', value: ({ name }) => name },
  { label: 'rollout', value: ({ defaultRollout }) => `${defaultRollout} %` },
  { label: 'mode', value: ({ updateMode }) => updateMode },
  { label: 'minimum', value: ({ minimumSupportedVersion }) => minimumSupportedVersion },
  { label: 'signed only', value: ({ requireSignature }) => (requireSignature ? 'yes' : 'no') },
  { label: 'follows', value: ({ follows }) => follows },
  { label: 'approvals', value: ({ approvals }) => approvals },
];

const KEY_COLUMNS: readonly Column<ListedKey>[] = [
  { label: 'id', value: ({ id }) => id },
  { label: 'name', value: ({ name }) => name },
  { label: 'begins with', value: ({ prefix }) => prefix },
  { label: 'apps', value: ({ apps }) => apps?.join(', ') ?? 'all' },
  { label: 'may', value: ({ may }) => may.join(', ') },
  {
    label: 'state',
    value: ({ revokedAt }) => (revokedAt === null ? 'active' : 'revoked'),
    paint: ({ revokedAt }) => (revokedAt === null ? 'green' : 'red'),
  },
  { label: 'until', value: ({ expiresAt }) => expiresAt },
  { label: 'last used', value: ({ lastUsedAt }) => lastUsedAt },
];

type Listing<Answer, Row> = {
  readonly path: (options: Options) => string;
  readonly rows: (answer: Answer) => readonly Row[];
  /** Name of the list in the JSON document, and for people where it is empty. */
  readonly as: string;
  readonly columns: readonly Column<Row>[];
};

/** Makes a command ask for a list and print it as a table. */
export function listing<Answer, Row>(
  command: Command,
  connect: Connect,
  { path, rows, as, columns }: Listing<Answer, Row>,
): void {
  asking(command, connect, (options) => ({ method: 'GET', path: path(options) }), {
    document: (answer: Answer) => ({ [as]: rows(answer) }),
    text: (answer) => printTable(columns, rows(answer), `no ${as}`, takesColours(process.stdout)),
  });
}

function ofOrganization(command: Command): Command {
  return command.requiredOption('--org <id>', 'organization');
}
