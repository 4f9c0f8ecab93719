// Long work on the serving thread in slices: between two of them the process answers requests.

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds of work after which other work gets its turn. */
const SLICE_MS = 4;

export class TimeSlice {
  private began = performance.now();

  /** Whether the work should pause by `pause` before it goes on. */
  get isOver(): boolean {
    return performance.now() - this.began >= SLICE_MS;
  }

  /** Lets everything that waits have its turn, and begins the next slice. */
  async pause(): Promise<void> {
    await nextTurn();
    this.began = performance.now();
  }
}
