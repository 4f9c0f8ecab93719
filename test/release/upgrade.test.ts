// Tests the upgrade from the version before (docs/operating/upgrade.md), built from its commit: two nodes are
// replaced one after the other under load, and nothing fails or is decided otherwise; the way back is the
// backup from before. An older node that starts on the newer schema serves what it knows, or says what to do.

import { spawnSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkOut, ROOT, startArguments } from '../../bench/suite/checkout.ts';
import { describeOnRealStores, realStores } from '../support/backend.ts';
import { runPostgres } from '../support/copied-database.ts';
import { eventually } from '../support/eventually.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { type NodeSettings, type ServingNode, startNode } from '../support/node.ts';
import { own, ownFolder } from '../support/own.ts';
import { startRedis } from '../support/redis-server.ts';
import { repeatCalls } from '../support/repeated-calls.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

/** The version before, as CHANGELOG.md has it. */
const BEFORE = { version: '0.2.0', commit: '359fcc632b7ae641faa20a4678b071c1714b209a' };
const SECRET_KEY = 'a key of the tests';
const DEVICES = Array.from({ length: 100 }, (_, index) => `device-${index}`);

const hasCommit =
  spawnSync('git', ['cat-file', '-e', `${BEFORE.commit}^{commit}`], { cwd: ROOT }).status === 0;
const missing = hasCommit
  ? ''
  : ` (skipped: this clone lacks commit ${BEFORE.commit.slice(0, 8)}: git fetch --unshallow)`;

describe.skipIf(!hasCommit)(`the upgrade from ${BEFORE.version}${missing}`, () => {
  let before: { folder: string; remove: () => void };

  beforeAll(() => {
    before = checkOut(BEFORE.commit);
  });
  afterAll(() => before?.remove());

  async function startOn(settings: NodeSettings, args?: readonly string[]): Promise<ServingNode> {
    return own(await startNode({ SECRET_KEY, ...settings }, args));
  }

  const startBefore = (settings: NodeSettings = {}) =>
    startOn(settings, startArguments(before.folder));

  it('embedded: the directory is taken over, and its copy from before is the way back', async () => {
    const folder = ownFolder();
    const [dataDir, copy] = [join(folder, 'data'), join(folder, 'copy')];
    let node = await startBefore({ DATA_DIR: dataDir });
    const tenant = await furnish(node);
    const expected = await answersOf(tenant.at(node));
    await node.stop();
    cpSync(dataDir, copy, { recursive: true });

    node = await startOn({ DATA_DIR: dataDir });
    expect(await answersOf(tenant.at(node))).toEqual(expected);
    expect((await tenant.at(node).publish('3.0.0')).status).toBe(201);
    const stopped = await tenant.at(node).manage('POST', 'stop', { app: tenant.app });
    expect(stopped.status).toBe(200);
    await node.stop();
    node = await startBefore({ DATA_DIR: dataDir });
    await expectToServeAlone(tenant.at(node));
    await node.stop();

    rmSync(dataDir, { recursive: true });
    cpSync(copy, dataDir, { recursive: true });
    node = await startBefore({ DATA_DIR: dataDir });
    expect(await answersOf(tenant.at(node))).toEqual(expected);
    expect((await tenant.at(node).publish('3.0.0')).status).toBe(201);
  });

  describeOnRealStores('node by node', () => {
    it('under load: nothing fails, and all is as before; the backup is the way back', async () => {
      const stores = await startStores();
      const [settings, folder] = [stores.settings, ownFolder()];
      let first = await startBefore(settings);
      let second = await startBefore(settings);
      const tenant = await furnish(first);
      const expected = await answersOf(tenant.at(first));
      const dump = join(folder, 'sluice.dump');
      await runPostgres('pg_dump', ['--format=custom', `--file=${dump}`, stores.url]);

      const load = startLoad(second, await tenant.at(second).anotherKey(), expected);
      await eventually('there is load', async () => load.published.length > 0);
      await first.stop();
      first = await startOn({ ...settings, DATA_DIR: first.dataDir });
      expect(await answersOf(tenant.at(first))).toEqual(expected);
      await eventually('both versions write', async () => load.published.length > 10);
      load.goTo(first);
      await second.stop();
      second = await startOn({ ...settings, DATA_DIR: second.dataDir });
      const { length } = load.published;
      await eventually('load goes on', async () => load.published.length > length + 5);
      const published = await load.end();
      console.info(`${load.checks} checks and ${published.length} publishes during the upgrade`);
      expect(load.faults).toEqual([]);
      for (const node of [first, second]) {
        expect(await answersOf(tenant.at(node))).toEqual(expected);
        const beta = `releases?app=${tenant.app}&channel=beta`;
        const { body } = await tenant.at(node).manage('GET', beta);
        expect(body).toMatchObject({ total: published.length });
      }

      const older = await startBefore(settings);
      await expectToServeAlone(tenant.at(older));
      const unknowing = startBefore({ DATABASE_URL: stores.url });
      await expect(unknowing).rejects.toThrow(/start the newer version again/);
      await Promise.all([first, second, older].map((node) => node.stop()));
      await stores.restore(dump);
      const back = await startBefore(settings);
      expect(await answersOf(tenant.at(back))).toEqual(expected);
      expect((await tenant.at(back).publish('3.0.0')).status).toBe(201);
    });
  });

  async function startStores() {
    const { postgresUrl } = realStores() ?? { postgresUrl: '' };
    const [database, redis] = [own(await freshDatabase(postgresUrl)), own(await startRedis())];
    const maintenance = `--maintenance-db=${postgresUrl}`;
    const name = new URL(database.url).pathname.slice(1);
    return {
      url: database.url,
      settings: { DATABASE_URL: database.url, REDIS_URL: redis.url },
      async restore(dump: string): Promise<void> {
        await runPostgres('dropdb', [maintenance, '--force', name]);
        await runPostgres('createdb', [maintenance, name]);
        const how = ['--single-transaction', '--no-owner', `--dbname=${database.url}`];
        await runPostgres('pg_restore', [...how, dump]);
      },
    };
  }
});

/** Expects an older node on the newer schema to tell devices what it knows, and publishers 503. */
async function expectToServeAlone(tenant: Tenant): Promise<void> {
  await eventually('it serves', async () => (await tenant.check('1.0.0')).status < 300);
  expect((await tenant.publish('4.0.0')).status).toBe(503);
}

/** Makes an app with devices on record, releases of each kind, and a rollout that half of the devices get. */
async function furnish(node: ServingNode): Promise<Tenant> {
  const tenant = await createTenant(node);
  const labels = { ring: 'inner' };
  const devices = DEVICES.map((deviceId, index) => ({
    ...{ deviceId, version: '1.0.0', platform: 'linux', arch: 'x86_64' },
    ...(index < 10 ? { labels } : {}),
  }));
  expect((await tenant.report(devices)).status).toBe(200);
  for (const [version, more] of [
    ['1.1.0', {}],
    ['1.2.0', { rollout: 50 }],
    ['1.3.0', { targets: { matchLabels: { ring: ['inner'] } } }],
    ['1.4.0', {}],
  ] as const) {
    expect((await tenant.publish(version, more)).status, version).toBe(201);
  }
  expect((await tenant.control('1.4.0', { status: 'paused' })).status).toBe(200);
  return tenant;
}

/** What each device is told, and the numbers of the record. */
async function answersOf(tenant: Tenant): Promise<unknown> {
  const versions = await Promise.all(
    DEVICES.map(async (device) => await tenant.offered('1.0.0', { device })),
  );
  const releases = await tenant.manage('GET', `releases?app=${tenant.app}&channel=stable`);
  return { versions, devices: (await tenant.devices()).length, releases: releases.body };
}

/** Devices that ask and a publisher that publishes, one call after the other each, at one node at a time. */
function startLoad(node: ServingNode, tenant: Tenant, expected: unknown) {
  const { versions } = expected as { readonly versions: readonly unknown[] };
  let target = node;
  const load = {
    checks: 0,
    /** Versions that were published on beta. */
    published: [] as string[],
    faults: [] as string[],
    goTo(other: ServingNode) {
      target = other;
    },
    async end(): Promise<readonly string[]> {
      await Promise.all([asking, publishing].map((each) => each.end()));
      return load.published;
    },
  };
  const asking = repeatCalls(10, async (turn) => {
    const device = DEVICES[turn % DEVICES.length] ?? '';
    const { status, body } = await tenant.at(target).check('1.0.0', { device });
    load.checks += 1;
    if (status !== 200 || body?.version !== versions[turn % DEVICES.length]) {
      load.faults.push(`${device}: ${status} ${body?.version}`);
    }
  });
  // A key may make 300 calls in a minute.
  const publishing = repeatCalls(250, async (turn) => {
    const version = `2.${turn + 1}.0`;
    const { status, text } = await tenant.at(target).publish(version, { channel: 'beta' });
    if (status === 201) load.published.push(version);
    else load.faults.push(`publish ${version}: ${status} ${text}`);
  });
  return load;
}
