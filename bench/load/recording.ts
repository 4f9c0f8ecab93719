// What goes on behind a service: PostgreSQL records for seconds after a round what the service accepted in
// it, and would work into the next. So rounds wait for that, and PostgreSQL yields to them.

import { Redis } from 'ioredis';
import { keys } from '../../src/engine/redis/keys.ts';
import { commandOf, processTree, yieldProcess } from './cpu-account.ts';

export type Recording = {
  /** Whether no check-in waits in any of these Redis servers; if so, PostgreSQL yields from here on. */
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
      letStoresYield();
      return true;
    },
    close() {
      for (const server of servers) server.disconnect();
    },
  };
}

const yielding = new Set<number>();

/**
 * PostgreSQL, which records check-ins behind the answers, yields to the generator on the processor they
 * share: else it would take the generator's time and the generator would be measured. Connections come and
 * go, and each is a process.
 */
export function letStoresYield(): void {
  for (const pid of processTree(process.pid)) {
    if (yielding.has(pid) || !commandOf(pid).startsWith('postgres')) continue;
    yieldProcess(pid);
    yielding.add(pid);
  }
}
