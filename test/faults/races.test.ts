// Tests first offers against calls that must not contradict them, on two nodes with real stores: a release
// that was narrowed was never offered outside its narrower audience, not through a channel that follows its
// own either, and one that was withdrawn was offered to nobody, however the calls interleave. What was
// withdrawn is then nowhere: not on another node, not in Redis and not on a disk.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { cohortBucket, cohortThreshold, hashText } from '../../src/domain/decision/cohort.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { keys } from '../support/redis-keys.ts';
import { type Answer, ARTIFACT, createTenant, randomId, type Tenant } from '../support/tenant.ts';

const LANES = 4;
/** Rounds of a lane. Lanes have channels of their own, so that their rounds run at the same time. */
const ROUNDS_PER_LANE = 30;
/** Rounds of a lane when one of the outcomes is too rare: the aim is then still on its way. */
const ROUNDS_PER_LANE_MAX = 5 * ROUNDS_PER_LANE;
/** Either outcome must occur in this share of the rounds planned, or there was no race. */
const SHARE_MIN = 0.05;
/** Rounds with one key: each makes at most three management calls, and a key may make 300 a minute. */
const ROUNDS_PER_KEY = 95;
const CHECKS_PER_NODE = 2;
/** Time over which a round's checks are spread around the moment at which the call should commit. */
const SPREAD_MS = 16;
const WIDE_PCT = 50;
const NARROW_PCT = 10;
const TIMEOUT_MS = 600_000;

/** Counts of all lanes. `aimMs` adapts to the machine: earlier after a win, later after a refusal. */
type Tally = { aimMs: number; won: number; refused: number; contradictions: string[] };

/** A device that was answered, and what it was. */
type Asked = { readonly device: string; readonly answer: Answer };

type Round = {
  /** The call that must not contradict an offer, and its status when one came first. */
  readonly call: () => Promise<Answer>;
  readonly refusedAs: 409 | 422;
  readonly ask: (node: ClusterNode, device: string) => Promise<Answer>;
  /** Returns what contradicts a call that won. */
  readonly contradictions: (asked: readonly Asked[]) => Promise<string[]> | string[];
};

describeOnRealStores('first offers race', () => {
  let cluster: Cluster;
  let nodes: [ClusterNode, ClusterNode];

  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Promise.all([cluster.addNode(), cluster.addNode()]);
  });
  afterAll(() => cluster?.dispose());

  /** Runs the rounds of every lane, and expects both outcomes often, and no contradiction. */
  async function race(begin: (tenant: Tenant, index: number) => Promise<Round>): Promise<void> {
    const tally: Tally = { aimMs: 0, won: 0, refused: 0, contradictions: [] };
    const lane = async () => {
      const tenant = await createTenant(nodes[0]);
      let key = tenant;
      const goesOn = (index: number) =>
        index < ROUNDS_PER_LANE || (!isRace(tally) && index < ROUNDS_PER_LANE_MAX);
      for (let index = 0; goesOn(index); index++) {
        if (index % ROUNDS_PER_KEY === 0) key = await tenant.at(nodes[0]).anotherKey();
        await runRound(await begin(key, index), tally);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    console.log(`race: ${tally.won} calls won, ${tally.refused} were refused`);
    expect(tally.contradictions).toEqual([]);
    expect(isRace(tally)).toBe(true);
  }

  async function runRound(round: Round, tally: Tally): Promise<void> {
    // Sometimes the other node has heard of the release when the race begins, sometimes not yet.
    await sleep(Math.random() < 0.5 ? 0 : Math.random() * 8);
    const checksAfterMs = tally.aimMs + (Math.random() - 0.5) * SPREAD_MS;
    const [called, ...asked] = await Promise.all([
      after(-checksAfterMs, round.call),
      ...nodes.flatMap((node) =>
        Array.from({ length: CHECKS_PER_NODE }, () =>
          after(checksAfterMs + Math.random() * 3, async () => {
            const device = randomId();
            return { device, answer: await round.ask(node, device) };
          }),
        ),
      ),
    ]);
    // 503: the first offer could not be recorded in time, and there was nothing else to offer.
    for (const { answer } of asked) expect([200, 204, 503]).toContain(answer.status);
    expect([200, round.refusedAs], called.text).toContain(called.status);
    if (called.status === round.refusedAs) {
      tally.refused += 1;
      tally.aimMs += 2;
      return;
    }
    tally.won += 1;
    tally.aimMs -= 2;
    tally.contradictions.push(...(await round.contradictions(asked)));
  }

  it(
    'a narrowing that is accepted contradicts no offer that was answered (§14.4)',
    async () => {
      await race(async (tenant, index) => {
        const version = `1.0.${index + 1}`;
        const isByLabels = index % 2 === 1;
        const targets = (tier: string[]) => ({ targets: { matchLabels: { tier } } });
        const wide = isByLabels
          ? { rollout: 100, ...targets(['gold', 'free']) }
          : { rollout: WIDE_PCT };
        const published = await tenant.at(pick(nodes)).publish(version, wide);
        expect(published.status, published.text).toBe(201);
        const { id } = (published.body as { release: { id: string } }).release;
        const narrowing = isByLabels ? targets(['gold']) : { rollout: NARROW_PCT };
        const isStillIn = (device: string) =>
          !isByLabels && cohortBucket(hashText(device), hashText(id)) < cohortThreshold(NARROW_PCT);
        return {
          call: () => tenant.at(pick(nodes)).control(version, narrowing),
          refusedAs: 422,
          ask: (node, device) => tenant.at(node).check('0.0.1', { device, query: 'l.tier=free' }),
          contradictions: (asked) =>
            asked
              .filter(({ answer }) => answer.body?.version === version)
              .filter(({ device }) => !isStillIn(device))
              .map(({ device }) => `${version} to ${device}`),
        };
      });
    },
    TIMEOUT_MS,
  );

  it(
    'a release that a follower was offered is not narrowed (§11.20)',
    async () => {
      await race(async (tenant, index) => {
        const version = `1.0.${index + 1}`;
        if (index === 0) {
          await tenant.at(nodes[0]).setChannel({ follows: 'stable' }, 'beta');
        }
        const published = await tenant.at(nodes[0]).publish(version);
        expect(published.status, published.text).toBe(201);
        return {
          call: () => tenant.at(nodes[0]).control(version, { rollout: 0 }),
          refusedAs: 422,
          ask: (node, device) => tenant.at(node).check('0.0.1', { channel: 'beta', device }),
          contradictions: (asked) =>
            asked
              .filter(({ answer }) => answer.body?.version === version)
              .map(({ device }) => `${version} to ${device}`),
        };
      });
    },
    TIMEOUT_MS,
  );

  it(
    'what was withdrawn was offered to nobody, also under its next content (§11.15)',
    async () => {
      await race(async (tenant, index) => {
        const version = `1.0.${index + 1}`;
        const anyUrl = () => `https://downloads.example.com/${randomId()}`;
        const publishAs = async (url: string) => {
          const published = await tenant.at(pick(nodes)).publish(version, {
            artifacts: [{ ...ARTIFACT, url }],
          });
          expect(published.status, published.text).toBe(201);
        };
        const url = anyUrl();
        await publishAs(url);
        const ask = (node: ClusterNode, device: string) =>
          tenant.at(node).check('0.0.1', { device });
        return {
          call: () => tenant.at(pick(nodes)).withdraw(version),
          refusedAs: 409,
          ask,
          async contradictions(asked) {
            // The version is free, and what takes it has nothing of what was withdrawn.
            await publishAs(anyUrl());
            const later = await Promise.all(nodes.map((node) => ask(node, randomId())));
            return [...asked.map(({ answer }) => answer), ...later]
              .filter(({ body }) => body?.url === url)
              .map(() => `${version}: ${url} was offered`);
          },
        };
      });
    },
    TIMEOUT_MS,
  );

  it('other nodes, Redis and disks forget a withdrawn release as they follow the channel (§15)', async () => {
    const [one, other] = nodes;
    const withdrawn = { notes: 'To be withdrawn', rollout: 0 };
    const tenant = await createTenant(one, ['1.0.0'], ['1.1.0', withdrawn]);
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
    for (const node of nodes) await tenant.at(node).check('1.0.0');
    await eventually('every copy has it', async () => {
      return (await inRedis()) && onDisks().every((isThere) => isThere);
    });
    expect((await tenant.at(other).withdraw('1.1.0')).status).toBe(200);
    await eventually('no copy has it', async () => {
      return !(await inRedis()) && onDisks().every((isThere) => !isThere);
    });
    expect(await tenant.at(other).offered()).toBe('1.0.0');
    redis.disconnect();
  });
});

/** Whether both outcomes occurred often enough. */
function isRace({ won, refused }: Tally): boolean {
  return Math.min(won, refused) > SHARE_MIN * LANES * ROUNDS_PER_LANE;
}

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
