// Tests channels that follow another one on two nodes with real stores. The promises: a change of the
// followed channel reaches the followers' devices on every node within a second, and a release that a
// follower's device was offered is not narrowed, whoever is first.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually, sleep } from '../support/eventually.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  anotherKey,
  check,
  control,
  createTenant,
  publish,
  randomId,
  type Tenant,
} from '../support/tenant.ts';

const NORMAL_MS_MAX = 1000;
const CHANGES = 60;
const ROUNDS = 80;
/** Either outcome must occur in this share of the rounds, or there was no race. */
const SHARE_MIN = 0.05;
/** Time over which a round's checks are spread around the moment at which the change should commit. */
const SPREAD_MS = 12;

describeOnRealStores('channels that follow another one, on two nodes', () => {
  let cluster: Cluster;
  let nodes: [ClusterNode, ClusterNode];

  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Promise.all([cluster.addNode(), cluster.addNode()]);
  });
  afterAll(() => cluster.dispose());

  /** A tenant whose beta follows stable, with a release for everybody that was offered. */
  async function following(): Promise<Tenant> {
    const tenant = await createTenant(nodes[0]);
    const change = { app: tenant.app, name: 'beta', follows: 'stable' };
    expect((await admin(nodes[0], 'PATCH', 'channels', change)).status).toBe(200);
    await publish(nodes[0], tenant, '1.0.0');
    for (const node of nodes) {
      await eventually('it is offered', async () => (await ask(node, tenant)).status === 200);
    }
    return tenant;
  }

  function ask(node: ClusterNode, tenant: Tenant, device = randomId()): Promise<Answer> {
    return check(node, tenant, '0.0.1', { channel: 'beta', device });
  }

  it("changes of the followed channel reach the other node's followers within 1 s (§11.20)", async () => {
    const tenant = await following();
    const [publisher, other] = nodes;
    const times: number[] = [];
    for (let index = 0; index < CHANGES; index++) {
      const status = index % 2 === 0 ? 'paused' : 'published';
      expect((await control(publisher, tenant, '1.0.0', { status })).status).toBe(200);
      const expected = status === 'paused' ? 204 : 200;
      expect((await ask(publisher, tenant)).status).toBe(expected);
      const start = performance.now();
      while ((await ask(other, tenant)).status !== expected) {
        if (performance.now() - start > NORMAL_MS_MAX * 5) throw new Error('never arrived');
        await sleep(1);
      }
      times.push(performance.now() - start);
    }
    times.sort((left, right) => left - right);
    const at = (share: number) => Math.round(times[Math.floor(share * (CHANGES - 1))] ?? 0);
    console.log(`followers: ${CHANGES} changes, median ${at(0.5)} ms, longest ${at(1)} ms`);
    expect(times.at(-1)).toBeLessThan(NORMAL_MS_MAX);
  }, 120_000);

  it('a release that a follower was offered is not narrowed, in each of many races (§11.20)', async () => {
    const tally = { narrowed: 0, refused: 0, aimMs: 0 };
    let tenant = await following();
    for (let round = 0; round < ROUNDS; round++) {
      if (round % 40 === 0) tenant = await anotherKey(nodes[0], tenant);
      await race(tenant, `1.0.${round + 1}`, tally);
    }
    console.log(`race: ${ROUNDS} rounds, ${tally.narrowed} narrowed, ${tally.refused} refused`);
    expect(tally.narrowed).toBeGreaterThan(ROUNDS * SHARE_MIN);
    expect(tally.refused).toBeGreaterThan(ROUNDS * SHARE_MIN);
  }, 120_000);

  /**
   * Narrows a release to nobody while devices of the follower ask for it for the first time on both nodes.
   */
  async function race(
    tenant: Tenant,
    version: string,
    tally: { narrowed: number; refused: number; aimMs: number },
  ): Promise<void> {
    const published = await publish(nodes[0], tenant, version, { artifacts: [ARTIFACT] });
    expect(published.status, published.text).toBe(201);
    const checksAfterMs = tally.aimMs + (Math.random() - 0.5) * SPREAD_MS;
    const [narrowed, ...answers] = await Promise.all([
      after(-checksAfterMs, () => control(nodes[0], tenant, version, { rollout: 0 })),
      ...nodes.flatMap((node) => [
        after(checksAfterMs, () => ask(node, tenant)),
        after(checksAfterMs + Math.random() * 3, () => ask(node, tenant)),
      ]),
    ]);
    expect([200, 422], narrowed.text).toContain(narrowed.status);
    if (narrowed.status === 422) {
      tally.refused += 1;
      tally.aimMs += 1;
      return;
    }
    tally.narrowed += 1;
    tally.aimMs -= 1;
    for (const answer of answers) expect(answer.body?.version).not.toBe(version);
  }
});

/** Runs the work after a delay; a negative delay counts as 0. */
async function after<Value>(ms: number, work: () => Promise<Value>): Promise<Value> {
  await sleep(Math.max(0, ms));
  return work();
}
