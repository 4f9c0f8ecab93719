// Opening of the ledger and the engine as the settings ask for them.

import { Unavailable } from '../contract/unavailable.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLog } from '../observe/rare-log.ts';
import type { Tracing } from '../observe/tracing.ts';
import type { RefusalOf } from '../serving/node-health.ts';
import { RememberedChannels } from '../serving/remembered-channels.ts';
import { type Config, ConfigError } from '../settings/settings.ts';
import { LastGoodFiles } from '../store/disk/last-good-files.ts';
import type { Engine } from '../store/engine.ts';
import type { LastGood } from '../store/last-good.ts';
import { refuseBadAddress } from '../store/ledger/hosts-pool.ts';
import { type OpenLedger, openLedger } from '../store/ledger/open-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { LedgerCopies } from '../store/ledger-copies.ts';
import type { LedgerReport } from '../store/ledger-identity.ts';
import type { RememberedChannel } from '../store/ledger-memory.ts';
import { parseTarget } from '../store/redis/target.ts';
import type { ServingLedger } from '../store/serving-ledger.ts';
import { makeDataDirectory } from './data-directory.ts';
import { EmbeddedCopies } from './embedded-copies.ts';
import { LoggedLedgerReport } from './ledger-report.ts';
import { openEngine } from './open-engine.ts';
import { keepOwnerOnly } from './owner-only.ts';
import { tellDiskFaults } from './tell-disk-faults.ts';

export type Stores = {
  readonly ledger: Ledger;
  readonly engine: Engine;
  /** Snapshots on this node's disk. */
  readonly lastGood: LastGood;
  /** Channels that live on outside of the ledger. */
  readonly memory: RememberedChannels;
  readonly report: LedgerReport;
  readonly refusalOf: RefusalOf;
  readonly copies: LedgerCopies;
  /**
   * Makes new connections go to the addresses of changed settings; resolves when they do. What runs on the
   * others ends there.
   */
  use(config: Config): Promise<void>;
};

/** Stores as far as answering devices needs them. */
export type ServingStores = Pick<
  Stores,
  'engine' | 'lastGood' | 'memory' | 'report' | 'refusalOf'
> & {
  readonly ledger: ServingLedger;
};

export type StoresOptions = {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing?: Tracing | undefined;
  /**
   * Process that opens them: the number of one of several serving processes, undefined for a single one, or
   * one that serves no devices, which reads the snapshots on disk and writes none.
   */
  readonly holder: number | 'admin' | 'background' | undefined;
};

/** What a node does without a store that is of another record. */
const FOREIGN = {
  ledger: 'the database is not the record: known channels are served, nothing can be changed',
  engine:
    'Redis is of another record than the database, and is not used: changes arrive by poll, ' +
    'limits count per process',
};

/** Opens ledger and engine; rejects with a `ConfigError` when retrying may not help. */
export async function openStores(options: StoresOptions): Promise<Stores> {
  const { config, log, metrics, holder } = options;
  const isServing = typeof holder !== 'string';
  await fromSetting('DATA_DIR', () => makeDataDirectory(config.dataDir));
  const lastGood = openLastGood(options);
  // Before the ledger, because what the engine remembers tells whether the database is the right one.
  const hotState = await fromSetting('REDIS_URL', () => openEngine(options));
  const { engine } = hotState;
  const memory = new RememberedChannels(lastGood, engine);
  let ledger: OpenLedger | undefined;
  const expectRecord = (record: string | undefined) =>
    hotState.belongTo(record, async (channels) => {
      if (ledger === undefined) throw new Unavailable('ledger', 'it is being opened');
      return ledger.knowsSome(channels);
    });
  const forget = (channels: readonly RememberedChannel[]) => {
    const news = memory.forget(channels);
    // The engine's copies are out of reach, because no node knows the names of these channels any more.
    for (const { appRef, channel } of news) lastGood.forget(appRef, channel);
    return news;
  };
  const report = new LoggedLedgerReport(metrics, log, {
    isServing,
    onLost: forget,
    onAdmitted(record, isSettled) {
      expectRecord(record);
      if (!isSettled) return;
      memory.admit(record);
      lastGood.keepRecord(record);
    },
    // What was taken for the record is not: what this node remembers counts again.
    onForeign: () => void memory.own().then(({ record }) => expectRecord(record)),
  });
  try {
    expectRecord((await memory.own()).record);
    const { databaseUrl, dataDir, databasePool: connectionsMax } = config;
    const keeping = {
      freshnessMs: config.deviceFreshnessSeconds * 1000,
      history: config.deviceHistory,
    };
    const opened = await fromSetting(databaseUrl === undefined ? 'DATA_DIR' : 'DATABASE_URL', () =>
      openLedger({ databaseUrl, connectionsMax, keeping, dataDir, memory, report }),
    );
    ledger = opened;
    // After the ledger, because a new embedded database has files with the modes of its template.
    closeDataDirectory(config, log);
    if (opened.poolLoad() !== undefined) watchPool(metrics, () => opened.poolLoad());
    const use = async ({ databaseUrl, redisUrl }: Config): Promise<void> => {
      if (databaseUrl !== undefined) opened.useAddress(databaseUrl);
      if (redisUrl !== undefined) await hotState.useRedis(redisUrl);
    };
    const copies = new EmbeddedCopies(config.dataDir, opened.copyTo);
    const refusalOf: RefusalOf = (store) => {
      if (store === 'engine' && hotState.isForeign()) return FOREIGN.engine;
      return store === 'ledger' && report.isForeign ? FOREIGN.ledger : undefined;
    };
    return { ledger: opened, engine, lastGood, memory, report, refusalOf, copies, use };
  } catch (error) {
    await engine.close();
    throw error;
  }
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

function watchPool(metrics: Metrics, load: OpenLedger['poolLoad']): void {
  for (const state of ['busy', 'idle'] as const) {
    metrics.poolConnections.set(state, () => load()?.[state] ?? 0);
  }
  metrics.gauge(
    'sluice_database_calls_waiting',
    'Calls that wait for a connection to PostgreSQL',
    () => load()?.waiting ?? 0,
  );
}

function closeDataDirectory({ dataDir }: Config, log: Log): void {
  const rareLog = new RareLog(log);
  keepOwnerOnly(dataDir, (path, error) => {
    rareLog.warn({ err: error, path }, 'DATA_DIR could not be closed to other accounts');
  });
}

function openLastGood({ config, log, metrics, holder }: StoresOptions): LastGood {
  const isServing = typeof holder !== 'string';
  const worker = isServing ? holder : undefined;
  const files = new LastGoodFiles(config.dataDir, worker, tellDiskFaults(metrics, log), true);
  return isServing ? files : readOnly(files);
}

/** Returns the files for a process that has no folder of its own to write to. */
function readOnly(files: LastGood): LastGood {
  return {
    keep: () => undefined,
    forget: () => undefined,
    readRecord: () => files.readRecord(),
    keepRecord: () => undefined,
    find: (appRef, channel) => files.find(appRef, channel),
    list: (countMax) => files.list(countMax),
    hasAny: () => files.hasAny(),
    flush: async () => undefined,
  };
}

/**
 * Rejects with a `ConfigError` for an address of a store that no connection can be made from, and for one
 * that cannot take the place of the `present` one while a process runs.
 */
export async function refuseBadAddresses(
  { databaseUrl, redisUrl }: Config,
  present: Config,
): Promise<void> {
  if (databaseUrl !== undefined) {
    await fromSetting('DATABASE_URL', () => refuseBadAddress(databaseUrl));
  }
  if (redisUrl === undefined || present.redisUrl === undefined) return;
  const [next, former] = await fromSetting('REDIS_URL', () =>
    [redisUrl, present.redisUrl ?? ''].map((url) => parseTarget(url).login.db),
  );
  if (next !== former) {
    throw new ConfigError('REDIS_URL: another database number needs a restart of every node');
  }
}
