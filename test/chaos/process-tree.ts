// Processes of a service that runs as several.

import { existsSync, readFileSync } from 'node:fs';

/** Returns the ids of a process and of everything that it started and that still runs, parents first. */
export function processTree(pid: number): readonly number[] {
  const listed = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(listed)) return [pid];
  const children = readFileSync(listed, 'utf8').split(' ').map(Number).filter(Boolean);
  return [pid, ...children.flatMap((child) => processTree(child))];
}
