// Chooses the processors of a process, and the processes that yield when several want one processor. On two
// processors the server under measurement has one to itself; everything else shares the other.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { commandOf, processTree } from './processes.ts';

/** Processor that the measured server has to itself. */
export const SERVER_PROCESSOR = '0';
/** Processors on which everything but the measured server runs, as `taskset` takes them. */
export const OTHER_PROCESSORS = cpus().length <= 2 ? '1' : `1-${cpus().length - 1}`;
const LEAST_SHARE = 19;
export const MOST_SHARE = -20;

/** Processes of the stores that are placed, and those of PostgreSQL that may go anywhere at the moment. */
const placed = new Set<number>();
const spread = new Set<number>();

/** Keeps a process, with all its threads, on these processors; false when that is not possible here. */
export function pinProcess(pid: number, processors: string): boolean {
  if (process.platform !== 'linux' || cpus().length < 2) return false;
  return isRun('taskset', ['-a', '-c', '-p', processors, String(pid)]);
}

/** Lets a process run on every processor again. Processes that it has started stay where they are. */
export function freeProcess(pid: number): void {
  pinProcess(pid, `0-${cpus().length - 1}`);
}

/** Puts a node on the measured processor and its background processes, which it returns, on the others. */
export function placeNode(pid: number): number[] {
  pinProcess(pid, SERVER_PROCESSOR);
  const backgroundPids = processTree(pid).slice(1);
  for (const background of backgroundPids) {
    pinProcess(background, OTHER_PROCESSORS);
    yieldProcess(background);
  }
  return backgroundPids;
}

/** Lets a process run only while no other wants to: one with a high nice value could delay others. */
function yieldProcess(pid: number): void {
  isRun('chrt', ['--all-tasks', '--idle', '--pid', '0', String(pid)]);
}

/**
 * Sets the nice value of a session. Linux shares processors out to sessions first (autogroup), and each
 * backend of PostgreSQL is a session of its own: against it the load generator would get no more than half of
 * the processor, whatever the priority of its process.
 */
export function weighSession(pid: number, nice: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(nice));
  } catch {
    // The file is not there, or may not be written: rounds then show the lost time as foreign.
  }
}

export function spreadStores(): void {
  if (spread.size > 0) return;
  for (const pid of placed) {
    if (!commandOf(pid).startsWith('postgres')) continue;
    freeProcess(pid);
    spread.add(pid);
  }
}

/**
 * Pins the stores for a round. PostgreSQL yields to the generator, which would be the bottleneck otherwise;
 * Redis has priority, since the service waits for it. Each connection to PostgreSQL is a process of its own.
 */
export function placeStores(): void {
  for (const pid of spread) pinProcess(pid, OTHER_PROCESSORS);
  spread.clear();
  for (const pid of processTree(process.pid)) {
    if (placed.has(pid)) continue;
    const [store] = /^(?:redis|postgres)/.exec(commandOf(pid)) ?? [];
    if (store === undefined) continue;
    weighSession(pid, store === 'redis' ? MOST_SHARE : LEAST_SHARE);
    if (store === 'postgres') yieldProcess(pid);
    placed.add(pid);
  }
}

function isRun(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args).status === 0;
}
