// Opens the configured ledger, engine and disk, and reports their faults in the log and the metrics.

import { copyFileSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Failure, fail } from '../../contract/failure.ts';
import { Unavailable } from '../../contract/store-fault.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { RareLog } from '../../observe/rare-log.ts';
import { tellFault } from '../../observe/store-health.ts';
import type { Tracing } from '../../observe/tracing.ts';
import { RememberedChannels } from '../../serving/ledger-recovery.ts';
import type { RefusalOf } from '../../serving/readiness.ts';
import { type Config, ConfigError } from '../../settings/settings.ts';
import { type DiskFault, DiskSnapshotFiles } from '../../store/disk/disk-snapshot-files.ts';
import type { DiskSnapshots } from '../../store/disk-snapshots.ts';
import type { Engine } from '../../store/engine.ts';
import { refuseBadAddress } from '../../store/ledger/database/hosts-pool.ts';
import { markCopied } from '../../store/ledger/database/refuse-recreation.ts';
import { type OpenLedger, openLedger } from '../../store/ledger/open-ledger.ts';
import type { Ledger, ServingLedger } from '../../store/ledger.ts';
import type {
  ForeignFault,
  LedgerCopies,
  LedgerReport,
  RememberedChannel,
} from '../../store/ledger-identity.ts';
import { parseTarget } from '../../store/redis/target.ts';
import { keepOwnerOnly, makeDataDirectory, readDiskSpace } from './data-directory.ts';
import { openEngine } from './open-engine.ts';

export type Stores = {
  readonly ledger: Ledger;
  readonly engine: Engine;
  /** Snapshots on this node's disk. */
  readonly diskSnapshots: DiskSnapshots;
  /** Channels that are remembered outside the ledger. */
  readonly memory: RememberedChannels;
  readonly report: LedgerReport;
  readonly refusalOf: RefusalOf;
  readonly copies: LedgerCopies;
  /** Makes new connections go to the addresses of changed settings; old connections finish their calls. */
  use(config: Config): Promise<void>;
};

/** Part of the stores that answering devices needs. */
export type ServingStores = Pick<
  Stores,
  'engine' | 'diskSnapshots' | 'memory' | 'report' | 'refusalOf'
> & {
  readonly ledger: ServingLedger;
};

export type StoresOptions = {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing?: Tracing | undefined;
  /**
   * Process that opens the stores: the number of one of several serving processes, undefined for a single
   * one; or a process that serves no devices, which reads the snapshots on disk and writes none.
   */
  readonly holder: number | 'admin' | 'background' | undefined;
};

/** Effect of refusing a Redis of another record. For a refused ledger, the errors of its calls say why. */
const FOREIGN_REDIS =
  'Redis is of another record than the database, and is not used: changes arrive by poll, ' +
  'limits count per process';

/** Opens the stores, also while one does not answer; rejects with a `ConfigError` if waiting may not help. */
export async function openStores(options: StoresOptions): Promise<Stores> {
  const { config, log, metrics, holder } = options;
  const isServing = typeof holder !== 'string';
  await fromSetting('DATA_DIR', () => makeDataDirectory(config.dataDir));
  const diskSnapshots = openDiskSnapshots(options);
  // Before the ledger, because what the engine remembers helps to recognise the record's database.
  const hotState = await fromSetting('REDIS_URL', () => openEngine(options));
  const { engine } = hotState;
  const memory = new RememberedChannels(diskSnapshots, engine);
  let ledger: OpenLedger | undefined;
  const expectRecord = (record: string | undefined) =>
    hotState.belongTo(record, async (channels) => {
      if (ledger === undefined) throw new Unavailable('ledger', 'it is being opened');
      return ledger.knowsSome(channels);
    });
  const forget = (channels: readonly RememberedChannel[]) => {
    const lost = memory.forget(channels);
    // The engine's copies cannot be removed, because no node knows these channels any more.
    for (const { appRef, channel } of lost) diskSnapshots.forget(appRef, channel);
    return lost;
  };
  const report = new LoggedLedgerReport(metrics, log, {
    isServing,
    onLost: forget,
    onAdmitted(record, isSettled) {
      expectRecord(record);
      if (!isSettled) return;
      memory.admit(record);
      diskSnapshots.keepRecord(record);
    },
    // Expects the remembered record again.
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
    // After the ledger, because a new embedded database has the modes of its template.
    closeDataDirectory(config, log);
    if (opened.poolLoad() !== undefined) watchPool(metrics, () => opened.poolLoad());
    const use = async ({ databaseUrl, redisUrl }: Config): Promise<void> => {
      if (databaseUrl !== undefined) opened.useAddress(databaseUrl);
      if (redisUrl !== undefined) await hotState.useRedis(redisUrl);
    };
    const copies = new EmbeddedCopies(config.dataDir, opened.copyTo);
    const refusalOf: RefusalOf = (store) =>
      store === 'engine' && hotState.isForeign() ? FOREIGN_REDIS : undefined;
    return { ledger: opened, engine, diskSnapshots, memory, report, refusalOf, copies, use };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Uses a setting; turns an error into a `ConfigError` that names the variable. */
export async function fromSetting<Value>(
  variable: string,
  use: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await use();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const detail = error instanceof Unavailable ? error.detail : undefined;
    // The system's message names the file that was written, but not what to do.
    const isDiskFull = /no space left on device/i.test(message);
    const reason = isDiskFull ? 'has no room left on its disk: make room' : message;
    const told = detail === undefined ? reason : `${reason} (${detail})`;
    throw new ConfigError(`${variable}: ${told}`, { cause: error });
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

function openDiskSnapshots({ config, log, metrics, holder }: StoresOptions): DiskSnapshots {
  const isServing = typeof holder !== 'string';
  const worker = isServing ? holder : undefined;
  if (isServing) watchDisk(metrics, config.dataDir);
  const files = new DiskSnapshotFiles(config.dataDir, worker, tellDiskFaults(metrics, log), true);
  return isServing ? files : readOnly(files);
}

/** Returns the snapshots for a process that must not write any. */
function readOnly(files: DiskSnapshots): DiskSnapshots {
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
 * Rejects with a `ConfigError` for an invalid store address, and for one that cannot replace the address of
 * `present` at run time.
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

// Reports problems of the ledger's database; logs a lasting problem once a minute.

/** What an operator can do about a database that is not the record. */
const FOREIGN_REMEDY =
  'Mount or name the right database: it is used as soon as it is there. To start anew with this ' +
  'one, stop all nodes, remove the keys of Sluice from Redis and the folder "snapshots" from ' +
  'DATA_DIR, and start them.';
/** Maximum number of channels in a log line. */
const NAMES_MAX = 20;

export class LoggedLedgerReport implements LedgerReport {
  private readonly warnings: RareLog;
  private readonly errors: RareLog;
  private isForeignNow = false;

  constructor(
    private readonly metrics: Metrics,
    private readonly log: Log,
    private readonly options: {
      /** Whether this process serves devices; only such processes report lost channels. */
      readonly isServing: boolean;
      /** Forgets lost channels; returns those that were still remembered. */
      readonly onLost: (channels: readonly RememberedChannel[]) => readonly RememberedChannel[];
      /** Called when a database is admitted as the record of this name; `isSettled`: for certain. */
      readonly onAdmitted: (record: string, isSettled: boolean) => void;
      /** Called when the database is not the record. */
      readonly onForeign: () => void;
    },
  ) {
    this.warnings = new RareLog(log);
    this.errors = new RareLog({
      warn: (details: object, message?: string) => log.error(details, message),
    });
    metrics.gauge(
      'sluice_ledger_foreign',
      'Whether the database is not the record that is remembered: 1, or 0',
      () => (this.isForeignNow ? 1 : 0),
    );
  }

  /** Whether the database is not the record. */
  get isForeign(): boolean {
    return this.isForeignNow;
  }

  fault(error: unknown): void {
    this.warnings.warnAbout('ledger', tellFault('ledger', error), 'ledger fault');
  }

  refused(error: unknown): void {
    this.metrics.faults.add('ledger-refused');
    this.errors.warnAbout(
      'ledger',
      tellFault('ledger', error),
      'the database cannot be used, what is known is served',
    );
  }

  foreign({ message, count, remedy = FOREIGN_REMEDY }: ForeignFault): void {
    this.isForeignNow = true;
    this.metrics.faults.add('ledger-foreign');
    this.errors.warnAbout(
      'ledger',
      { reason: message, channels: count, remedy },
      'the database is not the record that DATA_DIR or Redis remember',
    );
    this.options.onForeign();
  }

  unmarked(error: unknown): void {
    this.log.warn({ err: error }, 'DATA_DIR could not be marked as used');
  }

  admitted(record: string, isSettled: boolean): void {
    this.isForeignNow = false;
    this.options.onAdmitted(record, isSettled);
  }

  raised(epoch: number, details: Readonly<Record<string, unknown>>): void {
    this.metrics.ledgerRewinds.add('epoch-raised');
    this.log.error({ ...details, epoch }, 'the ledger went back or moved: all nodes follow it');
  }

  lost(channels: readonly RememberedChannel[]): void {
    const lost = this.options.onLost(channels);
    if (!this.options.isServing || lost.length === 0) return;
    this.metrics.ledgerRewinds.add('channel-lost', lost.length);
    const names = lost.slice(0, NAMES_MAX).map(({ appRef, channel }) => `${appRef}/${channel}`);
    this.log.error({ channels: names, count: lost.length }, 'the ledger has lost channels');
  }
}

/** Registers the metrics of the disk of DATA_DIR, for a process that writes there. */
export function watchDisk(metrics: Metrics, dataDir: string): void {
  metrics.gauge(
    'sluice_data_dir_free_bytes',
    'Bytes that the service may still write to the disk of DATA_DIR',
    () => readDiskSpace(dataDir).free,
  );
  metrics.gauge(
    'sluice_data_dir_size_bytes',
    'Bytes that the disk of DATA_DIR has in all',
    () => readDiskSpace(dataDir).size,
  );
}

/** Returns a listener that counts faults of the disk, and logs them at most once a minute. */
export function tellDiskFaults(metrics: Metrics, log: Log): (fault: DiskFault) => void {
  const rareLog = new RareLog(log);
  return ({ doing, path, error }) => {
    metrics.faults.add('disk');
    const message =
      doing === 'read'
        ? 'last known state on disk could not be read'
        : 'last known state could not be written to disk';
    rareLog.warn({ err: error, file: path }, message);
  };
}

// Copies the embedded ledger into the data directory, one at a time; `sluice backup` packs and removes it.

/** Age in milliseconds from which a copy counts as abandoned. */
const ABANDONED_MS = 10 * 60_000;
/** Files that are copied with the database: its marker, and the secrets that it needs. */
const BESIDE = ['ledger.used', 'admin-token', 'secret-key'];

export class EmbeddedCopies implements LedgerCopies {
  private readonly dataDir: string;

  /** `copyLedger` copies the files of the database; undefined if the ledger is not embedded. */
  constructor(
    dataDir: string,
    private readonly copyLedger: ((directory: string) => Promise<void>) | undefined,
  ) {
    this.dataDir = resolve(dataDir);
  }

  async make(): Promise<{ readonly directory: string } | Failure> {
    if (this.copyLedger === undefined) return fail('notEmbedded');
    const directory = join(this.dataDir, 'backup');
    const madeAt = statSync(directory, { throwIfNoEntry: false })?.mtimeMs;
    if (madeAt !== undefined) {
      if (Date.now() - madeAt < ABANDONED_MS) return fail('backupRunning');
      rmSync(directory, { recursive: true, force: true });
    }
    mkdirSync(directory, { mode: 0o700 });
    try {
      await this.copyLedger(join(directory, 'ledger'));
      markCopied(join(directory, 'ledger'));
      for (const name of BESIDE) {
        const path = join(this.dataDir, name);
        if (existsSync(path)) copyFileSync(path, join(directory, name));
      }
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
    return { directory };
  }
}

/** Returns a function that makes a process use changed settings. It logs a failure and never rejects. */
export function reloadable(
  log: Log,
  parts: readonly Pick<Stores, 'use'>[],
): (config: Config) => Promise<void> {
  return async (config) => {
    try {
      for (const part of parts) await part.use(config);
    } catch (error) {
      log.error({ err: error }, 'changed settings could not be taken over');
    }
  };
}
