// Processes and the CPU time they use, from Linux's /proc. Elsewhere there are none, and times are NaN: rates
// and latencies are still measured, but no CPU per request, and disturbed rounds cannot be recognised.

import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** CPU times in milliseconds, each counted from a beginning of its own: only differences mean something. */
export type CpuSample = ReturnType<typeof sampleCpu>;

/** Fields of /proc/PID/stat after the command's name. */
const PARENT_FIELD = 1;
const ENDED_FIELDS = [13, 14] as const;
const MS_PER_TICK = 10;
const DESCRIPTORS_UNTOLD = 1024;
/** Descriptors that a process needs for something else than connections. */
const DESCRIPTORS_RESERVED = 256;

/** Reads the times of a process and all that descend from it; without a root, only those of the machine. */
export function sampleCpu(root?: number) {
  const tree = root === undefined ? [] : processTree(root);
  const processesMs: Record<string, number> = {};
  for (const pid of tree) processesMs[pid] = processCpuMs(pid);
  return {
    /** CPU time of each process of the tree, and of those that have ended, and the memory of its root. */
    ...{ processesMs, endedMs: tree.reduce((sum, pid) => sum + endedChildrenMs(pid), 0) },
    residentBytes: root === undefined ? Number.NaN : residentBytes(root),
    ...{ at: performance.now(), ...machineTimes() },
  };
}

/** CPU time that these processes used between two samples; NaN where it cannot be known. */
export function usedMs(begin: CpuSample, end: CpuSample, pids: readonly number[]): number {
  if (Number.isNaN(end.machineMs)) return Number.NaN;
  return pids.reduce((sum, pid) => {
    const last = end.processesMs[pid];
    return last === undefined ? sum : sum + last - (begin.processesMs[pid] ?? 0);
  }, 0);
}

/** CPU time that processes outside the watched tree used between two samples. */
export function foreignMs(begin: CpuSample, end: CpuSample): number {
  const own = usedMs(begin, end, Object.keys(end.processesMs).map(Number));
  return end.machineMs - begin.machineMs - own - (end.endedMs - begin.endedMs);
}

/** Share of all processors that stayed idle for the next `ms`, 0 to 1; NaN when it cannot be told. */
export async function idleShare(ms: number): Promise<number> {
  const begin = sampleCpu();
  await sleep(ms);
  const end = sampleCpu();
  return 1 - (end.machineMs - begin.machineMs) / ((end.at - begin.at) * cpus().length);
}

/** Ids of a process and of all that descend from it, the process first. */
export function processTree(root: number): number[] {
  const pids = entriesOf('/proc').filter((name) => /^\d+$/.test(name));
  const parents = pids.map((pid) => [Number(pid), Number(statFields(pid)[PARENT_FIELD])] as const);
  const tree = [root];
  for (const known of tree) {
    for (const [pid, parent] of parents) if (parent === known) tree.push(pid);
  }
  return tree;
}

export function commandOf(pid: number): string {
  return readIfThere(`/proc/${pid}/comm`)?.trim() ?? '';
}

/** Whether a process of the service records check-ins instead of serving. */
export function isBackground(pid: number): boolean {
  return readIfThere(`/proc/${pid}/cmdline`)?.split('\0').includes('--background') ?? false;
}

export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readIfThere(`/proc/${pid}/status`) ?? '')?.[1];
  return Number(kilobytes ?? Number.NaN) * 1024;
}

/** Maximum number of connections of this process, whose limit of files Node.js has raised. */
export function connectionsMax(): number {
  const limit = /^Max open files +(\S+)/m.exec(readIfThere('/proc/self/limits') ?? '')?.[1];
  if (limit === 'unlimited') return Number.POSITIVE_INFINITY;
  return Number(limit ?? DESCRIPTORS_UNTOLD) - DESCRIPTORS_RESERVED;
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Sum over the threads, which the system counts in nanoseconds: ticks of 10 ms are too coarse for rounds. */
function processCpuMs(pid: number): number {
  const threads = entriesOf(`/proc/${pid}/task`);
  if (threads.length === 0) return Number.NaN;
  return threads.reduce((sum, thread) => {
    const onCpuNs = readIfThere(`/proc/${pid}/task/${thread}/schedstat`)?.split(' ')[0];
    return sum + Number(onCpuNs ?? 0) / 1e6;
  }, 0);
}

function endedChildrenMs(pid: number): number {
  const fields = statFields(pid);
  return ENDED_FIELDS.reduce((sum, field) => sum + Number(fields[field] ?? 0) * MS_PER_TICK, 0);
}

/** CPU time of all processes on all processors, and time that the host gave to other machines instead. */
function machineTimes() {
  const line = readIfThere('/proc/stat')?.split('\n')[0];
  if (line === undefined) return { machineMs: Number.NaN, stolenMs: 0 };
  const ticks = line.split(/\s+/).slice(1).map(Number);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = ticks;
  const machineMs = (user + nice + system + irq + softirq) * MS_PER_TICK;
  return { machineMs, stolenMs: steal * MS_PER_TICK };
}

function statFields(pid: number | string): string[] {
  // The command's name comes in parentheses and may hold anything: the fields are counted from its end.
  const text = readIfThere(`/proc/${pid}/stat`)?.replace(/^.*\) /s, '');
  return text?.split(' ') ?? [];
}
