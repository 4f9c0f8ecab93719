// Tests the template of the embedded ledger: the content of a new ledger made from it, and the cases in which
// it is not used.

import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Database } from '../../../src/store/ledger/database.ts';
import { fillFromTemplate } from '../../../src/store/ledger/fill-from-template.ts';
import { migrate, readSchema } from '../../../src/store/ledger/migrate.ts';
import { openPgliteDatabase } from '../../../src/store/ledger/pglite-database.ts';

vi.mock('node:fs', async (load) => {
  const real = await load<typeof fs>();
  return { ...real, renameSync: vi.fn(real.renameSync) };
});

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

let folder: string;
let directory: string;
/** Directory that PGlite makes without any migration; making it takes seconds. */
let unmigrated: string;
/** Small folder that is copied like a template. */
let template: string;

beforeAll(async () => {
  unmigrated = fs.mkdtempSync(join(tmpdir(), 'sluice-pglite-'));
  await (await PGlite.create({ dataDir: unmigrated })).close();
  template = fs.mkdtempSync(join(tmpdir(), 'sluice-small-'));
  fs.writeFileSync(join(template, 'PG_VERSION'), 'of the template');
  fs.mkdirSync(join(template, 'base'));
});
afterAll(() => {
  for (const each of [unmigrated, template]) fs.rmSync(each, { recursive: true });
});
beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'sluice-template-'));
  directory = join(folder, 'ledger');
  fs.mkdirSync(directory);
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

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

describe('a ledger made from the template', () => {
  test('has the schema that the migrations build, and gets those that the template has not', async () => {
    const bare = join(folder, 'bare');
    fs.mkdirSync(bare);
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

  test('can be read by its owner alone, like every ledger', () => {
    fillFromTemplate(directory, template);
    expect(fs.statSync(directory).mode & 0o777).toBe(0o700);
    expect(fs.readdirSync(directory)).toEqual(fs.readdirSync(template));
  });
});

describe('the directory', () => {
  test('that is not empty stays as it is', () => {
    fs.writeFileSync(join(directory, 'PG_VERSION'), 'of another');
    fillFromTemplate(directory, template);
    expect(fs.readdirSync(directory)).toEqual(['PG_VERSION']);
    expect(fs.readdirSync(folder)).toEqual(['ledger']);
  });

  test('stays empty while the copy is made, and a copy that was cut off is made anew', () => {
    const draft = `${directory}.draft`;
    fs.mkdirSync(draft);
    fs.writeFileSync(join(draft, 'PG_VERSION'), 'cut off');
    vi.mocked(fs.renameSync).mockImplementationOnce((from, to) => {
      expect([from, to]).toEqual([draft, directory]);
      expect(fs.readdirSync(directory)).toEqual([]);
      throw new Error('killed');
    });
    expect(() => fillFromTemplate(directory, template)).toThrow('killed');
    fillFromTemplate(directory, template);
    expect(fs.readFileSync(join(directory, 'PG_VERSION'))).toEqual(
      fs.readFileSync(join(template, 'PG_VERSION')),
    );
    expect(fs.readdirSync(folder)).toEqual(['ledger']);
  });

  test.each(['EBUSY', 'EXDEV'])('that is a mounted volume (%s) is left to PGlite', (code) => {
    vi.mocked(fs.renameSync).mockImplementationOnce(() => {
      throw Object.assign(new Error('a mount point'), { code });
    });
    fillFromTemplate(directory, template);
    expect(fs.readdirSync(directory)).toEqual([]);
    expect(fs.readdirSync(folder)).toEqual(['ledger']);
  });

  test('is left to PGlite when there is no template', () => {
    fillFromTemplate(directory, join(folder, 'none'));
    expect(fs.readdirSync(directory)).toEqual([]);
  });
});
