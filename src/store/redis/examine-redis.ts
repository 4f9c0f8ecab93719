// Examines a Redis for `sluice doctor`: whether the service can use it, and whether Redis keeps the data.
// Connects as the service does, and changes nothing.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Check, faulty, sound, unusable } from '../../contract/store-fault.ts';
import { faultOf, openConnection, type RedisConnection } from './connection.ts';
import { createKeys, type Keys } from './keys.ts';
import { measureQueue } from './redis-check-ins.ts';
import { parseTarget, type RedisTarget } from './target.ts';

/** Longest wait for a connection, in milliseconds. */
const CONNECT_MS_MAX = 2500;
const CONNECT_INTERVAL_MS = 50;
/** Oldest version with all commands that the service uses. */
const VERSION_MIN = [6, 2] as const;
/** Fraction of `maxmemory` above which the queue has no room for an outage of the ledger. */
const MEMORY_SHARE_MAX = 0.9;
/** Age of a batch that shows that no drain runs: the batches of a dead one are taken over after 30 s. */
const WAIT_MS_MAX = 60_000;

type Info = ReadonlyMap<string, string>;

export type ExamineRedisOptions = {
  readonly url: string;
  readonly prefix: string;
  /** Name of the record of the database, or of DATA_DIR: null if it has none yet, undefined if unknown. */
  readonly record: string | null | undefined;
};

/** Examines the Redis. Throws only for an invalid URL. */
export async function examineRedis(options: ExamineRedisOptions): Promise<readonly Check[]> {
  const target = parseTarget(options.url);
  const at = { store: 'engine', place: placeOf(target) } as const;
  let fault: Error | undefined;
  const connection = openConnection(target, (error) => {
    fault = faultOf(error, target);
  });
  try {
    if (!(await untilReachable(connection))) {
      return [unusable('redis', at, fault ?? new Error('timeout'))];
    }
    return await examine(connection, target, options);
  } catch (error) {
    return [unusable('redis', at, error)];
  } finally {
    connection.close();
  }
}

async function untilReachable(connection: RedisConnection): Promise<boolean> {
  const end = performance.now() + CONNECT_MS_MAX;
  while (performance.now() < end) {
    if (await connection.isReachable()) return true;
    await sleep(CONNECT_INTERVAL_MS);
  }
  return false;
}

async function examine(
  connection: RedisConnection,
  target: RedisTarget,
  { prefix, record }: ExamineRedisOptions,
): Promise<readonly Check[]> {
  const keys = createKeys({ prefix, database: target.login.db });
  const servers = (await connection.describeServers()).map(parseInfo);
  const count = servers.length === 1 ? '' : `, ${servers.length} masters`;
  const versions = [...new Set(servers.map((info) => info.get('redis_version') ?? 'unknown'))];
  const place = placeOf(target);
  const isReplica = servers.some((info) => info.get('role') === 'slave');
  return [
    isReplica
      ? faulty('redis', `Redis at ${place} is a replica, which refuses writes: name its primary`)
      : sound('redis', `Redis ${versions.join(' and ')} at ${place} answers${count}`),
    versionCheck(versions),
    ...worstOf(servers.map(memoryCheck)),
    ...worstOf(servers.map(persistenceCheck)),
    await recordCheck(connection, keys, record),
    await regionCheck(connection, keys),
    await checkInsCheck(connection, keys),
  ];
}

async function recordCheck(
  connection: RedisConnection,
  keys: Keys,
  record: ExamineRedisOptions['record'],
): Promise<Check> {
  const name = 'redis-record';
  const found = await connection.readField(keys.record, 'name').catch((error: unknown) => error);
  if (found instanceof Error) {
    return faulty(name, `the name of the record cannot be used: ${messageOf(found)}`);
  }
  if (found === null) return sound(name, 'none yet');
  if (record === undefined) return sound(name, 'there is one; that of the database is not known');
  return found === record
    ? sound(name, 'that of the database')
    : faulty(
        name,
        'Redis: it is of another record than the database: name the right one in REDIS_URL, or see ' +
          'docs/operating/another-record.md',
      );
}

/** Reports the name by which plans and the log refer to the nodes that share this Redis. */
async function regionCheck(connection: RedisConnection, keys: Keys): Promise<Check> {
  const region = await connection.readField(keys.record, 'region').catch(() => null);
  return sound('region', region === null ? 'none yet' : `this Redis is that of ${region}`);
}

/** Returns the first failed check, else the first one: one line for all masters of a cluster. */
function worstOf(checks: readonly Check[]): readonly Check[] {
  const worst = checks.find(({ ok }) => !ok) ?? checks[0];
  return worst === undefined ? [] : [worst];
}

function versionCheck(versions: readonly string[]): Check {
  const isOld = versions.some((version) => {
    const [major = 0, minor = 0] = version.split('.').map(Number);
    return major < VERSION_MIN[0] || (major === VERSION_MIN[0] && minor < VERSION_MIN[1]);
  });
  const needed = `${VERSION_MIN.join('.')} or later`;
  return isOld
    ? faulty('redis-version', `Redis ${versions.join(', ')} is too old: install ${needed}`)
    : sound('redis-version', `${versions.join(', ')} (${needed} is needed)`);
}

function memoryCheck(info: Info): Check {
  const name = 'redis-memory';
  const policy = info.get('maxmemory_policy') ?? 'unknown';
  const max = Number(info.get('maxmemory') ?? 0);
  const used = Number(info.get('used_memory') ?? 0);
  if (max === 0) return sound(name, `${mebibytes(used)} used, without a limit (${policy})`);
  const filled = `${mebibytes(used)} of ${mebibytes(max)} used`;
  if (policy.startsWith('allkeys')) {
    return faulty(
      name,
      `maxmemory-policy is ${policy}, which drops check-ins that wait: set noeviction or volatile-lru`,
    );
  }
  return used > max * MEMORY_SHARE_MAX
    ? faulty(name, `${filled} (${policy}): raise maxmemory`)
    : sound(name, `${filled} (${policy})`);
}

function persistenceCheck(info: Info): Check {
  const name = 'redis-persistence';
  const failed = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'];
  const bad = failed.find((field) => info.get(field) === 'err');
  if (bad !== undefined) return faulty(name, `Redis could not write to its disk (${bad}: err)`);
  if (info.get('aof_enabled') === '1') return sound(name, 'an append-only file is kept');
  return sound(
    name,
    'no append-only file: check-ins that wait are lost when Redis restarts (appendonly yes keeps them)',
  );
}

async function checkInsCheck(connection: RedisConnection, keys: Keys): Promise<Check> {
  const name = 'check-ins';
  let queue: Awaited<ReturnType<typeof measureQueue>>;
  try {
    queue = await measureQueue(connection, keys);
  } catch (error) {
    return faulty(name, `the queue of check-ins cannot be used: ${messageOf(error)}`);
  }
  const { batches, ageMs } = queue;
  if (batches === 0) return sound(name, 'none wait');
  const waiting = `${batches} batches wait, the oldest for ${Math.round(ageMs / 1000)} s`;
  return ageMs > WAIT_MS_MAX
    ? faulty(name, `${waiting}: no process records them, or not fast enough`)
    : sound(name, waiting);
}

function parseInfo(text: string): Info {
  return new Map(
    text.split(/\r?\n/).flatMap((line): [string, string][] => {
      const [, field, value] = /^(\w+):(.*)$/.exec(line) ?? [];
      return field === undefined ? [] : [[field, value ?? '']];
    }),
  );
}

function placeOf({ nodes, sentinel }: RedisTarget): string {
  const places = nodes.map(({ host, port }) => `${host}:${port}`).join(', ');
  return sentinel === undefined ? places : `${sentinel.name} (Sentinels ${places})`;
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}

/** Returns the message of the driver's error, which quotes Redis. */
function messageOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
