// What goes on behind a service: PostgreSQL records for seconds after a round what the service accepted in
// it, and would work into the next. So rounds wait for that, and PostgreSQL yields to them.

import { Redis } from 'ioredis';
import { keys } from '../../src/engine/redis/keys.ts';
import {
  commandOf,
  favourSession,
  freeProcess,
  otherProcessors,
  pinProcess,
  processTree,
  yieldProcess,
  yieldSession,
} from './cpu-account.ts';

export type Recording = {
  /** Whether no check-in waits in any of these Redis servers. */
  isDone(): Promise<boolean>;
  /** Lets PostgreSQL have every processor, while nothing is measured. */
  spread(): void;
  /** Puts the stores in their places for a round. */
  place(): void;
  close(): void;
};

/** Watches the queues of check-ins in these Redis servers. */
export function watchRecording(redisUrls: readonly string[]): Recording {
  const servers = redisUrls.map((url) => new Redis(url));
  return {
    async isDone() {
      const lengths = await Promise.all(servers.map((server) => server.xlen(keys.checkIns)));
      return lengths.every((length) => length === 0);
    },
    spread: spreadStores,
    place: placeStores,
    close() {
      for (const server of servers) server.disconnect();
    },
  };
}

const placed = new Set<number>();
const spread = new Set<number>();

function spreadStores(): void {
  if (spread.size > 0) return;
  for (const pid of placed) {
    if (!commandOf(pid).startsWith('postgres')) continue;
    freeProcess(pid);
    spread.add(pid);
  }
}

/**
 * PostgreSQL, which records check-ins behind the answers, yields to the generator on the processor they
 * share: else it would take the generator's time and the generator would be measured. Redis, which needs
 * little, does not: without it the service would be measured in trouble. Connections to PostgreSQL come and
 * go, and each is a process and a session.
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
