// Runs a played fleet against a deployment of its own: one node, PostgreSQL and Redis. While it plays, a
// release is published and PostgreSQL makes the checkpoints that it would make in the fleet's time.

import { once } from 'node:events';
import { Redis } from 'ioredis';
import pg from 'pg';
import { freshDatabase } from '../../../test/support/fresh-database.ts';
import { startNode } from '../../../test/support/node.ts';
import { startPostgres } from '../../../test/support/postgres-server.ts';
import { startRedis } from '../../../test/support/redis-server.ts';
import { createTenant, publish, type Tenant } from '../../../test/support/tenant.ts';
import { type Child, startChild } from '../../machine/child-process.ts';
import { favourSession } from '../../machine/place-process.ts';
import { ARCHES, artifactsOf, CHANNEL, NOTES, PLATFORMS } from '../../service/fixed-channel.ts';
import { INTERVAL_MS } from './device-fleet.ts';
import { type FleetSettings, freshnessAt } from './fleet-settings.ts';
import type { FleetProgress, PlayOptions } from './play-fleet.ts';
import {
  type CpuShares,
  cpuBetween,
  type Deployment,
  type DeploymentReading,
  readDeployment,
  readDeviceTables,
} from './read-deployment.ts';

export type FleetStep = { readonly progress: FleetProgress; readonly reading: DeploymentReading };

export type FleetRun = {
  readonly settings: FleetSettings;
  /** Reading before the first check. */
  readonly idle: DeploymentReading;
  readonly steps: readonly FleetStep[];
  readonly cpuMs: CpuShares;
  /** CPU of the process that plays, between the first and the last step. */
  readonly playerMs: number;
  readonly tables: { readonly rows: number; readonly bytes: number };
  readonly checkpoints: number;
};

/** Version that is published in the middle of the run. */
const NEXT_VERSION = '1.3.0';
const PUBLISHED = ['1.1.0', '1.2.0'];
const OLD_VERSIONS = 20;
const STEPS_MAX = 12;
const STEPS_PER_SECOND_MAX = 4;
/** Step after which the next version is published. */
const PUBLISH_STEP = 1;
/** Time between two checkpoints of PostgreSQL as it is installed, in virtual time. */
const CHECKPOINT_MS = 300_000;
const EXTRA_MS = 30_000;

/** Starts the deployment, plays the fleet, and ends everything. */
export async function measureFleet(settings: FleetSettings): Promise<FleetRun> {
  const [postgres, redisServer] = await Promise.all([startPostgres({ fsync: true }), startRedis()]);
  try {
    const { url } = await freshDatabase(postgres.url);
    return await measureOn(url, redisServer.url, settings);
  } finally {
    await Promise.all([postgres.stop(), redisServer.stop()]);
  }
}

async function measureOn(
  databaseUrl: string,
  redisUrl: string,
  settings: FleetSettings,
): Promise<FleetRun> {
  const node = await startNode({
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    DEVICE_FRESHNESS_SECONDS: String(freshnessAt(settings.speed).seconds),
  });
  const sql = new pg.Client({ connectionString: databaseUrl });
  const redis = new Redis(redisUrl);
  try {
    await sql.connect();
    return await playOn({ node, sql, redis }, settings, databaseUrl);
  } finally {
    redis.disconnect();
    await sql.end();
    await node.dispose();
  }
}

async function playOn(
  deployment: Deployment,
  settings: FleetSettings,
  databaseUrl: string,
): Promise<FleetRun> {
  const { node, sql } = deployment;
  const tenant = await createTenant(node);
  for (const version of PUBLISHED) await publishFleet(deployment, tenant, version);
  const idle = await readDeployment(deployment);
  const checkpoints = await startCheckpoints(databaseUrl, CHECKPOINT_MS / settings.speed);
  const player = startChild(new URL('./fleet-process.ts', import.meta.url), {
    hasOwnSession: true,
  });
  favourSession(player.pid);
  try {
    const options = optionsOf(settings, tenant, Number(new URL(node.url).port));
    const steps = await follow(player, options, deployment, () =>
      publishFleet(deployment, tenant, NEXT_VERSION),
    );
    const [first, last] = [steps[0], steps.at(-1)];
    if (first === undefined || last === undefined) throw new Error('the fleet was not played');
    const playerId = String(player.pid);
    const playerMs =
      (last.reading.cpu.processesMs[playerId] ?? Number.NaN) -
      (first.reading.cpu.processesMs[playerId] ?? 0);
    const cpuMs = cpuBetween(deployment, first.reading, last.reading);
    const tables = await readDeviceTables(sql);
    return {
      ...{ settings, idle, steps, cpuMs, playerMs, tables },
      checkpoints: await checkpoints.end(),
    };
  } finally {
    await player.end();
    await checkpoints.end();
  }
}

async function publishFleet({ node }: Deployment, tenant: Tenant, version: string): Promise<void> {
  const artifacts = artifactsOf(version);
  const { status, text } = await publish(node, tenant, version, {
    ...{ notes: NOTES, artifacts, rollout: 100 },
  });
  if (status !== 201) throw new Error(`${version} was not published: ${status} ${text}`);
}

function optionsOf(settings: FleetSettings, tenant: Tenant, port: number): PlayOptions {
  const { devices, speed, seconds, warmupIntervals } = settings;
  const paths = PLATFORMS.flatMap((platform) =>
    ARCHES.map((arch) => `/u/${tenant.app}/${CHANNEL}/${platform}/${arch}`),
  );
  const old = Array.from({ length: OLD_VERSIONS }, (_, place) => `1.0.${OLD_VERSIONS - place}`);
  return {
    ...{ port, paths, devices, speed, seconds, watched: NEXT_VERSION },
    versions: [...PUBLISHED.toReversed(), ...old],
    steps: Math.min(STEPS_MAX, seconds * STEPS_PER_SECOND_MAX),
    warmupSeconds: (warmupIntervals * INTERVAL_MS) / speed / 1000,
  };
}

/** Lets the fleet play, and reads the deployment each time that the player tells its progress. */
async function follow(
  player: Child,
  options: PlayOptions,
  deployment: Deployment,
  publishNext: () => Promise<void>,
): Promise<FleetStep[]> {
  const steps: Promise<FleetStep>[] = [];
  const works: Promise<void>[] = [];
  const over = new Promise<void>((resolve) => {
    player.process.on('message', (message) => {
      const progress = message as FleetProgress;
      const step = readDeployment(deployment).then((reading) => ({ progress, reading }));
      const work = steps.length === PUBLISH_STEP ? publishNext() : Promise.resolve();
      // Both are awaited at the end, which tells what went wrong.
      for (const each of [step, work]) each.catch(() => undefined);
      steps.push(step);
      works.push(work);
      if (steps.length === options.steps + 1) resolve();
    });
  });
  const timeMs = (options.warmupSeconds + options.seconds) * 1000 + EXTRA_MS;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the fleet was not played in time')), timeMs);
  });
  const exited = once(player.process, 'exit').then(() => {
    throw new Error('the process that plays the fleet ended');
  });
  exited.catch(() => undefined);
  player.process.send(options);
  try {
    await Promise.race([over, late, exited]);
    await Promise.all(works);
    return await Promise.all(steps);
  } finally {
    clearTimeout(timer);
  }
}

/** Makes a checkpoint now and every so often. `end` stops that and tells how many there were. */
async function startCheckpoints(url: string, everyMs: number) {
  const sql = new pg.Client({ connectionString: url });
  await sql.connect();
  let count = 0;
  let isOver = false;
  let ended: Promise<void> | undefined;
  let running: Promise<unknown> = sql.query('CHECKPOINT');
  const timer = setInterval(() => {
    running = running.then(async () => {
      if (isOver) return;
      await sql.query('CHECKPOINT');
      count += 1;
    });
    // An error is told by `end`.
    running.catch(() => undefined);
  }, everyMs);
  return {
    async end(): Promise<number> {
      isOver = true;
      clearInterval(timer);
      try {
        await running;
      } finally {
        ended ??= sql.end();
        await ended;
      }
      return count;
    },
  };
}
