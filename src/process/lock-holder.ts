// Holder of a directory's lock, as the lock file names it, and the check whether that process still runs.

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Process that holds a lock. `startedAt` tells two processes with the same id apart; `host` names the host
 * and process-id namespace in which the id is valid.
 */
export type LockHolder = {
  readonly pid: number;
  readonly startedAt: string;
  readonly host: string;
};

/**
 * States in /proc of a process that has ended while its parent has not waited for it. Such a process has no
 * files open any more.
 */
const ENDED_STATES = 'ZX';

/** Describes this process as a holder. */
export function describeHolder(): LockHolder {
  return {
    pid: process.pid,
    startedAt: readProcess(process.pid)?.startedAt ?? '',
    host: describeHost(),
  };
}

/**
 * Parses the text of a lock file; undefined when it names no holder, because it is not written yet or a crash
 * cut it off.
 */
export function readHolder(text: string): LockHolder | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isHolder(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the holder runs on this host, so that `isHolderAlive` can examine it. */
export function isOfThisHost(holder: LockHolder): boolean {
  return holder.host === describeHost();
}

/** Whether the holder's process still runs. Valid for a holder of this host only. */
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

/** Names the host and, where /proc exists, the process-id namespace. */
function describeHost(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/**
 * Reads start and state of a process from /proc; undefined where there is no /proc or no such process. The
 * start is the boot's id and the clock ticks since that boot.
 */
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
