// Tests the commands one by one, without a service: what each asks, what it prints of an answer, and what it
// says of wrong usage and of unknown names (docs/operating/commands.md). Those that publish and import have
// tests of their own beside this one.

import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { BuildShell, ONE_LINE, TIME, URL_BASE } from '../../support/build-shell.ts';
import { rowsOf } from '../../support/rows-of.ts';
import type { Json } from '../../support/tenant.ts';

const NAMED = '--app notes --channel stable --version 1.2.3';
const PLACE = { app: 'notes', channel: 'stable', version: '1.2.3' };
const PAUSE_STABEL = 'release pause --app notes --channel stabel --version 1';
const PUBLISHED = { ...PLACE, status: 'published' };
const UPDATE = 'channel update --app notes --name beta';
const BETA = { app: 'notes', name: 'beta' };
const PURGE = `devices purge --app notes --first-seen-after ${TIME}`;

const shell = new BuildShell();

/** Returns the words of a command line. */
function wordsOf(line: string): string[] {
  return (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''));
}

/** Returns the words of a command line as a shell reads them, which takes a process. */
function shellWordsOf(line: string): string[] {
  const script = ['-c', `printf '%s\\0' ${line}`];
  return execFileSync('sh', script, { encoding: 'utf8' }).split('\0').slice(0, -1);
}

/** Runs a command whose service gives this answer to all. */
function answered(line: string, answer: object, read = wordsOf) {
  shell.instead = () => [200, answer];
  return shell.sluice(read(line));
}

it.each<[line: string, call: string, body?: Json]>([
  [
    'app create --org o --ref r --name N --channels "nightly, stable"',
    'POST apps',
    { org: 'o', ref: 'r', name: 'N', channels: ['nightly', 'stable'] },
  ],
  [UPDATE, 'PATCH channels', BETA],
  [
    `${UPDATE} --minimum-supported-version v1.2 --default-rollout 0 --update-mode recommended`,
    'PATCH channels',
    { ...BETA, minimumSupportedVersion: 'v1.2', defaultRollout: 0, updateMode: 'recommended' },
  ],
  [
    `${UPDATE} --require-signature true --follows stable --approvals one --approval-days 3`,
    'PATCH channels',
    { ...BETA, requireSignature: true, follows: 'stable', approvals: 'one', approvalDays: 3 },
  ],
  [
    `${UPDATE} --minimum-supported-version "" --require-signature false --follows none`,
    'PATCH channels',
    { ...BETA, minimumSupportedVersion: null, requireSignature: false, follows: null },
  ],
  ...Object.entries({
    ...{ on: {}, off: null, 'arch=,platform=7': { arch: null, platform: '7' } },
    'pollSeconds=60,unknownVersion=offer,keys.version=fw,keys.arch=cpu': {
      ...{ pollSeconds: 60, unknownVersion: 'offer', keys: { version: 'fw', arch: 'cpu' } },
    },
  }).map(([value, ddi]): [string, string, Json] => [
    ...([`channel set --app notes --name beta --ddi ${value}`, 'PATCH channels'] as const),
    { ...BETA, ddi },
  ]),
  ['app set --app notes --ddi-auth open', 'PATCH apps', { app: 'notes', ddiAuth: 'open' }],
  ['key revoke ../apps', 'POST keys/..%2Fapps/revoke'],
  ['audit --org o --limit 2', 'GET audit?org=o&limit=2'],
  [
    `${PURGE} --version v6 --dry-run`,
    'POST devices/purge',
    { app: 'notes', firstSeenAfter: TIME, version: 'v6', dryRun: true },
  ],
  ...Object.entries({
    'pause --reason crashes': { status: 'paused', reason: 'crashes' },
    ...{ deprecate: { status: 'deprecated' }, rollback: { status: 'rolled_back' } },
    'rollout 40': { rollout: 40 },
  }).map(([verb, body]): [string, string, Json] => [
    ...([`release ${verb} ${NAMED}`, 'PATCH releases', { ...PLACE, ...body }] as const),
  ]),
  [`release withdraw ${NAMED}`, 'DELETE releases', PLACE],
  [`release retry ${NAMED} --reason mended`, 'POST releases/retry', { ...PLACE, reason: 'mended' }],
  [`release retry a b ${NAMED}`, 'POST releases/retry', { ...PLACE, deviceIds: ['a', 'b'] }],
  [`release resume ${NAMED} --dry-run`, 'PATCH releases?dryRun=true', PUBLISHED],
  [
    'release promote --app notes --from a --to b --version 1 --paused',
    'POST releases/promote?dryRun=true',
    { app: 'notes', from: 'a', to: 'b', version: '1', status: 'paused' },
  ],
  [
    'release list --channel stable --status paused --page 2 --per-page 5',
    'GET releases?channel=stable&status=paused&page=2&perPage=5&standing=true',
  ],
])('%s asks %s (Command line)', async (line, call, body) => {
  await answered(`${line} --json`, {});
  const [asked] = shell.asked;
  expect(asked?.call).toBe(call);
  expect(asked?.body === '' ? undefined : JSON.parse(String(asked?.body))).toEqual(body);
});

it('a promotion is made as it was tried (Command line)', async () => {
  const answer = { release: { ...PLACE, status: 'paused' }, findings: [], effect: {} };
  const line = 'release promote --app notes --from a --to b --version 1 --paused --rollout 10';
  await answered(`${line} --json`, answer);
  const [tried, made] = shell.asked;
  expect(made?.call).toBe('POST releases/promote');
  expect(made?.body).toBe(tried?.body);
  expect(JSON.parse(String(made?.body))).toMatchObject({ status: 'paused', rollout: 10 });
});

const STANDING = { state: 'serving', on: [], supersededBy: null, wayDownFor: [], change: null };
const RELEASE = {
  ...{ version: '1.2.3', app: 'notes', channel: 'stable', status: 'published', rolloutPct: 5 },
  ...{ artifacts: [{}], createdAt: TIME },
};
const STRANGER = { deviceId: 'a\u0085b\u2066', platform: 'lin\u202eux', arch: 'arm', labels: {} };
const STRANGERS = { devices: [STRANGER], next: null };
const CHANGED = { action: 'channel.update', actor: 'ann', at: TIME, id: 'e', reason: null };
const CHANGES = [
  { ...CHANGED, subject: 'notes/beta', before: { a: 1, b: 100 }, after: { a: 1, b: 7 } },
  { ...CHANGED, subject: 'key', before: null, after: { name: 'ci', prefix: 'x' } },
];
const FINDINGS = [{ path: 'follows', severity: 'warning', message: 'Asks for none' }];
const PASSED_OVER = {
  ...{ version: '1.2.3', channel: 'stable', verdict: 'outside-cohort', bucket: 77, threshold: 0 },
  unmet: [{ key: 'ring', operator: 'In', values: ['a', 'b'] }],
};
const EXPLAINED = { decision: { reason: 'outside-cohort', update: null }, device: { id: 'd' } };
const FILES = [{ platform: 'linux', url: `${URL_BASE}/a.zip`, size: 3 }];
const MOVES = [{ from: '1.2.2', to: null, devices: 2 }];
const EFFECT = { devices: 9, isEstimate: true, lose: 2, moves: MOVES };
const MEMBERSHIPS = [{ organization: { id: 'org_1', name: 'A' }, role: 'owner' }];
const SESSION = { state: 'signedIn', memberships: MEMBERSHIPS };
const HOOK = { url: 'http://127.0.0.1:1/h', secret: 's' };
const WEBHOOK = 'webhook enable --app notes --provider github';
const LIST = 'release list --app notes';

it.each<[line: string, answer: object, ...printed: readonly RegExp[]]>([
  [UPDATE, { days: 7, findings: FINDINGS }, /^days: 7\nwarning: follows: Asks for none\n$/],
  [
    'audit --org o',
    { entries: CHANGES, next: null },
    /^AT +WHO +WHAT +OF +CHANGE +REASON\n/,
    /Z {2,}ann {2,}channel\.update {2,}notes\/beta {2,}b: 100 -> 7 {2,}-\n/,
    / {2,}key {2,}name: ci, prefix: x {2,}-\n$/,
  ],
  [
    LIST,
    { releases: [{ ...RELEASE, standing: STANDING }, RELEASE], total: 2 },
    /^VERSION {2}APP {4}CHANNEL {2}STATE {6}ROLLOUT +FILES +PUBLISHED\n/,
    // The second as for a key that may not read.
    /\n1\.2\.3 {4}notes {2}stable {3}serving {4}5 % .+\n1\.2\.3 {4}notes {2}stable {3}published {2}5 % /,
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are for terminals alone.
    /^[^\u001b]+$/,
  ],
  [
    'explain --app notes --device d',
    { ...EXPLAINED, candidates: [PASSED_OVER] },
    /^outside-cohort: nothing\nid: d\n/,
    /\n1\.2\.3 +stable +outside-cohort +77 +0 +ring In a,b\n$/,
  ],
  [
    'release promote --app notes --from a --to b --version 1.2.3 --dry-run',
    { release: { ...RELEASE, artifacts: FILES }, findings: [], effect: EFFECT },
    /^FILE +PLATFORM +ARCH +FORMAT +SIGNED +SIZE +ADDRESS\na\.zip +linux +- +zip +no +3 +https:/,
    /\nfindings: none\neffect: of about 9 devices, 0 are newly offered 1\.2\.3, 2 are offered nothing/,
    /\n {2}about 2: 1\.2\.2 -> no offer\nrehearsed: notes 1\.2\.3 on stable \(published, 5 %\)\n$/,
  ],
  ['devices --app notes', STRANGERS, /^a\\u0085b\\u2066 .* lin\\u202eux\/arm /m],
  ['devices --app notes --json', STRANGERS, /"a\\u0085b\\u2066","platform":"lin\\u202eux"/],
  [WEBHOOK, HOOK, /^url: http:.*\nsecret: s\n\nA code host .* cannot reach this address: PUBLIC_/],
  [`${WEBHOOK} --json`, HOOK, /^\{"url":"http:[^"]+","secret":"s"\}\n$/],
  ['org list --json', SESSION, /^\{"organizations":\[\{"id":"org_1","name":"A"\}\]\}\n$/],
  ['key list --org o --json', { keys: [{}] }, /^\{"keys":\[\{\}\]\}\n$/],
  ['audit --org o --json', { entries: [{ id: 'e', at: 1 }] }, /^\{"entries":\[\{"at":1\}\]\}/],
])('%s prints its answer (Command line)', async (line, answer, ...printed) => {
  const { code, stdout, stderr } = await answered(line, answer);
  expect([code, stderr]).toEqual([0, '']);
  for (const each of printed) expect(stdout).toMatch(each);
});

it.each<[line: string, answer: object, call: string]>([
  [
    'devices --app notes --limit 1',
    { devices: [STRANGER], next: "b's own" },
    'GET devices?app=notes&limit=1&after=b%27s+own',
  ],
  ['devices --app notes', { devices: [STRANGER], next: '-c' }, 'GET devices?app=notes&after=-c'],
  [
    'audit --org o --limit 2',
    { entries: [{ ...CHANGED, subject: 'a' }], next: 'e.1' },
    'GET audit?org=o&limit=2&before=e.1',
  ],
  [
    `${LIST} --per-page 1`,
    { releases: [RELEASE], total: 3 },
    'GET releases?app=notes&perPage=1&page=2&standing=true',
  ],
])('%s ends in the command for the next page (Command line)', async (line, answer, call) => {
  const { stdout } = await answered(line, answer);
  const [, next] = /^… more: sluice (.*)$/m.exec(stdout) ?? [];
  await answered(String(next), answer, shellWordsOf);
  expect(shell.asked[1]?.call).toBe(call);
});

it('a last page ends without one, and says how many there are (Command line)', async () => {
  const page = { releases: [RELEASE], total: 3 };
  const { stdout } = await answered(`${LIST} --page 3 --per-page 1`, page);
  expect(stdout).toMatch(/\n1 of 3\n$/);
});

it.each(
  rowsOf(`
  --name: org create | org create --name | org create --nmae a | app create --org o --ref r
  argument: org create --name a b | key revoke | account reset-password
  orgg: orgg
  delete: org delete
  --limit: audit --org o --limit many | devices --app a --limit many
  --first-seen-after: devices purge --app a
  --app: devices | devices purge --first-seen-after ${TIME}
  --default-rollout: ${UPDATE} --default-rollout -1 | ${UPDATE} --default-rollout 5.5
  --update-mode: ${UPDATE} --update-mode required
  Not 0 to 100: release rollout 101 ${NAMED}
  path: release publish ${NAMED} --url-base ${URL_BASE}
  Not an http: release publish / ${NAMED} --url-base ftp://x
  must not have ? or #: release publish / ${NAMED} --url-base https://x/?a=b
  KEY=VALUE: release publish / ${NAMED} --label x
  Not a whole number: release publish / ${NAMED} --rollout ten
  `),
)('%s is wrong usage, and asks nothing (Command line)', async (line, reason) => {
  await shell.expectEnd(wordsOf(line), 2, reason);
  expect(shell.asked).toEqual([]);
});

it('--help of a command marks what is required, and has defaults, environment and an example (Command line)', async () => {
  const { code, stdout } = await shell.sluice(['release', 'publish', '--help']);
  expect(code).toBe(0);
  const text = stdout.replace(/\s+/g, ' ');
  expect(text).toContain('--app <ref> app (required)');
  expect(text).toContain("devices that get it (default: the channel's)");
  expect(text).toContain('(one of careful, normal, fast)');
  expect(text).toContain('SLUICE_KEY API key (required)');
  expect(text).toMatch(/SLUICE_URL address .* \(default: http:/);
  expect(stdout).toMatch(/^Example:\n {2}sluice release publish dist --app notes /m);
  const operators = await shell.sluice(['devices', '--help']);
  expect(operators.stdout).toMatch(/ADMIN_TOKEN .*\n.*DATA_DIR/);
  expect(operators.stdout.match(/\(required/g)).toHaveLength(1);
});

/** Answers of a service that has one organization with one app, by the beginning of the call. */
const KNOWN: readonly (readonly [call: string, answer: object])[] = [
  ['GET session', SESSION],
  ['GET apps', { apps: [{ ref: 'notes' }] }],
  ['GET channels', { channels: [{ name: 'beta' }, { name: 'stable' }] }],
  ['GET releases', { releases: [{ version: '1.2.2' }, { version: '1.2.1' }] }],
];

it.each<[line: string, error: string, words: string]>([
  ['channel create --app notse --name x', 'app', 'Unknown app "notse": there is notes'],
  [`release pause ${NAMED}`, 'app', 'Unknown app "notes": this key knows notes'],
  [PAUSE_STABEL, 'channel', 'Unknown channel "stabel": notes has beta, stable'],
  ['channel update --app notes --name nope', 'channel', '"nope": notes has beta, stable'],
  [`release pause ${NAMED}`, 'release', '"1.2.3" on stable: the newest are 1.2.2, 1.2.1'],
  ['key create --org o --name x', 'organization', '"o": there is org_1 (A)'],
])('%s, of an unknown %s, names known ones (Command line)', async (line, error, words) => {
  shell.instead = ({ call }) => {
    const known = KNOWN.find(([beginning]) => call.startsWith(beginning));
    return known === undefined ? [404, { error: `Unknown ${error}` }] : [200, known[1]];
  };
  await shell.expectEnd(wordsOf(line), 1, words);
});

it('a channel without releases is told, and names that the key may not read are left out (Command line)', async () => {
  const words = /^sluice: Unknown release "1\.2\.3" on stable: there is none\n$/;
  await shell.expectEnd(wordsOf(`release show ${NAMED}`), 1, words);
  shell.instead = ({ call }) =>
    call.startsWith('PATCH') ? [404, { error: 'Unknown app' }] : [403, { error: 'May not' }];
  await shell.expectEnd(wordsOf(`release pause ${NAMED}`), 1, /^sluice: Unknown app\n$/);
});

describe('the address and the token', () => {
  const CREATE = ['org', 'create', '--name', 'A'];

  it.each([
    ['', /no admin token/],
    ['secret\nx', /ADMIN_TOKEN/],
    ['secretß', /ADMIN_TOKEN/],
  ])('the token %j is refused, and never shown (Command line)', async (token, words) => {
    const { code, stdout, stderr } = await shell.sluice(CREATE, { ADMIN_TOKEN: token });
    expect([code, stdout, stderr.includes('secret')]).toEqual([1, '', false]);
    expect(stderr).toMatch(ONE_LINE);
    expect(stderr).toMatch(words);
  });

  it('a wrong address is named, with what it must be (Command line)', async () => {
    shell.instead = () => [404, { error: 'Not found' }];
    const SLUICE_URL = `${shell.url}/nowhere`;
    const nothing = `nothing at ${SLUICE_URL}/console/api/organizations: SLUICE_URL must be `;
    await shell.expectEnd(CREATE, 1, nothing, { SLUICE_URL });
    const words = /^sluice: SLUICE_URL: must be an http:\/\/ or /;
    await shell.expectEnd(CREATE, 1, words, { SLUICE_URL: 'localhost:8080' });
  });

  it('without SLUICE_URL the service is found by HOST and PORT (Command line)', async () => {
    shell.instead = () => [201, { id: 'org_1' }];
    const { hostname, port } = new URL(shell.url);
    const env = { SLUICE_URL: undefined, HOST: hostname, PORT: port };
    const { code } = await shell.sluice(CREATE, env);
    expect([code, shell.asked.length]).toEqual([0, 1]);
  });
});
