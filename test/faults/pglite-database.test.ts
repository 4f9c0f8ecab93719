// Tests the behaviour of PGlite only: one connection, a process of its own that may die, a directory of its
// own.

import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
} from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { Database } from '../../src/store/ledger/database/database.ts';
import { openPgliteDatabase } from '../../src/store/ledger/database/pglite-database.ts';
import { openLedger } from '../../src/store/ledger/open-ledger.ts';
import { createTenant } from '../store/ledger/ledger-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { ledgerOptions } from '../support/ledger-options.ts';
import { startProcess, waitUntilUp } from '../support/server-process.ts';

const BUILT = new URL('../../dist/store/ledger/database/pglite-database.js', import.meta.url).href;
/** Program that opens the directory, writes numbers one after the other and prints each acknowledged one. */
const WRITER = `
  const { openPgliteDatabase } = await import(${JSON.stringify(BUILT)});
  const database = await openPgliteDatabase({ directory: process.argv[1], onFault() {} });
  await database.runScript('DROP TABLE IF EXISTS written; CREATE TABLE written (value integer)');
  for (let value = 0; ; value++) {
    await database.query('INSERT INTO written VALUES ($1)', [value]);
    console.log('wrote ' + value);
  }`;

let folder: string;
let directory: string;
let lockPath: string;
let faults: unknown[];
const opened: Database[] = [];

// One directory for all tests: making a new database takes seconds, opening it again does not.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-pglite-'));
  directory = join(folder, 'ledger');
  lockPath = `${directory}.lock`;
});
beforeEach(() => {
  faults = [];
});
afterEach(() => Promise.all(opened.splice(0).map((database) => database.close())));
afterAll(() => rm(folder, { recursive: true, force: true }));

async function open(): Promise<Database> {
  const onFault = (error: unknown) => faults.push(error);
  const database = await openPgliteDatabase({ directory, onFault });
  opened.push(database);
  return database;
}

function childPid(): number {
  return (JSON.parse(readFileSync(lockPath, 'utf8')) as { pid: number }).pid;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function answersAgain(database: Database): Promise<void> {
  const answers = () =>
    database.query('SELECT 1').then(
      () => true,
      () => false,
    );
  await eventually('the database answers again', answers);
}

describe('one connection', () => {
  test('more than 10,000 waiting calls are unavailable, the others are served', async () => {
    const database = await open();
    const calls = Array.from({ length: 10_101 }, () => database.query('SELECT 1'));
    const outcomes = await Promise.allSettled(calls);
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThanOrEqual(100);
    for (const outcome of refused)
      expect(outcome).toMatchObject({ reason: { name: 'Unavailable' } });
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test("an error keeps its code and constraint, not the statement's values, and is that call's alone", async () => {
    const database = await open();
    await database.query('CREATE TABLE unique_texts (a text CONSTRAINT only_one UNIQUE)');
    const insert = () => database.query('INSERT INTO unique_texts VALUES ($1)', ['secret']);
    await insert();
    const error = await insert().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: '23505', constraint: 'only_one' });
    expect(JSON.stringify(error) + String((error as Error).stack)).not.toContain('secret');
    await expect(database.query('SELECT $1', [() => 1])).rejects.toThrow();
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describe('the process', () => {
  test('killed: what was acknowledged is there, what ran is unavailable, and it restarts', async () => {
    const { memory, report } = ledgerOptions();
    const ledger = await openLedger({ databaseUrl: undefined, dataDir: folder, memory, report });
    const tenant = await createTenant(ledger);
    const acknowledged: string[] = [];
    const publishing = (async () => {
      for (let patch = 0; ; patch++) {
        await tenant.release(`1.0.${patch}`);
        acknowledged.push(`1.0.${patch}`);
      }
    })();
    const stopped = expect(publishing).rejects.toBeInstanceOf(Unavailable);
    await eventually('some were acknowledged', () => acknowledged.length > 10);
    process.kill(childPid(), 'SIGKILL');
    await stopped;
    await eventually('it is reachable', () => ledger.isReachable());
    const { releases, revision } = await tenant.stable();
    const versions = releases.map(({ version }) => version);
    expect(versions).toEqual(expect.arrayContaining(acknowledged));
    // At most the write in flight was stored without an answer.
    expect(versions.length - acknowledged.length).toBeLessThanOrEqual(1);
    expect(revision).toBe(versions.length + 1);
    expect(report.faults).toHaveLength(1);
    await ledger.close();
  });

  test('killed in a transaction: nothing of it stays, and it never goes on in the next process', async () => {
    const database = await open();
    await database.query('CREATE TABLE t (a integer)');
    const pid = childPid();
    const transaction = database.transaction(async (sql) => {
      await sql.query('INSERT INTO t VALUES (1)');
      process.kill(pid, 'SIGKILL');
      await eventually('the process is gone', () => !isRunning(pid));
      await answersAgain(database);
      await sql.query('INSERT INTO t VALUES (2)');
    });
    const waiting = database.query('SELECT 1');
    await expect(waiting).rejects.toBeInstanceOf(Unavailable);
    await expect(transaction).rejects.toThrow();
    await answersAgain(database);
    expect(await database.query('SELECT a FROM t')).toEqual([]);
  });

  test('frozen: unavailable within the limit, and replaced', async () => {
    const database = await open();
    process.kill(childPid(), 'SIGSTOP');
    await expect(database.query('SELECT 1')).rejects.toBeInstanceOf(Unavailable);
    await answersAgain(database);
  });

  test('closing ends it and gives the directory back', async () => {
    const database = await open();
    const pid = childPid();
    await Promise.all([database.close(), database.close()]);
    expect(isRunning(pid)).toBe(false);
    expect(() => readFileSync(lockPath)).toThrow('ENOENT');
    await expect(database.query('SELECT 1')).rejects.toBeInstanceOf(Unavailable);
  });

  test('closed while it is being started again, it leaves no process behind', async () => {
    const database = await open();
    const pid = childPid();
    process.kill(pid, 'SIGKILL');
    await eventually('the next one is starting', () => readLockPid() !== pid);
    const next = readLockPid();
    await database.close();
    // On a busy machine it is killed while it starts, and leaves its lock: which counts as nobody's.
    expect(isRunning(next)).toBe(false);

    function readLockPid(): number {
      try {
        return childPid();
      } catch {
        return pid;
      }
    }
  });
});

test('while a process uses the directory nobody else opens it; once that is killed, all that was acknowledged is there', async () => {
  const args = ['--input-type=module', '-e', WRITER, directory];
  const writer = await startProcess(process.execPath, args);
  onTestFinished(() => writer.end('SIGKILL'));
  await waitUntilUp(writer, async () => writer.output().includes('wrote 20'));
  const pid = childPid();
  await expect(open()).rejects.toThrow(
    `The directory ${directory} is in use by process ${pid}: only one process may open it at a time.`,
  );
  const before = writer.output();
  await eventually('the writer still writes', () => writer.output() !== before);

  await writer.end('SIGKILL');
  const database = await open();
  expect(isRunning(pid)).toBe(false);
  const acknowledged = Number(writer.output().match(/wrote (\d+)\n(?![\s\S]*wrote \d+\n)/)?.[1]);
  const rows = await database.query<{ value: number }>('SELECT value FROM written ORDER BY value');
  const values = rows.map(({ value }) => value);
  expect(values).toEqual(Array.from(values.keys()));
  expect(values.length).toBeGreaterThanOrEqual(acknowledged + 1);
});

test('a directory that cannot be opened is refused with the reason', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, 'no directory');
  const onFault = (error: unknown) => faults.push(error);
  await expect(openPgliteDatabase({ directory: file, onFault })).rejects.toThrow('EEXIST');
});
