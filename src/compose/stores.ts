// Opening of the ledger and the engine as the settings ask for them.

import { mkdirSync } from 'node:fs';
import { type Config, ConfigError } from '../config.ts';
import { createMemoryEngine } from '../engine/memory/memory-engine.ts';
import { createRedisEngine } from '../engine/redis/redis-engine.ts';
import { openLedger } from '../ledger/open-ledger.ts';
import type { Log } from '../observe/log.ts';
import { RareLog } from '../observe/rare-log.ts';
import type { Engine } from '../ports/engine.ts';
import type { Ledger } from '../ports/ledger.ts';
import { FOLDER_MODE, keepOwnerOnly } from './owner-only.ts';

export type Stores = { readonly ledger: Ledger; readonly engine: Engine };

/** Opens ledger and engine; rejects with a `ConfigError` when retrying would not help. */
export async function openStores(config: Config, log: Log): Promise<Stores> {
  await fromSetting('DATA_DIR', () =>
    mkdirSync(config.dataDir, { recursive: true, mode: FOLDER_MODE }),
  );
  const ledger = await fromSetting(
    config.databaseUrl === undefined ? 'DATA_DIR' : 'DATABASE_URL',
    () => openStoredLedger(config, log),
  );
  // After the ledger, because a new embedded database has files with the modes of its template.
  closeDataDirectory(config, log);
  return { ledger, engine: await fromSetting('REDIS_URL', () => openEngine(config, log)) };
}

/** Turns an error that only using a setting reveals into a `ConfigError` that names the variable. */
export async function fromSetting<Value>(
  variable: string,
  use: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await use();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`${variable}: ${reason}`, { cause: error });
  }
}

function closeDataDirectory({ dataDir }: Config, log: Log): void {
  const rareLog = new RareLog(log);
  keepOwnerOnly(dataDir, (path, error) => {
    rareLog.warn({ err: error, path }, 'DATA_DIR could not be closed to other accounts');
  });
}

function openStoredLedger(config: Config, log: Log): Promise<Ledger> {
  const rareLog = new RareLog(log);
  return openLedger({
    databaseUrl: config.databaseUrl,
    dataDir: config.dataDir,
    onFault: (error) => rareLog.warnAbout('ledger', { err: error }, 'ledger fault'),
    onFatal: (error) => {
      // This version does not understand the newer schema and must not answer from it.
      throw error;
    },
  });
}

function openEngine(config: Config, log: Log): Engine {
  if (config.redisUrl === undefined) return createMemoryEngine();
  const rareLog = new RareLog(log);
  return createRedisEngine({
    url: config.redisUrl,
    onFault: (error) => rareLog.warnAbout('engine', { err: error }, 'engine fault'),
  });
}
