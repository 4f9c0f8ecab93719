// Global setup of all tests that need servers: a fresh build, and one real Redis and one real PostgreSQL for
// the whole run, where their binaries are installed. Without them only the embedded implementations are
// tested, without Chromium the suites of the console in the browser are skipped, and the run says so. CI sets
// SLUICE_REQUIRE_REAL=1, so that a missing program fails the run there.

import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { engineOfRun } from './base-environment.ts';
import { findBrowser } from './browser.ts';
import { findHaproxy } from './compose-front.ts';
import { missingProgram } from './console-steps.ts';
import { makeMigratedTemplate } from './migrated-database.ts';
import { findNginx, findOpenssl } from './nginx-front.ts';
import { findPgBouncer } from './pgbouncer.ts';
import { findPostgres, type PostgresServer, startPostgres } from './postgres-server.ts';
import { findPromtool } from './promtool.ts';
import { findRedis, type RedisServer, startRedis } from './redis-server.ts';
import { shareInRun } from './share-in-run.ts';
import { findVelopack } from './velopack-client.ts';

const BUILD = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url));

declare module 'vitest' {
  export interface ProvidedContext {
    /** URL of the run's Redis; empty when there is none. */
    redisUrl: string;
    /**
     * URL of the database `postgres` on the run's PostgreSQL; empty when there is none. See
     * `migratedDatabase`.
     */
    postgresUrl: string;
  }
}

/** Programs that tests run: name, the flag that asks for the version, and what a run without it lacks. */
const PROGRAMS = [
  ['PostgreSQL', findPostgres, '--version', 'PGlite only'],
  ['Redis', findRedis, '--version', 'memory only'],
  ['Chromium', findBrowser, '--version', 'no browser tests'],
  ['PgBouncer', findPgBouncer, '--version', 'no test of pools'],
  ['HAProxy', findHaproxy, '-v', 'no test of proxies'],
  ['nginx', findNginx, '-v', 'no test of proxies'],
  ['openssl', findOpenssl, 'version', 'no test of proxies'],
  ['promtool', findPromtool, '--version', 'no check of metrics'],
] as const;

type RunServers = {
  readonly redisUrl: string;
  readonly postgresUrl: string;
  stop(): Promise<void>;
};

/**
 * Starts the servers, or uses those of another part of the run. Returns the function that stops them after
 * the last part.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { shared, release } = await shareInRun('servers', startServers);
  project.provide('redisUrl', shared.redisUrl);
  project.provide('postgresUrl', shared.postgresUrl);
  return release;
}

/** Builds the service and starts the servers; rejects when the run demands a program that is missing. */
async function startServers(): Promise<RunServers> {
  const missing = [
    ...PROGRAMS.filter(([, find]) => find() === undefined).map(([name]) => name),
    ...(findVelopack() === undefined ? ["Velopack's client in SLUICE_VELOPACK"] : []),
    missingProgram(),
  ].filter((name) => name !== undefined);
  if (process.env.SLUICE_REQUIRE_REAL === '1' && missing.length > 0) {
    throw new Error(`SLUICE_REQUIRE_REAL=1, but there is no ${missing.join(' and no ')}`);
  }
  execFileSync(process.execPath, [BUILD, '--if-stale'], { stdio: 'inherit' });
  const { redis, postgres } = await startBoth();
  if (postgres !== undefined) await makeMigratedTemplate(postgres.url);
  const names = `${await describeEngine()}, ${describeServers()}`;
  console.log(`Running against: ${names}`);
  return {
    redisUrl: redis?.url ?? '',
    postgresUrl: postgres?.url ?? '',
    async stop() {
      await Promise.all([redis?.stop(), postgres?.stop()]);
      console.log(`Ran against: ${names}`);
    },
  };
}

async function startBoth(): Promise<{
  redis: RedisServer | undefined;
  postgres: PostgresServer | undefined;
}> {
  const [redis, postgres] = await Promise.allSettled([
    findRedis() === undefined ? undefined : startRedis(),
    findPostgres() === undefined ? undefined : startPostgres(),
  ]);
  if (redis.status === 'fulfilled' && postgres.status === 'fulfilled') {
    return { redis: redis.value, postgres: postgres.value };
  }
  // When one server did not start, the other must not outlive the run.
  if (redis.status === 'fulfilled') await redis.value?.stop();
  if (postgres.status === 'fulfilled') await postgres.value?.stop();
  throw redis.status === 'rejected' ? redis.reason : (postgres as PromiseRejectedResult).reason;
}

async function describeEngine(): Promise<string> {
  const { name, reason } = await engineOfRun();
  const http = name === 'uws' ? 'uWebSockets.js' : `node:http (${reason})`;
  return `Node ${process.versions.node}, ${http}`;
}

function describeServers(): string {
  const programs = PROGRAMS.map(([name, find, flag, lack]) => {
    const version = versionOf(find(), flag);
    return version === undefined ? `no ${name} found (${lack})` : `${name} ${version}`;
  });
  const velopack = findVelopack() === undefined ? 'no Velopack (SLUICE_VELOPACK is not set)' : '';
  return [`PGlite ${pgliteVersion()} (embedded)`, ...programs, velopack || 'Velopack'].join(', ');
}

/** `postgres (PostgreSQL) 15.19 …`, `Redis server v=7.0.15 …` and `Chromium 156.0 …`: the first number. */
function versionOf(binary: string | undefined, flag: string): string | undefined {
  if (binary === undefined) return undefined;
  // nginx prints its version as an error.
  const { stdout, stderr } = spawnSync(binary, [flag], { encoding: 'utf8' });
  return /\d+(\.\d+)+/.exec(stdout + stderr)?.[0] ?? 'of unknown version';
}

function pgliteVersion(): string {
  const url = new URL('../../node_modules/@electric-sql/pglite/package.json', import.meta.url);
  return (JSON.parse(readFileSync(url, 'utf8')) as { version: string }).version;
}
