// Tests withdrawals against first offers, on two nodes with real stores. The promise: of a release that is
// withdrawn while it is offered for the first time, either the withdrawal is refused, or nobody was offered
// it. What was withdrawn is then nowhere: not on another node, not in Redis and not on a disk.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { keys } from '../support/redis-keys.ts';
import {
  type Answer,
  ARTIFACT,
  anotherKey,
  check,
  createTenant,
  manage,
  publish,
  randomId,
  type Tenant,
} from '../support/tenant.ts';

const LANES = 4;
/** Rounds of a lane: 1,000 in all where SLUICE_PROPERTY_RUNS is `all`, fewer elsewhere, as they take 90 s. */
const ROUNDS_PER_LANE = process.env.SLUICE_PROPERTY_RUNS === 'all' ? 250 : 50;
/** Either outcome must occur in this share of the rounds, or there was no race. */
const SHARE_MIN = 0.05;
/** Rounds with one key: each makes at most three management calls, and a key may make 300 a minute. */
const ROUNDS_PER_KEY = 95;
const CHECKS_PER_NODE = 2;
/** Time over which a round's checks are spread around the moment at which the withdrawal should commit. */
const SPREAD_MS = 12;

/** Counts of all lanes. `aimMs` adapts to the machine: earlier after a withdrawal, later after a refusal. */
type Tally = { aimMs: number; withdrawn: number; refused: number; contradictions: string[] };

describeOnRealStores('withdrawals race first offers', () => {
  let cluster: Cluster;
  let nodes: [ClusterNode, ClusterNode];

  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Promise.all([cluster.addNode(), cluster.addNode()]);
  });
  afterAll(() => cluster.dispose());

  it('in each of many rounds, what was withdrawn was offered to nobody, also under its next content (§11.15)', async () => {
    const tally: Tally = { aimMs: 0, withdrawn: 0, refused: 0, contradictions: [] };
    await Promise.all(Array.from({ length: LANES }, () => runLane(tally)));
    console.log(
      `race: ${LANES * ROUNDS_PER_LANE} rounds, ${tally.withdrawn} withdrawn, ${tally.refused} refused, ` +
        `${tally.contradictions.length} contradictions`,
    );
    expect(tally.contradictions).toEqual([]);
    const oftenEnough = SHARE_MIN * LANES * ROUNDS_PER_LANE;
    expect(tally.withdrawn).toBeGreaterThan(oftenEnough);
    expect(tally.refused).toBeGreaterThan(oftenEnough);
  }, 600_000);

  async function runLane(tally: Tally): Promise<void> {
    const tenant = await createTenant(nodes[0]);
    let key = tenant;
    for (let round = 0; round < ROUNDS_PER_LANE; round++) {
      if (round % ROUNDS_PER_KEY === 0) key = await anotherKey(nodes[0], tenant);
      await runRound(key, `1.0.${round + 1}`, tally);
    }
  }

  async function runRound(tenant: Tenant, version: string, tally: Tally): Promise<void> {
    const url = `https://downloads.example.com/${randomId()}`;
    const published = await publishAs(tenant, version, url);
    expect(published.status, published.text).toBe(201);
    const checksAfterMs = tally.aimMs + (Math.random() - 0.5) * SPREAD_MS;
    const [withdrawn, ...answers] = await Promise.all([
      after(-checksAfterMs, () => withdraw(tenant, version)),
      ...nodes.flatMap((node) =>
        Array.from({ length: CHECKS_PER_NODE }, () =>
          after(checksAfterMs + Math.random() * 3, () => ask(node, tenant)),
        ),
      ),
    ]);
    expect([200, 409], withdrawn.text).toContain(withdrawn.status);
    if (withdrawn.status === 409) {
      tally.refused += 1;
      tally.aimMs += 1;
      return;
    }
    tally.withdrawn += 1;
    tally.aimMs -= 1;
    // The version is free, and what takes it has nothing of what was withdrawn.
    const next = `https://downloads.example.com/${randomId()}`;
    const again = await publishAs(tenant, version, next);
    expect(again.status, again.text).toBe(201);
    const later = await Promise.all(nodes.map((node) => ask(node, tenant)));
    for (const answer of [...answers, ...later]) {
      if (answer.body?.url === url) tally.contradictions.push(`${version}: ${url} was offered`);
    }
  }

  function publishAs(tenant: Tenant, version: string, url: string): Promise<Answer> {
    return publish(pick(nodes), tenant, version, { artifacts: [{ ...ARTIFACT, url }] });
  }

  function withdraw(tenant: Tenant, version: string): Promise<Answer> {
    const body = { app: tenant.app, channel: 'stable', version };
    return manage(pick(nodes), tenant, 'DELETE', 'releases', body);
  }

  async function ask(node: ClusterNode, tenant: Tenant): Promise<Answer> {
    const answer = await check(node, tenant, '0.0.1', { device: randomId() });
    // 503: the first offer could not be recorded in time, and there was nothing else to offer.
    expect([200, 204, 503]).toContain(answer.status);
    return answer;
  }

  it('other nodes, Redis and disks forget a withdrawn release as they follow the channel (§15)', async () => {
    const [one, other] = nodes;
    const tenant = await createTenant(one);
    await publish(one, tenant, '1.0.0');
    await publish(one, tenant, '1.1.0', { notes: 'To be withdrawn', rollout: 0 });
    const redis = new Redis(cluster.redis.url);
    const { rows } = await cluster.query<{ edition: string }>(
      "SELECT edition FROM releases WHERE notes = 'To be withdrawn'",
    );
    // The text of an edition that no index names is not read any more, and goes with many others.
    const inRedis = async () => {
      const index = await redis.hget(keys.snapshot(tenant.app, 'stable'), 'index');
      return index?.includes(String(rows[0]?.edition)) === true;
    };
    const onDisks = () => nodes.map(({ dataDir }) => isBelow(dataDir, 'To be withdrawn'));
    for (const node of nodes) await check(node, tenant, '1.0.0');
    await eventually('every copy has it', async () => {
      return (await inRedis()) && onDisks().every((isThere) => isThere);
    });
    expect((await withdraw(tenant, '1.1.0')).status).toBe(200);
    await eventually('no copy has it', async () => {
      return !(await inRedis()) && onDisks().every((isThere) => !isThere);
    });
    expect((await check(other, tenant, '0.9.0')).body?.version).toBe('1.0.0');
    redis.disconnect();
  });
});

/** Whether a file below a folder contains the text. */
function isBelow(folder: string, text: string): boolean {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).some(
    (entry) => entry.isFile() && readIfThere(join(entry.parentPath, entry.name)).includes(text),
  );
}

/** Returns the text of a file, which the node may have renamed or removed since it was listed. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

/** Runs the work after a delay; a negative delay counts as 0. */
async function after<Value>(ms: number, work: () => Promise<Value>): Promise<Value> {
  await sleep(Math.max(0, ms));
  return work();
}

function pick<Item>(items: readonly [Item, Item]): Item {
  return Math.random() < 0.5 ? items[0] : items[1];
}
