// Tests backup and restore by the commands of docs/operating/backup.md, as they stand there: the record is
// back, no later state decides anything, also in Redis, on disk and in a node that was left running, and what
// is changed afterwards is served.

import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { readDocument } from '../docs/document.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { ADMIN_TOKEN, type ServingNode, startNode } from '../support/node.ts';
import type { Owner } from '../support/own.ts';
import { findPostgres, startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { runSluice } from '../support/sluice-command.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

type Environment = Readonly<Record<string, string>>;

const { text: BACKUP } = readDocument('docs/operating/backup.md');
const { text: STORES } = readDocument('docs/operating/stores.md');
const DEVICE = { deviceId: 'device-1', version: '0.9.0', platform: 'linux', arch: 'x86_64' };

/** Settings of a node that reaches neither store. */
const NOWHERE = {
  DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none',
  REDIS_URL: 'redis://127.0.0.1:1',
};

/** Pause between two checks of a device that waits. */
const ASK_INTERVAL_MS = 100;

// Side by side, for they wait more than they work: each has a service of its own.
describe.concurrent('backup', () => {
  describe('an embedded service', () => {
    it('is as it was at the time of its copy, or of sluice backup while publishers and devices write', async (test) => {
      const [backUp = '', restore = ''] = commandsBelow(BACKUP, '## Embedded');
      const folder = backupFolder(test);
      const dataDir = join(folder, 'data');
      let node = await startNode({ DATA_DIR: dataDir });
      test.onTestFinished(() => node.stop());
      const tenant = await furnish(node);
      await node.stop();
      await run(backUp, folder, { DATA_DIR: dataDir });

      node = await node.restart();
      await goOn(tenant.at(node));
      await node.stop();
      await run(restore, folder, { DATA_DIR: dataDir });

      node = await node.restart();
      await expectEarlier(tenant.at(node));

      const file = join(folder, 'backup.tar.gz');
      const environment = { SLUICE_URL: node.url, ADMIN_TOKEN };
      const writing = keepWriting(tenant.at(node));
      await eventually('something is written', () => writing.published.length > 2);
      const before = [...writing.published];
      const { code, stdout, stderr } = await runSluice(['backup', file, '--json'], environment);
      const during = writing.published.length - before.length;
      await writing.end();
      expect([code, stderr]).toEqual([0, '']);
      const { size, mode } = statSync(file);
      expect(JSON.parse(stdout)).toEqual({ file, bytes: size });
      expect(mode & 0o777).toBe(0o600);
      expect(existsSync(join(folder, 'data/backup'))).toBe(false);
      expect(during).toBeGreaterThan(0);

      const again = await runSluice(['backup', file], environment);
      expect(again).toEqual({ code: 1, stdout: '', stderr: `sluice: ${file} is there already\n` });
      expect(statSync(file).size).toBe(size);
      const elsewhere = join(folder, 'elsewhere');
      await run(`mkdir elsewhere; mv backup.tar.gz sluice-backup.tar.gz; ${restore}`, folder, {
        DATA_DIR: elsewhere,
      });
      const restored = await startNode({ DATA_DIR: elsewhere });
      test.onTestFinished(() => restored.stop());
      const versions = await tenant.at(restored).versions();
      expect(versions).toEqual(expect.arrayContaining(before));
      expect(new Set(versions).size).toBe(versions.length);
      expect((await tenant.at(restored).publish('9.0.0')).status).toBe(201);
      expect(await offered(tenant.at(restored))).toBe('9.0.0');
      for (const name of ['secret-key', 'ledger.used']) {
        expect(existsSync(join(elsewhere, name)), name).toBe(true);
      }
      // It is on a time line of its own, also beside the service that it was taken of.
      expect(existsSync(join(elsewhere, 'ledger.copy'))).toBe(false);
      expect(restored.output()).toContain('the ledger went back or moved');
    });
  });

  describeOnRealStores('a service on PostgreSQL and Redis, with the accounts of stores.md', () => {
    it('is as it was at the time of the backup, whatever Redis and the disk remember', async (test) => {
      const { folder, environment, administrate, start } = await furnishStores(test);
      const [backUp = '', restore = '', exchange = '', goBack = ''] = commandsBelow(
        BACKUP,
        '## PostgreSQL',
      );
      let node = await start('data');
      const other = await start('other');
      const tenant = await furnish(node);
      await run(backUp, folder, environment);

      const refused = await runSluice(['backup', join(folder, 'none')], {
        SLUICE_URL: node.url,
        ADMIN_TOKEN,
      });
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('pg_dump')]);
      expect(existsSync(join(folder, 'none'))).toBe(false);
      await expect(administrate(restore, 'sluice')).rejects.toThrow(
        'permission denied to create database',
      );

      await goOn(tenant.at(node));
      expect(await offered(tenant.at(other))).toBe('3.2.0');
      await node.stop();
      await administrate(restore);
      // An exchange that is in the way changes nothing.
      const intruder = await enter(environment.DATABASE_URL, 'postgres', test);
      await administrate(exchange);
      await eventually('the node publishes', async () => {
        const { status } = await tenant.at(other).publish('3.3.0');
        if (status !== 201) await sleep(ASK_INTERVAL_MS);
        return status === 201;
      });
      await untilOffered(other, tenant, '3.3.0');
      await intruder.end();
      await administrate(exchange);

      // The other node was left running, and holds the later time, as Redis and both disks do.
      await untilOffered(other, tenant, '1.0.0');
      node = await node.restart();
      await untilOffered(node, tenant, '1.0.0');
      await expectEarlier(tenant.at(node));
      await untilOffered(other, tenant, '1.0.0');
      await node.stop();

      node = await node.restart(NOWHERE);
      const answer = await tenant.at(node).check(DEVICE.version, { query: 'l.ring=late' });
      expect(answer.body?.version).toBe('1.0.0');

      // The way back: the old database is there, with all that was published before the exchange.
      await administrate(`${exchange.split('\nexchange ')[0]}\n${goBack}`);
      await untilOffered(other, tenant, '3.3.0');
      expect((await tenant.at(other).publish('3.4.0')).status).toBe(201);
      await untilOffered(other, tenant, '3.4.0');
    });
  });
});

/** A PostgreSQL with the accounts and the database that stores.md makes, a Redis, and nodes that use them. */
async function furnishStores(test: Owner) {
  const folder = backupFolder(test);
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
  test.onTestFinished(() => postgres.stop());
  test.onTestFinished(() => redis.stop());
  /** Runs commands with the account of an administrator, who is no superuser. */
  const administrate = (commands: string, account = 'sluice_restore') =>
    run(commands, folder, { PGHOST: '127.0.0.1', PGPORT: `${postgres.port}`, PGUSER: account });
  for (const commands of commandsBelow(STORES, '### Accounts')) {
    await administrate(commands.replaceAll(' --pwprompt', ''), 'postgres');
  }
  const environment = {
    DATABASE_URL: `postgres://sluice@127.0.0.1:${postgres.port}/sluice`,
    REDIS_URL: redis.url,
  };
  async function start(dataDir: string): Promise<ServingNode> {
    const node = await startNode({ ...environment, DATA_DIR: join(folder, dataDir) });
    test.onTestFinished(() => node.stop());
    return node;
  }
  return { folder, environment, administrate, start };
}

/** Enters the database of an address with another account. */
async function enter(url: string, account: string, test: Owner): Promise<pg.Client> {
  const address = Object.assign(new URL(url), { username: account });
  const client = new pg.Client({ connectionString: address.href });
  client.on('error', () => undefined);
  await client.connect();
  test.onTestFinished(() => client.end());
  return client;
}

/**
 * Publishes a release for every device and one for the label `ring=early`, and reports a device without it.
 */
async function furnish(node: ServingNode): Promise<Tenant> {
  const targets = { matchLabels: { ring: ['early'] } };
  const tenant = await createTenant(node, ['1.0.0'], ['2.0.0', { targets }]);
  await tenant.report([{ ...DEVICE, labels: { ring: 'late' } }]);
  expect(await offered(tenant)).toBe('1.0.0');
  return tenant;
}

/** Makes changes that the backup does not have: other labels, more releases, higher revisions. */
async function goOn(tenant: Tenant): Promise<void> {
  await tenant.report([{ ...DEVICE, labels: { ring: 'early' } }]);
  expect(await offered(tenant)).toBe('2.0.0');
  for (const version of ['3.0.0', '3.1.0', '3.2.0']) await tenant.publish(version);
  expect(await offered(tenant)).toBe('3.2.0');
}

async function expectEarlier(tenant: Tenant): Promise<void> {
  expect(await offered(tenant)).toBe('1.0.0');
  expect((await tenant.publish('1.1.0')).status).toBe(201);
  expect(await offered(tenant)).toBe('1.1.0');
  expect((await tenant.control('1.1.0', { status: 'paused' })).status).toBe(200);
  expect(await offered(tenant)).toBe('1.0.0');
  expect(await tenant.versions()).toHaveLength(3);
}

/** Publishes one release after the other, with a report of a device beside each, until it is ended. */
function keepWriting(tenant: Tenant) {
  const published: string[] = [];
  let isEnding = false;
  const written = (async () => {
    for (let patch = 1; !isEnding && patch < 80; patch++) {
      const version = `1.5.${patch}`;
      await tenant.report([{ ...DEVICE, deviceId: `device-${patch}` }]);
      if ((await tenant.publish(version)).status === 201) published.push(version);
    }
  })();
  return {
    published,
    async end() {
      isEnding = true;
      await written;
    },
  };
}

/** Waits until the node offers the device a version; a device may ask 120 times in a minute. */
async function untilOffered(node: ServingNode, tenant: Tenant, version: string): Promise<void> {
  await eventually(`${node.url} offers ${version}`, async () => {
    if ((await offered(tenant.at(node))) === version) return true;
    await sleep(ASK_INTERVAL_MS);
    return false;
  });
}

const offered = (tenant: Tenant) => tenant.offered(DEVICE.version, { device: DEVICE.deviceId });

/** Returns the shell blocks below a heading of a page, in their order. */
function commandsBelow(page: string, heading: string): string[] {
  const [, part = ''] = page.split(`\n${heading}\n`);
  const [section = ''] = part.split(/^##/m);
  return [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block);
}

/** Runs commands beside the test: one that stands still holds connections that nodes have ended. */
async function run(commands: string, folder: string, environment: Environment): Promise<void> {
  const tools = dirname(findPostgres() ?? '');
  await promisify(execFile)('bash', ['--norc', '-euc', commands], {
    cwd: folder,
    env: { PATH: `${process.env.PATH}${delimiter}${tools}`, ...environment },
  });
}

/** Returns a new folder, which the end of the test removes. */
function backupFolder(test: Owner): string {
  const folder = temporaryFolder('sluice-backup-');
  test.onTestFinished(() => removeFolder(folder));
  return folder;
}
