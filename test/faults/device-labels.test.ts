// Tests labels of devices on two nodes, and when a store is lost (docs/contract.md 4.7.4, 13.11 and 13.12).
// After a kill: crash.test.ts.

import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { asks, expectLabels, label, OLD, withTargeted } from '../support/device-labels.ts';
import { eventually } from '../support/eventually.ts';
import { IS_FULL } from '../support/full-run.ts';
import { type Answer, admin, check, devicesOf, send, type Tenant } from '../support/tenant.ts';

/** Rounds in which the nodes take turns: as many as leave 2 when divided by 3, as one test asks. */
const ROUNDS = IS_FULL ? 50 : 8;

/** Waits until a node offers the tenant's release: a first offer that takes long is 503, and is repeated. */
async function untilOffered(node: { readonly url: string }, tenant: Tenant): Promise<void> {
  await eventually('the release is offered', async () => {
    return (await check(node, tenant, OLD, { query: 'l.ring=inner' })).status === 200;
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
    for (const node of [here, there]) await untilOffered(node, tenant);
    return tenant;
  }

  describe('on two nodes', () => {
    it('of a device that was deleted are forgotten by both, and it begins anew', async () => {
      const tenant = await withBoth();
      const query = 'l.ring=inner';
      for (const node of [here, there]) {
        expect(await asks(node, tenant, { device: 'd', query })).toBe(true);
      }
      await label(here, tenant, 'd', { ring: 'inner', tier: 'gold' });
      const purged = await admin(here, 'POST', 'devices/purge', {
        app: tenant.app,
        firstSeenAfter: '2000-01-01T00:00:00Z',
      });
      expect(purged.body).toEqual({ devices: 1, next: null });
      for (const node of [here, there]) {
        expect(await asks(node, tenant, { device: 'd' })).toBe(false);
      }
      expect(await asks(there, tenant, { device: 'd', query })).toBe(true);
      await expectLabels(here, tenant, { ring: 'inner' });
      expect(await asks(here, tenant, { device: 'd' })).toBe(true);
    });

    it('a report that one acknowledged decides the next check on the other (§4.7.4)', async () => {
      const tenant = await withBoth();
      for (let round = 0; round < ROUNDS; round++) {
        const ring = round % 2 === 0 ? 'inner' : 'outer';
        const [reporting, asked] = round % 4 < 2 ? [here, there] : [there, here];
        await label(reporting, tenant, 'd', { ring });
        expect(await asks(asked, tenant, { device: 'd' }), `round ${round}`).toBe(ring === 'inner');
      }
    });

    it('labels of a check on one decide the next check on the other (§4.7.4)', async () => {
      const tenant = await withBoth();
      for (let round = 0; round < ROUNDS; round++) {
        const device = randomUUID();
        const [first, second] = round % 2 === 0 ? [here, there] : [there, here];
        expect(await asks(first, tenant, { device, query: 'l.ring=inner' })).toBe(true);
        expect(await asks(second, tenant, { device }), `round ${round}`).toBe(true);
      }
    });

    it('labels that change with every check decide the next one on the other (§13.12)', async () => {
      const tenant = await withBoth();
      for (let round = 0; round < ROUNDS; round++) {
        const ring = round % 3 === 0 ? 'outer' : 'inner';
        const [first, second] = round % 2 === 0 ? [here, there] : [there, here];
        const device = `d${round % 2}`;
        const query = `l.ring=${ring}&l.battery=${round}`;
        expect(await asks(first, tenant, { device, query })).toBe(ring === 'inner');
        expect(await asks(second, tenant, { device }), `round ${round}`).toBe(ring === 'inner');
      }
      const labels = async () =>
        Object.fromEntries(
          (await devicesOf(here, tenant)).map((each) => [each.deviceId, each.labels]),
        );
      await expect.poll(labels).toEqual({
        d0: { ring: 'outer', battery: String(ROUNDS - 2) },
        d1: { ring: 'inner', battery: String(ROUNDS - 1) },
      });
      await expect.poll(() => notesOf(cluster)).toEqual([]);
    });

    it('labels that are on record are looked up by a node that has just started, not noted anew (§13.12)', async () => {
      const tenant = await withBoth();
      const asked = { device: 'd', query: 'l.ring=inner' };
      expect(await asks(here, tenant, asked)).toBe(true);
      await expectLabels(here, tenant, { ring: 'inner' });
      await expect.poll(() => notesOf(cluster)).toEqual([]);
      const started = await cluster.addNode();
      await untilOffered(started, tenant);
      expect(await asks(started, tenant, asked)).toBe(true);
      expect(await notesOf(cluster)).toEqual([]);
      await started.dispose();
    });

    it('labels that change back and forth on both: the last check decides (§4.7.4)', async () => {
      const tenant = await withBoth();
      for (let round = 0; round < 10; round++) {
        expect(await asks(here, tenant, { device: 'd', query: 'l.ring=inner' })).toBe(true);
        expect(await asks(there, tenant, { device: 'd' }), `round ${round}`).toBe(true);
        expect(await asks(there, tenant, { device: 'd', query: 'l.ring=outer' })).toBe(false);
        expect(await asks(here, tenant, { device: 'd' }), `round ${round}`).toBe(false);
      }
    });

    it('a wave planned on one uses the labels reported to the other (§4.6)', async () => {
      const tenant = await withBoth();
      for (let round = 0; round < ROUNDS; round++) {
        const ring = round % 2 === 0 ? 'inner' : 'outer';
        await label(here, tenant, 'd', { ring });
        const body = {
          app: tenant.app,
          devices: [{ deviceId: 'd', version: OLD, platform: 'linux', arch: 'x86_64' }],
        };
        const headers = { authorization: `Bearer ${tenant.secret}` };
        const planned = await send(there, 'POST', '/api/v1/fleet/decisions', { body, headers });
        expect(planned.body?.updatesOffered, `round ${round}`).toBe(ring === 'inner' ? 1 : 0);
      }
    });

    it('at the same time from both: none is lost (§4.7.4, §4.5)', async () => {
      const tenant = await withBoth();
      await Promise.all([
        ...['a', 'b', 'c', 'd'].map((key) =>
          check(here, tenant, OLD, { device: 'd', query: `l.${key}=1` }),
        ),
        ...['e', 'f', 'g', 'h'].map((key) =>
          check(there, tenant, OLD, { device: 'd', query: `l.${key}=1` }),
        ),
        label(here, tenant, 'd', { i: '1' }),
        label(there, tenant, 'd', { j: '1' }),
      ]);
      await expectLabels(
        here,
        tenant,
        Object.fromEntries([...'abcdefghij'].map((key) => [key, '1'])),
      );
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
      await untilOffered(node, tenant);
    });

    it('that change while PostgreSQL is away decide the next check, and are on record later (§13.12)', async () => {
      const device = randomUUID();
      expect(await asks(node, tenant, { device, query: 'l.ring=outer' })).toBe(false);
      await cluster.postgres.kill();
      expect(await asks(node, tenant, { device, query: 'l.ring=inner' })).toBe(true);
      expect(await asks(node, tenant, { device })).toBe(true);
      await cluster.postgres.restart();
      const labels = async () =>
        (await devicesOf(node, tenant)).find(({ deviceId }) => deviceId === device)?.labels;
      await expect.poll(labels).toEqual({ ring: 'inner' });
      expect(await asks(node, tenant, { device })).toBe(true);
    });

    it('survive FLUSHALL of Redis (§4.7.4)', async () => {
      await label(node, tenant, 'reported', { ring: 'inner' });
      await asks(node, tenant, { device: 'asked', query: 'l.ring=inner' });
      await flushRedis(cluster);
      for (const device of ['reported', 'asked']) {
        expect(await asks(node, tenant, { device })).toBe(true);
      }
      await label(node, tenant, 'reported', { ring: 'outer' });
      expect(await asks(node, tenant, { device: 'reported' })).toBe(false);
    });

    it('check-ins go on after FLUSHALL of Redis (§4.7.6)', async () => {
      await flushRedis(cluster);
      await check(node, tenant, '1.2.3', { device: 'after-flush' });
      await eventually('the device is listed', async () =>
        (await devicesOf(node, tenant)).some(({ deviceId }) => deviceId === 'after-flush'),
      );
    });

    it('survive a restart of Redis empty (§4.7.4)', async () => {
      await label(node, tenant, 'restarted', { ring: 'inner' });
      await cluster.redis.restart();
      expect(await asks(node, tenant, { device: 'restarted' })).toBe(true);
      expect(await asks(node, tenant, { device: 'nobody' })).toBe(false);
    });

    it('decide from PostgreSQL while Redis is away, reports and checks too (§4.7.4)', async () => {
      await label(node, tenant, 'away', { ring: 'inner' });
      await cluster.redis.kill();
      expect(await asks(node, tenant, { device: 'away' })).toBe(true);
      for (const ring of ['outer', 'inner', 'outer']) {
        await label(node, tenant, 'away', { ring });
        expect(await asks(node, tenant, { device: 'away' })).toBe(ring === 'inner');
      }
      expect(await asks(node, tenant, { device: 'away', query: 'l.ring=inner' })).toBe(true);
      expect(await asks(node, tenant, { device: 'away' })).toBe(true);
      await cluster.redis.restart();
      expect(await asks(node, tenant, { device: 'away' })).toBe(true);
    });

    it('cannot be known with both away: 503, unless those of the request suffice (§13.12)', async () => {
      await label(node, tenant, 'dark', { ring: 'inner' });
      await Promise.all([cluster.redis.kill(), cluster.postgres.kill()]);
      const blind = await check(node, tenant, OLD, { device: 'dark' });
      expectUnavailable(blind);
      expectUnavailable(await check(node, tenant, OLD, { device: 'dark', query: 'l.tier=gold' }));
      for (const [ring, isOffered] of [
        ['inner', true],
        ['outer', false],
      ] as const) {
        const options = { device: `dark-${ring}`, query: `l.ring=${ring}` };
        expect(await asks(node, tenant, options)).toBe(isOffered);
      }
      // A check without a device id has no stored labels, so it is answered without the stores.
      expect(await asks(node, tenant, {})).toBe(false);
    });

    function expectUnavailable(answer: Answer): void {
      expect(answer.status).toBe(503);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(answer.body).toEqual({ error: expect.any(String) });
    }
  });
});

/** Returns the keys of labels that Redis holds as notes. */
async function notesOf(cluster: Cluster): Promise<readonly string[]> {
  const client = new Redis(cluster.redis.url);
  const devices = await client.keys('*:device-labels:*');
  const fields = await Promise.all(devices.map((device) => client.hkeys(device)));
  client.disconnect();
  return fields.flat().filter((field) => field !== '');
}

/** Empties the cluster's Redis while it runs. */
async function flushRedis(cluster: Cluster): Promise<void> {
  const client = new Redis(cluster.redis.url);
  await client.flushall();
  client.disconnect();
}
