// Copy of every table of a ledger into another database, row by row as text, with the positions of the
// sequences. What arrived is compared with what was sent. Both sides are in a transaction of the caller.

import type { Sql } from '../database/database.ts';

export type CopiedTables = { readonly tables: number; readonly rows: number };

/** Maximum number of rows in one statement: some ten megabytes if every row has long notes. */
const ROWS_MAX = 500;
/** Longest wait for a statement about a whole table. */
const STATEMENT_MS_MAX = 60 * 60_000;

/** Settings that make both sides write the same text for the same value, and lift their time limits. */
const SAME_TEXT = `
  SET LOCAL statement_timeout = 0;
  SET LOCAL idle_in_transaction_session_timeout = 0;
  SET LOCAL TIME ZONE 'UTC';
  SET LOCAL datestyle = 'ISO, MDY';
  SET LOCAL extra_float_digits = 1;
  SET LOCAL bytea_output = 'hex'`;

/** Name and columns of a table, both quoted for use in a statement. */
type Table = { readonly name: string; readonly columns: string };

/**
 * Copies all tables of `from` into those of `to`, which has the same schema. Deletes the rows of `to` first.
 * Rejects when `to` lacks a table, or when the copy of a table differs.
 */
export async function copyTables(from: Sql, to: Sql): Promise<CopiedTables> {
  await from.runScript(SAME_TEXT);
  await to.runScript(SAME_TEXT);
  const tables = await listTables(from, to);
  const names = tables.map(({ name }) => name);
  const references = await listReferences(to, names);
  // Triggers would add rows to sums that are copied as well, and give new numbers to rows.
  await to.runScript(forEach(names, (name) => `ALTER TABLE ${name} DISABLE TRIGGER USER`));
  // Foreign keys, also those within one table, are checked once all rows are there.
  await to.runScript(forEach(references, (each) => `${each} DEFERRABLE INITIALLY DEFERRED`));
  await to.runScript(`TRUNCATE ${names.join(', ')}`);
  for (const table of tables) await copyTable(from, to, table);
  await to.runScript('SET CONSTRAINTS ALL IMMEDIATE');
  await to.runScript(forEach(references, (each) => `${each} NOT DEFERRABLE`));
  await to.runScript(forEach(names, (name) => `ALTER TABLE ${name} ENABLE TRIGGER USER`));
  await copySequences(from, to);
  let rows = 0;
  for (const table of tables) rows += await compareTable(from, to, table);
  await to.query(`ANALYZE ${names.join(', ')}`, [], STATEMENT_MS_MAX);
  return { tables: tables.length, rows };
}

/** Returns a script with one statement for each name. */
function forEach(names: readonly string[], statement: (name: string) => string): string {
  return names.map(statement).join(';\n');
}

/** Names of the tables of a ledger, without the partitions of tables. */
export const TABLE_NAMES = `
  SELECT relname::text AS name FROM pg_class
  WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
    AND relkind IN ('r', 'p') AND NOT relispartition
  ORDER BY relname`;

/** Lists the tables of `from`, with their columns in the order of `to`. */
async function listTables(from: Sql, to: Sql): Promise<readonly Table[]> {
  const names = (await from.query<{ name: string }>(TABLE_NAMES)).map(({ name }) => name);
  const tables = await to.query<Table>(
    `SELECT attrelid::regclass::text AS name,
       string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns
     FROM pg_attribute
     WHERE attrelid IN (SELECT to_regclass(quote_ident(name)) FROM unnest($1::text[]) AS name)
       AND attnum > 0 AND NOT attisdropped
     GROUP BY attrelid ORDER BY 1`,
    [names],
  );
  if (tables.length === names.length) return tables;
  const known = new Set(tables.map(({ name }) => name));
  const missing = names.filter((name) => !known.has(name));
  throw new Error(`the ledger has tables that this version does not know: ${missing.join(', ')}`);
}

/** Lists the beginnings of statements that alter the foreign keys of these tables and their partitions. */
async function listReferences(to: Sql, names: readonly string[]): Promise<readonly string[]> {
  const rows = await to.query<{ statement: string }>(
    `SELECT format('ALTER TABLE %s ALTER CONSTRAINT %I', conrelid::regclass, conname) AS statement
     FROM pg_constraint
     WHERE contype = 'f' AND conparentid = 0 AND (conrelid = ANY ($1::text[]::regclass[])
       OR conrelid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = ANY ($1::text[]::regclass[])))
     ORDER BY 1`,
    [names],
  );
  return rows.map(({ statement }) => statement);
}

async function copyTable(from: Sql, to: Sql, { name, columns }: Table): Promise<void> {
  await from.query(
    `DECLARE copied NO SCROLL CURSOR FOR SELECT ROW(${columns})::text AS line FROM ${name}`,
  );
  for (;;) {
    const fetched = await from.query<{ line: string }>(
      `FETCH ${ROWS_MAX} FROM copied`,
      [],
      STATEMENT_MS_MAX,
    );
    if (fetched.length === 0) break;
    // Without OFFSET, each line would be read again for every column.
    await to.query(
      `INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE
       SELECT (copied).*
       FROM (SELECT line::${name} AS copied FROM unnest($1::text[]) AS line OFFSET 0) AS lines`,
      [fetched.map(({ line }) => line)],
      STATEMENT_MS_MAX,
    );
  }
  await from.query('CLOSE copied');
}

async function copySequences(from: Sql, to: Sql): Promise<void> {
  const sequences = await from.query<{ name: string }>(
    `SELECT relname::text AS name FROM pg_class
     WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
       AND relkind = 'S'
     ORDER BY relname`,
  );
  for (const { name } of sequences) {
    const [at] = await from.query<{ position: string; isCalled: boolean }>(
      `SELECT last_value::text AS position, is_called AS "isCalled" FROM ${name}`,
    );
    await to.query('SELECT setval($1::regclass, $2::bigint, $3)', [
      name,
      at?.position,
      at?.isCalled,
    ]);
  }
}

/** Compares the rows of a table, in any order, by their number and a checksum; returns the number. */
async function compareTable(from: Sql, to: Sql, { name, columns }: Table): Promise<number> {
  const text = `
    SELECT count(*)::int AS rows,
      coalesce(sum(('x' || encode(substr(sha256(convert_to(ROW(${columns})::text, 'UTF8')), 1, 8), 'hex'))
        ::bit(64)::bigint), 0)::text AS checksum
    FROM ${name}`;
  const read = async (sql: Sql) => {
    const [sum] = await sql.query<{ rows: number; checksum: string }>(text, [], STATEMENT_MS_MAX);
    return { rows: sum?.rows ?? 0, checksum: sum?.checksum };
  };
  const [sent, arrived] = [await read(from), await read(to)];
  if (sent.rows === arrived.rows && sent.checksum === arrived.checksum) return sent.rows;
  throw new Error(`the table ${name} arrived different: ${arrived.rows} rows of ${sent.rows}`);
}
