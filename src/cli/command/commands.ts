// Commands of the operator: they set up organizations, apps, channels, keys, webhooks and tokens of edges,
// and maintain the service.

import { type Command, InvalidArgumentError } from 'commander';
import { isReachableAddress } from '../../contract/address.ts';
import {
  APPROVAL_MODES,
  DDI_AUTHS,
  UPDATE_MODES,
  WEBHOOK_PROVIDERS,
} from '../../contract/choice.ts';
import type { ChangedChannel, ConsoleAnswers, ResealedSecrets } from '../../contract/console.ts';
import type { ListedEdgeToken } from '../../contract/edge.ts';
import { type AppState, DDI_DEFAULTS, KEY_RIGHTS } from '../../contract/resource.ts';
import { DDI_AUTH_WORDS } from '../../words/ddi-auth.ts';
import { answering, asking, type Connect, send } from '../call/asking.ts';
import { backupFile } from '../call/backup-file.ts';
import { choice, names, type Options, query, wholeNumber } from '../call/options.ts';
import { callInParts, type ServiceClient } from '../call/service-client.ts';
import { findingsText } from '../print/findings-text.ts';
import { type Column, fieldColumns, printAnswer, printTable } from '../print/print-answer.ts';
import { addDeviceRecordCommands } from './device-commands.ts';
import { addAuditCommand, addListCommands, listing, STATE } from './list-commands.ts';
import { addNotifyCommands } from './notify-commands.ts';

const PROVIDERS = `code host (${WEBHOOK_PROVIDERS.join(', ')})`;

/** Adds all commands that call the console API. `connect` is called only when a command runs. */
export function addCommands(program: Command, connect: Connect): void {
  const org = program.command('org').description('organizations');
  const app = program.command('app').description('apps');
  const channel = program.command('channel').description('channels of an app');
  const key = program.command('key').description('API keys of an organization');
  addOrganizationCommands(org, connect);
  addAppCommands(app, connect);
  addChannelCommands(channel, connect);
  addKeyCommands(key, connect);
  addListCommands({ org, app, channel, key }, connect);
  addWebhookCommands(program, connect);
  addNotifyCommands(program, connect);
  addSecretCommands(program, connect);
  addBackupCommand(program, connect);
  addAccountCommands(program, connect);
  addDeviceRecordCommands(program, connect);
  addEdgeCommands(program, connect);
  addAuditCommand(program, connect);
}

function addOrganizationCommands(org: Command, connect: Connect): void {
  const create = org.command('create').description('create an organization');
  asking(create, connect, ({ name }) => send('POST', 'organizations', { name })).requiredOption(
    '--name <name>',
    'what people call it',
  );
}

function addAppCommands(app: Command, connect: Connect): void {
  const create = app.command('create').description('create an app');
  asking(create, connect, ({ org: organization, ref, name, channels }) =>
    send('POST', 'apps', { org: organization, ref, name, channels }),
  )
    .requiredOption('--org <id>', 'organization it belongs to')
    .requiredOption('--ref <ref>', 'name in addresses, unique')
    .requiredOption('--name <name>', 'what people call it')
    .option('--channels <names>', 'comma-separated (default: stable,beta)', names);
  const change = (name: string, description: string, changed?: object) =>
    asking(app.command(name).description(description), connect, ({ app: ref, name: called }) =>
      send('PATCH', 'apps', { app: ref, ...(changed ?? { name: called }) }),
    ).requiredOption('--app <ref>', 'app');
  change('rename', 'change what people call an app').requiredOption(
    '--name <name>',
    'what people call it',
  );
  const archived = 'let an app take no more releases; its devices are answered as before';
  change('archive', archived, { archived: true });
  change('restore', 'bring an archived app back', { archived: false });
  addAppSetCommand(app, connect);
}

function addAppSetCommand(app: Command, connect: Connect): void {
  const words = DDI_AUTHS.map((auth) => `  ${auth}: ${DDI_AUTH_WORDS[auth]}`);
  const set = app
    .command('set')
    .description('change the settings of an app')
    .addHelpText('after', `\nWhat follows from --ddi-auth:\n${words.join('\n')}`);
  asking(set, connect, (options) => send('PATCH', 'apps', options), { text: appText })
    .requiredOption('--app <ref>', 'app')
    .addOption(
      choice('--ddi-auth <how>', 'how devices that speak DDI authenticate', DDI_AUTHS)
        // There is no other setting yet.
        .makeOptionMandatory(),
    );
}

/** Returns an app, and what follows from how devices that speak DDI authenticate to it. */
function appText(app: AppState): string {
  const { ddiAuth } = app;
  return ddiAuth === null ? printAnswer(app) : `${printAnswer(app)}\n\n${DDI_AUTH_WORDS[ddiAuth]}`;
}

function addChannelCommands(channel: Command, connect: Connect): void {
  const create = channel.command('create').description('add a channel to an app');
  asking(create, connect, ({ app, name }) => send('POST', 'channels', { app, name }))
    .requiredOption('--app <ref>', 'app')
    .requiredOption('--name <name>', 'channel');
  asking(
    channel.command('update').alias('set').description('change what a channel asks of its devices'),
    connect,
    ({ minimumSupportedVersion: minimum, requireSignature, follows, ddi, ...options }) =>
      send('PATCH', 'channels', {
        ...options,
        ddi: ddi === undefined ? undefined : ddiChange(String(ddi)),
        requireSignature: requireSignature && requireSignature === 'true',
        minimumSupportedVersion: minimum === '' ? null : minimum,
        follows: follows === 'none' ? null : follows,
      }),
    { text: channelText },
  )
    .requiredOption('--app <ref>', 'app')
    .requiredOption('--name <name>', 'channel')
    .option('--minimum-supported-version <version>', 'devices below must update ("" clears it)')
    .option('--default-rollout <percent>', 'rollout of new releases', wholeNumber)
    .addOption(choice('--update-mode <mode>', 'how updates are announced', UPDATE_MODES))
    .addOption(
      choice('--require-signature <whether>', 'offer signed artifacts only', ['true', 'false']),
    )
    .option('--follows <channel>', 'channel whose releases its devices get too, or none')
    .addOption(choice('--approvals <who>', 'who approves what widens exposure', APPROVAL_MODES))
    .option('--approval-days <n>', 'days after which a request expires', wholeNumber)
    .option(
      '--ddi <settings>',
      'answer devices that speak DDI: on, off, or settings, e.g. pollSeconds=60,keys.version=fw',
      ddiSettings,
    );
}

/** Checks that an option's value is `on`, `off`, or settings of DDI. */
function ddiSettings(text: string): string {
  const isRead = text === 'on' || text === 'off' || names(text).every((each) => SETTING.test(each));
  if (isRead) return text;
  throw new InvalidArgumentError('Expected on, off, or settings, e.g. pollSeconds=60,arch=arm.');
}

const SETTING = /^(keys\.)?([^=]+)=(.*)$/s;

/** Returns the change that an option's value means; an empty value of a setting is null. */
function ddiChange(text: string): object | null {
  if (text === 'on' || text === 'off') return text === 'on' ? {} : null;
  const settings: [string, unknown][] = [];
  const keys: [string, string][] = [];
  for (const each of names(text)) {
    const [, group, name = '', value = ''] = SETTING.exec(each) ?? [];
    if (group === undefined) settings.push([name, ddiValue(name, value)]);
    else keys.push([name, value]);
  }
  const named = keys.length === 0 ? {} : { keys: Object.fromEntries(keys) };
  return { ...Object.fromEntries(settings), ...named };
}

function ddiValue(name: string, value: string): string | number | null {
  const usual = new Map<string, unknown>(Object.entries(DDI_DEFAULTS)).get(name);
  if (typeof usual === 'number' && /^\d+$/.test(value)) return Number(value);
  return value === '' ? null : value;
}

/** Returns the settings of a channel, and the findings about them. */
function channelText({ findings, ...channel }: ChangedChannel): string {
  const lines = findings === undefined ? [] : [findingsText(findings)];
  return [printAnswer(channel), ...lines].join('\n');
}

function addKeyCommands(key: Command, connect: Connect): void {
  const create = key.command('create').description('mint a key; its secret is shown this once');
  asking(create, connect, (options) => send('POST', 'keys', options))
    .requiredOption('--org <id>', 'organization')
    .requiredOption('--name <name>', 'what it is for')
    .option('--apps <refs>', 'comma-separated: the only apps that it may name', names)
    .option('--may <rights>', `comma-separated, of ${KEY_RIGHTS.join(', ')} (default: all)`, names)
    .option('--expires-at <time>', 'end of its validity, e.g. 2027-01-31T00:00:00Z');
  const revoke = key.command('revoke <key-id>').description('revoke a key, at once');
  asking(revoke, connect, (_options, [id = '']) =>
    send('POST', `keys/${encodeURIComponent(id)}/revoke`),
  );
}

function addWebhookCommands(program: Command, connect: Connect): void {
  const webhook = program.command('webhook').description("releases from an app's code host");
  const enable = webhook
    .command('enable')
    .description('let a code host announce releases; the secret is shown this once');
  asking(
    withSettings(enable),
    connect,
    (options) => send('POST', 'webhooks', webhookSettings(options)),
    { text: enabledText },
  );
  const update = webhook
    .command('update')
    .description('change how releases come; the secret stays');
  asking(withSettings(update), connect, (options) =>
    send('PATCH', 'webhooks', webhookSettings(options)),
  ).option('--no-hold', 'let releases land published');
  const disable = webhook
    .command('disable')
    .description('refuse what the code host sends, and forget the secret');
  asking(disable, connect, ({ app, provider }) =>
    send('POST', 'webhooks/disable', { app, provider }),
  )
    .requiredOption('--app <ref>', 'app')
    .option('--provider <name>', `${PROVIDERS}; all unless given`);
  const show = webhook
    .command('show')
    .description('show whether it is on, and its last deliveries');
  asking(show, connect, ({ app }) => send('GET', `webhooks?${query({ app })}`), {
    text: webhooksText,
  }).requiredOption('--app <ref>', 'app');
}

/** Returns the webhooks of an app and their last deliveries, as tables. */
function webhooksText({ webhooks, deliveries }: ConsoleAnswers['GET webhooks']): string {
  const hooks = printTable(
    [
      ...fieldColumns('provider'),
      { label: 'state', value: ({ enabled }) => (enabled ? 'on' : 'off') },
      { label: 'tag prefix', value: ({ tagPrefix }) => tagPrefix },
      { label: 'hold', value: ({ hold }) => (hold ? 'yes' : 'no') },
      { label: 'expect', value: ({ expect }) => expect?.join(', ') },
      { label: 'repository', value: ({ repository }) => repository },
      { label: 'address', value: ({ url }) => url },
    ],
    webhooks,
    'no webhooks',
  );
  const table = printTable(
    [
      ...fieldColumns('at', 'provider'),
      { label: 'event', value: ({ event, action }) => [event, action].filter(Boolean).join(' ') },
      ...fieldColumns('outcome', 'version', 'reason'),
    ],
    deliveries,
    'no deliveries',
  );
  return [hooks, '', table].join('\n');
}

/** Returns address and secret, with a warning if no code host on the internet can reach the address. */
function enabledText(answer: ConsoleAnswers['POST webhooks']): string {
  if (isReachableAddress(answer.url)) return printAnswer(answer);
  const warning =
    'A code host on the internet cannot reach this address: PUBLIC_URL must be what the service is ' +
    'called from outside.';
  return `${printAnswer(answer)}\n\n${warning}`;
}

function addSecretCommands(program: Command, connect: Connect): void {
  const secrets = program.command('secrets').description('secrets at rest');
  const command = secrets
    .command('reseal')
    .description('encrypt secrets at rest under the first of several SECRET_KEYs');
  answering(command, connect, reseal);
}

/** Adds the options that name a webhook and its settings. */
function withSettings(command: Command): Command {
  return command
    .requiredOption('--app <ref>', 'app')
    .requiredOption('--provider <name>', PROVIDERS)
    .option('--tag-prefix <text>', 'what the tags of the app begin with ("" for none)')
    .option('--hold', 'let releases land paused, until somebody publishes them')
    .option(
      '--expect <targets>',
      'publish a held release once it has these, e.g. linux,darwin/aarch64 ("" for never)',
      names,
    );
}

/** Returns the settings of a webhook as the service expects them: `expect` is null for no targets. */
function webhookSettings({ expect, ...options }: Options): Record<string, unknown> {
  const isNone = Array.isArray(expect) && expect.join('') === '';
  return { ...options, expect: isNone ? null : expect };
}

/** Seals all webhook secrets again; the service does it in parts. Returns how many there were. */
async function reseal(client: ServiceClient): Promise<Omit<ResealedSecrets, 'next'>> {
  let [resealed, unreadable] = [0, 0];
  await callInParts(client, 'secrets/reseal', {}, (part: ResealedSecrets) => {
    resealed += part.resealed;
    unreadable += part.unreadable;
  });
  return { resealed, unreadable };
}

function addBackupCommand(program: Command, connect: Connect): void {
  answering(
    program
      .command('backup <file>')
      .description('pack the embedded ledger into a new file, while the service runs'),
    connect,
    (client, _options, [file = '']) =>
      backupFile(file, async () => {
        const answer = await client.call('POST', 'backup', {});
        return answer as ConsoleAnswers['POST backup'];
      }),
  );
}

function addAccountCommands(program: Command, connect: Connect): void {
  const account = program.command('account').description('accounts of people');
  const link = (name: string, description: string) =>
    asking(
      account.command(`${name} <email>`).description(description),
      connect,
      (_options, [email = '']) => send('POST', `accounts/${name}`, { email }),
    );
  link('reset-password', 'make a link that sets a new password; it works once, for an hour');
  link('recover', 'make a link that removes lost passkeys; it works once, for a day');
}

const EDGE_COLUMNS: readonly Column<ListedEdgeToken>[] = [
  ...fieldColumns('id', 'name'),
  { label: 'organization', value: ({ org }) => org ?? 'all' },
  { label: 'begins with', value: ({ prefix }) => prefix },
  STATE,
  { label: 'created', value: ({ createdAt }) => createdAt },
];

function addEdgeCommands(program: Command, connect: Connect): void {
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
    columns: EDGE_COLUMNS,
  });
  const revoke = group.command('revoke <token-id>');
  revoke.description('revoke a token, within five seconds');
  asking(revoke, connect, (_options, [id = '']) => send('POST', 'edge-tokens/revoke', { id }));
}
