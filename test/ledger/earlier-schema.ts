// Databases with the schema of an earlier version, which tests of a migration bring up to date.

import { readdir, readFile } from 'node:fs/promises';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { clientColumnsOf, columnsOf } from '../../src/store/ledger/check-ins.ts';
import type { Database } from '../../src/store/ledger/database.ts';

const MIGRATIONS = new URL('../../src/store/ledger/migration/', import.meta.url);

/** Makes the schema as it was after so many migrations, in place of any other. */
export async function applyEarlier(database: Database, count: number): Promise<void> {
  const names = (await readdir(MIGRATIONS)).sort().slice(0, count);
  await database.runScript(
    `DROP SCHEMA public CASCADE;
     CREATE SCHEMA public;
     CREATE TABLE sluice_migrations (id integer PRIMARY KEY, name text NOT NULL,
       applied_at timestamptz(3) NOT NULL DEFAULT clock_timestamp())`,
  );
  for (const [index, name] of names.entries()) {
    const script = await readFile(new URL(name, MIGRATIONS), 'utf8');
    await database.transaction(async (sql) => {
      await sql.runScript(script);
      await sql.query('INSERT INTO sluice_migrations (id, name) VALUES ($1, $2)', [
        index + 1,
        name,
      ]);
    });
  }
}

/** Records check-ins as nodes did before freshness and history were settings. */
export async function recordEarlier(
  database: Database,
  checkIns: readonly CheckIn[],
): Promise<void> {
  await database.query(
    `SELECT check_in_place
     FROM record_check_ins($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
       $7::text[], $8::bigint[], $9::text[], $10::text[], $11::boolean, $12::text[], $13::text[])`,
    [...columnsOf(checkIns, 'queued'), false, ...clientColumnsOf(checkIns)],
  );
}
