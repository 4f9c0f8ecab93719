// Lets a few in at a time and makes some wait: for work that strangers can cause, so that it leaves the
// stores free for those who publish, and for first offers.

import { Unavailable } from '../ports/unavailable.ts';

export class Turnstile {
  private readonly runningMax: number;
  private readonly waitingMax: number;
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(runningMax: number, waitingMax: number) {
    this.runningMax = runningMax;
    this.waitingMax = waitingMax;
  }

  /** Runs the work when its turn comes; `Unavailable` at once when too many wait already. */
  async pass<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.running >= this.runningMax) await this.turn();
    else this.running += 1;
    try {
      return await work();
    } finally {
      // The turn goes to the next in line as it is, or comes free.
      const next = this.waiting.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }

  private turn(): Promise<void> {
    if (this.waiting.length >= this.waitingMax) {
      return Promise.reject(new Unavailable('ledger', 'too many requests wait for it'));
    }
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
