// Lock that lets only one process at a time open a directory: that of the embedded database, or of an edge.
// Neither has its own lock, and two processes on the same files destroy each other's data.
//
// The lock is a file that is created with O_EXCL and names its holder: the process id, the start time of that
// process (ids are reused), and the host and process-id namespace in which the id is valid (containers may
// share a volume). If the holder is a process of this host that has ended, another process takes the lock
// over at once. A process of another host cannot be examined; so every holder touches its file once a second,
// and a lock that is untouched for 6 seconds is taken over. A holder that was only suspended meanwhile finds
// another holder in the file and gives up.

import {
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const RETRY_MS = 100;

/** Lock that this process holds. */
export type DirectoryLock = { release(): void };

export type LockTimes = {
  /** Maximum wait for a holder that may be about to end. */
  readonly patienceMs: number;
  /** Interval at which the holder touches the file. */
  readonly touchMs: number;
  /** Time for which an untouched lock of another host counts as held; must be below `patienceMs`. */
  readonly silenceMs: number;
};

const LOCK_TIMES: LockTimes = { patienceMs: 10_000, touchMs: 1000, silenceMs: 6000 };

/**
 * Last observation of another process's lock: the file's text and modification time, and the time since which
 * both are unchanged (`seenAt`, on this process's monotonic clock).
 */
type LockState = { readonly text: string; readonly touchedAt: number; readonly seenAt: number };

/**
 * Takes the lock of `directory`, a file beside it, and waits a while for a holder that is just ending.
 * Rejects with one sentence if the holder stays. Calls `onLost` if the file names another process, which has
 * taken the lock over.
 */
export async function lockDirectory(
  directory: string,
  onLost: () => void,
  times: LockTimes = LOCK_TIMES,
): Promise<DirectoryLock> {
  const path = `${directory}.lock`;
  const text = JSON.stringify(describeHolder());
  const deadline = performance.now() + times.patienceMs;
  let lockState: LockState | undefined;
  while (!tryCreate(path, text)) {
    lockState = look(path, lockState);
    if (lockState !== undefined && isStale(lockState, times)) removeStale(path, lockState);
    else if (performance.now() >= deadline) throw new Error(inUse(directory, lockState));
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

/** Observes the lock's file; undefined if it was removed meanwhile. */
function look(path: string, last: LockState | undefined): LockState | undefined {
  try {
    const touchedAt = statSync(path).mtimeMs;
    const text = readFileSync(path, 'utf8');
    if (last?.text === text && last.touchedAt === touchedAt) return last;
    // Uses this process's monotonic clock, because the holder's clock may be wrong.
    return { text, touchedAt, seenAt: performance.now() };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Returns whether the lock may be taken over. */
function isStale({ text, seenAt }: LockState, { silenceMs }: LockTimes): boolean {
  const holder = readHolder(text);
  if (holder !== undefined && isOfThisHost(holder)) return !isHolderAlive(holder);
  // The holder runs on another host, or the file is not written yet or incomplete after a crash.
  return performance.now() - seenAt >= silenceMs;
}

/**
 * Removes a stale lock. Another process may have taken the lock over since it was observed, so the file is
 * moved aside first, and restored if its text is not the observed one.
 */
function removeStale(path: string, { text }: LockState): void {
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

function inUse(directory: string, lockState: LockState | undefined): string {
  const holder = readHolder(lockState?.text ?? '');
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

// Holder of a directory's lock, as the lock file names it, and the check whether that process still runs.

/**
 * `startedAt` tells two processes with the same id apart; `host` names the host and process-id namespace in
 * which the id is valid.
 */
type LockHolder = {
  readonly pid: number;
  readonly startedAt: string;
  readonly host: string;
};

/** States in /proc of an ended process that its parent has not waited for. It has no open files. */
const ENDED_STATES = 'ZX';

/** Describes this process as a holder. */
export function describeHolder(): LockHolder {
  return {
    pid: process.pid,
    startedAt: readProcess(process.pid)?.startedAt ?? '',
    host: describeHost(),
  };
}

/** Parses a lock file; undefined if it names no holder: not written yet, or incomplete after a crash. */
export function readHolder(text: string): LockHolder | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isHolder(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether the holder runs on this host, so that `isHolderAlive` can examine it. */
export function isOfThisHost(holder: LockHolder): boolean {
  return holder.host === describeHost();
}

/** Returns whether the holder's process still runs. Valid for a holder of this host only. */
export function isHolderAlive({ pid, startedAt }: LockHolder): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Any other error, such as EPERM, means that the process exists and belongs to another user.
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
  }
  const found = readProcess(pid);
  if (found === undefined || startedAt === '') return true;
  return !found.isEnded && found.startedAt === startedAt;
}

/** Names the host and, if /proc exists, the process-id namespace. */
function describeHost(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/**
 * Reads start and state of a process from /proc; undefined without /proc or such a process. The start is the
 * boot's id and the clock ticks since that boot.
 */
function readProcess(pid: number): { startedAt: string; isEnded: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // The second field is the program's name in brackets, which may itself contain blanks and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state = '', ticks = ''] = [fields[0], fields[19]];
    return { startedAt: `${bootId}/${ticks}`, isEnded: ENDED_STATES.includes(state) };
  } catch {
    return undefined;
  }
}

function isHolder(value: unknown): value is LockHolder {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, startedAt, host } = value as Record<string, unknown>;
  return Number.isInteger(pid) && typeof startedAt === 'string' && typeof host === 'string';
}
