// Reads Linux's table of processes from /proc; on other systems it is empty.

import { readdirSync, readFileSync } from 'node:fs';

/** Fields of /proc/PID/stat after the command's name. */
const PARENT_FIELD = 1;
const ENDED_USER_FIELD = 13;
const ENDED_SYSTEM_FIELD = 14;
const MS_PER_TICK = 10;

/** Ids of a process and of all that descend from it, the process first. */
export function processTree(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of entriesOf('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statFields(Number(name));
    if (fields !== undefined) parents.set(Number(name), Number(fields[PARENT_FIELD]));
  }
  const tree = [root];
  for (const known of tree) {
    for (const [pid, parent] of parents) if (parent === known) tree.push(pid);
  }
  return tree;
}

/** CPU time of the children that a process has waited for, in milliseconds; 0 when the process is gone. */
export function endedChildrenMs(pid: number): number {
  const fields = statFields(pid);
  if (fields === undefined) return 0;
  return (Number(fields[ENDED_USER_FIELD]) + Number(fields[ENDED_SYSTEM_FIELD])) * MS_PER_TICK;
}

/** Name of the command that a process runs, as the system shows it; empty when the process is gone. */
export function commandOf(pid: number): string {
  return readIfThere(`/proc/${pid}/comm`)?.trim() ?? '';
}

/** Arguments that a process was started with, after the program; empty when the process is gone. */
export function argumentsOf(pid: number): readonly string[] {
  return readIfThere(`/proc/${pid}/cmdline`)?.split('\0').slice(1) ?? [];
}

/** Names in a folder; none when there is no such folder. */
export function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Text of a file; undefined when there is no such file, as when the process it told about has ended. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function statFields(pid: number): string[] | undefined {
  // The command's name comes in parentheses and may hold anything: the fields are counted from its end.
  return readIfThere(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, '')
    .split(' ');
}
