// Tests first offers against narrowing serving-control calls, on two nodes with real stores. The promise: a
// release that was narrowed was never offered to a device outside its narrower audience, however the calls
// interleave.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { cohortBucket, cohortThreshold, hashText } from '../../src/domain/decision/cohort.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { sleep } from '../support/eventually.ts';
import {
  type Answer,
  anotherKey,
  check,
  control,
  createTenant,
  publish,
  randomId,
  type Tenant,
} from '../support/tenant.ts';

const LANES = 4;
const ROUNDS_PER_LANE = process.env.SLUICE_LONG_TESTS === '1' ? 250 : 100;
/** Rounds with one key: each makes two management calls, and a key may make 300 a minute. */
const ROUNDS_PER_KEY = 140;
const CHECKS_PER_NODE = 4;
/** Time over which a round's checks are spread around the moment at which the narrowing should commit. */
const SPREAD_MS = 16;
const WIDE_PCT = 50;
const NARROW_PCT = 10;

type Offer = { readonly device: string; readonly tier: string };
/**
 * Counts of all lanes. `aimMs` adapts to the machine: earlier after an accepted narrowing, later after a
 * refused one.
 */
type LabelledCount = {
  aimMs: number;
  accepted: number;
  refused: number;
  offers: number;
  contradictions: string[];
};

describeOnRealStores('first offers race narrowing', () => {
  let cluster: Cluster;
  let nodes: [ClusterNode, ClusterNode];

  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Promise.all([cluster.addNode(), cluster.addNode()]);
  });
  afterAll(() => cluster.dispose());

  it('no accepted narrowing contradicts an offer that was answered, however they interleave', async () => {
    const tally: LabelledCount = {
      aimMs: 0,
      accepted: 0,
      refused: 0,
      offers: 0,
      contradictions: [],
    };
    await Promise.all(Array.from({ length: LANES }, () => runLane(tally)));
    console.log(
      `race: ${LANES * ROUNDS_PER_LANE} rounds, ${tally.accepted} narrowings accepted, ` +
        `${tally.refused} refused, ${tally.offers} offers, ${tally.contradictions.length} contradictions`,
    );
    expect(tally.contradictions).toEqual([]);
    // Both outcomes must occur often, or there was no race.
    expect(tally.accepted).toBeGreaterThan(50);
    expect(tally.refused).toBeGreaterThan(50);
  }, 600_000);

  /**
   * Runs the rounds of one lane. Lanes have channels of their own, so that their rounds run at the same time.
   */
  async function runLane(tally: LabelledCount): Promise<void> {
    const tenant = await createTenant(nodes[0]);
    let key = tenant;
    for (let round = 0; round < ROUNDS_PER_LANE; round++) {
      if (round % ROUNDS_PER_KEY === 0) key = await anotherKey(nodes[0], tenant);
      await runRound(key, round, tally);
    }
  }

  async function runRound(tenant: Tenant, round: number, tally: LabelledCount): Promise<void> {
    const version = `1.0.${round + 1}`;
    const byLabels = round % 2 === 1;
    const published = await publish(pick(nodes), tenant, version, {
      rollout: byLabels ? 100 : WIDE_PCT,
      ...(byLabels ? { targets: { matchLabels: { tier: ['gold', 'free'] } } } : {}),
    });
    expect(published.status, published.text).toBe(201);
    const releaseId = releaseIdOf(published);
    // Sometimes the other node has heard of the release when the race begins, sometimes not yet.
    await sleep(Math.random() < 0.5 ? 0 : Math.random() * 8);
    const narrowing = byLabels
      ? { targets: { matchLabels: { tier: ['gold'] } } }
      : { rollout: NARROW_PCT };
    const checksAfterMs = tally.aimMs + (Math.random() - 0.5) * SPREAD_MS;
    const [narrowed, ...offers] = await Promise.all([
      after(-checksAfterMs, () => control(pick(nodes), tenant, version, narrowing)),
      ...nodes.flatMap((node) =>
        Array.from({ length: CHECKS_PER_NODE }, () =>
          after(checksAfterMs + Math.random() * 3, () => ask(node, tenant, version)),
        ),
      ),
    ]);
    record(
      tally,
      narrowed,
      offers.filter((offer) => offer !== undefined),
      byLabels,
      releaseId,
    );
  }

  /** Makes the first check of a new device; returns the device when it was offered the version. */
  async function ask(
    node: ClusterNode,
    tenant: Tenant,
    version: string,
  ): Promise<Offer | undefined> {
    const offer = { device: randomId(), tier: 'free' };
    const query = `l.tier=${offer.tier}`;
    const answer = await check(node, tenant, '0.0.1', { device: offer.device, query });
    // 503: the first offer could not be recorded in time, and there was nothing else to offer.
    expect([200, 204, 503]).toContain(answer.status);
    return answer.body?.version === version ? offer : undefined;
  }

  function record(
    tally: LabelledCount,
    narrowed: Answer,
    offers: readonly Offer[],
    byLabels: boolean,
    releaseId: string,
  ): void {
    expect([200, 422]).toContain(narrowed.status);
    tally.offers += offers.length;
    if (narrowed.status === 422) {
      tally.refused += 1;
      tally.aimMs += 1;
      return;
    }
    tally.accepted += 1;
    tally.aimMs -= 1;
    for (const offer of offers) {
      const bucket = cohortBucket(hashText(offer.device), hashText(releaseId));
      const isStillIn = byLabels ? offer.tier === 'gold' : bucket < cohortThreshold(NARROW_PCT);
      if (!isStillIn) tally.contradictions.push(`${releaseId} to ${offer.device} (${bucket})`);
    }
  }
});

function releaseIdOf({ body }: Answer): string {
  return (body as { release: { id: string } }).release.id;
}

/** Runs the work after a delay; a negative delay counts as 0. */
async function after<Value>(ms: number, work: () => Promise<Value>): Promise<Value> {
  await sleep(Math.max(0, ms));
  return work();
}

function pick<Item>(items: readonly [Item, Item]): Item {
  return Math.random() < 0.5 ? items[0] : items[1];
}
