// Tests nodes whose database is not the one that had their channels: they serve what is known, tell what they
// cannot know as 503, write nothing into it, and go on by themselves once the right database is there.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { FULL_ONLY, IS_FULL } from '../support/full-run.ts';
import { metricsOf } from '../support/metrics.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { startRedis } from '../support/redis-server.ts';
import { type ReplaceableDatabase, replaceableDatabase } from '../support/replaceable-database.ts';
import {
  admin,
  check,
  createTenant,
  devicesOf,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

/** Time limit of a test, which starts several nodes. */
const FOREIGN = 'the database is not the record';

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

describeOnRealStores('an empty database in the place of the record', () => {
  it('is answered for by running and restarted nodes from what is known, never with 404', async () => {
    const { database, start } = await stores();
    const [running, restarted] = await Promise.all([start(), start()]);
    const tenant = await createTenant(running);
    await publish(running, tenant, '1.0.0');
    for (const node of [running, restarted]) await untilOffered(node, tenant, '1.0.0');
    await restarted.stop();
    await database.replace('an empty one');

    await eventually('it is recognised', async () => isToldForeign(running));
    const again = await restarted.restart();
    endings.push(() => again.stop());
    // A pod without a disk of its own knows what Redis has.
    const fresh = await start();
    for (const node of [running, again, fresh]) {
      await untilOffered(node, tenant, '1.0.0');
      const device = 'device-during';
      expect((await check(node, tenant, '0.9.0', { device })).body?.version).toBe('1.0.0');
      await untilStatus(node, tenant, 'no-such-channel', 503);
      await untilStatus(node, { app: 'no-such-app' }, 'stable', 503);
      expect((await publish(node, tenant, '1.1.0')).status).toBe(503);
      expect((await admin(node, 'POST', 'organizations', { name: 'New' })).status).toBe(503);
      await eventually('the figure tells', async () => (await figures(node)).foreign === '1');
      expect((await send(node, 'GET', '/readyz')).status).toBe(200);
    }
    const tables = "SELECT relname FROM pg_class WHERE relname = 'channels'";
    expect(await database.query(tables)).toEqual([]);

    await database.restore();
    for (const node of [running, again, fresh]) {
      await eventually(
        'the record is used again',
        async () => (await figures(node)).foreign === '0',
      );
      await untilStatus(node, tenant, 'no-such-channel', 404);
    }
    expect((await publish(again, tenant, '1.1.0')).status).toBe(201);
    for (const node of [running, fresh]) await untilOffered(node, tenant, '1.1.0');
    await eventually('the check-ins that came meanwhile are recorded', async () => {
      const devices = await devicesOf(running, tenant);
      return devices.some(({ deviceId }) => deviceId === 'device-during');
    });
    expect((await figures(running)).dropped).toBe('0');
    // Each process tells it once a minute in each of a few words, and not with every call.
    const times = linesOf(running, FOREIGN).map(({ time }) => Date.parse(String(time)));
    const minutes = 1 + Math.floor((Math.max(...times) - Math.min(...times)) / 60_000);
    expect(times.length).toBeLessThanOrEqual(10 * minutes);
  });

  it.skipIf(!IS_FULL)(
    `is answered for without Redis as well, by a running and by a restarted node${FULL_ONLY}`,
    async () => {
      const { database, redis, start } = await stores();
      const node = await start();
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      await untilOffered(node, tenant, '1.0.0');
      await redis.kill();
      await database.replace('an empty one');
      const replacedAt = performance.now();
      await eventually('it is recognised', async () => isToldForeign(node));
      const recognisedMs = Math.round(performance.now() - replacedAt);
      const expectKnownServed = async (one: ServingNode) => {
        expect(await offered(one, tenant)).toBe('1.0.0');
        await untilStatus(one, tenant, 'no-such-channel', 503);
        expect((await publish(one, tenant, '1.1.0')).status).toBe(503);
      };
      await expectKnownServed(node);
      await node.stop();
      const again = await node.restart();
      endings.push(() => again.stop());
      await expectKnownServed(again);
      await database.restore();
      const restoredAt = performance.now();
      await eventually(
        'the record is used again',
        async () => (await publish(again, tenant, '1.1.0')).status === 201,
      );
      await untilOffered(again, tenant, '1.1.0');
      console.info(
        `foreign database, no Redis: recognised after ${recognisedMs} ms,` +
          ` the record used ${Math.round(performance.now() - restoredAt)} ms after its return`,
      );
    },
  );

  it('is used when nothing is known, and when Redis was emptied or the snapshots were removed', async () => {
    const { start, redis } = await stores();
    const node = await start();
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0');
    await untilOffered(node, tenant, '1.0.0');
    await node.stop();
    await redis.restart();
    const emptied = await node.restart();
    await untilOffered(emptied, tenant, '1.0.0');
    await emptied.stop();
    rmSync(join(node.dataDir, 'snapshots'), { recursive: true });
    const removed = await node.restart();
    endings.push(() => removed.stop());
    await untilOffered(removed, tenant, '1.0.0');
    expect((await figures(removed)).foreign).toBe('0');
  });
});

describeOnRealStores('a database that knows some of the channels', () => {
  it('is the record: a channel that it lacks is unknown, told and counted', async () => {
    const { database, start } = await stores();
    const node = await start();
    const [kept, lost] = [await createTenant(node), await createTenant(node)];
    for (const tenant of [kept, lost]) {
      await publish(node, tenant, '1.0.0');
      await untilOffered(node, tenant, '1.0.0');
    }
    await database.query(`BEGIN;
        SET LOCAL session_replication_role = replica;
        DELETE FROM channels WHERE app_id = '${lost.appId}';
        DELETE FROM apps WHERE id = '${lost.appId}'; COMMIT`);
    await untilStatus(node, lost, 'stable', 404);
    expect(await offered(node, kept)).toBe('1.0.0');
    const lines = linesOf(node, 'the ledger has lost channels');
    expect(lines).toMatchObject([{ level: 'error', count: 2 }]);
    expect(lines[0]?.channels).toContain(`${lost.app}/stable`);
    expect((await figures(node)).lost).toBe('2');
    await node.stop();

    // The copies on disk and in Redis are gone as well.
    const again = await node.restart({ DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none' });
    endings.push(() => again.stop());
    await untilOffered(again, kept, '1.0.0');
    expect((await check(again, lost, '0.9.0')).status).toBe(503);
  });
});

describeOnRealStores('a database that is not there for a moment', () => {
  it.skipIf(!IS_FULL)(
    `does not end a node that started from its disk, and is used once it is there${FULL_ONLY}`,
    async () => {
      const { database, start } = await stores();
      const node = await start();
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      await untilOffered(node, tenant, '1.0.0');
      await node.stop();
      const nowhere = 'postgres://postgres@127.0.0.1:1/none';
      const onDisk = await node.restart({ DATABASE_URL: nowhere });
      await untilOffered(onDisk, tenant, '1.0.0');
      await onDisk.stop();

      await database.replace('nothing');
      const again = await onDisk.restart({ DATABASE_URL: database.url });
      endings.push(() => again.stop());
      await untilOffered(again, tenant, '1.0.0');
      expect((await publish(again, tenant, '1.1.0')).status).toBe(503);
      await eventually(
        'it is told',
        () => linesOf(again, 'the database cannot be used').length > 0,
      );
      await database.restore();
      const backAt = performance.now();
      await eventually(
        'it publishes',
        async () => (await publish(again, tenant, '1.1.0')).status !== 503,
      );
      console.info(`database back: used after ${Math.round(performance.now() - backAt)} ms`);
      await untilOffered(again, tenant, '1.1.0');
    },
  );
});

describe('an embedded database that was emptied', () => {
  it('is not made anew: the start says what to do', async () => {
    const node = await startNode();
    endings.push(() => node.dispose());
    const tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0');
    await untilOffered(node, tenant, '1.0.0');
    await node.stop();
    rmSync(join(node.dataDir, 'ledger'), { recursive: true });
    await expect(node.restart()).rejects.toThrow(/DATA_DIR: .* there is no database in .*ledger/);
    for (const name of ['ledger.used', 'snapshots']) {
      rmSync(join(node.dataDir, name), { recursive: true });
    }
    const anew = await node.restart();
    endings.push(() => anew.stop());
    expect((await check(anew, tenant, '0.9.0')).status).toBe(404);
  });
});

async function stores() {
  const [database, redis]: [ReplaceableDatabase, Awaited<ReturnType<typeof startRedis>>] =
    await Promise.all([replaceableDatabase(inject('postgresUrl')), startRedis()]);
  endings.push(() => database.drop());
  endings.push(() => redis.stop());
  return {
    database,
    redis,
    async start(): Promise<ServingNode> {
      const node = await startNode({ DATABASE_URL: database.url, REDIS_URL: redis.url });
      endings.push(() => node.dispose());
      return node;
    },
  };
}

async function offered(node: ServingNode, tenant: Tenant): Promise<unknown> {
  return (await check(node, tenant, '0.9.0')).body?.version;
}

async function untilOffered(node: ServingNode, tenant: Tenant, version: string): Promise<void> {
  await eventually(`${version} is offered`, async () => (await offered(node, tenant)) === version);
}

/** Waits for a status of a channel; until then no answer may be 404, unless that is awaited. */
async function untilStatus(
  node: ServingNode,
  tenant: Pick<Tenant, 'app'>,
  channel: string,
  status: number,
): Promise<void> {
  await eventually(
    `${tenant.app}/${channel} is ${status}`,
    async () => (await check(node, tenant, '0.9.0', { channel })).status === status,
  );
}

function isToldForeign(node: ServingNode): boolean {
  return linesOf(node, FOREIGN).length > 0;
}

function linesOf(node: ServingNode, message: string): Record<string, unknown>[] {
  return node
    .output()
    .split('\n')
    .filter((line) => line.includes(message))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function figures(node: ServingNode) {
  const text = await metricsOf(node);
  const read = (name: string) =>
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')[1] ?? '0';
  return {
    foreign: read('sluice_ledger_foreign'),
    lost: read('sluice_ledger_rewinds_total{event="channel-lost"}'),
    dropped: read('sluice_check_ins_total{outcome="dropped"}'),
  };
}
