// Runs long work on the serving thread in slices: between two of them the process answers requests.

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds of work per slice. */
const SLICE_MS = 4;

export class TimeSlice {
  private began = performance.now();

  /** Whether the work should call `pause`. */
  get isOver(): boolean {
    return performance.now() - this.began >= SLICE_MS;
  }

  /** Lets other work run, and begins the next slice. */
  async pause(): Promise<void> {
    await nextTurn();
    this.began = performance.now();
  }
}

/** Runs long work, which yields between its steps, in slices; returns its result. */
export async function inSlices<Result>(steps: Generator<undefined, Result>): Promise<Result> {
  const slice = new TimeSlice();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (slice.isOver) await slice.pause();
  }
}
