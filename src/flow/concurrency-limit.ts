// Limits the number of tasks that run at a time. Other tasks wait in order of arrival; they are refused if
// too many wait or if they wait too long. A limit of 1 is a queue for a resource that serves one task at a
// time; a higher limit keeps requests of clients from using up a whole store.

import { Overloaded, type Unavailable } from '../contract/store-fault.ts';

type Waiter = {
  readonly since: number;
  readonly start: () => void;
  readonly reject: (error: Unavailable) => void;
};

export class ConcurrencyLimit {
  private readonly waitMsMax: number;
  private running = 0;
  private waiters: Waiter[] = [];
  private onIdle: (() => void)[] = [];

  /** `waitMsMax`: maximum wait in milliseconds. Default: no limit. */
  constructor(
    private readonly runningMax: number,
    private readonly waitingMax: number,
    waitMsMax = Number.POSITIVE_INFINITY,
  ) {
    this.waitMsMax = waitMsMax;
  }

  /**
   * Runs the task in its turn. Rejects with `Overloaded` without running it: at once if too many tasks wait,
   * or in its turn if it has waited longer than `waitMsMax`.
   */
  async pass<Value>(task: () => Promise<Value>): Promise<Value> {
    if (this.running >= this.runningMax) await this.turn();
    else this.running += 1;
    try {
      return await task();
    } finally {
      this.passTurnOn();
    }
  }

  /** Rejects all waiting tasks with this error; running tasks continue. */
  rejectWaiting(error: Unavailable): void {
    const { waiters } = this;
    this.waiters = [];
    for (const { reject } of waiters) reject(error);
  }

  /** Resolves once no task runs or waits. */
  whenIdle(): Promise<void> {
    if (this.running === 0) return Promise.resolve();
    return new Promise((resolve) => this.onIdle.push(resolve));
  }

  private turn(): Promise<void> {
    if (this.waiters.length >= this.waitingMax) {
      return Promise.reject(new Overloaded(`${this.waiters.length} calls wait for their turn`));
    }
    return new Promise((resolve, reject) => {
      this.waiters.push({ since: performance.now(), start: resolve, reject });
    });
  }

  /** Starts the task that has waited longest, but not too long; else frees the turn. */
  private passTurnOn(): void {
    for (let next = this.waiters.shift(); next !== undefined; next = this.waiters.shift()) {
      if (performance.now() - next.since <= this.waitMsMax) {
        next.start();
        return;
      }
      next.reject(new Overloaded(`a call waited longer than ${this.waitMsMax} ms for its turn`));
    }
    this.running -= 1;
    if (this.running > 0) return;
    for (const resolve of this.onIdle.splice(0)) resolve();
  }
}
