// Reads what a deployment has used so far: CPU of its processes, log and rows of PostgreSQL, memory of Redis,
// and the check-ins that wait.

import type { Redis } from 'ioredis';
import type pg from 'pg';
import { metricsOf } from '../../../test/support/metrics.ts';
import type { ServingNode } from '../../../test/support/node.ts';
import { queueLength } from '../../../test/support/redis-keys.ts';
import { type CpuSample, sampleCpu, usedMs } from '../../machine/cpu-account.ts';
import { argumentsOf, commandOf, processTree } from '../../machine/process-table.ts';

/** Node and its stores, all started by this process. */
export type Deployment = {
  readonly node: ServingNode;
  readonly sql: pg.Client;
  readonly redis: Redis;
};

export type DeploymentReading = {
  readonly cpu: CpuSample;
  readonly walBytes: number;
  /** Rows of devices that were written, new ones included. */
  readonly rowsWritten: number;
  readonly redisBytes: number;
  /** Batches of check-ins that wait in Redis. */
  readonly batches: number;
  /** Age in seconds of the oldest check-in that is being recorded. */
  readonly ageSeconds: number;
  /** Check-ins that wait in the memory of the node. */
  readonly held: number;
  readonly dropped: number;
  readonly stored: number;
  readonly connections: number;
  /** Seconds in which check-ins were being recorded or acknowledged. */
  readonly recordingSeconds: number;
};

/** CPU time in milliseconds between two readings, by what used it. */
export type CpuShares = Record<'service' | 'background' | 'redis' | 'postgres', number>;

const DEVICE_TABLES = [
  'devices',
  'device_versions',
  'fleet_count_parts',
  'fleet_hour_parts',
  'fleet_step_parts',
];

/** Reads everything at about one time. */
export async function readDeployment(deployment: Deployment): Promise<DeploymentReading> {
  const { node, sql, redis } = deployment;
  const cpu = sampleCpu(process.pid);
  const [{ rows }, memory, batches, metrics] = await Promise.all([
    sql.query<{ wal: string; written: string }>(
      `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal,
         (SELECT sum(n_tup_ins + n_tup_upd) FROM pg_stat_user_tables JOIN pg_inherits ON inhrelid = relid
          WHERE inhparent = 'devices'::regclass) AS written`,
    ),
    redis.info('memory'),
    queueLength(redis),
    metricsOf(node),
  ]);
  const series = seriesOf(metrics);
  const storeSeconds = (store: string, operation: string) =>
    series(`sluice_store_call_duration_seconds_sum{store="${store}",operation="${operation}"}`);
  const outcome = (name: string) => series(`sluice_check_ins_total{outcome="${name}"}`);
  return {
    cpu,
    batches,
    walBytes: Number(rows[0]?.wal),
    rowsWritten: Number(rows[0]?.written),
    redisBytes: Number(/^used_memory:(\d+)/m.exec(memory)?.[1]),
    ageSeconds: series('sluice_check_in_queue_seconds'),
    held: series('sluice_check_ins_held'),
    dropped: outcome('dropped'),
    stored: outcome('stored'),
    connections: series('sluice_connections_total{outcome="accepted"}'),
    recordingSeconds:
      storeSeconds('ledger', 'recordChecks') + storeSeconds('engine', 'acknowledgeCheckIns'),
  };
}

/** Returns the value of a series; 0 for one that is not there, as counters are that never counted. */
function seriesOf(metrics: string): (name: string) => number {
  const values = new Map(
    metrics.split('\n').map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))] as const;
    }),
  );
  return (name) => values.get(name) ?? 0;
}

/**
 * Returns the CPU time between two readings. Processes of PostgreSQL that ended meanwhile count as its own:
 * nothing else of a deployment ends in a run.
 */
export function cpuBetween(
  { node }: Deployment,
  begin: DeploymentReading,
  end: DeploymentReading,
): CpuShares {
  const ofNode = processTree(node.process.pid);
  const background = ofNode.filter((pid) => argumentsOf(pid).includes('--background'));
  const all = Object.keys(end.cpu.processesMs).map(Number);
  const used = (pids: readonly number[]) => usedMs(begin.cpu, end.cpu, pids);
  const named = (name: string) => all.filter((pid) => commandOf(pid).startsWith(name));
  return {
    service: used(ofNode.filter((pid) => !background.includes(pid))),
    background: used(background),
    redis: used(named('redis')),
    postgres: used(named('postgres')) + end.cpu.endedMs - begin.cpu.endedMs,
  };
}

/** Returns the number of device rows, and the bytes of all tables about devices with their indexes. */
export async function readDeviceTables(
  sql: pg.Client,
): Promise<{ readonly rows: number; readonly bytes: number }> {
  const { rows } = await sql.query<{ rows: string; bytes: string }>(
    `SELECT (SELECT count(*) FROM devices) AS rows,
       (SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest($1::text[]) AS name)
         + (SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits
           WHERE inhparent = 'devices'::regclass) AS bytes`,
    [DEVICE_TABLES],
  );
  return { rows: Number(rows[0]?.rows), bytes: Number(rows[0]?.bytes) };
}
