// Tests what the embedded set-up can change, which `npm start` runs without PostgreSQL and Redis: a start on
// an empty directory, and one answer of each kind from a restored backup. It goes on after kill -9 in
// documents.test.ts, and on a directory of an earlier version in
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
import { ARTIFACT, admin, createTenant, send, type Tenant } from '../support/tenant.ts';

type Question = readonly [path: string, status: number, shown: string];

const PUBLIC_URL = 'https://updates.example.com';
/** Settings that count as unset, because they are empty. */
const EMPTY = {
  ...{ HOST: '', DATABASE_URL: '', REDIS_URL: '', ADMIN_TOKEN: '', SECRET_KEY: '' },
  ...{ PUBLIC_URL: '', WORKERS: '', TRUST_PROXY: '', LOG_LEVEL: '' },
};
const ARTIFACTS = [
  { ...ARTIFACT, url: 'https://downloads.example.com/app.AppImage', sha512: 'x', size: 1234 },
];
const RELEASE = 'app={app}&channel=stable&version=1.0.0';

/**
 * What devices, publishers and people read: each kind of reading that the ledger knows, with the status and a
 * part of the answer.
 */
const QUESTIONS: readonly Question[] = [
  ['u/{app}/stable/linux/x86_64/0.9.0', 200, '"version":"1.0.0"'],
  ['u/{id}/stable/linux/x86_64/1.0.0', 204, ''],
  ['u/{app}/stable/linux/x86_64/1.0.0?l.ring=early', 200, '"version":"2.0.0"'],
  ['u/nobody/stable/linux/x86_64/1.0.0', 404, 'Unknown app'],
  ['u/{app}/none/linux/x86_64/1.0.0', 404, 'Unknown channel'],
  ['u/{app}/stable/linux/x86_64/1.5.0', 200, '"allowDowngrade":true'],
  ['e/{app}/stable/latest-linux.yml', 200, "version: '1.0.0'"],
  ['download/{app}/stable/linux/x86_64', 302, ''],
  ['feed/{app}/stable/rss.xml', 200, `<link>${PUBLIC_URL}/feed/{app}/stable`],
  ['api/v1/apps', 200, '"ref":"{app}"'],
  ['api/v1/releases?app={app}', 200, '"total":4'],
  [`api/v1/releases/health?${RELEASE}`, 200, 'too early'],
  ['console/api/apps?org={org}', 200, '"devices":2'],
  ['console/api/channel?app={app}&channel=stable', 200, '"defaultRollout":60'],
  [`console/api/release?${RELEASE}`, 200, 'release.publish'],
  [`console/api/releases/plan?${RELEASE}`, 200, '"plan":null'],
  ['console/api/labels?app={app}', 200, '"ring"'],
  ['console/api/device?app={app}&deviceId=told', 200, '"ring":"early"'],
  ['console/api/fleet?app={app}', 200, '0.9.0'],
  ['console/api/adoption?app={app}&step=day', 200, '"points"'],
  ['console/api/decision?app={app}&deviceId=told', 200, '"version":"2.0.0"'],
  ['console/api/search?org={org}&text=1.0', 200, '"1.0.0"'],
  ['console/api/members?org={org}', 200, '"role":"owner"'],
  ['console/api/keys?org={org}', 200, '"name":"ci"'],
  ['console/api/webhooks?app={app}', 200, '"enabled":true'],
  ['console/api/audit?org={org}&limit=100', 200, 'organization.create'],
  ['console/api/edge-tokens', 200, '"name":"west"'],
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
  await tenant.publish('1.0.0', artifacts);
  await tenant.publish('1.5.0', artifacts);
  await tenant.control('1.5.0', { status: 'rolled_back' });
  await tenant.publish('2.0.0', { ...artifacts, targets });
  await tenant.setChannel({ defaultRollout: 60 });
  const told = { deviceId: 'told', version: '0.9.0', platform: 'linux', arch: 'x86_64' };
  await tenant.report([{ ...told, channel: 'stable', labels: { ring: 'early' } }]);
  await tenant.check('0.9.0', { device: 'asked' });
  expect((await publishOnce(tenant)).status).toBe(201);
  await eventually('the offer is on record', async () => {
    return (await tenant.devices('offered=1.0.0')).length === 1;
  });
  return { tenant, hook, owner };
}

/** Publishes a release that no device gets, under an idempotency key. */
function publishOnce(tenant: Tenant) {
  const release = { channel: 'beta', version: '3.0.0', rollout: 0, artifacts: ARTIFACTS };
  const body = { app: tenant.app, ...release };
  return tenant.manage('POST', 'releases', body, { 'idempotency-key': 'build-17' });
}

/** Fills a text with the names that it asks for. */
function filled(text: string, { app, appId, org }: Tenant): string {
  return text.replaceAll('{app}', app).replaceAll('{id}', appId).replaceAll('{org}', org);
}

/** Expects what was promised before, each by the answer to what would break it. */
async function expectPromises(node: ServingNode, { tenant, hook, owner }: Made): Promise<void> {
  const rolledBack = await tenant.at(node).control('1.5.0', { status: 'published' });
  expect([rolledBack.status, rolledBack.body?.error]).toEqual([
    409,
    'A rolled-back release cannot be re-served',
  ]);
  // The rollout of an offered release is not lowered, and a version is published once.
  expect((await tenant.at(node).control('1.0.0', { rollout: 1 })).status).toBe(422);
  expect((await tenant.at(node).publish('1.0')).status).toBe(409);
  // A call with the same idempotency key gets its first answer.
  const again = await publishOnce(tenant.at(node));
  expect([again.status, again.body?.release]).toMatchObject([201, { version: '3.0.0' }]);
  const headers = { cookie: `sluice_session=${owner.token}` };
  const { body } = await send(node, 'GET', '/console/api/session', { headers });
  expect((body?.account as { email: string } | undefined)?.email).toBe(owner.email);
  // The secret of the webhook opens with the generated key.
  const delivered = await deliver(node, hook, releaseEvent('v1.0.0'));
  expect([delivered.status, delivered.body?.outcome]).toEqual([200, 'duplicate']);
}

describe('the embedded set-up', () => {
  const folder = temporaryFolder('sluice-embedded-');
  const dataDir = join(folder, 'there', 'yet');
  let node: ServingNode;
  let made: Made;
  let output = '';

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

    it('is ready, has one process, and the command line finds its token; ADMIN_TOKEN goes before it (Command line)', async () => {
      expect((await send(node, 'GET', '/readyz')).body).toEqual({ status: 'ready' });
      const command = ['org', 'create', '--name', 'First', '--json'];
      const env = { SLUICE_URL: node.url, DATA_DIR: dataDir };
      expect(JSON.parse((await runSluiceHere(command, env)).stdout)).toMatchObject({
        name: 'First',
      });
      expect((await runSluiceHere(command, { ...env, ADMIN_TOKEN: 'wrong' })).code).toBe(1);
      await expect(startNode({ DATA_DIR: dataDir })).rejects.toThrow(
        /DATA_DIR: .*in use by process \d+/,
      );
    });
  });

  describe('after a restart', () => {
    beforeAll(async () => {
      await startOn(dataDir);
      made = await furnish(node);
    });

    it('says where it serves, has what was made before, and no first steps any more', async () => {
      await eventually('the welcome', () => node.output().includes(`${PUBLIC_URL}\n`));
      expect(node.output()).not.toMatch(/first visit|org create/);
      expect((await admin(node, 'GET', 'session')).text).toContain('"First"');
    });

    it('keeps what it promised', () => expectPromises(node, made));
  });

  describe('from a backup that was made while it served', () => {
    const file = join(folder, 'backup.tar.gz');
    const restored = join(folder, 'restored');

    beforeAll(async () => {
      const env = { SLUICE_URL: node.url, ADMIN_TOKEN };
      const { code, stderr } = await runSluiceHere(['backup', file], env);
      expect([code, stderr]).toEqual([0, '']);
      // What comes after the backup is not in it.
      expect((await made.tenant.at(node).publish('9.0.0')).status).toBe(201);
      output += node.output();
      execFileSync('sh', ['-c', 'mkdir -m 700 "$1" && tar -C "$1" -xzf "$0"', file, restored]);
      await startOn(restored);
    });

    it('keeps what it promised; only its owner can read the backup', async () => {
      expect(statSync(file).mode & 0o777).toBe(0o600);
      // The first check of a channel reads it, which a busy machine may not do in the time of a check.
      await eventually('the ledger is in time', async () => {
        return (await made.tenant.at(node).check('0.9.0')).status === 200;
      });
      await expectPromises(node, made);
    });

    it.each(QUESTIONS)('answers %s with %d', async (path, status, shown) => {
      const token = path.startsWith('console/') ? ADMIN_TOKEN : made.tenant.secret;
      const answer = await fetch(`${node.url}/${filled(path, made.tenant)}`, {
        headers: { authorization: `Bearer ${token}` },
        redirect: 'manual',
      });
      const part = expect.stringContaining(filled(shown, made.tenant));
      expect([answer.status, await answer.text()]).toEqual([status, part]);
    });

    it('plans waves by stored labels, takes new releases, and serves them at once', async () => {
      const told = { deviceId: 'told', version: '0.9.0', platform: 'linux', arch: 'x86_64' };
      const wave = await made.tenant.at(node).decisions([told]);
      expect([wave.status, wave.text]).toEqual([200, expect.stringContaining('2.0.0')]);
      expect((await made.tenant.at(node).publish('5.0.0', { rollout: 100 })).status).toBe(201);
      expect(await made.tenant.at(node).offered()).toBe('5.0.0');
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
