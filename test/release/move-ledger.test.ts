// Tests the move of a record from the embedded database to a real PostgreSQL: every row, number and sum
// arrives, with the schema of a new database; what does not arrive whole does not arrive at all; and a move
// that is taken back leaves nothing behind.

import { cpSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest';
import type { Database, Sql } from '../../src/store/ledger/database/database.ts';
import { migrate } from '../../src/store/ledger/database/migrate.ts';
import { openPgDatabase } from '../../src/store/ledger/database/pg-database.ts';
import { openPgliteDatabase } from '../../src/store/ledger/database/pglite-database.ts';
import { createSqlLedger } from '../../src/store/ledger/sql-ledger.ts';
import { copyTables } from '../../src/store/ledger/upkeep/copy-tables.ts';
import { moveLedger, undoMove } from '../../src/store/ledger/upkeep/move-ledger.ts';
import { createTenant, expectValue, OPERATOR } from '../store/ledger/ledger-fixture.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { runPostgres } from '../support/copied-database.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { own, ownFolder } from '../support/own.ts';
import { runOn } from '../support/run-on.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';

const postgresUrl = inject('postgresUrl');

/** Password in the address, which this server does not ask for. */
const PASSWORD = 'hunter2';
const onFault = (error: unknown) => expect(error).toBeUndefined();

let furnished: string;

/** Returns the DATA_DIR of a ledger with rows of every kind that a copy could change. */
function embeddedLedger(): string {
  const dataDir = ownFolder();
  cpSync(furnished, dataDir, { recursive: true });
  return dataDir;
}

async function furnish(dataDir: string): Promise<void> {
  await onEmbedded(dataDir, async (database) => {
    await migrate(database);
    const ledger = createSqlLedger(database);
    const tenant = await createTenant(ledger, ['stable', 'beta']);
    const notes = 'A "quoted" note,\nwith (brackets), \\backslashes\\, a tab\t, ✓ and 𝒰.';
    for (let patch = 0; patch < 12; patch++) {
      const artifacts = [{ platform: 'linux', arch: 'x86_64', url: `https://x/${patch}` }];
      await tenant.release(`1.0.${patch}`, { notes, artifacts });
    }
    expectValue(await ledger.createOrganization('Ünïcode, "Inc."', OPERATOR));
    await database.runScript(FURNISHING);
  });
}

/** Rows of what no call of the ledger above writes: references back and forth, texts, times and numbers. */
const FURNISHING = `
  UPDATE channels SET follows = (SELECT id FROM channels WHERE name = 'beta') WHERE name = 'stable';
  UPDATE ledger_epoch SET record = 'rec_1', identity = 'here', epoch = 4;
  INSERT INTO devices (app_id, device_id, first_seen, last_seen, channel, version, platform, arch, source,
      labels, label_times, labels_position, network)
    SELECT (SELECT id FROM apps LIMIT 1), 'device-' || n, '2026-01-02T03:04:05.678Z', clock_timestamp(),
      'stable', '1.0.0', 'linux', '', 'pull', jsonb_build_object('ring', 'r,"' || n), '{"ring": 1}',
      CASE WHEN n % 3 = 0 THEN nextval('label_positions') END, n * 1000003 - 500000000
    FROM generate_series(1, 1700) AS n;
  INSERT INTO fleet_count_parts
    SELECT 'app', 'stable', '1.0.0', 'linux', -n, n FROM generate_series(0, 15) AS n;
  INSERT INTO admissions VALUES (date_trunc('minute', now()), 'app', 3);
  INSERT INTO api_keys (id, organization_id, name, prefix, secret_hash, app_ids, may, expires_at)
    SELECT 'key_1', id, 'a, {b}', 'p', 'h', '{"a,b","c\\"d"}', '{read,publish}', 'infinity'
    FROM organizations LIMIT 1;
  INSERT INTO accounts (id, email, name) VALUES ('acc_1', 'a@example.com', 'A');
  INSERT INTO invitations (id, organization_id, token_hash, email, role, created_by, expires_at)
    SELECT 'inv_1', id, 'h1', 'b@example.com', 'viewer', 'operator', '2100-01-01'
    FROM organizations LIMIT 1;
  INSERT INTO password_resets (account_id, token_hash, created_at, expires_at)
    VALUES ('acc_1', 'h2', '2026-01-02T03:04:05.678Z', '2100-01-01');
  INSERT INTO oidc_arrivals (issuer, subject, token_hash, email, roles, expires_at)
    VALUES ('https://provider', 's', 'h3', 'c@example.com', '[{"role": "viewer"}]', '2100-01-01');
  UPDATE plan_clock SET counted_ms = 123456789, read_at = '2026-02-03T04:05:06.789Z';
`;

async function onEmbedded<Value>(
  dataDir: string,
  work: (database: Database) => Promise<Value>,
): Promise<Value> {
  const database = await openPgliteDatabase({ directory: join(dataDir, 'ledger'), onFault });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

async function onPostgres<Value>(
  url: string,
  work: (database: Database) => Promise<Value>,
): Promise<Value> {
  const database = openPgDatabase({ url, onFault });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Creates an empty database of an account that may do nothing else. */
async function emptyDatabase(): Promise<string> {
  const { url, drop } = await freshDatabase(postgresUrl);
  const name = new URL(url).pathname.slice(1);
  const role = `owner_of_${name}`;
  await runOn(postgresUrl, `CREATE ROLE ${role} LOGIN`);
  await runOn(postgresUrl, `ALTER DATABASE ${name} OWNER TO ${role}`);
  onTestFinished(() => runOn(postgresUrl, `DROP ROLE ${role}`).then(() => undefined));
  onTestFinished(drop);
  return Object.assign(new URL(url), { username: role, password: PASSWORD }).href;
}

/** Reads every table, each as the sorted texts of its rows, and the positions of the sequences. */
async function contentsOf(database: Database): Promise<Record<string, readonly string[]>> {
  const contents: Record<string, readonly string[]> = {};
  await database.transaction(async (sql) => {
    await sql.runScript("SET LOCAL TIME ZONE 'UTC'");
    const tables = await sql.query<{ name: string }>(
      `SELECT c.relname::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
       WHERE nspname = 'public' AND relkind IN ('r', 'p', 'S') AND NOT relispartition`,
    );
    for (const { name } of tables) {
      // The last column of a sequence tells of the server's log.
      const columns =
        name.endsWith('_seq') || name === 'label_positions' ? '(last_value, is_called)' : 'each';
      const rows = await sql.query<{ row: string }>(
        `SELECT ${columns}::text AS row FROM ${name} AS each ORDER BY 1`,
      );
      contents[name] = rows.map(({ row }) => row).sort();
    }
  });
  return contents;
}

/** Returns the statements that make the schema of a database. */
async function schemaOf(url: string): Promise<string> {
  const options = ['--schema-only', '--no-owner', '--no-privileges', '--dbname', url];
  return (await runPostgres('pg_dump', options))
    .split('\n')
    .filter((line) => !line.startsWith('\\'))
    .join('\n');
}

/** Names what is in the schema of a database: relations, functions and types. */
function objectsOf(url: string): Promise<readonly string[]> {
  return onPostgres(url, async (database) => {
    const rows = await database.query<{ name: string }>(
      `SELECT relname::text AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
       UNION ALL SELECT proname::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
       UNION ALL SELECT typname::text FROM pg_type WHERE typnamespace = 'public'::regnamespace`,
    );
    return rows.map(({ name }) => name).sort();
  });
}

describeOnRealStores('a move to PostgreSQL', () => {
  beforeAll(async () => {
    furnished = temporaryFolder('sluice-move-');
    await furnish(furnished);
  });
  afterAll(() => removeFolder(furnished));

  it('brings every row, with the schema of a new database, raises the epoch, and leaves a mark', async () => {
    const dataDir = embeddedLedger();
    const sent = await onEmbedded(dataDir, contentsOf);
    const databaseUrl = await emptyDatabase();
    const { tables, rows } = await moveLedger({ dataDir, databaseUrl, isDryRun: false });
    const arrived = await onPostgres(databaseUrl, contentsOf);

    expect(Object.keys(arrived)).toEqual(expect.arrayContaining(Object.keys(sent)));
    const { ledger_epoch: before, ...others } = sent;
    const { ledger_epoch: after, ...otherArrived } = arrived;
    expect(otherArrived).toEqual(others);
    expect(before).toEqual([expect.stringMatching(/^\(t,4,here,.*,rec_1,.*,\)$/)]);
    expect(after).toEqual([
      expect.stringMatching(/^\(t,5,,"20.*",rec_1,[0-9a-f-]{36},[0-9a-f-]{36}\)$/),
    ]);
    const sequences = /_seq$|^label_positions$/;
    const inTables = Object.entries(sent).filter(([name]) => !sequences.test(name));
    expect(tables).toBe(inTables.length);
    expect(rows).toBe(inTables.reduce((sum, [, each]) => sum + each.length, 0));
    expect(rows).toBeGreaterThan(1700);

    const { url } = own(await migratedDatabase(postgresUrl));
    expect(await schemaOf(databaseUrl)).toBe(await schemaOf(url));
    // What adds up and numbers goes on where it stood.
    await onPostgres(databaseUrl, async (database) => {
      const ledger = createSqlLedger(database);
      expectValue(await ledger.createOrganization('Next', OPERATOR));
      const sums = await database.query(
        `SELECT FROM channels
         WHERE release_count <> (SELECT count(*) FROM releases WHERE channel_id = channels.id)`,
      );
      expect(sums).toEqual([]);
    });
    expect(await onEmbedded(dataDir, contentsOf)).toEqual(sent);

    const mark = join(dataDir, 'ledger.moved');
    const { host, pathname } = new URL(databaseUrl);
    const text = readFileSync(mark, 'utf8');
    expect(JSON.parse(text)).toMatchObject({ to: `${host}${pathname}`, isDone: true });
    expect(text).not.toContain(PASSWORD);
    expect(statSync(mark).mode & 0o777).toBe(0o600);
  });

  it('tried or taken back leaves nothing of it at either end, and the tables of others as they were', async () => {
    const dataDir = embeddedLedger();
    const sent = await onEmbedded(dataDir, contentsOf);
    const databaseUrl = await emptyDatabase();
    await onPostgres(databaseUrl, (database) =>
      database.runScript(
        'CREATE TABLE theirs AS SELECT 1 AS one; CREATE FUNCTION f() RETURNS int RETURN 1',
      ),
    );
    const theirs = await objectsOf(databaseUrl);
    const expectNothing = async () => {
      expect(await objectsOf(databaseUrl)).toEqual(theirs);
      for (const name of ['ledger.moved', 'ledger.copy']) {
        expect(existsSync(join(dataDir, name)), name).toBe(false);
      }
    };
    const tried = await moveLedger({ dataDir, databaseUrl, isDryRun: true });
    await expectNothing();
    const moved = await moveLedger({ dataDir, databaseUrl, isDryRun: false });
    expect(moved).toEqual({ ...tried, moved: true });
    await undoMove({ dataDir, databaseUrl, isForced: false });
    await expectNothing();
    expect(await onEmbedded(dataDir, contentsOf)).toEqual(sent);
    await moveLedger({ dataDir, databaseUrl, isDryRun: false });
  });

  it('says which table arrives different', async () => {
    const dataDir = embeddedLedger();
    const databaseUrl = await emptyDatabase();
    for (const spoil of [
      (lines: string[]) => lines.slice(1),
      ([line = '', ...others]: string[]) => [line.replace(/device-\d+/, 'device-x'), ...others],
    ]) {
      const copied = onEmbedded(dataDir, (embedded) =>
        onPostgres(databaseUrl, (postgres) =>
          embedded.transaction((from) =>
            postgres.transaction(async (to) => {
              await migrate({ transaction: (work) => work(to) });
              return copyTables(from, spoiling(to, spoil));
            }),
          ),
        ),
      );
      await expect(copied).rejects.toThrow(
        /^the table devices arrived different: \d+ rows of 1700$/,
      );
      expect(await objectsOf(databaseUrl)).toEqual([]);
    }
  });

  it('is not taken back from a database that has lost it, unless forced, and then begins a time line', async () => {
    const dataDir = embeddedLedger();
    const databaseUrl = await emptyDatabase();
    await moveLedger({ dataDir, databaseUrl, isDryRun: false });
    await onPostgres(databaseUrl, (database) =>
      database.runScript('DROP SCHEMA public CASCADE; CREATE SCHEMA public'),
    );
    await expect(moveLedger({ dataDir, databaseUrl, isDryRun: false })).rejects.toThrow(
      /was moved to PostgreSQL at .* has no schema of Sluice any more/,
    );
    await expect(undoMove({ dataDir, databaseUrl, isForced: false })).rejects.toThrow(
      /has lost the move\. --force /,
    );
    await undoMove({ dataDir, databaseUrl, isForced: true });
    // The start of a service finds the mark of a copy, and begins a time line of its own.
    expect(existsSync(join(dataDir, 'ledger.copy'))).toBe(true);
  });
});

/** Returns the statements of a transaction, in which rows of devices arrive as `spoil` makes them. */
function spoiling(sql: Sql, spoil: (lines: string[]) => string[]): Sql {
  let isSpoilt = false;
  return {
    runScript: (text) => sql.runScript(text),
    query(text, values = [], timeoutMs) {
      const isFirst = !isSpoilt && text.startsWith('INSERT INTO devices ');
      isSpoilt ||= isFirst;
      return sql.query(text, isFirst ? [spoil(values[0] as string[])] : values, timeoutMs);
    },
  };
}
