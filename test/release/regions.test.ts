// Tests two regions: one PostgreSQL, and a Redis of its own in each (docs/contract.md 15.2 and 13.12). What
// is announced in one region is not heard in the other, which finds it in the ledger.

import { beforeAll, describe, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { asks, label, OLD, withTargeted } from '../support/device-labels.ts';
import { eventually, sleep } from '../support/eventually.ts';
import type { ServingNode } from '../support/node.ts';
import { endWithSuite } from '../support/own.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

/** Promise between regions, and under any single fault. */
const ARRIVES_MS_MAX = 5000;
const ASK_INTERVAL_MS = 200;
const ROUNDS = 5;

describeOnRealStores('two regions', () => {
  let cluster: Cluster;
  let eastRedis: RedisServer;
  let west: ClusterNode;
  let east: ServingNode;

  beforeAll(async () => {
    [cluster, eastRedis] = await Promise.all([startCluster(), startRedis()]);
    west = await cluster.addNode();
    east = await cluster.addNode({ REDIS_URL: eastRedis.url });
  });
  endWithSuite(() => [cluster, eastRedis]);

  function arrives(what: string, isThere: () => Promise<boolean>): Promise<void> {
    const ask = async () => {
      const isHere = await isThere();
      // A device may ask 120 times in a minute.
      if (!isHere) await sleep(ASK_INTERVAL_MS);
      return isHere;
    };
    return eventually(what, ask, ARRIVES_MS_MAX);
  }

  /** An app with 1.0.0 and 1.1.0 on stable, which both regions serve. */
  async function withBoth(): Promise<Tenant> {
    const tenant = await createTenant(west, ['1.0.0'], ['1.1.0']);
    for (const node of [west, east]) {
      await arrives('it serves the app', async () => {
        return (await tenant.at(node).offered()) === '1.1.0';
      });
    }
    return tenant;
  }

  /** Pauses and resumes 1.1.0 in one region by turns; each change must arrive in the other. */
  async function steer(tenant: Tenant, from: ServingNode, to: ServingNode): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const status = round % 2 === 0 ? 'paused' : 'published';
      expect((await tenant.at(from).control('1.1.0', { status })).status).toBe(200);
      const expected = round % 2 === 0 ? '1.0.0' : '1.1.0';
      await arrives(`${status} arrives`, async () => {
        return (await tenant.at(to).offered()) === expected;
      });
    }
    await tenant.at(from).control('1.1.0', { status: 'published' });
  }

  describe('changes', () => {
    it('of each region are served in the other within 5 s (§15.2)', async () => {
      const tenant = await withBoth();
      await steer(tenant, west, east);
      await steer(tenant, east, west);
    });

    it('arrive while a region is without its Redis (§15.2)', async () => {
      const tenant = await withBoth();
      await eastRedis.kill();
      await steer(tenant, west, east);
      await eastRedis.restart();
      await steer(tenant, east, west);
    });

    it('cannot narrow what the other region has offered (§14.4)', async () => {
      const tenant = await createTenant(west, ['1.0.0', { rollout: 50 }]);
      const offers = async (node: ServingNode, device: string) =>
        (await tenant.at(node).check('0.9.0', { device })).status === 200;
      const devices = Array.from({ length: 40 }, (_, at) => `device-${at}`);
      await arrives('the app is known', async () => {
        return (await tenant.at(east).check('0.9.0')).status === 204;
      });
      await Promise.all(devices.map((device) => offers(east, device)));
      expect((await tenant.control('1.0.0', { rollout: 10 })).status).toBe(422);
    });
  });

  describe('labels', () => {
    it('of a report decide in the other region within 5 s, over older ones there (§13.12)', async () => {
      const tenant = await withTargeted(west);
      await arrives('the app is known', async () => {
        return (await tenant.at(east).check(OLD, { query: 'l.ring=inner' })).status === 200;
      });
      for (const [ring, isOffered] of [
        ['outer', false],
        ['inner', true],
        ['outer', false],
      ] as const) {
        await label(tenant, 'reported', { ring });
        await arrives(`${ring} decides`, async () => {
          return (await asks(tenant.at(east), { device: 'reported' })) === isOffered;
        });
      }
    });

    it('of a check decide in the other region within 5 s (§13.12)', async () => {
      const tenant = await withTargeted(west);
      await arrives('the app is known', async () => {
        return (await tenant.at(east).check(OLD, { query: 'l.ring=inner' })).status === 200;
      });
      expect(await asks(tenant.at(east), { device: 'moves' })).toBe(false);
      expect(await asks(tenant, { device: 'moves', query: 'l.ring=inner' })).toBe(true);
      await arrives('inner decides', () => asks(tenant.at(east), { device: 'moves' }));
    });
  });

  it('have one fleet: check-ins of both are recorded', async () => {
    const tenant = await withBoth();
    await tenant.check('1.0.0', { device: 'in-the-west' });
    await tenant.at(east).check('1.0.0', { device: 'in-the-east' });
    await arrives('both are on record', async () => {
      const ids = await tenant.deviceIds();
      return ids.includes('in-the-west') && ids.includes('in-the-east');
    });
  });

  it('count the requests of a device each for itself (§19.3)', async () => {
    const tenant = await withBoth();
    const ask = async (node: ServingNode) =>
      (await tenant.at(node).check('1.1.0', { device: 'busy' })).status;
    for (let request = 0; request < 120; request++) expect(await ask(west)).toBe(204);
    expect(await ask(west)).toBe(429);
    expect(await ask(east)).toBe(204);
  });
});
