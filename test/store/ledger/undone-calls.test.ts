// Tests calls that PostgreSQL undoes because of what others do at the same time: they are made once more, and
// what is undone again and again counts as unavailable.

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Unavailable } from '../../../src/contract/store-fault.ts';
import { openEmptyPostgres, type TestDatabase } from './test-database.ts';

const postgresUrl = inject('postgresUrl');
const ATTEMPTS_MAX = 3;

describe.skipIf(postgresUrl === '')('calls that PostgreSQL undoes', () => {
  let opened: TestDatabase;
  let stranger: pg.Client;
  beforeAll(async () => {
    opened = await openEmptyPostgres(postgresUrl);
    const [row] = await opened.database.query<{ name: string }>(
      'SELECT current_database() AS name',
    );
    const url = new URL(postgresUrl);
    url.pathname = `/${row?.name}`;
    stranger = new pg.Client({ connectionString: url.href });
    await stranger.connect();
    await opened.database.runScript(
      'CREATE TABLE places (id int PRIMARY KEY, held int); INSERT INTO places VALUES (1, 0), (2, 0)',
    );
  });
  afterAll(async () => {
    await stranger?.end();
    await opened?.dispose();
  });

  const hold = (id: number) => `UPDATE places SET held = held + 1 WHERE id = ${id}`;

  it('the victim of a deadlock is done once more', async () => {
    let attempts = 0;
    let theirs: Promise<unknown> | undefined;
    await stranger.query("BEGIN; SET LOCAL deadlock_timeout = '1h'");
    await stranger.query(hold(2));
    await opened.database.transaction(async (sql) => {
      attempts += 1;
      // The other one has its turn first: a second try that took the row before it would meet it again.
      await theirs;
      await sql.query(hold(1));
      theirs ??= stranger.query(`${hold(1)}; COMMIT`);
      await sql.query(hold(2));
    });
    await theirs;
    const rows = await opened.database.query('SELECT held FROM places ORDER BY id');
    expect([attempts, rows]).toEqual([2, [{ held: 2 }, { held: 2 }]]);
  });

  it.each(['40P01', '40001'])('%s again and again is unavailable in the end', async (code) => {
    await opened.database.runScript(`
      CREATE SEQUENCE tries_${code};
      CREATE FUNCTION undone_${code}() RETURNS int LANGUAGE plpgsql AS $$
      BEGIN PERFORM nextval('tries_${code}'); RAISE EXCEPTION USING ERRCODE = '${code}'; END $$`);
    const call = () => opened.database.query(`SELECT undone_${code}()`);
    await expect(call()).rejects.toBeInstanceOf(Unavailable);
    const inTransaction = opened.database.transaction((sql) =>
      sql.query(`SELECT undone_${code}()`),
    );
    await expect(inTransaction).rejects.toBeInstanceOf(Unavailable);
    const [row] = await opened.database.query<{ tries: number }>(
      `SELECT last_value::int AS tries FROM tries_${code}`,
    );
    expect(row?.tries).toBe(2 * ATTEMPTS_MAX);
  });
});
