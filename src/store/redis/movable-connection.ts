// Connection to a Redis that may get another address while it is used, such as one with another password. The
// new connection is used once it answers; the old one is closed when what was sent on it has been answered.

import { setTimeout as sleep } from 'node:timers/promises';
import { openConnection, type RedisConnection } from './connection.ts';
import type { RedisTarget } from './target.ts';

export type MovableConnection = RedisConnection & {
  /** Resolves when the new address is used: once it answers, or after a moment without an answer. */
  moveTo(target: RedisTarget): Promise<void>;
};

/** Longest wait for the new address to answer; after that it is used all the same, and tried for ever. */
const READY_MS_MAX = 2000;
const READY_INTERVAL_MS = 20;
/** Longer than a command waits for its answer. */
const LAST_ANSWERS_MS = 1000;

/** Connects, and reconnects until closed; `onFault` is called with the cause of each failure. */
export function openMovableConnection(
  first: RedisTarget,
  onFault: (error: unknown) => void,
): MovableConnection {
  let present = openConnection(first, onFault);
  /** Connections beside the present one: a new one without an answer, old ones with their last calls. */
  const others = new Set<RedisConnection>();
  let isClosed = false;

  const closeOther = (connection: RedisConnection): void => {
    others.delete(connection);
    connection.close();
  };

  return {
    get session() {
      return present.session;
    },
    run: (...args) => present.run(...args),
    runForBytes: (...args) => present.runForBytes(...args),
    runWithBytes: (...args) => present.runWithBytes(...args),
    runAll: (...args) => present.runAll(...args),
    runEach: (...args) => present.runEach(...args),
    readField: (...args) => present.readField(...args),
    readFields: (...args) => present.readFields(...args),
    writeFields: (...args) => present.writeFields(...args),
    readLength: (...args) => present.readLength(...args),
    describeServers: () => present.describeServers(),
    isReachable: () => present.isReachable(),
    async moveTo(target) {
      if (isClosed) return;
      const next = openConnection(target, onFault);
      others.add(next);
      const end = performance.now() + READY_MS_MAX;
      while (!isClosed && performance.now() < end && !(await next.isReachable())) {
        await sleep(READY_INTERVAL_MS, undefined, { ref: false });
      }
      if (isClosed) return;
      const former = present;
      present = next;
      others.delete(next);
      others.add(former);
      setTimeout(() => closeOther(former), LAST_ANSWERS_MS).unref();
    },
    close() {
      isClosed = true;
      present.close();
      for (const each of others) closeOther(each);
    },
  };
}
