// Tests devices that speak DDI while a store is away (docs/contract.md 34.36 and 34.46): polls are answered
// from what is left, and no node lists an action whose closing was answered, then or later.

import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { DdiDevice, readPoll } from '../support/ddi-device.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { startRedis } from '../support/redis-server.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

const FILE = {
  platform: 'linux',
  url: 'https://dl.example.com/i.swu',
  size: 9,
  sha1: 'a'.repeat(40),
};

/** Milliseconds between polls of a device that waits for long. */
const POLL_MS = 600;

describeOnRealStores('devices that speak DDI, on two nodes', () => {
  let cluster: Cluster;
  let nodes: [ClusterNode, ClusterNode];
  let tenant: Tenant;
  let count = 0;

  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Promise.all([cluster.addNode(), cluster.addNode()]);
    tenant = await createTenant(nodes[0]);
    await tenant.openDdi();
    await tenant.release('2.0.0', { artifacts: [FILE] });
    for (const node of nodes) {
      const device = new DdiDevice(node, tenant.app, 'first');
      await eventually('it answers DDI', async () => (await device.ask('GET')).status === 200);
    }
  });
  afterAll(() => cluster?.dispose());

  /** A device on record with an open action, as both nodes see it. */
  async function opened() {
    count += 1;
    const machine = 'linux/x86_64/1.0.0';
    const device = new DdiDevice(nodes[0], tenant.app, `d-${count}`, { machine });
    // A store that was away in the test before may not answer every process yet.
    await eventually('it is on record', async () => {
      const answer = await device.ask('PUT', '/configData', { data: {} });
      return answer.status === 200;
    });
    const { deployment: id } = await device.poll();
    expect(id).toBeDefined();
    return { device, other: device.at(nodes[1]), id };
  }
  /** Waits until PostgreSQL has the action of a device: the attributes were the first change. */
  const untilStored = ({ id }: DdiDevice) =>
    eventually('PostgreSQL has the action', async () => {
      const { rows } = await cluster.query<{ revision: number }>(
        `SELECT revision FROM device_actions WHERE device_id = '${id}'`,
      );
      return (rows[0]?.revision ?? 0) > 1;
    });
  const untilAnswered = (device: DdiDevice) =>
    eventually('polls are answered', async () => (await device.ask('GET')).status === 200);

  it('a closing counts at the next poll of any node, also of many at once', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, opened));
    await Promise.all(
      all.map(async ({ device, other, id }) => {
        expect((await other.poll()).deployment).toBe(id);
        await device.report(id, 'success');
        expect((await other.poll()).deployment).toBeUndefined();
      }),
    );
  });

  it('a closing and what a device told count in another region, whose Redis had another state', async () => {
    const redis = await startRedis();
    const far = await cluster.addNode({ REDIS_URL: `redis://127.0.0.1:${redis.port}` });
    onTestFinished(async () => {
      await far.dispose();
      await redis.stop();
    });
    const { device, id } = await opened();
    const there = device.at(far);
    await untilStored(device);
    const untilListed = (listed: string | undefined) =>
      eventually(`the far node lists ${listed ?? 'nothing'}`, async () => {
        // A device may ask 120 times a minute, at all nodes together.
        await sleep(POLL_MS);
        const answer = await there.ask('GET');
        return answer.status === 200 && readPoll(answer).deployment === listed;
      });
    // What its own Redis holds now is believed there until it gets the change.
    await untilListed(id);
    await device.report(id, 'failure');
    await untilListed(undefined);
  });

  it('a closing that a full Redis refuses is kept by PostgreSQL, and counts at every node', async () => {
    const { device, other, id } = await opened();
    const admin = new Redis({ port: cluster.redis.port, lazyConnect: true });
    await admin.connect();
    await admin.config('SET', 'maxmemory', '1');
    onTestFinished(async () => {
      await admin.config('SET', 'maxmemory', '0');
      admin.disconnect();
    });
    await device.untilClosed(id, 'failure');
    for (const each of [device, other]) expect((await each.poll()).deployment).toBeUndefined();
  });

  it('without PostgreSQL polls say what they said, and Redis keeps closings until it is back', async () => {
    const [kept, closed] = [await opened(), await opened()];
    await cluster.postgres.kill();
    await untilAnswered(kept.other);
    expect((await kept.other.poll()).deployment).toBe(kept.id);
    await closed.device.untilClosed(closed.id, 'failure');
    expect((await closed.other.poll()).deployment).toBeUndefined();
    await cluster.postgres.restart();
    await eventually('PostgreSQL has it', async () => {
      const { rows } = await cluster
        .query<{ barred: number[] }>(
          `SELECT barred FROM device_actions WHERE device_id = '${closed.device.id}'`,
        )
        .catch(() => ({ rows: [] }));
      return (rows[0]?.barred.length ?? 0) === 1;
    });
  });

  it('without Redis PostgreSQL decides and keeps, and Redis that is back lists nothing that ended', async () => {
    const [kept, closed] = [await opened(), await opened()];
    await cluster.redis.kill();
    await untilAnswered(kept.other);
    expect((await kept.other.poll()).deployment).toBe(kept.id);
    await closed.device.report(closed.id, 'success');
    expect((await closed.other.poll()).deployment).toBeUndefined();
    await cluster.redis.restart();
    for (let round = 0; round < 20; round++) {
      expect((await closed.other.poll()).deployment).toBeUndefined();
      expect((await closed.device.poll()).deployment).toBeUndefined();
    }
    expect((await kept.other.poll()).deployment).toBe(kept.id);
  });
});
