// The command `sluice migrate`: brings the ledger that the settings name up to date.

import { RememberedChannels } from '../serving/remembered-channels.ts';
import type { Config } from '../settings/settings.ts';
import { LastGoodFiles } from '../store/disk/last-good-files.ts';
import type { Engine } from '../store/engine.ts';
import type { SchemaChange } from '../store/ledger/migrate.ts';
import { migrateLedger } from '../store/ledger/migrate-ledger.ts';
import { createMemoryEngine } from '../store/memory/memory-engine.ts';
import { createRedisEngine } from '../store/redis/redis-engine.ts';
import { makeDataDirectory } from './data-directory.ts';
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
