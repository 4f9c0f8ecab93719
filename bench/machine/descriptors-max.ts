// Limit of the system on the files of a process, sockets among them.

import { readIfThere } from './process-table.ts';

/** Number of descriptors where the system does not tell its limit. */
const UNTOLD = 1024;
const OPEN_FILES = /^Max open files +(\S+)/m;

/** Maximum number of files that this process may open; Node.js has raised it as far as it may. */
export function descriptorsMax(): number {
  const limit = OPEN_FILES.exec(readIfThere('/proc/self/limits') ?? '')?.[1];
  return limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit ?? UNTOLD);
}
