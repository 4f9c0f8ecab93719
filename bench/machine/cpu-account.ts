// CPU time of processes and of the machine, from Linux's /proc. Elsewhere every value is NaN: rates and
// latencies are still measured there, but no CPU per request, and a disturbed round cannot be recognised.

import { cpus } from 'node:os';
import { endedChildrenMs, entriesOf, processTree, readIfThere } from './process-table.ts';

/** CPU times in milliseconds, each counted from a beginning of its own: only differences mean something. */
export type CpuSample = {
  /** `performance.now()` of the process that took the sample. */
  readonly at: number;
  /** CPU time of every process of this machine, on all processors together. */
  readonly machineMs: number;
  /** Time that the host gave to other machines instead; always 0 where the host does not tell. */
  readonly stolenMs: number;
  /** CPU time of each process of the watched tree, by process id. */
  readonly processesMs: Readonly<Record<string, number>>;
  /** CPU time of processes of the tree that have ended. */
  readonly endedMs: number;
};

const MS_PER_TICK = 10;
const NS_PER_MS = 1e6;

/** Reads the times of a process and all that descend from it; without a root, only those of the machine. */
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
  await new Promise((resolve) => setTimeout(resolve, ms));
  const end = sampleCpu();
  return 1 - (end.machineMs - begin.machineMs) / ((end.at - begin.at) * cpus().length);
}

/**
 * Sum over the threads of a process, which the system counts in nanoseconds: the ten-millisecond ticks of
 * /proc/PID/stat are too coarse for short rounds.
 */
function processCpuMs(pid: number): number {
  const threads = entriesOf(`/proc/${pid}/task`);
  if (threads.length === 0) return Number.NaN;
  return threads.reduce((sum, thread) => {
    const onCpu = readIfThere(`/proc/${pid}/task/${thread}/schedstat`)?.split(' ')[0];
    return sum + Number(onCpu ?? 0) / NS_PER_MS;
  }, 0);
}

function machineTimes(): Pick<CpuSample, 'machineMs' | 'stolenMs'> {
  const line = readIfThere('/proc/stat')?.split('\n')[0];
  if (line === undefined) return { machineMs: Number.NaN, stolenMs: 0 };
  const [user, nice, system, , , irq, softirq, steal = 0] = line.split(/\s+/).slice(1).map(Number);
  const ticks = [user, nice, system, irq, softirq].reduce<number>(
    (sum, value) => sum + (value ?? 0),
    0,
  );
  return { machineMs: ticks * MS_PER_TICK, stolenMs: steal * MS_PER_TICK };
}
