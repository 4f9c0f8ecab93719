// The command `sluice migrate`: brings the ledger that the settings name up to date.

import type { Config } from '../config.ts';
import { LastGoodFiles } from '../engine/disk/last-good-files.ts';
import { createMemoryEngine } from '../engine/memory/memory-engine.ts';
import { createRedisEngine } from '../engine/redis/redis-engine.ts';
import type { SchemaChange } from '../ledger/migrate.ts';
import { migrateLedger } from '../ledger/migrate-ledger.ts';
import { RememberedChannels } from '../operations/serving/remembered-channels.ts';
import type { Engine } from '../ports/engine.ts';
import { makeDataDirectory } from './make-data-directory.ts';
import { fromSetting } from './stores.ts';

/**
 * Migrates the ledger. Rejects with a `ConfigError`, in one line that names the setting, when the database
 * cannot be reached, is newer than this program, or is not the one whose channels are remembered.
 */
export async function migrateSchema(config: Config): Promise<SchemaChange> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl === undefined) await fromSetting('DATA_DIR', () => makeDataDirectory(dataDir));
  const engine = await fromSetting('REDIS_URL', () => openEngine(config));
  const lastGood = new LastGoodFiles(dataDir, undefined, () => undefined);
  try {
    const memory = new RememberedChannels(lastGood, engine);
    return await fromSetting(databaseUrl === undefined ? 'DATA_DIR' : 'DATABASE_URL', () =>
      migrateLedger({ databaseUrl, dataDir, memory }),
    );
  } finally {
    await engine.close();
  }
}

function openEngine({ redisUrl, redisPrefix }: Config): Engine {
  if (redisUrl === undefined) return createMemoryEngine();
  return createRedisEngine({ url: redisUrl, prefix: redisPrefix, onFault: () => undefined });
}
