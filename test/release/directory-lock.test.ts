// Tests the lock on a directory that one process alone may open.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type DirectoryLock,
  describeHolder,
  type LockTimes,
  lockDirectory,
} from '../../src/process/directory-lock.ts';
import { eventually } from '../support/eventually.ts';
import { startProcess } from '../support/server-process.ts';

/** Times that a test does not outlast: what is done with them was done at once. */
const NEVER: LockTimes = { patienceMs: 600_000, touchMs: 100, silenceMs: 600_000 };
/** A tenth of the real times: the tests check which of the times decides. */
const TIMES: LockTimes = { patienceMs: 1500, touchMs: 100, silenceMs: 600 };
const PATIENT: LockTimes = { ...TIMES, patienceMs: 20_000 };
const BUILT = new URL('../../dist/process/directory-lock.js', import.meta.url).href;
/**
 * Program that takes the lock several times, prints when it has it, and ends without releasing the last one.
 */
const CONTENDER = `
  import { appendFileSync } from 'node:fs';
  import { setTimeout as sleep } from 'node:timers/promises';
  const { lockDirectory } = await import(${JSON.stringify(BUILT)});
  const [directory, journal] = process.argv.slice(1);
  for (let turn = 0; turn < 4; turn++) {
    const lock = await lockDirectory(directory, () => undefined);
    appendFileSync(journal, 'in ' + process.pid + '\\n');
    await sleep(15);
    appendFileSync(journal, 'out ' + process.pid + '\\n');
    if (turn < 3) lock.release();
  }
  process.exit(0);`;

let folder: string;
let directory: string;
let path: string;
const held: DirectoryLock[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-lock-'));
  directory = join(folder, 'ledger');
  path = `${directory}.lock`;
});
afterEach(() => {
  for (const lock of held.splice(0)) lock.release();
  rmSync(folder, { recursive: true });
});

async function take(
  onLost: () => void = () => undefined,
  times: LockTimes = TIMES,
): Promise<DirectoryLock> {
  const lock = await lockDirectory(directory, onLost, times);
  held.push(lock);
  return lock;
}

/** Returns the id of a process that has ended. */
function endedId(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

async function expectTakenOver(times?: LockTimes): Promise<void> {
  await take(undefined, times);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(describeHolder());
  expect(readdirSync(folder)).toEqual(['ledger.lock']);
}

test.each([
  ['that is gone', () => ({ pid: endedId() })],
  ['whose id was given to another one since', () => ({ startedAt: 'earlier' })],
])('of a process %s, it is taken over at once', async (_, holder) => {
  writeFileSync(path, JSON.stringify({ ...describeHolder(), ...holder() }));
  await expectTakenOver(NEVER);
});

test('of a live process, it is waited for: taken when released in time, else refused with one sentence', async () => {
  const lock = await take();
  await expect(take()).rejects.toThrow(
    `The directory ${directory} is in use by process ${process.pid}: ` +
      'only one process may open it at a time.',
  );
  setTimeout(() => lock.release(), 500);
  await expectTakenOver(PATIENT);
});

test('of another host, it is taken over only when nobody touches it any more', async () => {
  const lock = JSON.stringify({ ...describeHolder(), host: 'elsewhere' });
  writeFileSync(path, lock);
  const touching = setInterval(() => utimesSync(path, new Date(), new Date()), 50);
  await expect(take()).rejects.toThrow(`in use by process ${process.pid}`);
  expect(readFileSync(path, 'utf8')).toBe(lock);
  clearInterval(touching);
  await expectTakenOver();
  // So is one that a crash has cut off.
  held.pop()?.release();
  expect(readdirSync(folder)).toEqual([]);
  writeFileSync(path, '{"pid":');
  await expectTakenOver();
});

test('of many processes that release it or die with it, one has it at a time', async () => {
  writeFileSync(path, JSON.stringify({ ...describeHolder(), pid: endedId() }));
  const journal = join(folder, 'journal');
  const contend = ['--input-type=module', '-e', CONTENDER, directory, journal];
  const processes = await Promise.all(
    Array.from({ length: 6 }, () => startProcess(process.execPath, contend)),
  );
  await eventually(
    'all had their turns',
    () => processes.every(({ hasExited }) => hasExited()),
    25_000,
  );
  const lines = readFileSync(journal, 'utf8').trim().split('\n');
  expect(lines).toHaveLength(6 * 4 * 2);
  for (let index = 0; index < lines.length; index += 2) {
    expect(lines[index + 1]).toBe(lines[index]?.replace('in', 'out'));
  }
});

test('a holder learns that another has taken it', async () => {
  let isLost = false;
  await take(() => {
    isLost = true;
  });
  writeFileSync(path, JSON.stringify({ ...describeHolder(), host: 'elsewhere' }));
  await eventually('the holder learned it', () => isLost);
});
