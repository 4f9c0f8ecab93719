// Labels of devices, from reports and from `l.` of update checks (contract 4.7 rule 4, 4.5; resolutions:
// Decision, labels): stored for every node before the answer leaves, and never lost with the cache.

import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBackends, realStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually, sleep } from '../support/eventually.ts';
import type { ServingNode } from '../support/node.ts';
import {
  type Answer,
  type CheckOptions,
  check,
  createTenant,
  devicesOf,
  publish,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Addressed = { readonly url: string };

const OLD = '1.0.0';
const RING_INNER = { matchLabels: { ring: ['inner'] } };
/** Longer than check-ins take from a check into the device list. */
const SETTLE_MS = 2500;

describeOnBackends('device labels', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start();
  });
  afterAll(() => node?.dispose());

  it('of a request decide at once (4.7 rule 4)', async () => {
    const tenant = await withTargeted(node);
    const options = { device: randomUUID(), query: 'l.ring=inner' };
    expect(await asks(node, tenant, options)).toBe(true);
  });

  it('of a request are stored: the next check without them still matches (4.7 rule 4)', async () => {
    const tenant = await withTargeted(node);
    const device = randomUUID();
    expect(await asks(node, tenant, { device })).toBe(false);
    expect(await asks(node, tenant, { device, query: 'l.ring=inner' })).toBe(true);
    expect(await asks(node, tenant, { device })).toBe(true);
    expect(await asks(node, tenant, { device, query: 'l.ring=outer' })).toBe(false);
    expect(await asks(node, tenant, { device })).toBe(false);
    expect(await asks(node, tenant, { device: randomUUID() })).toBe(false);
  });

  it('of a request are in the device list (4.7 rule 4)', async () => {
    const tenant = await withTargeted(node);
    await asks(node, tenant, { device: 'd', query: 'l.ring=inner&l.gr%C3%B6%C3%9Fe=%F0%9F%9A%80' });
    await expectLabels(node, tenant, { ring: 'inner', größe: '🚀' });
  });

  it('of a request are stored also where no release asks for them (4.7 rule 4)', async () => {
    const tenant = await createTenant(node);
    expect((await check(node, tenant, OLD, { device: 'd', query: 'l.a=1' })).status).toBe(204);
    expect((await check(node, tenant, OLD, { device: 'd', query: 'l.b=2' })).status).toBe(204);
    await expectLabels(node, tenant, { a: '1', b: '2' });
  });

  it('of a request merge over those of a report, key by key (4.7 rule 4)', async () => {
    const tenant = await withTargeted(node, { matchLabels: { ring: ['inner'], tier: ['gold'] } });
    await label(node, tenant, 'd', { ring: 'outer', tier: 'gold' });
    expect(await asks(node, tenant, { device: 'd' })).toBe(false);
    expect(await asks(node, tenant, { device: 'd', query: 'l.ring=inner' })).toBe(true);
    expect(await asks(node, tenant, { device: 'd', query: 'l.tier=tin' })).toBe(false);
    await expectLabels(node, tenant, { ring: 'inner', tier: 'tin' });
  });

  it('of a report that come later win over those of a request (Push mode)', async () => {
    const tenant = await withTargeted(node);
    expect(await asks(node, tenant, { device: 'd', query: 'l.ring=inner' })).toBe(true);
    await label(node, tenant, 'd', { ring: 'outer' });
    expect(await asks(node, tenant, { device: 'd' })).toBe(false);
    expect(await asks(node, tenant, { device: 'd', query: 'l.ring=inner' })).toBe(true);
    expect(await asks(node, tenant, { device: 'd' })).toBe(true);
    await sleep(SETTLE_MS);
    await expectLabels(node, tenant, { ring: 'inner' });
    expect(await asks(node, tenant, { device: 'd' })).toBe(true);
  });

  it('of a report decide the very next check, every time (4.5, 4.7 rule 4)', async () => {
    const tenant = await withTargeted(node);
    for (let round = 0; round < 40; round++) {
      const ring = round % 2 === 0 ? 'inner' : 'outer';
      await label(node, tenant, 'd', { ring });
      expect(await asks(node, tenant, { device: 'd' }), `round ${round}`).toBe(ring === 'inner');
    }
  });

  it('of a request count in a decision even when 16 others are stored (Decision)', async () => {
    const tenant = await withTargeted(node, { matchLabels: { ring: ['inner'], k00: ['x'] } });
    const full = Array.from({ length: 16 }, (_, at) => [`k${String(at).padStart(2, '0')}`, 'x']);
    await label(node, tenant, 'd', Object.fromEntries(full));
    expect(await asks(node, tenant, { device: 'd', query: 'l.ring=inner' })).toBe(true);
    expect(await asks(node, tenant, { device: 'd' })).toBe(true);
    await expectLabels(node, tenant, {
      ...Object.fromEntries(full.slice(0, 15)),
      ring: 'inner',
    });
  });

  it('of a request whose release needs only some of the stored ones are all stored (4.7 rule 4)', async () => {
    const tenant = await withTargeted(node);
    expect(await asks(node, tenant, { device: 'd', query: 'l.ring=inner&l.b=1' })).toBe(true);
    expect(await asks(node, tenant, { device: 'd', query: 'l.ring=inner&l.c=2' })).toBe(true);
    await expectLabels(node, tenant, { ring: 'inner', b: '1', c: '2' });
  });

  it('of one app are not those of another, nor of another device (2, DeviceState)', async () => {
    const [tenant, other] = [await withTargeted(node), await withTargeted(node)];
    expect(await asks(node, tenant, { device: 'd', query: 'l.ring=inner' })).toBe(true);
    expect(await asks(node, other, { device: 'd' })).toBe(false);
    expect(await asks(node, tenant, { device: 'D' })).toBe(false);
  });

  it('are shared by all channels of the app: a device is (app, deviceId) (2, DeviceState)', async () => {
    const tenant = await withTargeted(node);
    await publish(node, tenant, '2.0.0', { channel: 'beta', targets: RING_INNER });
    expect(await asks(node, tenant, { device: 'd', query: 'l.ring=inner' })).toBe(true);
    expect(await asks(node, tenant, { device: 'd', channel: 'beta' })).toBe(true);
  });

  it.each([
    ['without a device header', undefined],
    ['with a header that is too long to count', 'x'.repeat(129)],
  ])('%s decide, and are not stored (Decision, Feeds)', async (_, device) => {
    const tenant = await withTargeted(node);
    const options: CheckOptions = device === undefined ? {} : { device };
    expect(await asks(node, tenant, { ...options, query: 'l.ring=inner' })).toBe(true);
    expect(await asks(node, tenant, options)).toBe(false);
    await sleep(SETTLE_MS);
    expect(await devicesOf(node, tenant)).toEqual([]);
  });

  it('named like object internals are stored and decide (2: opaque)', async () => {
    const matchLabels = JSON.parse('{"__proto__":["x"],"constructor":["y"]}') as object;
    const tenant = await withTargeted(node, { matchLabels });
    const query = 'l.__proto__=x&l.constructor=y';
    expect(await asks(node, tenant, { device: 'd', query })).toBe(true);
    expect(await asks(node, tenant, { device: 'd' })).toBe(true);
    expect(await asks(node, tenant, { device: 'e' })).toBe(false);
  });

  it.each([
    ['17 labels', Array.from({ length: 17 }, (_, at) => `l.k${at}=v`).join('&')],
    ['a value of 257 characters', `l.k=${'v'.repeat(257)}`],
    ['a key of 129 characters', `l.${'k'.repeat(129)}=v`],
    ['an empty key', 'l.=v'],
    ['a reserved key', 'l.%24version=1'],
  ])('that are too much are 400 and not stored: %s (Decision)', async (_, query) => {
    const tenant = await withTargeted(node);
    const answer = await check(node, tenant, OLD, { device: 'd', query });
    expect([answer.status, answer.body]).toEqual([400, { error: expect.any(String) }]);
    await sleep(1000);
    expect(await devicesOf(node, tenant)).toEqual([]);
  });

  it('of a request survive a kill -9 right after the answer (4.7 rule 4: persisted)', async () => {
    const tenant = await withTargeted(node);
    expect(await asks(node, tenant, { device: 'd', query: 'l.ring=inner' })).toBe(true);
    await node.kill();
    node = await node.restart();
    expect(await asks(node, tenant, { device: 'd' })).toBe(true);
    await expectLabels(node, tenant, { ring: 'inner' });
  });
});

const available = realStores() !== undefined;
const skipped = available ? '' : ' (skipped: no PostgreSQL or no Redis on this machine)';

describe.skipIf(!available)(`device labels on two nodes${skipped}`, () => {
  let cluster: Cluster;
  let here: ClusterNode;
  let there: ClusterNode;
  beforeAll(async () => {
    cluster = await startCluster();
    [here, there] = await Promise.all([cluster.addNode(), cluster.addNode()]);
  });
  afterAll(() => cluster?.dispose());

  /** A tenant whose catalog both nodes have. */
  async function withBoth(): Promise<Tenant> {
    const tenant = await withTargeted(here);
    await eventually('both nodes serve the release', async () => {
      return (await check(there, tenant, OLD, { query: 'l.ring=inner' })).status === 200;
    });
    return tenant;
  }

  it('a report that one acknowledged decides the next check on the other, 50 times (4.7 rule 4)', async () => {
    const tenant = await withBoth();
    for (let round = 0; round < 50; round++) {
      const ring = round % 2 === 0 ? 'inner' : 'outer';
      const [reporting, asked] = round % 4 < 2 ? [here, there] : [there, here];
      await label(reporting, tenant, 'd', { ring });
      expect(await asks(asked, tenant, { device: 'd' }), `round ${round}`).toBe(ring === 'inner');
    }
  });

  it('labels of a check on one decide the next check on the other, 50 times (4.7 rule 4)', async () => {
    const tenant = await withBoth();
    for (let round = 0; round < 50; round++) {
      const device = randomUUID();
      const [first, second] = round % 2 === 0 ? [here, there] : [there, here];
      expect(await asks(first, tenant, { device, query: 'l.ring=inner' })).toBe(true);
      expect(await asks(second, tenant, { device }), `round ${round}`).toBe(true);
    }
  });

  it('labels that change back and forth on both: the last check decides (4.7 rule 4)', async () => {
    const tenant = await withBoth();
    for (let round = 0; round < 10; round++) {
      expect(await asks(here, tenant, { device: 'd', query: 'l.ring=inner' })).toBe(true);
      expect(await asks(there, tenant, { device: 'd' }), `round ${round}`).toBe(true);
      expect(await asks(there, tenant, { device: 'd', query: 'l.ring=outer' })).toBe(false);
      expect(await asks(here, tenant, { device: 'd' }), `round ${round}`).toBe(false);
    }
  });

  it('a wave planned on one uses the labels reported to the other (4.6)', async () => {
    const tenant = await withBoth();
    for (let round = 0; round < 20; round++) {
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

  it('at the same time from both: none is lost (4.7 rule 4, 4.5)', async () => {
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

describe.skipIf(!available)(`device labels when a store is lost${skipped}`, () => {
  let cluster: Cluster;
  let node: ClusterNode;
  let tenant: Tenant;
  beforeAll(async () => {
    cluster = await startCluster();
    node = await cluster.addNode();
    tenant = await withTargeted(node);
    // A first offer, which must not have to be recorded while a store is away.
    expect(await asks(node, tenant, { device: 'first', query: 'l.ring=inner' })).toBe(true);
  });
  afterAll(() => cluster?.dispose());

  // In this order: the last leaves the stores stopped.
  it('survive FLUSHALL of Redis (4.7 rule 4: persisted)', async () => {
    await label(node, tenant, 'reported', { ring: 'inner' });
    await asks(node, tenant, { device: 'asked', query: 'l.ring=inner' });
    await flushRedis(cluster);
    for (const device of ['reported', 'asked']) {
      expect(await asks(node, tenant, { device })).toBe(true);
    }
    await label(node, tenant, 'reported', { ring: 'outer' });
    expect(await asks(node, tenant, { device: 'reported' })).toBe(false);
  });

  it('check-ins go on after FLUSHALL of Redis (4.7 rule 6)', async () => {
    await flushRedis(cluster);
    await check(node, tenant, '1.2.3', { device: 'after-flush' });
    await eventually('the device is listed', async () =>
      (await devicesOf(node, tenant)).some(({ deviceId }) => deviceId === 'after-flush'),
    );
  });

  it('survive a restart of Redis empty (4.7 rule 4: persisted)', async () => {
    await label(node, tenant, 'restarted', { ring: 'inner' });
    await cluster.redis.restart();
    expect(await asks(node, tenant, { device: 'restarted' })).toBe(true);
    expect(await asks(node, tenant, { device: 'nobody' })).toBe(false);
  });

  it('decide from PostgreSQL while Redis is away, reports and checks too (4.7 rule 4)', async () => {
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

  it('cannot be known with both away: 503, unless those of the request suffice (Identity and limits)', async () => {
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
    // Without a device there is nothing stored, and so nothing that is not known.
    expect(await asks(node, tenant, {})).toBe(false);
  });

  function expectUnavailable(answer: Answer): void {
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(answer.body).toEqual({ error: expect.any(String) });
  }
});

/** Empties the cluster's Redis while it runs. */
async function flushRedis(cluster: Cluster): Promise<void> {
  const client = new Redis(cluster.redis.url);
  await client.flushall();
  client.disconnect();
}

/** A tenant with 2.0.0 on stable for devices with these labels. */
async function withTargeted(node: Addressed, targets: object = RING_INNER): Promise<Tenant> {
  const tenant = await createTenant(node);
  expect((await publish(node, tenant, '2.0.0', { targets })).status).toBe(201);
  return tenant;
}

/** Asks for an update to 1.0.0, and tells whether there is one. */
async function asks(node: Addressed, tenant: Tenant, options: CheckOptions): Promise<boolean> {
  const answer = await check(node, tenant, OLD, options);
  expect([200, 204], answer.text).toContain(answer.status);
  return answer.status === 200;
}

/** Reports labels of a device, which must be taken. */
async function label(node: Addressed, tenant: Tenant, deviceId: string, labels: object) {
  const device = { deviceId, version: OLD, platform: 'linux', arch: 'x86_64', labels };
  const answer = await report(node, tenant, [device]);
  expect(answer.status, answer.text).toBe(200);
}

/** The app's one device has exactly these labels: stored before the answer, so nothing is waited for. */
async function expectLabels(node: Addressed, tenant: Tenant, labels: object): Promise<void> {
  const devices = await devicesOf(node, tenant);
  expect(devices.map((device) => device.labels)).toEqual([labels]);
}
