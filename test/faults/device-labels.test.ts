// Tests labels of devices on two nodes, and when a store is lost (docs/contract.md 4.7.4, 13.11 and 13.12).
// After a kill: crash.test.ts.

import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { asks, expectLabels, label, OLD, withTargeted } from '../support/device-labels.ts';
import { eventually } from '../support/eventually.ts';
import { expectUnavailable } from '../support/expect-error.ts';
import { metricsOf } from '../support/metrics.ts';
import { notedIn } from '../support/redis-keys.ts';
import type { Tenant } from '../support/tenant.ts';

/** Rounds in which the nodes take turns: as many as leave 2 when divided by 3, as one test asks. */
const ROUNDS = 8;
/** Time within which every node decides by changed labels, under any single fault. */
const FAULT_MS_MAX = 5000;

/** Waits until a node offers the tenant's release: a first offer that takes long is 503, and is repeated. */
async function untilOffered(tenant: Tenant): Promise<void> {
  await eventually('the release is offered', async () => {
    return (await tenant.check(OLD, { query: 'l.ring=inner' })).status === 200;
  });
}

describeOnRealStores('device labels', () => {
  let cluster: Cluster;
  let here: ClusterNode;
  let there: ClusterNode;
  beforeAll(async () => {
    cluster = await startCluster();
    [here, there] = await Promise.all([cluster.addNode(), cluster.addNode()]);
  });
  afterAll(() => cluster?.dispose());

  /** Creates a tenant and waits until both nodes serve its release. */
  async function withBoth(): Promise<Tenant> {
    const tenant = await withTargeted(here);
    for (const node of [here, there]) await untilOffered(tenant.at(node));
    return tenant;
  }

  describe('on two nodes', () => {
    it('a report that one acknowledged decides the next check, and a wave, on the other (§4.6, §4.7.4)', async () => {
      const tenant = await withBoth();
      const device = { deviceId: 'd', version: OLD, platform: 'linux', arch: 'x86_64' };
      for (let round = 0; round < ROUNDS; round++) {
        const ring = round % 2 === 0 ? 'inner' : 'outer';
        const [reporting, asked] = round % 4 < 2 ? [here, there] : [there, here];
        await label(tenant.at(reporting), 'd', { ring });
        expect(await asks(tenant.at(asked), { device: 'd' }), `round ${round}`).toBe(
          ring === 'inner',
        );
        const planned = await tenant.at(asked).decisions([device]);
        expect(planned.body?.updatesOffered, `round ${round}`).toBe(ring === 'inner' ? 1 : 0);
      }
    });

    it('labels that change with every check decide the next one on the other (§13.12)', async () => {
      const tenant = await withBoth();
      for (let round = 0; round < ROUNDS; round++) {
        const ring = round % 3 === 0 ? 'outer' : 'inner';
        const [first, second] = round % 2 === 0 ? [here, there] : [there, here];
        const device = `d${round % 2}`;
        const query = `l.ring=${ring}&l.battery=${round}`;
        expect(await asks(tenant.at(first), { device, query })).toBe(ring === 'inner');
        expect(await asks(tenant.at(second), { device }), `round ${round}`).toBe(ring === 'inner');
      }
      const labels = async () =>
        Object.fromEntries(
          (await tenant.at(here).devices()).map((each) => [each.deviceId, each.labels]),
        );
      await expect.poll(labels).toEqual({
        d0: { ring: 'outer', battery: String(ROUNDS - 2) },
        d1: { ring: 'inner', battery: String(ROUNDS - 1) },
      });
      await expect.poll(() => notesOf(cluster)).toEqual([]);
    });

    it('labels on record are looked up by a node that has just started; what it cannot tell any more, the others find (§13.12)', async () => {
      const tenant = await withBoth();
      const asked = { device: 'd', query: 'l.ring=inner' };
      expect(await asks(tenant.at(here), asked)).toBe(true);
      await expectLabels(tenant.at(here), { ring: 'inner' });
      await expect.poll(() => notesOf(cluster)).toEqual([]);
      const started = await cluster.addNode();
      await untilOffered(tenant.at(started));
      expect(await asks(tenant.at(started), asked)).toBe(true);
      expect(await notesOf(cluster)).toEqual([]);
      // Labels that it has recorded, and cannot tell before its end, reach the others within 5 s.
      cluster.redis.pause();
      await eventually('the node has lost Redis', async () => !(await hasEngine(started)));
      await label(tenant.at(started), 'd', { ring: 'outer' });
      await started.kill();
      cluster.redis.resume();
      for (const node of [here, there]) {
        await eventually('the node has Redis again', () => hasEngine(node));
        const isToldLate = async () => !(await asks(tenant.at(node), { device: 'd' }));
        await expect.poll(isToldLate, { interval: 100, timeout: FAULT_MS_MAX }).toBe(true);
      }
    });
  });

  // The order of these tests matters: the last one leaves the stores stopped.
  describe('when a store is lost', () => {
    let node: ClusterNode;
    let tenant: Tenant;
    beforeAll(async () => {
      node = here;
      tenant = await withTargeted(node);
      // The first offer is made now, so that it need not be recorded while a store is away.
      await untilOffered(tenant);
    });

    it('that change while PostgreSQL is away decide the next check, and are on record later (§13.12)', async () => {
      const device = randomUUID();
      expect(await asks(tenant, { device, query: 'l.ring=outer' })).toBe(false);
      await cluster.postgres.kill();
      expect(await asks(tenant, { device, query: 'l.ring=inner' })).toBe(true);
      expect(await asks(tenant, { device })).toBe(true);
      await cluster.postgres.restart();
      const labels = async () =>
        (await tenant.devices()).find(({ deviceId }) => deviceId === device)?.labels;
      await expect.poll(labels).toEqual({ ring: 'inner' });
      expect(await asks(tenant, { device })).toBe(true);
    });

    it('survive a Redis that is emptied, and one that starts anew (§4.7.4)', async () => {
      const lose = [() => emptyRedis(cluster), () => cluster.redis.restart()];
      for (const [index, loseAll] of lose.entries()) {
        const [reported, asked] = [`reported ${index}`, `asked ${index}`];
        await label(tenant, reported, { ring: 'inner' });
        await asks(tenant, { device: asked, query: 'l.ring=inner' });
        await loseAll();
        for (const device of [reported, asked]) {
          expect(await asks(tenant, { device })).toBe(true);
        }
        await label(tenant, reported, { ring: 'outer' });
        expect(await asks(tenant, { device: reported })).toBe(false);
      }
    });

    it('decide from PostgreSQL while Redis is away, reports and checks too (§4.7.4)', async () => {
      await label(tenant, 'away', { ring: 'inner' });
      await cluster.redis.kill();
      expect(await asks(tenant, { device: 'away' })).toBe(true);
      for (const ring of ['outer', 'inner', 'outer']) {
        await label(tenant, 'away', { ring });
        expect(await asks(tenant, { device: 'away' })).toBe(ring === 'inner');
      }
      expect(await asks(tenant, { device: 'away', query: 'l.ring=inner' })).toBe(true);
      expect(await asks(tenant, { device: 'away' })).toBe(true);
      await cluster.redis.restart();
      expect(await asks(tenant, { device: 'away' })).toBe(true);
    });

    it('cannot be known with both away: 503, unless those of the request suffice (§13.12)', async () => {
      await label(tenant, 'dark', { ring: 'inner' });
      await Promise.all([cluster.redis.kill(), cluster.postgres.kill()]);
      const blind = await tenant.check(OLD, { device: 'dark' });
      expectUnavailable(blind);
      expectUnavailable(await tenant.check(OLD, { device: 'dark', query: 'l.tier=gold' }));
      for (const [ring, isOffered] of [
        ['inner', true],
        ['outer', false],
      ] as const) {
        const options = { device: `dark-${ring}`, query: `l.ring=${ring}` };
        expect(await asks(tenant, options)).toBe(isOffered);
      }
      // A check without a device id has no stored labels, so it is answered without the stores.
      expect(await asks(tenant, {})).toBe(false);
    });
  });
});

/** Returns the keys of labels that Redis holds as notes. */
async function notesOf(cluster: Cluster): Promise<readonly string[]> {
  const client = new Redis(cluster.redis.url);
  const devices = await client.keys('*:device-labels:*');
  const noted = await Promise.all(devices.map((device) => notedIn(client, device)));
  client.disconnect();
  return noted.flat();
}

/** Whether the processes of a node reach Redis, by its metrics. */
async function hasEngine(node: ClusterNode): Promise<boolean> {
  return /^sluice_store_up\{store="engine"\} 1$/m.test(await metricsOf(node));
}

/** Empties the cluster's Redis while it runs. */
async function emptyRedis(cluster: Cluster): Promise<void> {
  const client = new Redis(cluster.redis.url);
  await client.flushall();
  client.disconnect();
}
