// Tests that the template of the embedded ledger, which the build makes, has the schema that the migrations
// build, and that a ledger made from it keeps what it is given. When it is used is tested in
// test/store/ledger/database/fill-from-template.test.ts.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, expect, test } from 'vitest';
import type { Database } from '../../src/store/ledger/database/database.ts';
import { fillFromTemplate } from '../../src/store/ledger/database/fill-from-template.ts';
import { migrate, readSchema } from '../../src/store/ledger/database/migrate.ts';
import { openPgliteDatabase } from '../../src/store/ledger/database/pglite-database.ts';

/** Query of everything that a migration can make, each as one text. */
const SCHEMA = `
  SELECT format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) AS text
    FROM information_schema.columns WHERE table_schema = 'public'
  UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT format('%s %s', conname, pg_get_constraintdef(oid)) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace
  UNION ALL SELECT format('%s %s', relname, reloptions) FROM pg_class
    WHERE relnamespace = 'public'::regnamespace
  UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger
  ORDER BY text`;

const folder = mkdtempSync(join(tmpdir(), 'sluice-template-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Makes an empty directory; returns its path. */
function made(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

async function withDatabase<Value>(
  path: string,
  use: (database: Database) => Promise<Value>,
): Promise<Value> {
  const database = await openPgliteDatabase({
    directory: path,
    onFault(error) {
      throw error;
    },
  });
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}

async function schemaOf(database: Database): Promise<readonly string[]> {
  return (await database.query<{ text: string }>(SCHEMA)).map(({ text }) => text);
}

function appliedIn(database: Database): Promise<unknown[]> {
  return database.query('SELECT id, name FROM sluice_migrations ORDER BY id');
}

test('the template has the schema that the migrations build, and gets those that it has not', async () => {
  const [unmigrated, bare, directory] = [made('unmigrated'), made('bare'), made('ledger')];
  await (await PGlite.create({ dataDir: unmigrated })).close();
  fillFromTemplate(bare, unmigrated);
  const expected = await withDatabase(bare, async (database) => {
    expect(await schemaOf(database)).toEqual([]);
    const { to } = await migrate(database);
    expect(await readSchema(database)).toMatchObject({ applied: to, known: to });
    return { schema: await schemaOf(database), applied: await appliedIn(database) };
  });
  expect(expected.schema.length).toBeGreaterThan(100);
  await withDatabase(directory, async (database) => {
    expect(await appliedIn(database)).toEqual(expected.applied);
    expect(await schemaOf(database)).toEqual(expected.schema);
    await migrate(database);
    expect(await schemaOf(database)).toEqual(expected.schema);
    await database.runScript('CREATE TABLE kept (value integer); INSERT INTO kept VALUES (7)');
  });
  await withDatabase(directory, async (database) => {
    expect(await database.query('SELECT value FROM kept')).toEqual([{ value: 7 }]);
  });
});
