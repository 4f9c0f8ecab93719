// Whether what a service accepted is recorded: PostgreSQL works on for seconds after a round, and would work
// into the next.

import { Redis } from 'ioredis';
import { keys } from '../../src/engine/redis/keys.ts';

export type Recording = {
  /** Whether no check-in waits in any of these Redis servers. */
  isDone(): Promise<boolean>;
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
    close() {
      for (const server of servers) server.disconnect();
    },
  };
}
