// Runs every command that `sluice` declares as a person does, without --json, against a node of its own: it
// ends well and prints what a person can read. A command without a row here fails the test.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addLocalCommands, type LocalCommands } from '../../src/cli/command/local-commands.ts';
import { commandTree, runnableCommands } from '../support/command-tree.ts';
import { ADMIN_TOKEN, type ServingNode, startNode } from '../support/node.ts';
import { member } from '../support/person.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { type CommandResult, runSluiceHere } from '../support/sluice-command.ts';
import { admin, createTenant, type Tenant } from '../support/tenant.ts';

/** What the tests of a command have: a node, a tenant of its own there, and a folder. */
type Place = { readonly node: ServingNode; readonly tenant: Tenant; readonly folder: string };
type Args = readonly string[] | Promise<readonly string[]>;
type Row = readonly [args: (place: Place) => Args, shown: RegExp];

const MADE = /^id: \w+$/m;
const RELEASE = /^version: 1\.0\.0$/m;
const PLAN = /^STEP +ROLLOUT/m;
const GITHUB_RELEASES = [
  { tag_name: 'v2.0.0', draft: false, prerelease: false, created_at: '2026-01-01T00:00:00Z' },
];

const org = ({ tenant }: Place): string[] => ['--org', tenant.org];
const app = ({ tenant }: Place): string[] => ['--app', tenant.app];
const onStable = (place: Place): string[] => [...app(place), '--channel', 'stable'];
const named = (place: Place): string[] => [...onStable(place), '--version', '1.0.0'];

/** Arguments for a release that is published at 10 %. */
async function ofRelease(place: Place, ...more: string[]): Promise<string[]> {
  await place.tenant.publish('1.0.0', { rollout: 10 });
  return [...named(place), ...more];
}

/** Arguments for a release with a plan. */
async function ofPlan(place: Place): Promise<string[]> {
  const args = await ofRelease(place);
  const name = { app: place.tenant.app, channel: 'stable', version: '1.0.0' };
  const steps = [{ rollout: 20, holdMinutes: 60 }];
  await place.tenant.manage('PUT', 'releases/plan', { ...name, steps });
  return args;
}

/** Arguments for a destination. */
async function destination(
  { node, tenant }: Place,
  to: object = { kind: 'webhook', url: 'https://ops.example.com/hook' },
): Promise<string[]> {
  const body = { org: tenant.org, name: 'ops', ...to };
  return [String((await admin(node, 'POST', 'destinations', body)).body?.id)];
}

async function withWebhook(place: Place, ...more: string[]): Promise<string[]> {
  const body = { app: place.tenant.app, provider: 'github' };
  await admin(place.node, 'POST', 'webhooks', body);
  return [...app(place), ...more];
}

async function withDevices(place: Place, ...more: string[]): Promise<string[]> {
  const devices = ['a', 'b', 'c'].map((deviceId) => ({
    ...{ deviceId, version: '0.9.0', platform: 'linux' },
  }));
  await place.tenant.report(devices);
  return [...app(place), ...more];
}

/** Arguments for a call that waits for an approval. */
async function approval(place: Place): Promise<string[]> {
  const { tenant } = place;
  await tenant.setChannel({ approvals: 'one' });
  const { body } = await tenant.publish('1.0.0');
  return [idOf(body?.approval)];
}

function idOf(found: unknown): string {
  return String((found as { readonly id: string }).id);
}

async function account({ node, tenant }: Place): Promise<string[]> {
  return [(await member(node, tenant.org, 'viewer')).email];
}

function build({ folder }: Place): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'Notes-1.0.0-linux-x86_64.AppImage'), 'a build');
  return folder;
}

function githubJson({ folder }: Place): string {
  mkdirSync(folder, { recursive: true });
  const assets = [
    {
      ...{ name: 'Notes-2.0.0.AppImage', state: 'uploaded', size: 7 },
      browser_download_url: 'https://dl.example.com/Notes-2.0.0.AppImage',
    },
  ];
  const path = join(folder, 'releases.json');
  writeFileSync(path, JSON.stringify(GITHUB_RELEASES.map((release) => ({ ...release, assets }))));
  return path;
}

/** Arguments for what something was made for, which is not named. */
function after(make: (place: Place) => unknown, args: (place: Place) => string[]) {
  return async (place: Place) => {
    await make(place);
    return args(place);
  };
}

async function edgeToken({ node }: Place): Promise<string[]> {
  const { body } = await admin(node, 'POST', 'edge-tokens', { name: 'west', org: null });
  return [idOf(body)];
}

/** Arguments for a gateway token, or a secret of device tokens, that the endpoint makes. */
function credential(endpoint: string) {
  return async ({ node, tenant }: Place) => {
    const body = { app: tenant.app, ...(endpoint === 'gateway-tokens' && { name: 'proxy' }) };
    return [idOf((await admin(node, 'POST', endpoint, body)).body), '--app', tenant.app];
  };
}

/** Arguments for a plan that is held. */
async function ofHeldPlan(place: Place): Promise<string[]> {
  const args = await ofPlan(place);
  const body = { app: place.tenant.app, channel: 'stable', version: '1.0.0', action: 'hold' };
  await place.tenant.manage('PATCH', 'releases/plan', body);
  return args;
}

/** Arguments for a stop of a release. */
async function ofStop(place: Place): Promise<string[]> {
  await ofRelease(place);
  const { app: stopped } = place.tenant;
  const { body } = await place.tenant.manage('POST', 'stop', { app: stopped });
  return [idOf(body?.stop)];
}

/** Command and what it prints, by its name. */
const ROWS: Readonly<Record<string, Row>> = {
  'org create': [() => ['--name', 'Acme'], MADE],
  'org list': [() => [], /^ID +NAME$/m],
  'app create': [
    (place) => [...org(place), '--ref', `new-${place.tenant.app}`, '--name', 'A'],
    /^channels: stable, beta$/m,
  ],
  'app rename': [(place) => [...app(place), '--name', 'Other'], /^name: Other$/m],
  'app archive': [app, /^archivedAt: \d/m],
  'app restore': [app, /^archivedAt: -$/m],
  'app set': [
    (place) => [...app(place), '--ddi-auth', 'token'],
    /^ddiAuth: token\n\nLabels that are told/m,
  ],
  'app list': [org, /^REF +NAME/m],
  'channel create': [(place) => [...app(place), '--name', 'nightly'], /^name: nightly$/m],
  'channel update': [
    (place) => [...app(place), '--name', 'stable', '--default-rollout', '5'],
    /^defaultRollout: 5$/m,
  ],
  'channel list': [app, /^NAME +ROLLOUT/m],
  'key create': [(place) => [...org(place), '--name', 'ci'], /^secret: sluice_/m],
  'key revoke': [({ tenant }) => [tenant.keyId], /^revokedAt: \d/m],
  'key list': [org, /^ID +NAME/m],
  'webhook enable': [(place) => [...app(place), '--provider', 'github'], /^secret: /m],
  'webhook update': [
    (place) => withWebhook(place, '--provider', 'github', '--hold'),
    /^hold: true$/m,
  ],
  'webhook disable': [withWebhook, /^enabled: false$/m],
  'webhook show': [withWebhook, /^PROVIDER +STATE/m],
  'notify add': [
    (place) => [
      ...[...org(place), '--kind', 'webhook', '--url', 'https://ops.example.com/hook'],
      ...['--name', 'ops'],
    ],
    /^secret: whsec_/m,
  ],
  'notify list': [after(destination, org), /^ID +NAME/m],
  'notify test': [destination, /^Sent the event test, as dlv_\w+: .*notify list/m],
  'notify send-link': [
    (place) => destination(place, { kind: 'mail', to: 'ops@example.com' }),
    /^recipient: waiting$/m,
  ],
  'notify remove': [destination, MADE],
  'edge-token create': [() => ['--name', 'west', '--all'], /^secret: sluice-edge_/m],
  'edge-token list': [after(edgeToken, () => []), /^ID +NAME/m],
  'edge-token revoke': [edgeToken, /^revokedAt: \d/m],
  'ddi token add': [(place) => [...app(place), '--name', 'proxy'], /^token: [\w-]{32}$/m],
  'ddi token list': [after(credential('gateway-tokens'), app), /^ID +NAME +STATE/m],
  'ddi token revoke': [credential('gateway-tokens'), /^revokedAt: \d/m],
  'ddi secret add': [app, MADE],
  'ddi secret list': [after(credential('ddi-secrets'), app), /^ID +CREATED/m],
  'ddi secret remove': [credential('ddi-secrets'), MADE],
  'ddi device-token': [(place) => ['a', 'b', ...app(place)], /^DEVICE +TOKEN\na +[\w-]{32}$/m],
  audit: [org, /^AT +WHO +WHAT/m],
  'secrets reseal': [() => [], /^resealed: \d+$/m],
  backup: [({ folder }) => [`${folder}.tar.gz`], /^bytes: \d+$/m],
  'account reset-password': [account, /^url: http/m],
  'account recover': [account, /^url: http/m],
  devices: [withDevices, /^DEVICE +VERSION/m],
  'devices purge': [
    (place) => withDevices(place, '--first-seen-after', '2020-01-01T00:00:00Z'),
    /^deleted: 3 devices$/m,
  ],
  'release publish': [
    (place) => [build(place), ...named(place), '--url-base', 'https://dl.example.com'],
    /^published: /m,
  ],
  'release list': [(place) => ofRelease(place), /^VERSION +APP/m],
  'release show': [
    (place) => ofRelease(place),
    /^release: \S+ 1\.0\.0 on stable\n.+\n.+\nstate: rolling out.*\nrollout: 10 %\ntargets: every device$/m,
  ],
  'release rollout': [async (place) => ['20', ...(await ofRelease(place))], RELEASE],
  'release pause': [(place) => ofRelease(place), /^status: paused$/m],
  'release resume': [(place) => ofRelease(place), /^status: published$/m],
  'release rollback': [(place) => ofRelease(place), /^status: rolled_back$/m],
  'release deprecate': [(place) => ofRelease(place, '--dry-run'), /^effect: /m],
  'release promote': [
    after(ofRelease, (place) => [
      ...[...app(place), '--from', 'stable', '--to', 'beta', '--version', '1.0.0'],
    ]),
    /^promoted: .* on beta/m,
  ],
  'release withdraw': [(place) => ofRelease(place), RELEASE],
  'release retry': [(place) => ofRelease(place), /^0 devices get 1\.0\.0 on stable again$/m],
  'plan set': [(place) => ofRelease(place, '--preset', 'careful'), PLAN],
  'plan show': [ofPlan, PLAN],
  'plan hold': [ofPlan, /^status: held$/m],
  'plan resume': [ofHeldPlan, /^status: running$/m],
  'plan advance': [ofPlan, PLAN],
  'plan cancel': [ofPlan, /^status: cancelled$/m],
  stop: [after(ofRelease, app), /^paused +stable 1\.0\.0$/m],
  resume: [ofStop, /^published +stable 1\.0\.0$/m],
  'approval list': [after(approval, app), /^ID +STATUS/m],
  'approval show': [approval, /pending$/m],
  'device erase': [async (place) => ['a', ...(await withDevices(place))], /^Erased/m],
  explain: [
    async (place) => {
      await withDevices(place);
      return [...(await ofRelease(place)).slice(0, 4), '--device', 'a'];
    },
    /^VERSION +CHANNEL/m,
  ],
  import: [
    (place) => [...onStable(place), '--github-json', githubJson(place)],
    /^2\.0\.0 +published/m,
  ],
  doctor: [() => [], /^ok {3}node: /m],
  migrate: [() => [], /^from: 1\nto: 2$/m],
  move: [() => ['--dry-run'], /^Nothing has moved: .* db\.example\.com\/sluice/m],
};

/** Commands that go on running; most other tests start one. */
const ENDLESS: ReadonlySet<string> = new Set(['serve', 'edge']);

/** What reads the settings and stores of the service is tested elsewhere: here it only answers. */
const LOCAL: LocalCommands = {
  diagnose: async () => ({ checks: [{ name: 'node', ok: true, message: 'Node.js 22' }] }),
  edge: async () => undefined,
  migrate: async () => ({ from: 1, to: 2 }),
  move: async (_to, isDryRun) => ({
    ...{ tables: 50, rows: 144, seconds: 1.5, to: 'db.example.com/sluice', moved: !isDryRun },
  }),
  undoMove: async () => true,
};

describe('every command without --json', () => {
  let node: ServingNode;
  let folder: string;
  beforeAll(async () => {
    folder = temporaryFolder('sluice-commands-');
    node = await startNode({
      ...{ SECRET_KEY: 'a key of the tests', MAIL_FROM: 'updates@example.com' },
      // No mail has to arrive.
      SMTP_URL: 'smtp://127.0.0.1:1',
    });
  });
  afterAll(async () => {
    await node?.dispose();
    removeFolder(folder);
  });

  it('has a row here', () => {
    const names = runnableCommands(commandTree()).map(([name]) => name);
    expect([...Object.keys(ROWS), ...ENDLESS].toSorted()).toEqual(names.toSorted());
  });

  it.each(Object.entries(ROWS))('%s: ends well, with text for a person', async (name, row) => {
    const [argsOf, shown] = row;
    const tenant = await createTenant(node);
    const args = await argsOf({ node, tenant, folder: join(folder, tenant.app) });
    const result = await runSluiceHere(
      [...name.split(' '), ...args],
      { SLUICE_URL: node.url, ADMIN_TOKEN, SLUICE_KEY: tenant.secret },
      (program) => addLocalCommands(program, LOCAL),
    );
    expectReadable(result);
    expect(result.stdout).toMatch(shown);
  });
});

function expectReadable({ code, stdout, stderr }: CommandResult): void {
  expect([code, stderr], stdout).toEqual([0, '']);
  expect(stdout.trim()).not.toBe('');
  // Neither JSON, nor what a program knows: null, a cursor, nothing at all.
  expect(stdout).not.toMatch(/[[{]"|\bnull\b|\bundefined\b|^next: |: (?:\[\]|\{\})?$/m);
}
