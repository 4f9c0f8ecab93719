// Databases at the baseline, as those are that were at migration 32 before there was one: later migrations
// bring them up to date.

import { readFile } from 'node:fs/promises';
import type { Database } from '../../../src/store/ledger/database/database.ts';
import { BASELINE, SCHEMA_FILES } from '../../../src/store/ledger/database/migrate.ts';

/** Functions that later migrations make anew with other arguments; what they did does not matter. */
const FORMER_FUNCTIONS = `
  CREATE FUNCTION record_check_ins(
    app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
    sources text[], times bigint[], offers text[], label_writes text[], are_awaited boolean DEFAULT FALSE,
    clients text[] DEFAULT NULL, bundles text[] DEFAULT NULL, freshness_ms integer DEFAULT 300000,
    history integer DEFAULT 100, writer text DEFAULT '', device_networks text[] DEFAULT NULL
  ) RETURNS TABLE (
    check_in_place integer, current_labels text, current_revision integer, seen_ms bigint
  ) LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN; END $$;
  CREATE FUNCTION record_checks(
    app_ids text[], device_ids text[], channels text[], versions text[], platforms text[], archs text[],
    sources text[], times bigint[], offers text[], label_writes text[], are_awaited boolean,
    networks text[], wide_networks text[], network_max integer, wide_max integer, app_max integer,
    clients text[] DEFAULT NULL, bundles text[] DEFAULT NULL, freshness_ms integer DEFAULT 300000,
    history integer DEFAULT 100, writer text DEFAULT '', device_networks text[] DEFAULT NULL
  ) RETURNS TABLE (
    check_in_place integer, current_labels text, current_revision integer, refused_by text, seen_ms bigint
  ) LANGUAGE plpgsql VOLATILE AS $$ BEGIN RETURN; END $$`;

/** Functions that the ledger needs to make apps. */
const SERVING = new URL('../../../src/store/ledger/database/function/serving.sql', import.meta.url);

/** Makes the schema of the baseline, in place of any other. */
export async function applyBaseline(database: Database): Promise<void> {
  await database.runScript(
    `DROP SCHEMA public CASCADE; CREATE SCHEMA public;
     COMMENT ON SCHEMA public IS 'standard public schema'`,
  );
  for (const file of [...SCHEMA_FILES, SERVING])
    await database.runScript(await readFile(file, 'utf8'));
  await database.runScript(FORMER_FUNCTIONS);
  await recordMigration(database, BASELINE, '000032.sql');
}

/** Notes a migration as the newest that was applied, whatever is there. */
export async function recordMigration(database: Database, id: number, name: string): Promise<void> {
  await database.runScript(
    `CREATE TABLE IF NOT EXISTS sluice_migrations (id integer PRIMARY KEY, name text NOT NULL,
       applied_at timestamptz(3) NOT NULL DEFAULT clock_timestamp())`,
  );
  await database.query('INSERT INTO sluice_migrations (id, name) VALUES ($1, $2)', [id, name]);
}
