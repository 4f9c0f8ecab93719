// Tests that notifications arrive whatever ends: each event at least once, under one id, in order
// (docs/contract.md 30). That receivers which hang hold up no other is tested in
// test/notify/delivery-driver.test.ts, and measured in test/timed/fair-notifications.test.ts.

import { afterEach, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { figureOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { endWithSuite } from '../support/own.ts';
import { type Receiver, startReceiver, TO_LOOPBACK } from '../support/receiver.ts';
import { admin, createTenant, type Tenant } from '../support/tenant.ts';

const ROUNDS = 3;
/** A lease of a dead node, a restart, and the first retries. */
const ARRIVE_MS_MAX = 90_000;
const SETTINGS = { ...TO_LOOPBACK, SECRET_KEY: 'a secret key of the fault tests' };

let receivers: Receiver[] = [];

async function listen(node: ServingNode, tenant: Tenant): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  const body = { kind: 'webhook', name: 'ops', url: receiver.url };
  const answer = await admin(node, 'POST', `destinations?org=${tenant.org}`, body);
  expect(answer.status, answer.text).toBe(201);
  receiver.secret = String(answer.body?.secret);
  return receiver;
}

/** Versions in the order in which their events arrived first. */
function arrivals({ received }: Receiver): readonly unknown[] {
  return [...new Map(received.map(({ id, data }) => [id, data.version])).values()];
}

describeOnRealStores('notifications', () => {
  let cluster: Cluster;
  let nodes: ClusterNode[];
  let tenant: Tenant;

  beforeAll(async () => {
    cluster = await startCluster();
    nodes = [await cluster.addNode(SETTINGS), await cluster.addNode(SETTINGS)];
  });
  endWithSuite(() => [...(nodes ?? []), cluster]);
  afterEach(async () => {
    await Promise.all(receivers.map((receiver) => receiver.close()));
    receivers = [];
  });

  const node = (index: number): ClusterNode => {
    const found = nodes[index % nodes.length];
    if (found === undefined) throw new Error('no node');
    return found;
  };

  /** How often the sending of each node has met an outage of its stores. */
  function outagesMet(): Promise<readonly number[]> {
    const met = 'sluice_store_faults_total{place="notify"}';
    return Promise.all(nodes.map((each) => figureOf(each, met)));
  }

  async function killAndRestart(index: number): Promise<void> {
    await node(index).kill();
    nodes[index % nodes.length] = { ...node(index), ...(await node(index).restart()) };
  }

  it('arrive in order, each under one id, when nodes are killed in the middle of deliveries (§30.3)', async () => {
    tenant = await createTenant(node(0));
    const published: string[] = [];
    const listening: { readonly receiver: Receiver; readonly since: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      // A new one in each round: those before wait until the lease of the dead node has ended.
      const receiver = await listen(node(round), tenant);
      // Slow enough that a kill meets one on its way.
      receiver.answer = (response) => setTimeout(() => response.writeHead(204).end(), 100);
      listening.push({ receiver, since: published.length });
      for (let index = 0; index < 4; index++) {
        const version = `1.${round}.${index}`;
        expect((await tenant.at(node(round)).publish(version)).status).toBe(201);
        published.push(version);
      }
      await eventually('one is on its way', () => receiver.received.length > 0, ARRIVE_MS_MAX);
      await killAndRestart(round);
    }
    for (const { receiver, since } of listening) {
      const wanted = published.slice(since);
      const isAll = () => arrivals(receiver).length >= wanted.length;
      await eventually('all have arrived', isAll, ARRIVE_MS_MAX);
      expect(arrivals(receiver)).toEqual(wanted);
      // What came again came with the id that it had.
      for (const { id, data } of receiver.received) {
        expect(receiver.received.find((other) => other.id === id)?.data).toEqual(data);
      }
    }
  });

  it('arrive after Redis and PostgreSQL were away', async () => {
    tenant = await createTenant(node(0));
    const receiver = await listen(node(0), tenant);
    await tenant.at(node(0)).publish('1.0.0');
    await cluster.redis.kill();
    await tenant.at(node(0)).publish('1.0.1');
    await eventually('without Redis', () => arrivals(receiver).length === 2, ARRIVE_MS_MAX);
    await cluster.redis.restart();
    // The answer comes after PostgreSQL has gone: the message is sent again.
    const away = new Promise<void>((done) => {
      receiver.answer = (response) => {
        receiver.answer = (again) => again.writeHead(204).end();
        cluster.postgres.kill().then(() => {
          response.writeHead(204).end();
          done();
        }, done);
      };
    });
    const before = await outagesMet();
    await tenant.at(node(1)).publish('1.0.2');
    await away;
    const isMet = async () => (await outagesMet()).every((met, at) => met > (before[at] ?? 0));
    await eventually('both nodes meet the outage', isMet, ARRIVE_MS_MAX);
    await cluster.postgres.restart();
    const later = async () => (await tenant.at(node(1)).publish('1.0.3')).status === 201;
    await eventually('the record is back', later, ARRIVE_MS_MAX);
    const isAll = () => arrivals(receiver).length === 4;
    await eventually('all have arrived', isAll, ARRIVE_MS_MAX);
    expect(arrivals(receiver)).toEqual(['1.0.0', '1.0.1', '1.0.2', '1.0.3']);
  });
});
