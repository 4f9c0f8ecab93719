// Tests labels that Redis was not told of: the node that recorded them ends before it can tell. The other
// nodes find them through PostgreSQL (docs/contract.md 4.7.4 and 13.12).

import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { asks, label, withTargeted } from '../support/device-labels.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import { keys } from '../support/redis-keys.ts';
import { check, type Tenant } from '../support/tenant.ts';

/** Time within which every node decides by changed labels, under any single fault. */
const FAULT_MS_MAX = 5000;

describeOnRealStores('labels that Redis was not told of', () => {
  let cluster: Cluster;
  /** Nodes that run; the tests end all but the first. */
  let nodes: ClusterNode[];
  let tenant: Tenant;
  let redis: Redis;

  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Promise.all(Array.from({ length: 3 }, () => cluster.addNode()));
    redis = new Redis(cluster.redis.url);
    redis.on('error', () => undefined);
    const [first] = nodes as [ClusterNode];
    tenant = await withTargeted(first);
    // The first offer is made now, so that it need not be recorded while a store is away.
    expect(await asks(first, tenant, { device: 'first', query: 'l.ring=inner' })).toBe(true);
    for (const node of nodes) {
      await eventually('the node serves the release', () =>
        asks(node, tenant, { query: 'l.ring=inner' }),
      );
    }
    await eventually('the background work of a node has begun', async () => {
      return (await redis.exists(keys.labelPosition)) === 1;
    });
  });
  afterAll(async () => {
    redis?.disconnect();
    await cluster?.dispose();
  });

  /** Returns the labels that Redis has of a device, as their text. */
  async function cachedOf(deviceId: string): Promise<string | null> {
    return redis.hget(keys.labels({ appId: tenant.appId, deviceId }), '');
  }

  it.each(['SIGTERM', 'SIGKILL'])(
    'decide on every node within 5 s of the return of Redis, after %s (§4.7.4)',
    async (signal) => {
      const node = nodes.pop() as ClusterNode;
      const device = `told late, ${signal}`;
      await label(node, tenant, device, { ring: 'inner' });
      for (const other of nodes) expect(await asks(other, tenant, { device })).toBe(true);
      cluster.redis.pause();
      // From here on, nothing that the node sends waits in a socket that Redis would still read.
      await eventually('the node has lost Redis', async () => !(await hasEngine(node)));
      await label(node, tenant, device, { ring: 'outer' });
      await (signal === 'SIGTERM' ? node.stop() : node.kill());
      const back = performance.now();
      cluster.redis.resume();
      let isCachedAt = Number.NaN;
      while (Number.isNaN(isCachedAt) && performance.now() - back < 2 * FAULT_MS_MAX) {
        if ((await cachedOf(device))?.includes('outer')) isCachedAt = performance.now() - back;
        await sleep(5);
      }
      console.log(`labels told late, ${signal}: Redis has them after ${isCachedAt.toFixed(0)} ms`);
      for (const other of nodes) {
        await eventually('the node has Redis again', () => hasEngine(other));
        expect(await asks(other, tenant, { device })).toBe(false);
      }
      expect(isCachedAt).toBeLessThan(FAULT_MS_MAX);
    },
    60_000,
  );

  it('those of Redis that went back in time are not believed (§4.7.4)', async () => {
    const [node] = nodes as [ClusterNode];
    const device = 'told, then lost';
    await label(node, tenant, device, { ring: 'inner' });
    const key = keys.labels({ appId: tenant.appId, deviceId: device });
    const lifetimeMs = await redis.pttl(key);
    const [dump, position] = [await redis.dumpBuffer(key), await positionDump()];
    await label(node, tenant, device, { ring: 'outer' });
    await eventually('Redis knows the position of the change', async () => {
      return (await positionDump())?.equals(position ?? Buffer.of()) === false;
    });
    // As a Redis is that lost its last second: the labels and the position are older together.
    await redis
      .multi()
      .restore(key, lifetimeMs, dump, 'REPLACE')
      .restore(keys.labelPosition, 0, position ?? Buffer.of(), 'REPLACE')
      .exec();
    await eventually(
      'the change is found again',
      async () => (await cachedOf(device))?.includes('outer') === true,
      FAULT_MS_MAX,
    );
    expect(await asks(node, tenant, { device })).toBe(false);
  });

  it('of a time line that PostgreSQL has left are not believed (§4.7.4)', async () => {
    const [node] = nodes as [ClusterNode];
    const device = 'lost with the fail-over';
    await label(node, tenant, device, { ring: 'inner' });
    await label(node, tenant, device, { ring: 'outer' });
    expect(await asks(node, tenant, { device })).toBe(false);
    // As after a standby took over that lacked the second report.
    await cluster.query(`
      UPDATE devices SET labels = '{"ring": "inner"}', labels_revision = 1 WHERE device_id = '${device}';
      UPDATE ledger_epoch SET epoch = epoch + 1`);
    const since = performance.now();
    for (const other of nodes) {
      await eventually(
        'the node decides by what PostgreSQL has',
        async () => {
          // A device may ask 120 times a minute.
          await sleep(100);
          return asks(other, tenant, { device });
        },
        FAULT_MS_MAX,
      );
    }
    console.log(`labels of another time line: ${(performance.now() - since).toFixed(0)} ms`);
  });

  it('with PostgreSQL gone, known labels do not run out; unknown devices are 503 alone (§13.12)', async () => {
    const [node] = nodes as [ClusterNode];
    const ids = Array.from({ length: 20 }, (_, index) => `known ${index}`);
    for (const id of ids) await label(node, tenant, id, { ring: 'inner' });
    for (const id of ids) {
      const key = keys.labels({ appId: tenant.appId, deviceId: id });
      expect(await redis.pttl(key)).toBeGreaterThan(24 * 3_600_000);
      // As after hours in which the device did not ask.
      await redis.pexpire(key, 3_600_000);
    }
    await cluster.postgres.kill();
    const unknown = ids.map((_, index) => `unknown ${index}`);
    const started = performance.now();
    const [known, others] = await Promise.all([
      Promise.all(ids.map((device) => check(node, tenant, '1.0.0', { device }))),
      Promise.all(unknown.map((device) => check(node, tenant, '1.0.0', { device }))),
    ]);
    console.log(`labels without PostgreSQL: ${(performance.now() - started).toFixed(0)} ms`);
    expect(known.map(({ status }) => status)).toEqual(ids.map(() => 200));
    expect(others.map(({ status }) => status)).toEqual(unknown.map(() => 503));
    const [id = ''] = ids;
    const lifetimeMs = await redis.pttl(keys.labels({ appId: tenant.appId, deviceId: id }));
    // Prolonged by the use, so that an outage of days ends nothing for a device that asks.
    expect(lifetimeMs).toBeGreaterThan(24 * 3_600_000);
  });

  function positionDump(): Promise<Buffer | null> {
    return redis.dumpBuffer(keys.labelPosition);
  }
});

/** Whether the processes of the node reach Redis, by its metrics. */
async function hasEngine(node: ClusterNode): Promise<boolean> {
  const text = await metricsOf(node);
  return /^sluice_store_up\{store="engine"\} 1$/m.test(text);
}
