// Chooses the processors of a process, and the processes that yield when several want one processor. On two
// processors the server under measurement has one to itself; everything else shares the other.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { processTree } from './process-table.ts';

/** Processor that the measured server has to itself. */
export const SERVER_PROCESSOR = '0';

/** Processors on which everything but the measured server runs, as `taskset` takes them. */
export function otherProcessors(): string {
  const last = cpus().length - 1;
  return last <= 1 ? '1' : `1-${last}`;
}

/** Keeps a process, with all its threads, on these processors; false when that is not possible here. */
export function pinProcess(pid: number, processors: string): boolean {
  if (process.platform !== 'linux' || cpus().length < 2) return false;
  return isRun('taskset', ['-a', '-c', '-p', processors, String(pid)]);
}

/** Lets a process run on every processor again. Processes that it has started stay where they are. */
export function freeProcess(pid: number): void {
  pinProcess(pid, `0-${cpus().length - 1}`);
}

/**
 * Puts a node on the measured processor, and its background processes on the other processors, where they
 * yield as PostgreSQL does. Returns the ids of the background processes.
 */
export function placeNode(pid: number): number[] {
  pinProcess(pid, SERVER_PROCESSOR);
  const backgroundPids = processTree(pid).slice(1);
  for (const background of backgroundPids) {
    pinProcess(background, otherProcessors());
    yieldProcess(background);
  }
  return backgroundPids;
}

/**
 * Lets a process run only while no other process wants the processor (SCHED_IDLE). A high nice value would
 * not do: its share is small, but a process that wakes up meanwhile may have to wait for milliseconds until
 * that share is used up.
 */
export function yieldProcess(pid: number): void {
  isRun('chrt', ['--all-tasks', '--idle', '--pid', '0', String(pid)]);
}

/** Gives the session of this process the lowest share of the processor. */
export function yieldSession(pid: number): void {
  weighSession(pid, 19);
}

/** Gives the session of this process the highest share of the processor. */
export function favourSession(pid: number): void {
  weighSession(pid, -20);
}

/**
 * Sets the nice value of a session. Linux shares processors out to sessions first (autogroup), and each
 * backend of PostgreSQL is a session of its own: against it the load generator would get no more than half of
 * the processor, whatever the priority of its process.
 */
function weighSession(pid: number, nice: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(nice));
  } catch {
    // The file is not there, or may not be written: rounds then show the lost time as foreign.
  }
}

function isRun(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
