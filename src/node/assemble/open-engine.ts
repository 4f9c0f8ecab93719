// Opens the configured engine: Redis, or hot state in the process.

import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { RareLog } from '../../observe/rare-log.ts';
import { tellFault } from '../../observe/store-health.ts';
import type { Config } from '../../settings/settings.ts';
import type { Engine } from '../../store/engine.ts';
import { createMemoryEngine } from '../../store/memory/memory-engine.ts';
import { createRedisEngine, type RedisEngine } from '../../store/redis/redis-engine.ts';

/** What an operator can do if Redis belongs to another record. */
const FOREIGN_REMEDY =
  'Let REDIS_URL lead to the Redis of this deployment, or give each of two deployments on one Redis a ' +
  'REDIS_PREFIX of its own: it is used as soon as it is there. Of what an earlier deployment has ' +
  'left, remove the keys of Sluice from Redis.';

export type OpenEngineOptions = {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
};

/** Opens the engine; throws for an invalid address. */
export function openEngine({ config, log, metrics }: OpenEngineOptions): {
  readonly engine: Engine;
  readonly useRedis: (url: string) => Promise<void>;
  /** Refuses an engine of any other record; undefined while this node does not know its own. */
  readonly belongTo: RedisEngine['belongTo'];
  /** Returns whether the engine is refused because it belongs to another record. */
  readonly isForeign: () => boolean;
} {
  if (config.redisUrl === undefined) {
    const engine = createMemoryEngine();
    const nothing = { useRedis: async () => undefined, belongTo: () => undefined };
    return { engine, ...nothing, isForeign: () => false };
  }
  const rareLog = new RareLog(log);
  let isForeign = false;
  metrics.gauge(
    'sluice_engine_foreign',
    'Whether Redis is of another record than the database, and is not used: 1, or 0',
    () => (isForeign ? 1 : 0),
  );
  const engine = createRedisEngine({
    url: config.redisUrl,
    prefix: config.redisPrefix,
    onFault: (error) => rareLog.warnAbout('engine', tellFault('engine', error), 'engine fault'),
    onRemoved: (removed) =>
      rareLog.warnAbout('engine', removed, 'removed a key of another type from Redis'),
    onLost(count) {
      metrics.checkIns.add('dropped', count);
      rareLog.warnAbout(
        'check-ins',
        { lost: count },
        'check-ins in Redis were removed, and are lost',
      );
    },
    onRefused(refusal) {
      isForeign = refusal !== undefined;
      if (!isForeign) return;
      log.error({ remedy: FOREIGN_REMEDY }, 'Redis is of another record, and is not used');
    },
  });
  return {
    engine,
    useRedis: (url) => engine.useAddress(url),
    belongTo: (record, knowsSome) => engine.belongTo(record, knowsSome),
    isForeign: () => isForeign,
  };
}
