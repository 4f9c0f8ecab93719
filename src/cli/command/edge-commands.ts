// Commands that give edges their tokens.

import type { Command } from 'commander';
import type { ConsoleAnswers } from '../../contract/console.ts';
import type { ListedEdgeToken } from '../../contract/edge.ts';
import { asking, type Connect, send } from '../call/asking.ts';
import { type Column, fieldColumns } from '../print/print-answer.ts';
import { listing, STATE } from './list-commands.ts';

const COLUMNS: readonly Column<ListedEdgeToken>[] = [
  ...fieldColumns('id', 'name'),
  { label: 'organization', value: ({ org }) => org ?? 'all' },
  { label: 'begins with', value: ({ prefix }) => prefix },
  STATE,
  { label: 'created', value: ({ createdAt }) => createdAt },
];

/** Adds `edge-token` with its subcommands. */
export function addEdgeCommands(program: Command, connect: Connect): void {
  const group = program.command('edge-token').description('tokens by which edges follow');
  const create = group
    .command('create')
    .description('make a token for edges; it is shown this once')
    .requiredOption('--name <name>', 'what it is for')
    .option('--org <id>', 'only organization whose apps its edges serve')
    .option('--all', 'let its edges serve the apps of all organizations');
  asking(create, connect, ({ name, org, all }) => {
    if ((org === undefined) === (all === undefined)) {
      create.error("error: either option '--org <id>' or option '--all' is needed");
    }
    return send('POST', 'edge-tokens', { name, org: org ?? null });
  });
  listing(group.command('list').description('list the tokens of edges'), connect, {
    path: () => 'edge-tokens',
    rows: ({ edgeTokens }: ConsoleAnswers['GET edge-tokens']) => edgeTokens,
    as: 'tokens',
    columns: COLUMNS,
  });
  const revoke = group.command('revoke <token-id>');
  revoke.description('revoke a token, within five seconds');
  asking(revoke, connect, (_options, [id = '']) => send('POST', 'edge-tokens/revoke', { id }));
}
