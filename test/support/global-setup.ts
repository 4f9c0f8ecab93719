// Before all tests: one real Redis and one real PostgreSQL for the whole run, where their binaries are.
// Without them the embedded implementations are tested alone, without Chromium the console is not walked
// through, and the run says so. CI sets SLUICE_REQUIRE_REAL=1, so that there a missing one fails the run
// instead of thinning it out.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { findBrowser } from './browser.ts';
import { findPostgres, type PostgresServer, startPostgres } from './postgres-server.ts';
import { findRedis, type RedisServer, startRedis } from './redis-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Empty when there is no Redis. */
    redisUrl: string;
    /** Empty when there is no PostgreSQL. Database `postgres`; see `freshDatabase`. */
    postgresUrl: string;
  }
}

/** Starts the servers; the returned function stops them. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const missing = [
    findRedis() === undefined && 'redis-server',
    findPostgres() === undefined && 'postgres with initdb',
    findBrowser() === undefined && 'Chromium',
  ].filter((name) => name !== false);
  if (process.env.SLUICE_REQUIRE_REAL === '1' && missing.length > 0) {
    throw new Error(`SLUICE_REQUIRE_REAL=1, but there is no ${missing.join(' and no ')}`);
  }
  const { redis, postgres } = await startBoth();
  project.provide('redisUrl', redis?.url ?? '');
  project.provide('postgresUrl', postgres?.url ?? '');
  const servers = describeServers();
  console.log(`Running against: ${servers}`);
  return async () => {
    await Promise.all([redis?.stop(), postgres?.stop()]);
    console.log(`Ran against: ${servers}`);
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
  // One did not start: the other must not outlive the run.
  if (redis.status === 'fulfilled') await redis.value?.stop();
  if (postgres.status === 'fulfilled') await postgres.value?.stop();
  throw redis.status === 'rejected' ? redis.reason : (postgres as PromiseRejectedResult).reason;
}

function describeServers(): string {
  const postgres = versionOf(findPostgres());
  const redis = versionOf(findRedis());
  const browser = versionOf(findBrowser());
  return [
    postgres === undefined ? 'no PostgreSQL found (PGlite only)' : `PostgreSQL ${postgres}`,
    redis === undefined ? 'no Redis found (memory only)' : `Redis ${redis}`,
    `PGlite ${pgliteVersion()} (embedded)`,
    browser === undefined ? 'no Chromium found (no browser tests)' : `Chromium ${browser}`,
  ].join(', ');
}

/** `postgres (PostgreSQL) 15.19 …`, `Redis server v=7.0.15 …` and `Chromium 156.0 …`: the first number. */
function versionOf(binary: string | undefined): string | undefined {
  if (binary === undefined) return undefined;
  const text = execFileSync(binary, ['--version'], { encoding: 'utf8', stdio: 'pipe' });
  return /\d+(\.\d+)+/.exec(text)?.[0] ?? 'of unknown version';
}

function pgliteVersion(): string {
  const url = new URL('../../node_modules/@electric-sql/pglite/package.json', import.meta.url);
  return (JSON.parse(readFileSync(url, 'utf8')) as { version: string }).version;
}
