// Who holds a directory's lock, as the lock file tells it, and whether that process still runs.

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** `startedAt` tells two processes with the same id apart; `host` is where the id names one process. */
export type LockHolder = {
  readonly pid: number;
  readonly startedAt: string;
  readonly host: string;
};

/** States in /proc of a process that has ended but was not waited for: it has no files open any more. */
const ENDED_STATES = 'ZX';

/** This process. */
export function describeHolder(): LockHolder {
  return {
    pid: process.pid,
    startedAt: readProcess(process.pid)?.startedAt ?? '',
    host: describeHost(),
  };
}

/** Undefined when the text is none: a file that is not written yet, or was cut off by a crash. */
export function readHolder(text: string): LockHolder | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isHolder(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether `isHolderAlive` can tell. */
export function isOfThisHost(holder: LockHolder): boolean {
  return holder.host === describeHost();
}

/** Only for a holder of this host. */
export function isHolderAlive({ pid, startedAt }: LockHolder): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Any other error: it exists, and belongs to somebody else.
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
  }
  const found = readProcess(pid);
  if (found === undefined || startedAt === '') return true;
  return !found.isEnded && found.startedAt === startedAt;
}

function describeHost(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** What /proc tells; undefined where there is none. The start is in clock ticks since a boot. */
function readProcess(pid: number): { startedAt: string; isEnded: boolean } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // The second field is the program's name in brackets, and may itself hold blanks and brackets.
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
