// Waits with a time limit.

import { Unavailable } from '../contract/store-fault.ts';

/** Returns the outcome of the work; undefined after `waitMsMax`, while the work continues. */
export async function withinTime<Value>(
  work: Promise<Value>,
  waitMsMax: number,
): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, waitMsMax), undefined);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the outcome of the work; after `waitMsMax`, rejects with the error of `late`. The work goes on. */
export async function demandWithin<Value>(
  work: Promise<Value>,
  waitMsMax: number,
  late: (waitMsMax: number) => Error,
): Promise<Value> {
  const outcome = await withinTime(
    work.then((value) => ({ value })),
    waitMsMax,
  );
  if (outcome === undefined) throw late(waitMsMax);
  return outcome.value;
}

/** Time for which a ledger that did not answer is not asked again. */
const REST_MS = 1000;

/**
 * Asks the ledger where something else can answer in its place: waits for it no longer than that can, and
 * leaves it alone for a second after it did not answer, so that callers do not wait one after the other.
 */
export class ReplaceableLedger {
  /** Monotonic time before which the ledger is not asked. */
  private restsUntil = Number.NEGATIVE_INFINITY;

  constructor(private readonly waitMsMax: number) {}

  /** Returns the ledger's answer, or rejects with `Unavailable`; then the work goes on. */
  async ask<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    this.demandRested();
    const late = () => new Unavailable('ledger', 'it does not answer in time');
    try {
      return await demandWithin(work(), this.waitMsMax, late);
    } catch (error) {
      if (error instanceof Unavailable) this.restsUntil = performance.now() + REST_MS;
      throw error;
    }
  }

  /** Throws `Unavailable` while the ledger is left alone. */
  demandRested(): void {
    if (performance.now() >= this.restsUntil) return;
    throw new Unavailable('ledger', 'it has just not answered');
  }
}
