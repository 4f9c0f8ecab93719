// Move of the record from the embedded database to PostgreSQL, and back. The commit in PostgreSQL decides
// whether it has moved. A mark is written to DATA_DIR right before it, with the id of the move, which that
// commit stores too: after an interruption in between, PostgreSQL shows whether the move was committed.

import { randomUUID } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Database, Sql } from '../database/database.ts';
import { BASELINE, MIGRATION_LOCK, migrate, readSchema } from '../database/migrate.ts';
import {
  type MoveMark,
  readMoveMark,
  removeMoveMark,
  withoutPassword,
  wordsOf,
  writeMoveMark,
} from '../database/move-mark.ts';
import { openPgDatabase } from '../database/pg-database.ts';
import { openPgliteDatabase } from '../database/pglite-database.ts';
import { markCopied } from '../database/refuse-recreation.ts';
import { directoryIn } from '../open-ledger.ts';
import { type CopiedTables, copyTables, TABLE_NAMES } from './copy-tables.ts';
import { messageOf, placeOf } from './examine-ledger.ts';

type Ends = {
  readonly dataDir: string;
  /** Address of the PostgreSQL that the record goes to, or comes back from. */
  readonly databaseUrl: string;
};

/** Both databases of a move, open; the lock of the embedded one is held. */
type OpenEnds = {
  readonly directory: string;
  readonly place: string;
  /** Address of `postgres` without its password. */
  readonly address: string;
  readonly embedded: Database;
  readonly postgres: Database;
};

/** Error by which a transaction that has done all its work is rolled back. */
class DryRun extends Error {
  readonly copied: CopiedTables;

  constructor(copied: CopiedTables) {
    super('a dry run commits nothing');
    this.copied = copied;
  }
}

/** Result of a move. */
export type Moved = CopiedTables & {
  /** Hosts and name of the other database, without credentials. */
  readonly to: string;
  /** Whether the record is there now, by this run or an earlier one; a dry run moves nothing. */
  readonly moved: boolean;
};

/**
 * Moves the record of a stopped service into a database without a schema of Sluice, or completes a move that
 * was interrupted. A dry run does the same and commits nothing. Rejects with one sentence for the operator.
 */
export function moveLedger(ends: Ends & { readonly isDryRun: boolean }): Promise<Moved> {
  return withBoth(ends, async (open) => {
    const { directory, place, postgres } = open;
    const mark = readMoveMark(directory);
    const arrived = await reach(place, () => readArrived(postgres));
    if (mark !== undefined && arrived?.move === mark.id) {
      if (!ends.isDryRun) writeMoveMark(directory, { ...mark, isDone: true });
      return { tables: mark.tables, rows: mark.rows, to: place, moved: true };
    }
    if (arrived !== undefined) throw occupied(place);
    if (mark?.isDone) {
      throw new Error(
        `${wordsOf(directory, mark)} That database has no schema of Sluice any more.`,
      );
    }
    const copied = await copy(open, mark?.id ?? randomUUID(), ends.isDryRun);
    return { ...copied, to: place, moved: !ends.isDryRun };
  });
}

async function copy(
  { directory, place, address, embedded, postgres }: OpenEnds,
  id: string,
  isDryRun: boolean,
): Promise<CopiedTables> {
  let mark: MoveMark | undefined;
  try {
    const copied = await embedded.transaction(async (from) => {
      await migrate({ transaction: (work) => work(from) });
      return postgres.transaction(async (to) => {
        // This takes a lock: another move, or a service that starts meanwhile, waits for the end.
        const schema = await migrate({ transaction: (work) => work(to) });
        if (schema.from !== 0) throw occupied(place);
        // A move that was reported survives a crash of the server, whatever the account's setting is.
        await to.query('SET LOCAL synchronous_commit = on');
        const copied = await copyTables(from, to);
        // No service has used this database yet: the first one that starts writes its identity.
        await to.query(
          `UPDATE ledger_epoch
           SET epoch = epoch + 1, raised_at = clock_timestamp(), identity = NULL, move = $1`,
          [id],
        );
        if (isDryRun) throw new DryRun(copied);
        mark = { id, to: place, address, isDone: false, ...copied };
        writeMoveMark(directory, mark);
        return copied;
      });
    });
    if (mark !== undefined) writeMoveMark(directory, { ...mark, isDone: true });
    return copied;
  } catch (error) {
    if (error instanceof DryRun) return error.copied;
    const reason = messageOf(error);
    throw new Error(
      mark === undefined
        ? `Nothing has moved to PostgreSQL at ${place}: ${reason}`
        : `The end of the move to PostgreSQL at ${place} is not known, run it again: ${reason}`,
      { cause: error },
    );
  }
}

function occupied(place: string): Error {
  return new Error(`PostgreSQL at ${place} has a schema of Sluice already: name an empty database`);
}

/** State of a move in PostgreSQL: `lost` if the move was completed, and PostgreSQL no longer has it. */
type Taking = 'taken-back' | 'started' | 'lost';

/**
 * Takes a move back: drops what it created in PostgreSQL, so that a service may start on the embedded
 * database again. Rejects when a service was started on PostgreSQL, because it may have changed the record;
 * and, unless `isForced`, when PostgreSQL cannot be asked or has lost the move.
 */
export function undoMove(ends: Ends & { readonly isForced: boolean }): Promise<void> {
  return withBoth(ends, async ({ directory, place, embedded, postgres }) => {
    const mark = readMoveMark(directory);
    if (mark === undefined) throw new Error(`Nothing was moved from ${directory}`);
    const drops = await listDrops(embedded);
    const take = () => postgres.transaction((sql) => takeBack(sql, directory, mark, drops));
    const taking = await reach(place, take).catch((error: Error) => error);
    if (taking === 'started') {
      throw new Error(
        `A service was started on PostgreSQL at ${place} after the move, and may have gone on: ` +
          'set DATABASE_URL to it',
      );
    }
    if (taking !== 'taken-back') {
      const reason =
        taking === 'lost' ? `PostgreSQL at ${place} has lost the move` : taking.message;
      if (!ends.isForced) throw new Error(`${reason}. --force goes back without an answer of it.`);
      // The embedded database gets another time line, because a service may go on with PostgreSQL.
      markCopied(directory);
    }
    removeMoveMark(directory);
  });
}

async function takeBack(
  sql: Sql,
  directory: string,
  mark: MoveMark,
  drops: readonly string[],
): Promise<Taking> {
  // A move whose client is gone may be about to commit.
  await sql.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
  if ((await readArrived(sql))?.move !== mark.id) return mark.isDone ? 'lost' : 'taken-back';
  // A service that starts meanwhile waits for this lock.
  await sql.query('SELECT FROM ledger_epoch FOR UPDATE');
  if ((await readArrived(sql))?.isStarted) return 'started';
  // From here on only PostgreSQL knows whether it has the record, so a later run asks it again.
  writeMoveMark(directory, { ...mark, isDone: false });
  await sql.runScript(`SET LOCAL statement_timeout = 0;\n${drops.join(';\n')}`);
  return 'taken-back';
}

/** Lists the statements that drop the objects of a ledger; they fail if others depend on its tables. */
async function listDrops(embedded: Sql): Promise<readonly string[]> {
  const named = async (text: string): Promise<readonly string[]> =>
    (await embedded.query<{ name: string }>(text)).map(({ name }) => name);
  const here = '(SELECT oid FROM pg_namespace WHERE nspname = current_schema())';
  const relations = (kind: string) =>
    named(
      `SELECT relname::text AS name FROM pg_class WHERE relnamespace = ${here} AND relkind = '${kind}'`,
    );
  const functions = `SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = ${here}`;
  const drop = (kind: string, names: readonly string[]) => `DROP ${kind} ${names.join(', ')}`;
  return [
    drop('VIEW', await relations('v')),
    // Triggers and defaults that use the functions go with them.
    `${drop('FUNCTION', await named(functions))} CASCADE`,
    drop('TABLE', await named(TABLE_NAMES)),
    drop('TYPE', await relations('c')),
    // Sequences of columns are gone with their tables.
    drop('SEQUENCE IF EXISTS', await relations('S')),
  ];
}

/** State of a database to which a ledger may have been moved. */
type Arrived = { readonly move: string | null; readonly isStarted: boolean };

/** Reads the state of a database; undefined for one without a schema of Sluice. */
async function readArrived(sql: Sql): Promise<Arrived | undefined> {
  const { applied } = await readSchema(sql);
  if (applied === 0) return undefined;
  if (applied < BASELINE) return { move: null, isStarted: true };
  // As JSON, because an earlier schema lacks the column.
  const [row] = await sql.query<Arrived>(
    `SELECT to_jsonb(ledger_epoch) ->> 'move' AS move, identity IS NOT NULL AS "isStarted"
     FROM ledger_epoch`,
  );
  return row ?? { move: null, isStarted: true };
}

/** Opens both databases for `work`. Rejects when DATA_DIR has no database, or it was moved elsewhere. */
async function withBoth<Value>(
  { dataDir, databaseUrl }: Ends,
  work: (ends: OpenEnds) => Promise<Value>,
): Promise<Value> {
  const directory = directoryIn(dataDir);
  refuseMissing(directory);
  const place = placeOf(databaseUrl);
  const mark = readMoveMark(directory);
  if (mark !== undefined && mark.to !== place) throw new Error(wordsOf(directory, mark));
  const onFault = () => undefined;
  const postgres = openPgDatabase({ url: databaseUrl, connectionsMax: 1, onFault });
  try {
    const embedded = await openPgliteDatabase({ directory, onFault });
    try {
      const address = withoutPassword(databaseUrl);
      return await work({ directory, place, address, embedded, postgres });
    } finally {
      await embedded.close();
    }
  } finally {
    await postgres.close();
  }
}

function refuseMissing(directory: string): void {
  if (!existsSync(join(directory, 'PG_VERSION'))) {
    throw new Error(
      `There is no embedded database in ${directory}: set DATA_DIR to that of the service`,
    );
  }
  // Another account that opens the database also writes files, which the service could not open.
  if (process.getuid !== undefined && process.getuid() !== statSync(directory).uid) {
    throw new Error(`Run this as the account that owns ${directory}`);
  }
}

/** Adds the place to the error of a database that cannot be used. */
async function reach<Value>(place: string, ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask();
  } catch (error) {
    throw new Error(`PostgreSQL at ${place} cannot be used: ${messageOf(error)}`, { cause: error });
  }
}
