// Watches the recording of check-ins: PostgreSQL records the check-ins of a round for seconds after it, which
// would disturb the next round. Rounds wait until nothing is left, and during a round PostgreSQL yields to
// the processes that are measured.

import { Redis } from 'ioredis';
import { queueLength } from '../../test/support/redis-keys.ts';
import {
  favourSession,
  freeProcess,
  otherProcessors,
  pinProcess,
  yieldProcess,
  yieldSession,
} from '../machine/place-process.ts';
import { commandOf, processTree } from '../machine/process-table.ts';
import type { Background } from '../measure/patience.ts';

/** Recording of check-ins: done when none waits in Redis. */
export type Recording = Background & { close(): void };

/** Watches the queues of check-ins in these Redis servers. */
export function watchRecording(redisUrls: readonly string[]): Recording {
  const servers = redisUrls.map((url) => new Redis(url));
  return {
    async isDone() {
      const lengths = await Promise.all(servers.map(queueLength));
      return lengths.every((length) => length === 0);
    },
    spread: spreadStores,
    place: placeStores,
    close() {
      for (const server of servers) server.disconnect();
    },
  };
}

/** Ids of the processes of the stores that are pinned. */
const placed = new Set<number>();
/** Ids of the PostgreSQL processes that may use every processor at the moment. */
const spread = new Set<number>();

/** Lets PostgreSQL have every processor. */
function spreadStores(): void {
  if (spread.size > 0) return;
  for (const pid of placed) {
    if (!commandOf(pid).startsWith('postgres')) continue;
    freeProcess(pid);
    spread.add(pid);
  }
}

/**
 * Pins the stores for a round. PostgreSQL, which records check-ins in the background, yields to the generator
 * on the processor they share; otherwise the generator would be the bottleneck. Redis, which needs little
 * time, has priority: the service waits for it. Every connection to PostgreSQL is a process and a session of
 * its own, so this function looks for new ones every time.
 */
export function placeStores(): void {
  for (const pid of spread) pinProcess(pid, otherProcessors());
  spread.clear();
  for (const pid of processTree(process.pid)) {
    if (placed.has(pid)) continue;
    const command = commandOf(pid);
    if (command.startsWith('redis')) favourSession(pid);
    else if (command.startsWith('postgres')) {
      yieldProcess(pid);
      yieldSession(pid);
    } else continue;
    placed.add(pid);
  }
}
