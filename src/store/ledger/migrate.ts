// Migrates a database to the schema that this program knows. Migrations are numbered files that only go
// forward. Each runs in a transaction of its own that also records it, so that a start after a crash goes on
// with the next one.

import { readdir, readFile } from 'node:fs/promises';
import { Unavailable } from '../../contract/unavailable.ts';
import { type Database, isMissingObject, type Sql } from './database.ts';

/**
 * Key of the advisory lock. Its value does not matter, but every version of this program must use the same.
 */
const MIGRATION_LOCK = 7_583_492;
const MIGRATIONS = new URL('migration/', import.meta.url);
const MIGRATION_FILE = /^(\d{6})\.sql$/;

type Migration = { readonly id: number; readonly name: string };

/** Numbers of the newest migration before and after; the same when there was nothing to do. */
export type SchemaChange = { readonly from: number; readonly to: number };

/** Applies the missing migrations. It can run again, and on several nodes at once. */
export async function migrate(database: Database): Promise<SchemaChange> {
  const migrations = await listMigrations();
  const to = migrations.length;
  let from: number | undefined;
  for (;;) {
    const applied = await database.transaction((sql) => applyNext(sql, migrations));
    from ??= applied;
    if (applied === to) return { from, to };
  }
}

/**
 * Returns the number of the newest applied migration, and of the newest that this program knows. Changes
 * nothing; 0 is a database without the schema.
 */
export async function readSchema(
  sql: Sql,
): Promise<{ readonly applied: number; readonly known: number }> {
  const known = (await listMigrations()).length;
  const text = `SELECT to_regclass('sluice_migrations') IS NOT NULL AS "isThere"`;
  const [row] = await sql.query<{ isThere: boolean }>(text);
  return { applied: row?.isThere ? await readApplied(sql) : 0, known };
}

/**
 * Error of a database that a newer version of this program has migrated, whose schema this one does not know.
 */
class SchemaTooNew extends Error {
  constructor(found: number, known: number) {
    super(
      `The database is at migration ${found}, but this version of Sluice knows only ${known}: ` +
        'start the newer version again.',
    );
    this.name = 'SchemaTooNew';
  }
}

/** Error of a migration that the database refuses. It is rolled back, and the schema is as it was before. */
class MigrationFailed extends Error {
  constructor({ name }: Migration, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`migration ${name.replace('.sql', '')} failed and was rolled back: ${reason}`, {
      cause,
    });
    this.name = 'MigrationFailed';
  }
}

async function listMigrations(): Promise<readonly Migration[]> {
  const names = (await readdir(MIGRATIONS)).filter((name) => MIGRATION_FILE.test(name)).sort();
  const migrations = names.map((name) => ({ id: Number(MIGRATION_FILE.exec(name)?.[1]), name }));
  if (migrations.length === 0 || migrations.some(({ id }, index) => id !== index + 1)) {
    throw new Error(`Migrations must be numbered from 1 without a gap: ${names.join(', ')}`);
  }
  return migrations;
}

/** Applies the next migration, if there is one; returns how many were applied before. */
async function applyNext(sql: Sql, migrations: readonly Migration[]): Promise<number> {
  const applied = await lockAndReadApplied(sql);
  const newest = migrations.length;
  if (applied > newest) throw new SchemaTooNew(applied, newest);
  const next = migrations[applied];
  if (next === undefined) return applied;
  const script = await readFile(new URL(next.name, MIGRATIONS), 'utf8');
  try {
    await sql.runScript(script);
  } catch (error) {
    const isOutage = error instanceof Unavailable && !isMissingObject(error);
    throw isOutage ? error : new MigrationFailed(next, error);
  }
  await sql.query('INSERT INTO sluice_migrations (id, name) VALUES ($1, $2)', [next.id, next.name]);
  return applied;
}

/**
 * Takes the migration lock and returns the number of the newest applied migration. The lock is held until the
 * transaction ends, so that nodes which start together take turns and each sees the migrations of the one
 * before. The usual limit on a statement is off, because a migration may take long, for the node that
 * migrates and for the nodes that wait for the lock.
 */
async function lockAndReadApplied(sql: Sql): Promise<number> {
  await sql.query('SET LOCAL statement_timeout = 0');
  await sql.runScript(`
    SELECT pg_advisory_xact_lock(${MIGRATION_LOCK});
    CREATE TABLE IF NOT EXISTS sluice_migrations (
      id integer PRIMARY KEY,
      name text NOT NULL,
      applied_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
    )`);
  return readApplied(sql);
}

async function readApplied(sql: Sql): Promise<number> {
  const rows = await sql.query<{ applied: number }>(
    'SELECT coalesce(max(id), 0) AS applied FROM sluice_migrations',
  );
  return rows[0]?.applied ?? 0;
}
