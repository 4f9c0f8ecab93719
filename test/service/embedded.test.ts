// Tests what the embedded set-up can change, which `npm start` runs without PostgreSQL and Redis: a start on
// an empty directory, one answer of each kind, and that the same answers are given from a restored backup. It
// goes on after kill -9 in tour.test.ts, and on a directory of an earlier version in
// test/release/upgrade.test.ts. Rules are tested on the best set-up that there is (test/support/matrix.ts),
// the ports of this one by their contract suites, its crashes in test/faults.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { deliver, enableWebhook, type Hook, releaseEvent } from '../support/github.ts';
import { ADMIN_TOKEN, type ServingNode, startNode } from '../support/node.ts';
import { member, Person } from '../support/person.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import {
  ARTIFACT,
  admin,
  check,
  control,
  createTenant,
  decisions,
  devicesOf,
  publish,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Answered = { readonly status: number; readonly text: string };
type Question = readonly [name: string, path: string, status: number, shown: string];

const PUBLIC_URL = 'https://updates.example.com';
/** Settings that count as unset, because they are empty. */
const EMPTY = Object.fromEntries(
  [
    ...['HOST', 'DATABASE_URL', 'REDIS_URL', 'ADMIN_TOKEN', 'SECRET_KEY'],
    ...['PUBLIC_URL', 'WORKERS', 'TRUST_PROXY', 'LOG_LEVEL'],
  ].map((name) => [name, '']),
);
const FILES = 'https://downloads.example.com';
const ARTIFACTS = [
  { ...ARTIFACT, url: `${FILES}/app.AppImage`, sha512: 'x', size: 1234 },
  { platform: 'darwin', arch: 'aarch64', url: `${FILES}/app.zip`, size: 77 },
];
const RELEASE = 'app={app}&channel=stable&version=1.0.0';

/** What devices, publishers and people read: status, and a part of the answer. */
const QUESTIONS: readonly Question[] = [
  ['a check that is offered', 'u/{app}/stable/linux/x86_64/0.9.0', 200, '"version":"1.0.0"'],
  ['one by the id of the app', 'u/{id}/stable/linux/x86_64/0.9.0', 200, '"version":"1.0.0"'],
  ['one that is up to date', 'u/{app}/stable/linux/x86_64/1.0.0', 204, ''],
  ['one with labels', 'u/{app}/stable/linux/x86_64/1.0.0?l.ring=early', 200, '"version":"2.0.0"'],
  ['one of a channel', 'u/{app}/beta/linux/x86_64/0.9.0', 204, ''],
  ['one of an unknown app', 'u/nobody/stable/linux/x86_64/1.0.0', 404, 'Unknown app'],
  ['one of an unknown channel', 'u/{app}/none/linux/x86_64/1.0.0', 404, 'Unknown channel'],
  ['one of no version', 'u/{app}/stable/linux/x86_64/x', 400, 'version: '],
  ['one sent down', 'u/{app}/stable/linux/x86_64/1.5.0', 200, '"allowDowngrade":true'],
  ['Electron', 'e/{app}/stable/latest-linux.yml', 200, "version: '1.0.0'"],
  ['Squirrel', 'squirrel/{app}/stable/win32-x64/0.9.0/RELEASES', 200, ''],
  ['Velopack', 'velopack/{app}/stable/releases.win.json', 200, '{"Assets":[]}'],
  ['Sparkle', 'sparkle/{app}/stable/appcast.xml', 200, `<link>${PUBLIC_URL}/sparkle`],
  ['a download', 'download/{app}/stable/linux/x86_64', 302, ''],
  ['a feed', 'feed/{app}/stable', 200, '"version":"1.0.0"'],
  ['a feed as RSS', 'feed/{app}/stable/rss.xml', 200, `<link>${PUBLIC_URL}/feed/{app}/stable`],
  ['apps', 'api/v1/apps', 200, '"ref":"{app}"'],
  ['releases', 'api/v1/releases?app={app}', 200, '"total":4'],
  ['the health of a release', `api/v1/releases/health?${RELEASE}`, 200, 'too early'],
  ['the apps of the console', 'console/api/apps?org={org}', 200, '"devices":2'],
  ['a channel', 'console/api/channel?app={app}&channel=stable', 200, '"defaultRollout":60'],
  ['a release and its history', `console/api/release?${RELEASE}`, 200, 'release.publish'],
  ['a plan', `console/api/releases/plan?${RELEASE}`, 200, '"plan":null'],
  ['labels', 'console/api/labels?app={app}', 200, '"ring"'],
  ['a device', 'console/api/device?app={app}&deviceId=told', 200, '"ring":"early"'],
  ['the fleet', 'console/api/fleet?app={app}', 200, '0.9.0'],
  ['adoption', 'console/api/adoption?app={app}&step=day', 200, '"points"'],
  ['a decision', 'console/api/decision?app={app}&deviceId=told', 200, '"version":"2.0.0"'],
  ['a search', 'console/api/search?org={org}&text=1.0', 200, '"1.0.0"'],
  ['members', 'console/api/members?org={org}', 200, '"role":"owner"'],
  ['keys', 'console/api/keys?org={org}', 200, '"name":"ci"'],
  ['webhooks', 'console/api/webhooks?app={app}', 200, '"enabled":true'],
  ['the audit', 'console/api/audit?org={org}&limit=100', 200, 'organization.create'],
  ['edge tokens', 'console/api/edge-tokens', 200, '"name":"west"'],
];

/** What was made for the questions. */
type Made = { readonly tenant: Tenant; readonly hook: Hook; readonly owner: Person };

async function furnish(node: ServingNode): Promise<Made> {
  const tenant = await createTenant(node);
  const owner = await member(node, tenant.org, 'owner');
  const hook = await enableWebhook(node, tenant);
  await admin(node, 'POST', 'edge-tokens', { name: 'west', org: tenant.org });
  const artifacts = { artifacts: ARTIFACTS };
  const targets = { matchLabels: { ring: ['early'] } };
  await publish(node, tenant, '1.0.0', artifacts);
  await publish(node, tenant, '1.5.0', artifacts);
  await control(node, tenant, '1.5.0', { status: 'rolled_back' });
  await publish(node, tenant, '2.0.0', { ...artifacts, targets });
  const channel = { app: tenant.app, name: 'stable', defaultRollout: 60 };
  await admin(node, 'PATCH', 'channels', channel);
  const told = { deviceId: 'told', version: '0.9.0', platform: 'linux', arch: 'x86_64' };
  await report(node, tenant, [{ ...told, channel: 'stable', labels: { ring: 'early' } }]);
  await check(node, tenant, '0.9.0', { device: 'asked' });
  expect((await publishOnce(node, tenant)).status).toBe(201);
  await eventually('the offer is on record', async () => {
    return (await devicesOf(node, tenant, 'offered=1.0.0')).length === 1;
  });
  return { tenant, hook, owner };
}

/** Publishes a release that no device gets, under an idempotency key. */
function publishOnce(node: ServingNode, { app, secret }: Tenant) {
  const headers = { authorization: `Bearer ${secret}`, 'idempotency-key': 'build-17' };
  const body = { app, channel: 'beta', version: '3.0.0', rollout: 0, artifacts: ARTIFACTS };
  return send(node, 'POST', '/api/v1/releases', { headers, body });
}

/** Fills a text with the names that it asks for. */
function filled(text: string, { app, appId, org }: Tenant): string {
  return text.replaceAll('{app}', app).replaceAll('{id}', appId).replaceAll('{org}', org);
}

/** Asks all questions; times and what deliveries tell of webhooks are left out of the answers. */
async function answersOf(node: ServingNode, { tenant }: Made): Promise<Map<string, Answered>> {
  const answers = new Map<string, Answered>();
  for (const [name, path] of QUESTIONS) {
    const token = path.startsWith('console/') ? ADMIN_TOKEN : tenant.secret;
    const answer = await fetch(`${node.url}/${filled(path, tenant)}`, {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'manual',
    });
    const text = (await answer.text())
      .replaceAll(/"deliveries":\[[^\]]*\]/g, '')
      .replaceAll(/"repository":(?:null|"[^"]*")/g, '')
      .replaceAll(/"lastUsed(?:At|From)":(?:null|"[^"]*")/g, '')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'a time');
    answers.set(name, { status: answer.status, text });
  }
  return answers;
}

/** What was promised before, each with the answer to what would break it. */
const PROMISES: readonly (readonly [
  name: string,
  ask: (node: ServingNode, made: Made) => Promise<readonly unknown[]>,
  answer: readonly unknown[],
])[] = [
  [
    'a rolled-back release is not served again',
    async (node, { tenant }) => {
      const { status, body } = await control(node, tenant, '1.5.0', { status: 'published' });
      return [status, body?.error];
    },
    [409, 'A rolled-back release cannot be re-served'],
  ],
  [
    'the rollout of an offered release is not lowered',
    async (node, { tenant }) => [(await control(node, tenant, '1.0.0', { rollout: 1 })).status],
    [422],
  ],
  [
    'a version is published once',
    async (node, { tenant }) => [(await publish(node, tenant, '1.0')).status],
    [409],
  ],
  [
    'a call with the same idempotency key gets its first answer',
    async (node, { tenant }) => {
      const { status, body } = await publishOnce(node, tenant);
      return [status, body];
    },
    [201, { release: expect.objectContaining({ version: '3.0.0' }) }],
  ],
  [
    'a session goes on',
    async (node, { owner }) => {
      const headers = { cookie: `sluice_session=${owner.token}` };
      const { body } = await send(node, 'GET', '/console/api/session', { headers });
      return [(body?.account as { email: string } | undefined)?.email === owner.email];
    },
    [true],
  ],
  [
    'the secret of a webhook opens with the generated key',
    async (node, { hook }) => {
      const { status, body } = await deliver(node, hook, releaseEvent('v1.0.0'));
      return [status, body?.outcome];
    },
    [200, 'duplicate'],
  ],
];

describe('the embedded set-up', () => {
  const folder = temporaryFolder('sluice-embedded-');
  const dataDir = join(folder, 'there', 'yet');
  let node: ServingNode;
  let made: Made;
  let output = '';
  let first: Map<string, Answered>;

  beforeAll(async () => {
    node = await startNode({ ...EMPTY, DATA_DIR: `${folder}/not/../there/yet` });
  });
  afterAll(async () => {
    await node?.stop();
    removeFolder(folder);
  });

  /** Ends the node, and starts one on a directory. */
  async function startOn(directory: string): Promise<void> {
    await node.stop();
    node = await startNode({ DATA_DIR: directory, PUBLIC_URL: `${PUBLIC_URL}/` });
  }

  async function expectSame(): Promise<void> {
    let present = await answersOf(node, made);
    // The first check of a channel reads it, which a busy machine may not do in the time of a check.
    await eventually('the ledger is in time', async () => {
      present = await answersOf(node, made);
      return [...present.values()].every(({ status }) => status !== 503);
    });
    for (const [name] of QUESTIONS) {
      expect([name, present.get(name)]).toEqual([name, first.get(name)]);
    }
  }

  describe('started on an empty directory', () => {
    it.each(['admin-token', 'secret-key'])(
      'makes an %s that only its owner can read, and never prints it (Environment)',
      (name) => {
        const file = join(dataDir, name);
        const secret = readFileSync(file, 'utf8').trim();
        expect([statSync(file).mode & 0o777, secret]).toEqual([
          0o600,
          expect.stringMatching(/^[\w-]{43}$/),
        ]);
        expect(node.output()).not.toContain(secret);
        expect(existsSync(join(dataDir, 'ledger.used'))).toBe(true);
      },
    );

    it('says in plain words where it serves and keeps its state, and the first steps', async () => {
      await eventually('the welcome', () => node.output().includes('org create'));
      const welcome = node.output();
      expect(welcome).toContain(`Sluice is serving at ${node.url}\n`);
      expect(welcome).toMatch(new RegExp(`State +${dataDir} `));
      expect(welcome).toContain(join(dataDir, 'admin-token'));
      expect(welcome).toMatch(/^ {2}sluice org create --name /m);
      expect(welcome).toContain('(the first visit creates the owner, with the admin token)');
      const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
      expect((await new Person(node).setUp('A', token)).status).toBe(201);
    });

    it('is ready, and the command line finds its token; ADMIN_TOKEN goes before it (Command line)', async () => {
      expect((await send(node, 'GET', '/readyz')).body).toEqual({ status: 'ready' });
      const command = ['org', 'create', '--name', 'First', '--json'];
      const env = { SLUICE_URL: node.url, DATA_DIR: dataDir };
      expect(JSON.parse((await runSluiceHere(command, env)).stdout)).toMatchObject({
        name: 'First',
      });
      expect((await runSluiceHere(command, { ...env, ADMIN_TOKEN: 'wrong' })).code).toBe(1);
    });

    it('lets nobody else start on it, who is told which process has it', async () => {
      const second = startNode({ DATA_DIR: dataDir });
      await expect(second).rejects.toThrow(/DATA_DIR: .*in use by process \d+/);
    });
  });

  describe('after a restart', () => {
    beforeAll(async () => {
      await startOn(dataDir);
      made = await furnish(node);
      first = await answersOf(node, made);
    });

    it('says where it serves, and no first steps any more', async () => {
      await eventually('the welcome', () => node.output().includes(`${PUBLIC_URL}\n`));
      expect(node.output()).not.toMatch(/first visit|org create/);
    });

    it('has what was made before', async () => {
      expect((await admin(node, 'GET', 'session')).text).toContain('"First"');
    });

    it.each(QUESTIONS)('%s: %s is %d', (name, _, status, shown) => {
      const { status: found, text } = first.get(name) ?? { status: 0, text: '' };
      expect([found, text]).toEqual([status, expect.stringContaining(filled(shown, made.tenant))]);
    });

    it.each(PROMISES)('%s', async (_, ask, answer) => {
      expect(await ask(node, made)).toEqual(answer);
    });
  });

  describe('from a backup that was made while it served', () => {
    const file = join(folder, 'backup.tar.gz');
    const restored = join(folder, 'restored');

    beforeAll(async () => {
      const env = { SLUICE_URL: node.url, ADMIN_TOKEN };
      const { code, stderr } = await runSluiceHere(['backup', file], env);
      expect([code, stderr]).toEqual([0, '']);
      // What comes after the backup is not in it.
      expect((await publish(node, made.tenant, '9.0.0')).status).toBe(201);
      output += node.output();
      execFileSync('sh', ['-c', 'mkdir -m 700 "$1" && tar -C "$1" -xzf "$0"', file, restored]);
      await startOn(restored);
    });

    it('is for its owner alone, and holds the generated secrets', () => {
      expect(statSync(file).mode & 0o777).toBe(0o600);
      for (const name of ['admin-token', 'secret-key', 'ledger.used']) {
        expect(existsSync(join(restored, name)), name).toBe(true);
      }
    });

    it('answers as before', expectSame);

    it.each(PROMISES)('%s', async (_, ask, answer) => {
      expect(await ask(node, made)).toEqual(answer);
    });

    it('plans waves by stored labels, takes new releases, and serves them at once', async () => {
      const told = { deviceId: 'told', version: '0.9.0', platform: 'linux', arch: 'x86_64' };
      const wave = await decisions(node, made.tenant, [told]);
      expect([wave.status, wave.text]).toEqual([200, expect.stringContaining('2.0.0')]);
      expect((await publish(node, made.tenant, '5.0.0', { rollout: 100 })).status).toBe(201);
      expect((await check(node, made.tenant, '0.9.0')).body?.version).toBe('5.0.0');
    });
  });

  it('has logged no error meanwhile, but that the backup is older than what was there', () => {
    const lines = (output + node.output()).split('\n');
    const errors = lines.filter((line) => /"level":"(?:error|fatal)"/.test(line));
    expect(errors.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      'the ledger went back or moved: all nodes follow it',
    ]);
  });
});
