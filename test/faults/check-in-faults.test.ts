// Tests that check-ins survive when a node, Redis, PostgreSQL or an answer between them is lost. The promise:
// checks are answered all the same, and every check-in that the engine accepted reaches PostgreSQL.
//
// The accepted check-ins are read from the engine itself: Redis runs with an append-only file that is synced
// with every write and never rewritten, so the file has every accepted batch, also those of a killed node and
// those acknowledged since. The counters of the nodes could not tell: those of a killed node end with its
// last scrape. They are compared with the file instead: it may never have fewer check-ins than the nodes
// counted as accepted.
//
// A check-in that the engine never accepted can only have been held by a killed node. A node that lives owes
// everything it has answered, once it holds nothing and has dropped nothing.

import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type CheckIn, coalesceCheckIns } from '../../src/domain/fleet/check-in.ts';
import { acceptedIn } from '../support/appended-check-ins.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { figureIn, metricsOf } from '../support/metrics.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { type Check, PipelinedLoad } from '../support/pipelined-load.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { queueLength } from '../support/redis-keys.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

const DEVICE_COUNT = 5000;
const OUTAGE_ROUNDS = 3;
const OUTAGE_ROUND_DEVICES = 300;
/** Devices that have asked before an outage. */
const BEFORE = 2 * OUTAGE_ROUND_DEVICES;
/**
 * Pause between two rounds of an outage: PostgreSQL takes far longer to record checks than nodes to answer.
 */
const ROUND_PAUSE_MS = 400;
/** Maximum number of check-ins that a node holds. */
const HELD_MAX = 200_000;
/** Time limit for recording everything: batches that a dead node had taken are taken over after 30 s. */
const DRAINED_MS_MAX = 120_000;
const SAMPLE_INTERVAL_MS = 100;
/** Longer than a node waits for two answers, shorter than it tries at its stop. */
const SILENT_AT_STOP_MS = 2500;
const OLDER = '1.0.0';
const NEWER = '1.1.0';

describeOnRealStores('check-ins and what breaks under them', () => {
  let redisFolder: string;
  let redis: RedisServer;
  let redisClient: Redis;
  let postgres: PostgresServer;
  let databaseUrl: string;
  let observer: pg.Pool;
  let nodes: ServingNode[];
  let tenant: Tenant;

  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres?.stop());

  beforeEach(async () => {
    nodes = [];
    redisFolder = temporaryFolder('sluice-appended-');
    const durable = ['--appendonly', 'yes', '--appendfsync', 'always'];
    const unabridged = ['--auto-aof-rewrite-percentage', '0', '--dir', redisFolder];
    redis = await startRedis({ args: [...durable, ...unabridged] });
    redisClient = new Redis(redis.url, { retryStrategy: () => 100 });
    // Tests kill the server: the client's errors are expected.
    redisClient.on('error', () => undefined);
    databaseUrl = (await freshDatabase(postgres.url)).url;
    observer = new pg.Pool({ connectionString: databaseUrl, max: 1 });
    observer.on('error', () => undefined);
    const first = await addNode();
    tenant = await createTenant(first, [NEWER]);
  });

  afterEach(async () => {
    await observer.end();
    redisClient.disconnect();
    await Promise.all(nodes.map((node) => node.dispose()));
    await redis.stop();
    removeFolder(redisFolder);
  });

  async function addNode(): Promise<ServingNode> {
    const node = await startNode({ DATABASE_URL: databaseUrl, REDIS_URL: redis.url });
    nodes.push(node);
    return node;
  }

  /** Waits until no node holds anything and nothing waits in Redis. */
  async function drained(living: readonly ServingNode[]): Promise<void> {
    await eventually(
      'everything is drained',
      async () => {
        const held = await Promise.all(living.map(async (node) => (await countsOf(node)).held));
        if (held.some((count) => count > 0)) return false;
        return redisClient.status === 'ready' && (await queueLength(redisClient)) === 0;
      },
      DRAINED_MS_MAX,
    );
  }

  async function storedVersions(): Promise<Map<string, string>> {
    const { rows } = await observer.query<{ device_id: string; version: string }>(
      'SELECT device_id, version FROM devices',
    );
    return new Map(rows.map(({ device_id, version }) => [device_id, version]));
  }

  /** Expects the maintained counts to equal a fresh count of the devices. */
  async function expectCountsTrue(): Promise<void> {
    const counted = await observer.query(
      `SELECT channel, version, platform, devices::integer FROM fleet_counts WHERE devices <> 0
       ORDER BY 1, 2, 3`,
    );
    const recounted = await observer.query(
      `SELECT channel, version, platform, count(*)::integer AS devices FROM devices
       GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
    );
    expect(counted.rows).toEqual(recounted.rows);
  }

  /** Expects exactly the accepted devices in PostgreSQL, each with its newest version. */
  async function expectAcceptedStored(accepted: readonly CheckIn[]): Promise<Map<string, string>> {
    const newest = coalesceCheckIns(accepted);
    const stored = await storedVersions();
    const wrong = newest.filter(({ deviceId, version }) => stored.get(deviceId) !== version);
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(stored.size).toBe(newest.length);
    return stored;
  }

  it('what the engine accepted reaches PostgreSQL, though a node is killed and Redis with its data', async () => {
    const [doomed, survivor] = [nodes[0] as ServingNode, await addNode()];
    // From then on both decide at once, first offer included.
    for (const node of [doomed, survivor]) await tenant.at(node).untilOffered(NEWER);
    const load = new PipelinedLoad(tenant, [doomed, survivor]);
    const owed = new Map<string, string>();
    let lastOfDoomed = await countsOf(doomed);
    const faults: Promise<unknown>[] = [];

    const sampling = (async () => {
      while (!doomed.process.hasExited()) {
        // The node may die during the request: its last answer counts.
        lastOfDoomed = await countsOf(doomed).catch(() => lastOfDoomed);
        await sleep(SAMPLE_INTERVAL_MS);
      }
    })();
    const restartRedis = async () => {
      await redis.kill();
      await redis.restart();
    };
    await load.run([...rounds(DEVICE_COUNT)], ({ device, version }, node) => {
      if (node === survivor) owed.set(device, version);
      if (load.answerCount === DEVICE_COUNT * 0.8) faults.push(restartRedis());
      if (load.answerCount === DEVICE_COUNT * 1.2) faults.push(doomed.kill());
    });
    expect(faults.length).toBe(2);
    await Promise.all([...faults, sampling]);
    await drained([survivor]);

    const counts = await countsOf(survivor);
    const accepted = acceptedIn(redisFolder);
    const stored = await expectAcceptedStored(accepted);
    expect([...load.statuses.keys()].sort()).toEqual([200, 204]);
    expect(load.answerCount).toBe(2 * DEVICE_COUNT);
    expect(accepted.length).toBeGreaterThanOrEqual(counts.accepted + lastOfDoomed.accepted);
    expect(counts).toMatchObject({ dropped: 0, held: 0 });
    // The engine has accepted every check that the survivor answered, with that version or a newer one.
    const missing = [...owed].filter(([device, version]) => (stored.get(device) ?? '') < version);
    expect(missing.slice(0, 5)).toEqual([]);
    await expectCountsTrue();
  }, 600_000);

  it(
    'PostgreSQL gone, and then Redis: checks are answered, what is held is bounded, and all arrives',
    async () => {
      const living = [nodes[0] as ServingNode, await addNode()];
      for (const node of living) await tenant.at(node).untilOffered(NEWER);
      const load = new PipelinedLoad(tenant, living);
      await load.run(devicesFrom(0, BEFORE, OLDER));
      await postgres.kill();
      const countBetween = await loadInRounds(load, BEFORE);
      expect(await queueLength(redisClient)).toBeGreaterThan(0);
      await postgres.restart();
      await drained(living);
      await redis.kill();
      let heldMax = 0;
      const deviceCount = await loadInRounds(load, countBetween, async () => {
        const counts = await Promise.all(living.map(countsOf));
        heldMax = Math.max(heldMax, ...counts.map(({ held }) => held));
      });
      await redis.restart();
      await drained(living);
      expect(heldMax).toBeGreaterThan(0);
      expect(heldMax).toBeLessThanOrEqual(HELD_MAX);
      expect([...load.statuses.keys()].sort()).toEqual([200, 204]);
      for (const count of await Promise.all(living.map(countsOf))) {
        expect(count).toMatchObject({ dropped: 0, held: 0 });
      }
      const stored = await expectAcceptedStored(acceptedIn(redisFolder));
      expect(stored.size).toBe(deviceCount);
      const newerFrom = BEFORE - OUTAGE_ROUND_DEVICES;
      const newerTo = deviceCount - OUTAGE_ROUND_DEVICES;
      const wrong = Array.from({ length: deviceCount }, (_, index) => ({
        version: stored.get(deviceOf(index)),
        expected: index >= newerFrom && index < newerTo ? NEWER : OLDER,
      })).filter(({ version, expected }) => version !== expected);
      expect(wrong.slice(0, 5)).toEqual([]);
      await expectCountsTrue();
    },
    2 * DRAINED_MS_MAX + 240_000,
  );

  it('a node that is stopped while Redis answers nothing hands over once it does', async () => {
    const [node] = nodes as [ServingNode];
    await tenant.untilOffered(NEWER);
    await drained([node]);
    const before = (await storedVersions()).size;
    redis.pause();
    await new PipelinedLoad(tenant, [node]).run(devicesFrom(0, BEFORE, OLDER));
    expect((await countsOf(node)).held).toBeGreaterThanOrEqual(BEFORE);
    const stopped = node.stop();
    await sleep(SILENT_AT_STOP_MS);
    redis.resume();
    await stopped;
    expect(node.output()).not.toContain('check-ins are lost');
    await drained([await addNode()]);
    expect((await storedVersions()).size).toBe(before + BEFORE);
  });
});

/**
 * Asks as new devices, numbered from `from` on, and a second time as those of the round before, round after
 * round; returns the number of devices in the end.
 */
async function loadInRounds(
  load: PipelinedLoad,
  from: number,
  afterRound = async () => {},
): Promise<number> {
  let count = from;
  for (let round = 0; round < OUTAGE_ROUNDS; round++, count += OUTAGE_ROUND_DEVICES) {
    const before = count - OUTAGE_ROUND_DEVICES;
    await load.run(devicesFrom(before, OUTAGE_ROUND_DEVICES, NEWER));
    await load.run(devicesFrom(count, OUTAGE_ROUND_DEVICES, OLDER));
    await afterRound();
    await sleep(ROUND_PAUSE_MS);
  }
  return count;
}

function deviceOf(index: number): string {
  return `device-${String(index).padStart(6, '0')}`;
}

function devicesFrom(first: number, count: number, version: string): Check[] {
  return Array.from({ length: count }, (_, index) => ({
    device: deviceOf(first + index),
    version,
  }));
}

/** Checks of every device, and then of every device again with a newer version. */
function rounds(count: number): Check[] {
  return [...devicesFrom(0, count, OLDER), ...devicesFrom(0, count, NEWER)];
}

async function countsOf(node: ServingNode) {
  const text = await metricsOf(node);
  return {
    accepted: figureIn(text, 'sluice_check_ins_total{outcome="accepted"}'),
    dropped: figureIn(text, 'sluice_check_ins_total{outcome="dropped"}'),
    held: figureIn(text, 'sluice_check_ins_held'),
  };
}
