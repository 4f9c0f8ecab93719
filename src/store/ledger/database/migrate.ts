// Migrates a database to this program's schema: the baseline (schema/), which counts as migration 32, then
// the numbered migrations (migration/), which only go forward. Each runs in a transaction that also records
// it, so that a start after a crash goes on with the next one. The transaction of the newest one also creates
// the functions (function/), so a change of a function needs a new migration, which may be just a comment
// (decision 0061).

import { readdir, readFile } from 'node:fs/promises';
import { type ToldFault, Unavailable } from '../../../contract/store-fault.ts';
import { type Database, isMissingObject, type Sql } from './database.ts';

/**
 * Key of the advisory lock. Its value does not matter, but every version of this program must use the same.
 */
export const MIGRATION_LOCK = 7_583_492;
/** Number of the baseline: that of the last migration that it replaces, whose schema is the same. */
export const BASELINE = 32;
/** Commit of the last version that has the migrations before the baseline. */
const UPGRADES_TO_BASELINE = '7a53bbc8';
/** Files of the baseline, in order of dependency. */
export const SCHEMA_FILES = [
  'tenants',
  'catalog',
  'catalog-guards',
  'webhooks',
  'record',
  'fleet',
  'fleet-counts',
  'rollouts',
].map((name) => new URL(`schema/${name}.sql`, import.meta.url));
/** Files of the functions, in order of dependency. */
const FUNCTION_FILES = [
  'serving',
  'fleet-locks',
  'labels',
  'signals',
  'check-in-signals',
  'check-ins',
  'admissions',
  'plans',
  'sweeping',
  'erasing',
  'device-actions',
].map((name) => new URL(`function/${name}.sql`, import.meta.url));
const MIGRATIONS = new URL('migration/', import.meta.url);
const MIGRATION_FILE = /^(\d{6})\.sql$/;

/** Step from one migration number to the next; the baseline is the first step. */
type Migration = { readonly id: number; readonly name: string; readonly files: readonly URL[] };

/** Numbers of the newest migration before and after; equal when nothing was missing. */
export type SchemaChange = { readonly from: number; readonly to: number };

/** Applies the missing migrations. Safe to repeat, and to run on several nodes at once. */
export async function migrate(database: Pick<Database, 'transaction'>): Promise<SchemaChange> {
  const migrations = await listMigrations();
  const to = newestOf(migrations);
  let from: number | undefined;
  for (;;) {
    const applied = await database.transaction((sql) => applyNext(sql, migrations));
    from ??= applied;
    if (applied === to) return { from, to };
  }
}

/**
 * Returns the numbers of the newest applied (0 without the schema) and the newest known migration, and the
 * error of a database that cannot be used. Changes nothing.
 */
export async function readSchema(sql: Sql) {
  const known = newestOf(await listMigrations());
  const text = `SELECT to_regclass('sluice_migrations') IS NOT NULL AS "isThere"`;
  const [row] = await sql.query<{ isThere: boolean }>(text);
  const applied = row?.isThere ? await readApplied(sql) : 0;
  return { applied, known, refusal: refusalOf(applied, known) };
}

/** Returns the error of a database that this program can neither use nor upgrade; undefined if it can. */
function refusalOf(applied: number, known: number): Error | undefined {
  if (applied > known) return new SchemaTooNew(applied, known);
  return applied > 0 && applied < BASELINE ? new SchemaTooOld(applied) : undefined;
}

/** Error of a database that is older than the baseline. */
class SchemaTooOld extends Error implements ToldFault {
  readonly told = {
    why: 'has the schema of a version that is too old to be upgraded',
    remedy: 'upgrade by the versions in between',
  };

  constructor(found: number) {
    super(
      `The database is at migration ${found}, and this version of Sluice goes on from ${BASELINE}: ` +
        `start the version of commit ${UPGRADES_TO_BASELINE} (before v0.1.0) once, which brings it ` +
        'there, and then this one again.',
    );
    this.name = 'SchemaTooOld';
  }
}

/** Error of a database that a newer version of this program has migrated. */
class SchemaTooNew extends Error implements ToldFault {
  readonly told = {
    why: 'has the schema of a newer version of Sluice',
    remedy: 'start the newer version again',
  };

  constructor(found: number, known: number) {
    super(
      `The database is at migration ${found}, but this version of Sluice knows only ${known}: ` +
        'start the newer version again.',
    );
    this.name = 'SchemaTooNew';
  }
}

/** Error of a migration that failed and was rolled back. */
class MigrationFailed extends Error implements ToldFault {
  readonly told = { why: 'could not be migrated', remedy: 'look at the log' };

  constructor({ name }: Migration, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`migration ${name.replace('.sql', '')} failed and was rolled back: ${reason}`, {
      cause,
    });
    this.name = 'MigrationFailed';
  }
}

/** Lists the baseline and the migrations after it; the newest one includes the functions. */
async function listMigrations(): Promise<readonly Migration[]> {
  const names = (await readdir(MIGRATIONS)).filter((name) => MIGRATION_FILE.test(name)).sort();
  const migrations = names.map((name) => ({
    id: Number(MIGRATION_FILE.exec(name)?.[1]),
    name,
    files: [new URL(name, MIGRATIONS)],
  }));
  if (migrations.some(({ id }, index) => id !== BASELINE + 1 + index)) {
    const first = BASELINE + 1;
    throw new Error(`Migrations must be numbered from ${first} without a gap: ${names.join(', ')}`);
  }
  const all: Migration[] = [{ id: BASELINE, name: 'baseline', files: SCHEMA_FILES }, ...migrations];
  return all.map((each, index) =>
    index === all.length - 1 ? { ...each, files: [...each.files, ...FUNCTION_FILES] } : each,
  );
}

function newestOf(migrations: readonly Migration[]): number {
  return BASELINE + migrations.length - 1;
}

/** Applies the next migration, if there is one; returns the number of the newest one applied before it. */
async function applyNext(sql: Sql, migrations: readonly Migration[]): Promise<number> {
  const applied = await lockAndReadApplied(sql);
  const refusal = refusalOf(applied, newestOf(migrations));
  if (refusal !== undefined) throw refusal;
  const next = migrations.find(({ id }) => id > applied);
  if (next === undefined) return applied;
  const scripts = await Promise.all(next.files.map((file) => readFile(file, 'utf8')));
  try {
    for (const script of scripts) await sql.runScript(script);
  } catch (error) {
    const isOutage = error instanceof Unavailable && !isMissingObject(error);
    throw isOutage ? error : new MigrationFailed(next, error);
  }
  await sql.query('INSERT INTO sluice_migrations (id, name) VALUES ($1, $2)', [next.id, next.name]);
  return applied;
}

/**
 * Takes the migration lock and returns the newest applied migration. The transaction holds the lock, so that
 * nodes that start together take turns, and each sees what the one before applied. Switches off the statement
 * timeout, because a migration, and so the wait for the lock, may take long.
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
