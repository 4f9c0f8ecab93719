// Additions to `--help`: which options are required, which environment variables are read, and an example.

import { type Command, Help, type Option } from 'commander';
import { SERVICE_COMMANDS } from './service-commands.ts';

/** Options that are listed last. */
const LAST = ['--json', '--help'];

/** How options are listed and described; commands that are created afterwards inherit it. */
export const HELP: Partial<Help> = {
  visibleOptions(command: Command) {
    const options = Help.prototype.visibleOptions.call(this, command);
    const rank = ({ long }: Option) => LAST.indexOf(long ?? '');
    return options.toSorted((one, other) => rank(one) - rank(other));
  },
  optionDescription(option: Option) {
    const { description, mandatory, argChoices } = option;
    const choices = argChoices === undefined ? [] : [`one of ${argChoices.join(', ')}`];
    const isSaid = /\((?:required|default)/.test(description);
    const notes = [...choices, ...(mandatory && !isSaid ? ['required'] : [])];
    return notes.length === 0 ? description : `${description} (${notes.join('; ')})`;
  },
};

type Variables = readonly (readonly [name: string, meaning: string])[];

/** Environment variables that the commands of publishers read. */
const OF_PUBLISHERS: Variables = [
  ['SLUICE_KEY', 'API key (required)'],
  ['SLUICE_URL', 'address of the service that devices ask (default: http://HOST:PORT)'],
  ['HOST, PORT', 'where it is asked without SLUICE_URL (default: 127.0.0.1, 8080)'],
];
/** Environment variables that the commands of the operator read. */
const OF_OPERATORS: Variables = [
  ['ADMIN_TOKEN', 'admin token (default: the file admin-token in DATA_DIR)'],
  ['DATA_DIR', 'where the service keeps its data (default: ./data)'],
  ['SLUICE_URL', 'address of the console (default: http://ADMIN_LISTEN, else http://HOST:PORT)'],
  ['HOST, PORT', 'where it is asked without both (default: 127.0.0.1, 8080)'],
];
/** Environment variables of the commands that run where the service does. */
const OF_THE_SERVICE: Variables = [
  ['…', 'all settings of the service: docs/operating/settings.md of the repository'],
];

/** Groups of commands, and commands of other groups, that call the management API. */
const PUBLISHERS: ReadonlySet<string> = new Set([
  ...['release', 'plan', 'stop', 'resume', 'device', 'explain', 'import', 'ddi device-token'],
]);

const RELEASE = '--app notes --channel stable --version 1.4.0';

/** An example of each command: the text after its name. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  serve: '',
  edge: '--upstream https://updates.example.com',
  doctor: '--json',
  migrate: '',
  move: '--to postgres://sluice@db.example.com/sluice --dry-run',
  'org create': '--name Acme',
  'org list': '--json',
  'app create': '--org org_1 --ref notes --name "Acme Notes" --channels stable,beta',
  'app rename': '--app notes --name "Acme Notebook"',
  'app archive': '--app notes',
  'app restore': '--app notes',
  'app set': '--app notes --ddi-auth token',
  'app list': '--org org_1',
  'channel create': '--app notes --name nightly',
  'channel update': '--app notes --name stable --default-rollout 10 --require-signature true',
  'channel list': '--app notes',
  'key create':
    '--org org_1 --name ci --apps notes --may publish --expires-at 2027-01-31T00:00:00Z',
  'key revoke': 'key_1',
  'key list': '--org org_1',
  'webhook enable': '--app notes --provider github --hold --expect linux,darwin/aarch64',
  'webhook update': '--app notes --provider github --no-hold',
  'webhook disable': '--app notes --provider github',
  'webhook show': '--app notes',
  'notify add': '--org org_1 --kind webhook --url https://ops.example.com/sluice --name ops',
  'notify list': '--org org_1',
  'notify test': 'dst_1',
  'notify send-link': 'dst_1',
  'notify remove': 'dst_1',
  'approval list': '--app notes --status pending',
  'approval show': 'apv_1',
  'secrets reseal': '',
  backup: 'ledger.tar.gz',
  'account reset-password': 'ada@example.com',
  'account recover': 'ada@example.com',
  devices: '--app notes --limit 1000',
  'devices purge': '--app notes --first-seen-after 2026-01-31T00:00:00Z --dry-run',
  'edge-token create': '--name west --all',
  'edge-token list': '',
  'edge-token revoke': 'edge_1',
  'ddi token add': '--app notes --name "proxy of plant 7"',
  'ddi token list': '--app notes',
  'ddi token revoke': 'gwt_1 --app notes',
  'ddi secret add': '--app notes',
  'ddi secret list': '--app notes',
  'ddi secret remove': 'dds_1 --app notes',
  'ddi device-token': 'board-0001 board-0002 --app notes',
  audit: '--org org_1 --limit 200',
  'release publish': `dist ${RELEASE} --url-base https://dl.example.com/1.4.0 --rollout 10`,
  'release list': '--app notes --channel stable --status published',
  'release show': RELEASE,
  'release rollout': `25 ${RELEASE}`,
  'release pause': `${RELEASE} --reason "crashes on start"`,
  'release resume': RELEASE,
  'release rollback': `${RELEASE} --dry-run`,
  'release deprecate': RELEASE,
  'release promote': '--app notes --from beta --to stable --version 1.4.0 --rollout 10',
  'release withdraw': `${RELEASE} --reason "wrong files"`,
  'release retry': `board-0001 ${RELEASE} --reason "power supply replaced"`,
  'plan set': `${RELEASE} --steps 1:60,10:240,100:0 --failed-percent 2`,
  'plan show': RELEASE,
  'plan hold': `${RELEASE} --reason "waiting for support"`,
  'plan resume': RELEASE,
  'plan advance': RELEASE,
  'plan cancel': RELEASE,
  stop: '--app notes --channel stable --reason "crashes on start"',
  resume: 'stp_01j9z3k5w8d2m4n6p7q8r9s0t1',
  'device erase': '6f9b2f6e-8f1c-4f0e-9c55-3a5f5f6d0c11 --app notes',
  explain: '--app notes --device 6f9b2f6e-8f1c-4f0e-9c55-3a5f5f6d0c11',
  import: '--app notes --channel stable --github-json releases.json',
};

/** Adds to the help of each command an example, and the environment variables that it reads. */
export function addHelp(program: Command): void {
  for (const command of program.commands) describe(command, command.name());
}

function describe(command: Command, name: string): void {
  const example = EXAMPLES[name];
  if (example !== undefined) {
    const variables = variablesOf(name);
    const width = Math.max(...variables.map(([variable]) => variable.length));
    const lines = variables.map(([variable, meaning]) => `  ${variable.padEnd(width)}  ${meaning}`);
    const shown = `sluice ${name} ${example}`.trim();
    command.addHelpText('after', `\nEnvironment:\n${lines.join('\n')}\n\nExample:\n  ${shown}`);
  }
  for (const each of command.commands) describe(each, `${name} ${each.name()}`);
}

function variablesOf(name: string): Variables {
  const [group = ''] = name.split(' ');
  if (PUBLISHERS.has(group) || PUBLISHERS.has(name)) return OF_PUBLISHERS;
  return SERVICE_COMMANDS.has(group) ? OF_THE_SERVICE : OF_OPERATORS;
}
