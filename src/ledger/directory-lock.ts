// One process per directory: the embedded database keeps no lock of its own, and two of them on the same
// files destroy each other's work.
//
// The lock is a file made with O_EXCL that says who made it: a process id, when that process started (ids
// are used again) and where the id means anything (host and process-id namespace: containers may share
// a volume). A lock of this host whose process is gone is taken over at once. Whether a process elsewhere
// lives cannot be asked, so a holder touches its file every second, and a lock that nobody touched for a
// while is taken over. Should its holder only have slept, it finds another's name there and leaves.

import { readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeHolder, isHolderAlive, isOfThisHost, readHolder } from './lock-holder.ts';

const RETRY_MS = 100;

export type DirectoryLock = { release(): void };

export type LockTimes = {
  /** How long to wait for a holder that may be leaving. */
  readonly patienceMs: number;
  readonly touchMs: number;
  /** How long an untouched lock of another host counts as held; below the patience. */
  readonly silenceMs: number;
};

const LOCK_TIMES: LockTimes = { patienceMs: 10_000, touchMs: 1000, silenceMs: 6000 };

/** What is known of another's lock: its text, and since when it looks the same. */
type Sighting = { readonly text: string; readonly touchedAt: number; readonly seenAt: number };

/**
 * Takes the lock of `directory`, in a file beside it, waiting a while for a holder that is just leaving.
 * Rejects with one sentence when the holder stays. `onLost` is called when another has taken the lock.
 */
export async function lockDirectory(
  directory: string,
  onLost: () => void,
  times: LockTimes = LOCK_TIMES,
): Promise<DirectoryLock> {
  const path = `${directory}.lock`;
  const text = JSON.stringify(describeHolder());
  const deadline = performance.now() + times.patienceMs;
  let sighting: Sighting | undefined;
  while (!tryCreate(path, text)) {
    sighting = look(path, sighting);
    if (sighting !== undefined && isStale(sighting, times)) removeStale(path, sighting);
    else if (performance.now() >= deadline) throw new Error(inUse(directory, sighting));
    else await sleep(RETRY_MS);
  }
  return hold(path, text, onLost, times);
}

function hold(
  path: string,
  text: string,
  onLost: () => void,
  { touchMs }: LockTimes,
): DirectoryLock {
  const timer = setInterval(() => {
    if (readText(path) !== text) onLost();
    else touch(path);
  }, touchMs);
  return {
    release() {
      clearInterval(timer);
      if (readText(path) === text) rmSync(path, { force: true });
    },
  };
}

function tryCreate(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Undefined when the lock went away meanwhile. */
function look(path: string, last: Sighting | undefined): Sighting | undefined {
  try {
    const touchedAt = statSync(path).mtimeMs;
    const text = readFileSync(path, 'utf8');
    if (last?.text === text && last.touchedAt === touchedAt) return last;
    // Our own monotonic clock decides how long nothing moved: the holder's may be wrong.
    return { text, touchedAt, seenAt: performance.now() };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isStale({ text, seenAt }: Sighting, { silenceMs }: LockTimes): boolean {
  const holder = readHolder(text);
  if (holder !== undefined && isOfThisHost(holder)) return !isHolderAlive(holder);
  // Elsewhere, or a file that is not written yet, or was cut off by a crash.
  return performance.now() - seenAt >= silenceMs;
}

/**
 * Between the look and the removal another process may have taken the lock over. So the file is moved
 * aside first, and put back when it is not the one that was judged.
 */
function removeStale(path: string, { text }: Sighting): void {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  const moved = readText(aside);
  if (moved !== undefined && moved !== text) tryCreate(path, moved);
  rmSync(aside, { force: true });
}

function inUse(directory: string, sighting: Sighting | undefined): string {
  const holder = readHolder(sighting?.text ?? '');
  const who = holder === undefined ? 'another process' : `process ${holder.pid}`;
  return `The directory ${directory} is in use by ${who}: only one process may open it at a time.`;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function touch(path: string): void {
  const now = new Date();
  utimesSync(path, now, now);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
