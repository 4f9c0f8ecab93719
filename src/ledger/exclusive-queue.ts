// Turns on one connection: whoever has it keeps it until done, the others wait in the order they came.

import { Unavailable } from '../ports/unavailable.ts';

const WAITING_MAX = 10_000;
/** The same patience that a caller of a connection pool has. */
const WAIT_MAX_MS = 5000;

type Waiter = {
  readonly since: number;
  readonly start: () => void;
  readonly reject: (error: Unavailable) => void;
};

export class ExclusiveQueue {
  #isTaken = false;
  #waiters: Waiter[] = [];
  #onIdle: (() => void)[] = [];

  /** Runs `task` alone. `Unavailable` when too many wait already, or when its turn comes too late. */
  async run<Value>(task: () => Promise<Value>): Promise<Value> {
    await this.#turn();
    try {
      return await task();
    } finally {
      this.#next();
    }
  }

  /** Sends everybody who still waits away; whoever has the turn keeps it. */
  rejectWaiting(cause: unknown): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.reject(new Unavailable('ledger', cause));
  }

  /** Resolves once nobody runs and nobody waits. */
  whenIdle(): Promise<void> {
    if (!this.#isTaken) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  #turn(): Promise<void> {
    if (!this.#isTaken) {
      this.#isTaken = true;
      return Promise.resolve();
    }
    if (this.#waiters.length >= WAITING_MAX) {
      return Promise.reject(new Unavailable('ledger', `${WAITING_MAX} calls are waiting already`));
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ since: performance.now(), start: resolve, reject });
    });
  }

  #next(): void {
    for (let waiter = this.#waiters.shift(); waiter !== undefined; waiter = this.#waiters.shift()) {
      if (performance.now() - waiter.since <= WAIT_MAX_MS) {
        waiter.start();
        return;
      }
      waiter.reject(new Unavailable('ledger', `waited longer than ${WAIT_MAX_MS} ms for its turn`));
    }
    this.#isTaken = false;
    for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}
