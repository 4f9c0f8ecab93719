// Opens the configured ledger: PostgreSQL if an address is set, else the embedded database.

import { join } from 'node:path';
import type { Ledger } from '../ledger.ts';
import type { LedgerMemory, LedgerReport, RememberedChannel } from '../ledger-identity.ts';
import type { Database } from './database/database.ts';
import { isUnmoved, refuseMoved } from './database/move-mark.ts';
import { type MovableDatabase, openPgDatabase, type PoolLoad } from './database/pg-database.ts';
import { type EmbeddedDatabase, openPgliteDatabase } from './database/pglite-database.ts';
import { countRemembered, type Greeter, migrateDatabase } from './database/record-database.ts';
import {
  forgetCopied,
  isCopied,
  markUsed,
  refuseRecreation,
} from './database/refuse-recreation.ts';
import type { DeviceKeeping } from './fleet/check-ins.ts';
import { createSqlLedger } from './sql-ledger.ts';

export type LedgerOptions = {
  /** Address of PostgreSQL; undefined for the embedded database in `dataDir`. */
  readonly databaseUrl: string | undefined;
  /** Maximum number of connections to PostgreSQL; default: 10. */
  readonly connectionsMax?: number | undefined;
  /** Precision of device records; default: `USUAL_KEEPING`. */
  readonly keeping?: DeviceKeeping | undefined;
  readonly dataDir: string;
  readonly memory: LedgerMemory;
  readonly report: LedgerReport;
};

/** Ledger whose database address may change at run time. */
export type OpenLedger = Ledger & {
  /** Makes new connections go to another PostgreSQL address; throws for an invalid one. */
  useAddress(databaseUrl: string): void;
  /** Copies the embedded database into a new directory; undefined with PostgreSQL. */
  readonly copyTo: ((directory: string) => Promise<void>) | undefined;
  /** Returns whether the ledger has one of these channels. */
  knowsSome(channels: readonly Pick<RememberedChannel, 'channelId'>[]): Promise<boolean>;
  /** Returns the load of the PostgreSQL pool; undefined for the embedded database. */
  poolLoad(): PoolLoad | undefined;
};

/**
 * Opens and migrates the ledger. If PostgreSQL cannot be reached, or is not the record, the ledger opens all
 * the same, and its calls reject with `Unavailable` until that is over. Rejects a schema newer than this
 * program, and a refused password, when no remembered channel could be served meanwhile. Always rejects an
 * embedded directory that another process has open, that is damaged, that has lost its database, or whose
 * record was moved; and an empty PostgreSQL beside an embedded database that was not moved.
 */
export async function openLedger(options: LedgerOptions): Promise<OpenLedger> {
  let movable: MovableDatabase | undefined;
  let embedded: EmbeddedDatabase | undefined;
  const open = async (greeter: Greeter): Promise<Database> => {
    const { databaseUrl } = options;
    if (databaseUrl === undefined) {
      embedded = await openEmbedded(options);
      return embedded;
    }
    movable = openAddress(databaseUrl, options, greeter);
    return movable;
  };
  const directory = directoryIn(options.dataDir);
  const isEmbedded = options.databaseUrl === undefined;
  const isCopy = isEmbedded && isCopied(directory);
  const unmoved = !isEmbedded && isUnmoved(directory) ? directory : undefined;
  const database = await migrateDatabase(open, { ...options, isCopy, unmoved });
  if (isCopy && database.identity !== undefined) forgetCopied(directory);
  return {
    ...createSqlLedger(database, () => database.confirm(), options.keeping),
    useAddress: (url) => movable?.moveTo(url),
    copyTo: embedded?.copyTo.bind(embedded),
    knowsSome: (channels) => database.knowsSome(channels),
    poolLoad: () => movable?.poolLoad(),
  };
}

function openAddress(
  url: string,
  { dataDir, report, connectionsMax }: LedgerOptions,
  greeter: Greeter,
): MovableDatabase {
  // Marked, so that a later start without the address does not create an embedded database.
  tryToMark(directoryIn(dataDir), report);
  const onFault = (error: unknown) => report.fault(error);
  return openPgDatabase({ url, connectionsMax, onFault, greeter });
}

async function openEmbedded({ dataDir, memory, report }: LedgerOptions): Promise<EmbeddedDatabase> {
  const directory = directoryIn(dataDir);
  refuseMoved(directory);
  refuseRecreation(directory, await countRemembered(memory));
  return openPgliteDatabase({ directory, onFault: (error) => report.fault(error) });
}

/** Returns the directory of the embedded database. */
export function directoryIn(dataDir: string): string {
  return join(dataDir, 'ledger');
}

function tryToMark(directory: string, report: LedgerReport): void {
  try {
    markUsed(directory);
  } catch (error) {
    report.unmarked(error);
  }
}
