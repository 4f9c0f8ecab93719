// Number of connections that clients may have open in a process, from the number of file descriptors that the
// system lets it have.

import { readFileSync } from 'node:fs';

/**
 * File descriptors kept for everything else: 10 connections to PostgreSQL, up to some 20 to Redis, files of
 * snapshots, pipes to other processes, and those of Node.js. A process at work has about 60 of them.
 */
const RESERVED = 128;

/** Line of the limit, with the number that counts (soft) and the one that the process may raise it to. */
const OPEN_FILES = /^Max open files +(\S+)/m;

/**
 * Returns the maximum number of client connections: the limit of descriptors less the reserve, or half of a
 * limit that is lower than twice the reserve. Undefined where the system has no limit, or does not tell it as
 * Linux does. `limits` is the content of /proc/self/limits.
 */
export function clientConnectionsMax(limits = readLimits()): number | undefined {
  const descriptors = Number(OPEN_FILES.exec(limits)?.[1]);
  if (!Number.isSafeInteger(descriptors)) return undefined;
  return Math.max(descriptors - RESERVED, Math.floor(descriptors / 2));
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}
