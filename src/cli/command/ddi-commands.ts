// Commands for the credentials of devices that speak DDI: gateway tokens and secrets, which the operator
// sets up, and device tokens, which a pipeline makes with an API key.

import type { Command } from 'commander';
import type { ConsoleAnswers } from '../../contract/console.ts';
import type { DdiSecret, DeviceToken, GatewayToken } from '../../contract/resource.ts';
import { asking, type Connect, send } from '../call/asking.ts';
import { query } from '../call/options.ts';
import { type Column, fieldColumns, printTable } from '../print/print-answer.ts';
import { listing, STATE } from './list-commands.ts';

const TOKEN_COLUMNS: readonly Column<GatewayToken>[] = [
  ...fieldColumns('id', 'name'),
  STATE,
  { label: 'last used', value: ({ lastUsedAt }) => lastUsedAt },
  { label: 'created', value: ({ createdAt }) => createdAt },
];

const SECRET_COLUMNS: readonly Column<DdiSecret>[] = [
  ...fieldColumns('id'),
  { label: 'created', value: ({ createdAt }) => createdAt },
];

type Credentials = ConsoleAnswers['GET ddi-credentials'];

/**
 * Adds `ddi` with its subcommands. Those for gateway tokens and secrets call the console API, by
 * `connectConsole`, the one for device tokens the management API.
 */
export function addDdiCommands(
  program: Command,
  connectConsole: Connect,
  connectManagement: Connect,
): void {
  const ddi = program.command('ddi').description('credentials of devices that speak DDI');
  const token = ddi.command('token').description('tokens by which a gateway acts for all devices');
  addTokenCommands(token, connectConsole);
  const secret = ddi.command('secret').description('secrets of which device tokens are made');
  addSecretCommands(secret, connectConsole);
  const device = ddi
    .command('device-token <device-id...>')
    .description('make the tokens of devices, at most 500, with SLUICE_KEY');
  asking(
    ofApp(device),
    connectManagement,
    ({ app }, deviceIds) => send('POST', 'ddi/tokens', { app, deviceIds }),
    { text: tokensText },
  );
}

function addTokenCommands(token: Command, connect: Connect): void {
  const add = token.command('add').description('make a gateway token; it is shown this once');
  asking(ofApp(add), connect, ({ app, name }) =>
    send('POST', 'gateway-tokens', { app, name }),
  ).requiredOption('--name <name>', 'which gateway it is for');
  listing(ofApp(token.command('list').description('list the gateway tokens of an app')), connect, {
    path: ({ app }) => `ddi-credentials?${query({ app })}`,
    rows: ({ gatewayTokens }: Credentials) => gatewayTokens,
    as: 'tokens',
    columns: TOKEN_COLUMNS,
  });
  const revoke = token.command('revoke <token-id>');
  revoke.description('revoke a gateway token, within five seconds');
  asking(ofApp(revoke), connect, ({ app }, [id = '']) =>
    send('POST', 'gateway-tokens/revoke', { app, id }),
  );
}

function addSecretCommands(secret: Command, connect: Connect): void {
  const add = secret.command('add').description('add a secret; new device tokens are made with it');
  asking(ofApp(add), connect, ({ app }) => send('POST', 'ddi-secrets', { app }));
  listing(ofApp(secret.command('list').description('list the secrets of an app')), connect, {
    path: ({ app }) => `ddi-credentials?${query({ app })}`,
    rows: ({ secrets }: Credentials) => secrets,
    as: 'secrets',
    columns: SECRET_COLUMNS,
  });
  const remove = secret.command('remove <secret-id>');
  remove.description('remove a secret: the device tokens that were made with it end');
  asking(ofApp(remove), connect, ({ app }, [id = '']) =>
    send('POST', 'ddi-secrets/remove', { app, id }),
  );
}

function ofApp(command: Command): Command {
  return command.requiredOption('--app <ref>', 'app');
}

function tokensText({ tokens }: { readonly tokens: readonly DeviceToken[] }): string {
  const columns: readonly Column<DeviceToken>[] = [
    { label: 'device', value: ({ deviceId }) => deviceId },
    ...fieldColumns('token'),
  ];
  return printTable(columns, tokens, 'no tokens');
}
