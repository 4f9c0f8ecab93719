// Runs a played fleet against a deployment of its own. Meanwhile a release is published, PostgreSQL makes the
// checkpoints that it would make in the fleet's time, and what was used so far is read again and again.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type pg from 'pg';
import type { ServingNode } from '../../../test/support/node.ts';
import { queueLength } from '../../../test/support/redis-keys.ts';
import { createTenant } from '../../../test/support/tenant.ts';
import {
  commandOf,
  isBackground,
  processTree,
  sampleCpu,
  usedMs,
} from '../../machine/processes.ts';
import { startWorker, type Worker } from '../../machine/worker.ts';
import { readMetrics, withDeployment } from '../../service/deployment.ts';
import { checkPaths, publishFixed } from '../../service/fixed-releases.ts';
import { INTERVAL_MS } from './device-fleet.ts';
import type { FleetProgress, PlayOptions } from './play-fleet.ts';

export type FleetSettings = {
  readonly devices: number;
  readonly speed: number;
  /** Length of the measured time in real seconds. */
  readonly duration: number;
  /** Intervals in which the fleet is met before: all ask in one, and in another that is recorded. */
  readonly warmupIntervals: number;
};

export type FleetRun = Awaited<ReturnType<typeof measureFleet>>;
export type FleetStep = { readonly progress: FleetProgress; readonly reading: Reading };

type Player = Worker<PlayOptions, void, FleetProgress>;
type Observed = { readonly node: ServingNode; readonly sql: pg.Client; readonly redis: Redis };
type Reading = Awaited<ReturnType<typeof readDeployment>>;

const NEXT_VERSION = '1.3.0';
const PUBLISHED = ['1.1.0', '1.2.0'];
const OLD_VERSIONS = Array.from({ length: 20 }, (_, place) => `1.0.${20 - place}`);
const STEPS_MAX = 12;
const STEPS_PER_SECOND_MAX = 4;
const PUBLISH_STEP = 1;
/** Time between two checkpoints of PostgreSQL as it is installed, in virtual time. */
const CHECKPOINT_MS = 300_000;
const EXTRA_MS = 30_000;
/** Freshness of device rows as installed, and the shortest that the service takes, in seconds. */
export const FRESHNESS_SECONDS = 300;
const FRESHNESS_SECONDS_MIN = 10;
const DEVICE_TABLES = [
  ...['devices', 'device_versions', 'fleet_count_parts', 'fleet_hour_parts', 'fleet_step_parts'],
];

/** `DEVICE_FRESHNESS_SECONDS` for a clock of this speed, and how many virtual seconds that is. */
export function freshnessAt(speed: number): { readonly seconds: number; readonly virtual: number } {
  const seconds = Math.max(FRESHNESS_SECONDS_MIN, Math.round(FRESHNESS_SECONDS / speed));
  return { seconds, virtual: seconds * speed };
}

export function measureFleet(settings: FleetSettings) {
  return withDeployment({ isPlaced: false }, async (deployment) => {
    const stores = await deployment.startStores();
    const freshness = String(freshnessAt(settings.speed).seconds);
    const node = await deployment.startNode({ ...stores, DEVICE_FRESHNESS_SECONDS: freshness });
    const sql = await deployment.connect(stores.DATABASE_URL);
    const observed = { node, sql, redis: deployment.redis[0] as Redis };
    const tenant = await createTenant(node);
    const publish = (version: string) => publishFixed(tenant, { version });
    for (const version of PUBLISHED) await publish(version);
    const idle = await readDeployment(observed);
    const over = new AbortController();
    const own = await deployment.connect(stores.DATABASE_URL);
    const checkpoints = makeCheckpoints(own, CHECKPOINT_MS / settings.speed, over.signal);
    checkpoints.catch(() => undefined);
    deployment.keep({ end: () => over.abort() });
    const module = new URL('./play-fleet.ts', import.meta.url);
    const player: Player = deployment.keep(startWorker(module, 'playFleet'));
    const options = optionsOf(settings, tenant.app, Number(new URL(node.url).port));
    const steps = await follow(player, options, observed, () => publish(NEXT_VERSION));
    const [first, last] = [steps[0] as FleetStep, steps.at(-1) as FleetStep];
    over.abort();
    return {
      ...{ settings, idle, steps, checkpoints: await checkpoints },
      cpuMs: cpuBetween(observed, first.reading, last.reading),
      playerMs: usedMs(first.reading.cpu, last.reading.cpu, [player.pid]),
      tables: await readDeviceTables(sql),
    };
  });
}

function optionsOf(settings: FleetSettings, app: string, port: number): PlayOptions {
  const { devices, speed, duration: seconds, warmupIntervals } = settings;
  return {
    ...{ port, paths: checkPaths(app), devices, speed, seconds, watched: NEXT_VERSION },
    versions: [...PUBLISHED.toReversed(), ...OLD_VERSIONS],
    steps: Math.min(STEPS_MAX, seconds * STEPS_PER_SECOND_MAX),
    warmupSeconds: (warmupIntervals * INTERVAL_MS) / speed / 1000,
  };
}

/** Lets the fleet play, and reads the deployment each time that the player tells its progress. */
async function follow(
  player: Player,
  options: PlayOptions,
  observed: Observed,
  publishNext: () => Promise<void>,
): Promise<FleetStep[]> {
  const steps: Promise<FleetStep>[] = [];
  let publishing: Promise<void> | undefined;
  const over = player.run(options, (progress) => {
    const step = readDeployment(observed).then((reading) => ({ progress, reading }));
    if (steps.length === PUBLISH_STEP) publishing = publishNext();
    // Both are awaited at the end, which tells what went wrong.
    for (const each of [step, publishing]) each?.catch(() => undefined);
    steps.push(step);
  });
  const timeMs = (options.warmupSeconds + options.seconds) * 1000 + EXTRA_MS;
  const late = sleep(timeMs, 'late' as const, { ref: false });
  if ((await Promise.race([over, late])) === 'late') throw new Error('the fleet took too long');
  await publishing;
  return Promise.all(steps);
}

/** Makes a checkpoint now and every so often until the signal; returns how many there were since. */
async function makeCheckpoints(sql: pg.Client, everyMs: number, signal: AbortSignal) {
  const begin = performance.now();
  for (let count = 0; ; count++) {
    await sql.query('CHECKPOINT');
    const left = begin + (count + 1) * everyMs - performance.now();
    await sleep(Math.max(0, left), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return count;
  }
}

async function readDeployment({ node, sql, redis }: Observed) {
  const cpu = sampleCpu(process.pid);
  const [{ rows }, memory, batches, metric] = await Promise.all([
    sql.query<{ wal: string; written: string }>(
      `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal,
         (SELECT sum(n_tup_ins + n_tup_upd) FROM pg_stat_user_tables JOIN pg_inherits ON inhrelid = relid
          WHERE inhparent = 'devices'::regclass) AS written`,
    ),
    redis.info('memory'),
    queueLength(redis),
    readMetrics(node),
  ]);
  const storeSeconds = (store: string, operation: string) =>
    metric(`sluice_store_call_duration_seconds_sum{store="${store}",operation="${operation}"}`);
  return {
    /** Check-ins that wait: batches in Redis, the age of the oldest, and the number in the node. */
    ...{ cpu, batches, ageSeconds: metric('sluice_check_in_queue_seconds') },
    held: metric('sluice_check_ins_held'),
    dropped: metric('sluice_check_ins_total{outcome="dropped"}'),
    connections: metric('sluice_connections_total{outcome="accepted"}'),
    walBytes: Number(rows[0]?.wal),
    rowsWritten: Number(rows[0]?.written),
    redisBytes: Number(/^used_memory:(\d+)/m.exec(memory)?.[1]),
    /** Seconds in which check-ins were being recorded or acknowledged. */
    recordingSeconds:
      storeSeconds('ledger', 'recordChecks') + storeSeconds('engine', 'acknowledgeCheckIns'),
  };
}

/** CPU time between two readings, by what used it; what ended meanwhile belonged to PostgreSQL. */
function cpuBetween({ node }: Observed, begin: Reading, end: Reading) {
  const ofNode = processTree(node.process.pid);
  const all = Object.keys(end.cpu.processesMs).map(Number);
  const used = (pids: readonly number[]) => usedMs(begin.cpu, end.cpu, pids);
  const named = (name: string) => used(all.filter((pid) => commandOf(pid).startsWith(name)));
  return {
    service: used(ofNode.filter((pid) => !isBackground(pid))),
    background: used(ofNode.filter(isBackground)),
    redis: named('redis'),
    postgres: named('postgres') + end.cpu.endedMs - begin.cpu.endedMs,
  };
}

async function readDeviceTables(sql: pg.Client) {
  const { rows } = await sql.query<{ rows: string; bytes: string }>(
    `SELECT (SELECT count(*) FROM devices) AS rows,
       (SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest($1::text[]) AS name)
         + (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits
           WHERE inhparent = 'devices'::regclass) AS bytes`,
    [DEVICE_TABLES],
  );
  return { rows: Number(rows[0]?.rows), bytes: Number(rows[0]?.bytes) };
}
