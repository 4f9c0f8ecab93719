// What goes on behind a service: PostgreSQL records for seconds after a round what the service accepted in
// it, and would work into the next. So rounds wait for that, and PostgreSQL yields to them.

import { Redis } from 'ioredis';
import { keys } from '../../src/engine/redis/keys.ts';
import {
  commandOf,
  favourSession,
  processTree,
  yieldProcess,
  yieldSession,
} from './cpu-account.ts';

export type Recording = {
  /** Whether no check-in waits in any of these Redis servers; if so, `placeStores` has been called. */
  isDone(): Promise<boolean>;
  close(): void;
};

/** Watches the queues of check-ins in these Redis servers. */
export function watchRecording(redisUrls: readonly string[]): Recording {
  const servers = redisUrls.map((url) => new Redis(url));
  return {
    async isDone() {
      const lengths = await Promise.all(servers.map((server) => server.xlen(keys.checkIns)));
      if (!lengths.every((length) => length === 0)) return false;
      placeStores();
      return true;
    },
    close() {
      for (const server of servers) server.disconnect();
    },
  };
}

const placed = new Set<number>();

/**
 * PostgreSQL, which records check-ins behind the answers, yields to the generator on the processor they
 * share: else it would take the generator's time and the generator would be measured. Redis, which needs
 * little, does not: without it the service would be measured in trouble. Connections to PostgreSQL come and
 * go, and each is a process and a session.
 */
export function placeStores(): void {
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
