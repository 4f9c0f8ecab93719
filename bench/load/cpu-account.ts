// Who used the processors, from Linux's /proc. Elsewhere everything is NaN: rates and latencies are still
// measured there, but no CPU per request, and no round can be told to be disturbed.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** CPU times in milliseconds, all since some begin of their own: only differences mean something. */
export type CpuSample = {
  /** `performance.now()` of the process that took it. */
  readonly at: number;
  /** All processors together, whoever of this machine used them. */
  readonly machineMs: number;
  /** What the host gave to others instead; always 0 where it does not tell. */
  readonly stolenMs: number;
  /** Of each process of the watched tree, by id. */
  readonly processesMs: Readonly<Record<string, number>>;
  /** Of the tree's processes that have ended. */
  readonly endedMs: number;
};

const MS_PER_TICK = 10;
const NS_PER_MS = 1e6;

/** Reads the times of a process and all that descend from it; without a root, the machine's alone. */
export function sampleCpu(root?: number): CpuSample {
  const tree = root === undefined ? [] : processTree(root);
  const at = performance.now();
  return {
    at,
    processesMs: Object.fromEntries(tree.map((pid) => [String(pid), processCpuMs(pid)])),
    ...machineTimes(),
    endedMs: tree.reduce((sum, pid) => sum + endedChildrenMs(pid), 0),
  };
}

/** What these processes used between two samples; NaN where it cannot be known. */
export function usedMs(begin: CpuSample, end: CpuSample, pids: readonly number[]): number {
  if (Number.isNaN(end.machineMs)) return Number.NaN;
  return pids.reduce((sum, pid) => {
    const last = end.processesMs[pid];
    return last === undefined ? sum : sum + last - (begin.processesMs[pid] ?? 0);
  }, 0);
}

/** What processes outside the watched tree used between two samples. */
export function foreignMs(begin: CpuSample, end: CpuSample): number {
  const own = usedMs(begin, end, Object.keys(end.processesMs).map(Number));
  return end.machineMs - begin.machineMs - own - (end.endedMs - begin.endedMs);
}

/** A process and all that descend from it. */
export function processTree(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of entriesOf('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    // The command's name comes in parentheses and may hold anything; the parent is the second field after.
    const fields = read(`/proc/${name}/stat`)
      ?.replace(/^.*\) /s, '')
      .split(' ');
    if (fields !== undefined) parents.set(Number(name), Number(fields[1]));
  }
  const tree = [root];
  for (const known of tree) {
    for (const [pid, parent] of parents) if (parent === known) tree.push(pid);
  }
  return tree;
}

/** The command's name, as the system shows it; empty when the process is gone. */
export function commandOf(pid: number): string {
  return read(`/proc/${pid}/comm`)?.trim() ?? '';
}

/** What a process was started with, after the program; empty when it is gone. */
export function argumentsOf(pid: number): readonly string[] {
  return read(`/proc/${pid}/cmdline`)?.split('\0').slice(1) ?? [];
}

/** Keeps a process, with all its threads, on these processors; false when that is not possible here. */
export function pinProcess(pid: number, processors: string): boolean {
  if (process.platform !== 'linux' || cpus().length < 2) return false;
  return isRun('taskset', ['-a', '-c', '-p', processors, String(pid)]);
}

/** Where whatever is not measured runs. */
export function otherProcessors(): string {
  const last = cpus().length - 1;
  return last <= 1 ? '1' : `1-${last}`;
}

/** Lets a process run on every processor again. What it has started stays where it is. */
export function freeProcess(pid: number): void {
  pinProcess(pid, `0-${cpus().length - 1}`);
}

/**
 * Lets a process run only while nobody else wants the processor (SCHED_IDLE). A high nice value would not do:
 * its share is small, but whoever wakes up meanwhile may have to wait for milliseconds until it is used up.
 */
export function yieldProcess(pid: number): void {
  isRun('chrt', ['--all-tasks', '--idle', '--pid', '0', String(pid)]);
}

/** Lets the session of a process go after those of others; all that is in it. */
export function yieldSession(pid: number): void {
  weighSession(pid, 19);
}

/** Lets the session of a process go before those of others; all that is in it. */
export function favourSession(pid: number): void {
  weighSession(pid, -20);
}

/**
 * Linux shares processors out to sessions first (autogroup), and each backend of PostgreSQL is a session of
 * its own: against it, whatever priority it has, the generator would get no more than half.
 */
function weighSession(pid: number, nice: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(nice));
  } catch {
    // Not there, or not ours to change: then the round shows it as time that others had.
  }
}

/** The share of all processors that nobody used for this long, 0 to 1; NaN when it cannot be told. */
export async function idleShare(ms: number): Promise<number> {
  const begin = sampleCpu();
  await new Promise((resolve) => setTimeout(resolve, ms));
  const end = sampleCpu();
  return 1 - (end.machineMs - begin.machineMs) / ((end.at - begin.at) * cpus().length);
}

function isRun(command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** By thread, in nanoseconds; the ten-millisecond ticks of /proc/PID/stat are too coarse for short rounds. */
function processCpuMs(pid: number): number {
  const threads = entriesOf(`/proc/${pid}/task`);
  if (threads.length === 0) return Number.NaN;
  return threads.reduce((sum, thread) => {
    const onCpu = read(`/proc/${pid}/task/${thread}/schedstat`)?.split(' ')[0];
    return sum + Number(onCpu ?? 0) / NS_PER_MS;
  }, 0);
}

function machineTimes(): Pick<CpuSample, 'machineMs' | 'stolenMs'> {
  const line = read('/proc/stat')?.split('\n')[0];
  if (line === undefined) return { machineMs: Number.NaN, stolenMs: 0 };
  const [user, nice, system, , , irq, softirq, steal = 0] = line.split(/\s+/).slice(1).map(Number);
  const ticks = [user, nice, system, irq, softirq].reduce<number>(
    (sum, value) => sum + (value ?? 0),
    0,
  );
  return { machineMs: ticks * MS_PER_TICK, stolenMs: steal * MS_PER_TICK };
}

/** The two times of waited-for children, among the fields after the command's name. */
function endedChildrenMs(pid: number): number {
  const fields = read(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, '')
    .split(' ');
  return fields === undefined ? 0 : (Number(fields[13]) + Number(fields[14])) * MS_PER_TICK;
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
