// Tests what the files of the schema build: the same as the checked-in dump, in a new database and in one
// that is at the baseline. Databases from before the baseline are refused. The dump leaves out the functions
// of function/, whose text stands there.
//
// After a change of the schema, `npx vitest run --project servers test/store/ledger/schema.test.ts --update`
// renews the dump; what it changes is for the reader of the commit to see.

import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, inject, test } from 'vitest';
import type { Database } from '../../../src/store/ledger/database/database.ts';
import { migrate, readSchema } from '../../../src/store/ledger/database/migrate.ts';
import { openPgDatabase } from '../../../src/store/ledger/database/pg-database.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
import { runPostgres } from '../../support/copied-database.ts';
import { freshDatabase } from '../../support/fresh-database.ts';
import { applyBaseline, recordMigration } from './baseline-schema.ts';

/** Major version that wrote the dump: others write some statements in other words. */
const DUMPED_BY = 15;
const DUMP = 'schema.sql';
const FUNCTIONS = new URL('../../../src/store/ledger/database/function/', import.meta.url);
/** State of a plan that says nothing of it. */
const ASSUMED = {
  ...{ isReached: false, waitingFor: null, blindSinceMs: null, isPushed: false },
  ...{ onBlind: 'hold', patienceMinutes: 1440, raiseBetween: null, preset: null },
};

const postgresUrl = inject('postgresUrl');
const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function openEmpty(): Promise<{ readonly url: string; readonly database: Database }> {
  const { url, drop } = await freshDatabase(postgresUrl);
  const onFault = (error: unknown) => expect(error).toBeUndefined();
  const database = openPgDatabase({ url, onFault });
  endings.push(drop, () => database.close());
  return { url, database };
}

/** Returns the statements that make a database, with its rows, without what differs from run to run. */
async function dumpOf(url: string): Promise<string> {
  // One part of the devices stands for all sixteen.
  const parts = '--exclude-table=devices_[1-9]*';
  const options = ['--no-owner', '--no-privileges', '--inserts', parts, '--dbname', url];
  const lines = (await runPostgres('pg_dump', options))
    .split('\n')
    .filter((line) => !/^(?:--|\\|SET |SELECT pg_catalog\.set_config)/.test(line));
  return lines
    .join('\n')
    .replace(/^INSERT INTO public\.sluice_migrations .*\n/gm, '')
    .replace(/'20\d\d-\d\d-\d\d [\d:.]+\+\d\d'/g, "'TIME'")
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** Returns a dump without the functions of the files, each constraint, index and trigger in one line. */
function shortened(dump: string): string {
  const texts = readdirSync(FUNCTIONS).map((file) =>
    readFileSync(new URL(file, FUNCTIONS), 'utf8'),
  );
  const made = texts.join('\n').matchAll(/^CREATE OR REPLACE FUNCTION (\w+)/gm);
  const names = Array.from(made, ([, name]) => name).join('|');
  const functions = `^CREATE FUNCTION public\\.(?:${names})\\(.*?\\$_?\\$;\n+`;
  const short = dump
    .replace(new RegExp(functions, 'gms'), '')
    .replace(/^(ALTER TABLE ONLY .*)\n +/gm, '$1 ')
    .replace(/;\n+(?=ALTER|CREATE (?:UNIQUE )?(?:INDEX|TRIGGER))/g, ';\n');
  return `${short}\n`;
}

async function majorOf(database: Database): Promise<number> {
  const [row] = await database.query<{ version: string }>(
    "SELECT current_setting('server_version_num') AS version",
  );
  return Math.trunc(Number(row?.version) / 10_000);
}

describe.skipIf(postgresUrl === '')('the schema on PostgreSQL', () => {
  test('of a new database is that of the dump', async ({ skip }) => {
    const { url, database } = await openEmpty();
    const major = await majorOf(database);
    if (major !== DUMPED_BY) skip(`PostgreSQL ${major} writes dumps in other words`);
    const { from, to } = await migrate(database);
    expect(from).toBe(0);
    await expect(shortened(await dumpOf(url))).toMatchFileSnapshot(DUMP);
    expect(await readSchema(database)).toEqual({ applied: to, known: to, refusal: undefined });
  });

  test('of a database at the baseline becomes that of a new one, and its rows stay', async () => {
    const [made, adopted] = [await openEmpty(), await openEmpty()];
    await migrate(made.database);
    await applyBaseline(adopted.database);
    await adopted.database.runScript(
      `INSERT INTO organizations (id, name) VALUES ('org_1', 'Kept')`,
    );
    expect((await migrate(adopted.database)).from).toBe(32);
    expect(await adopted.database.query('SELECT id, name FROM organizations')).toEqual([
      { id: 'org_1', name: 'Kept' },
    ]);
    await adopted.database.runScript('DELETE FROM organizations');
    expect(await dumpOf(adopted.url)).toBe(await dumpOf(made.url));
  });

  test('of links and plans from before they were as now leaves them open, with what was assumed of them', async () => {
    const { database } = await openEmpty();
    await applyBaseline(database);
    const former = { step: 1, silentShare: 0.1, guards: { minimumDevices: 50 } };
    const present = { ...ASSUMED, step: 2, onBlind: 'advance', silentOthers: null };
    await database.runScript(
      `INSERT INTO organizations (id, name) VALUES ('o', 'Acme');
       INSERT INTO accounts (id, email, name, password_hash) VALUES ('a', 'ann@example.com', 'Ann', 'hash');
       INSERT INTO password_resets (account_id, token_hash, created_at, expires_at)
       VALUES ('a', 'reset', now(), now() + interval '1 hour');
       INSERT INTO invitations
         (id, organization_id, token_hash, email, role, created_by, created_at, expires_at)
       VALUES ('i', 'o', 'invitation', 'bob@example.com', 'viewer', 'x', now(), now() + interval '1 hour');
       INSERT INTO apps (id, organization_id, ref, name) VALUES ('a', 'o', 'a', 'a');
       INSERT INTO channels (id, app_id, name) VALUES ('c', 'a', 'stable');
       INSERT INTO rollout_plans (id, release_id, channel_id, status, is_guarded, created_by, state)
       VALUES ('former', 'r', 'c', 'completed', TRUE, 'x', '${JSON.stringify(former)}'),
         ('present', 'r', 'c', 'completed', TRUE, 'x', '${JSON.stringify(present)}')`,
    );
    await migrate(database);
    const ledger = createSqlLedger(database);
    const now = new Date().toISOString();
    expect(await ledger.findLink('reset', 'reset', now)).toEqual({ email: 'ann@example.com' });
    const organization = { id: 'o', name: 'Acme' };
    const offer = { organization, role: 'viewer', email: 'bob@example.com' };
    expect(await ledger.findLink('invitation', 'invitation', now)).toEqual(offer);
    expect(await ledger.listInvitations('o', now)).toMatchObject([{ id: 'i' }]);
    expect(await ledger.usePasswordReset('reset', 'next', now)).toMatchObject({ id: 'a' });
    expect(await ledger.findLink('reset', 'reset', now)).toBeUndefined();
    const others = { devices: 50, silent: 5, scale: 1 };
    expect(await database.query('SELECT state FROM rollout_plans ORDER BY id')).toEqual([
      { state: { ...ASSUMED, ...former, silentOthers: others } },
      { state: present },
    ]);
  });

  test('of a database from before the baseline is refused with the way to upgrade it', async () => {
    const { database } = await openEmpty();
    await recordMigration(database, 28, '000028.sql');
    const message =
      'The database is at migration 28, and this version of Sluice goes on from 32: start the version of ' +
      'commit 7a53bbc8 (before v0.1.0) once, which brings it there, and then this one again.';
    await expect(migrate(database)).rejects.toMatchObject({ name: 'SchemaTooOld', message });
    expect(await readSchema(database)).toMatchObject({ applied: 28, refusal: { message } });
    expect(await database.query("SELECT to_regclass('organizations') AS made")).toEqual([
      { made: null },
    ]);
  });
});
