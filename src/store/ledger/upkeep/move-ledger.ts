// Move of the record from the embedded database to PostgreSQL, and back. The commit there decides whether it
// has moved. A mark in DATA_DIR is written right before it, with the id of the move that PostgreSQL also has:
// of a move that was broken off in between, the other database knows the end.

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

/** Both databases of a move, open: that of DATA_DIR with its lock held. */
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

/** What came of a move. */
export type Moved = CopiedTables & {
  /** Hosts and name of the other database, without credentials. */
  readonly to: string;
  /** Whether the record is there now, be it by an earlier run; a dry run brings nothing. */
  readonly moved: boolean;
};

/**
 * Moves the record of a stopped service into a database without a schema of Sluice, or ends a move that was
 * broken off. A dry run does the same and commits nothing. Rejects with one sentence for the operator.
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
        // This takes a lock: who comes at the same time, another move or a service, waits for the end.
        const schema = await migrate({ transaction: (work) => work(to) });
        if (schema.from !== 0) throw occupied(place);
        // What was told to have moved outlasts a crash of the server, whatever the account's setting is.
        await to.query('SET LOCAL synchronous_commit = on');
        const copied = await copyTables(from, to);
        // No service has been here yet: the first one that starts writes its identity.
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

/** What the other database tells of a move: `lost` when it does not have it any more, and may have had. */
type Taking = 'taken-back' | 'started' | 'lost';

/**
 * Takes a move back: what came from here is dropped there, and a service may start on the embedded database
 * again. Rejects when a service was started there, because it may have gone on; and, unless `isForced`, when
 * the other database cannot tell.
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
      // What may go on there is told from what goes on here by its time line.
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
  // From here on only that database knows whether it has the record: a run after this one asks it again.
  writeMoveMark(directory, { ...mark, isDone: false });
  await sql.runScript(`SET LOCAL statement_timeout = 0;\n${drops.join(';\n')}`);
  return 'taken-back';
}

/** Lists the statements that drop the objects of a ledger, and nothing that depends on its tables. */
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
    // Triggers and defaults of the tables go with them.
    `${drop('FUNCTION', await named(functions))} CASCADE`,
    drop('TABLE', await named(TABLE_NAMES)),
    drop('TYPE', await relations('c')),
    // Those of columns are gone with their tables.
    drop('SEQUENCE IF EXISTS', await relations('S')),
  ];
}

/** What a database has that a ledger was moved to. */
type Arrived = { readonly move: string | null; readonly isStarted: boolean };

/** Returns what a database with a schema of Sluice has; undefined for one without. */
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

/** Opens both databases for `work`. Rejects when DATA_DIR has none, or moved its own to another place. */
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
  // What another account opens, it also writes, and the service could not open it any more.
  if (process.getuid !== undefined && process.getuid() !== statSync(directory).uid) {
    throw new Error(`Run this as the account that owns ${directory}`);
  }
}

/** Names the place in the error of a database that cannot be used. */
async function reach<Value>(place: string, ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask();
  } catch (error) {
    throw new Error(`PostgreSQL at ${place} cannot be used: ${messageOf(error)}`, { cause: error });
  }
}
