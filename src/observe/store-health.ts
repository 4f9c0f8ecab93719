// Health of a store, from its calls: the store is lost if calls fail and none has succeeded for 2 seconds,
// and back with the next success. The log has one line for each, so that an operator sees when an outage
// began and ended, and how many calls it cost.

import type { Log } from './log.ts';

/** Milliseconds without a success after which a failed call means that the store is lost. */
const LOST_AFTER_MS = 2000;

export type StoreName = 'ledger' | 'engine' | 'upstream';

/** Present outage of a store: when the last call before it succeeded, and why calls fail. */
export type StoreOutage = {
  readonly store: StoreName;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly reason: string;
};

export class StoreHealth {
  readonly store: StoreName;
  private readonly log: Pick<Log, 'warn'>;
  private readonly now: () => number;
  private readonly reasonOf: (error: unknown) => string;
  private succeededAt: number;
  private failedCount = 0;
  private present: StoreOutage | undefined;

  /**
   * `reasonOf` returns the reason of an outage from the error of a call. `now` is a monotonic clock in
   * milliseconds. A store counts as available until a call fails.
   */
  constructor(
    store: StoreName,
    log: Pick<Log, 'warn'>,
    reasonOf: (error: unknown) => string = messageOf,
    now: () => number = () => performance.now(),
  ) {
    this.store = store;
    this.log = log;
    this.now = now;
    this.reasonOf = reasonOf;
    this.succeededAt = now();
  }

  /** Present outage; undefined while the store is available. */
  get outage(): StoreOutage | undefined {
    return this.present;
  }

  /** Milliseconds since a call succeeded. */
  get silentMs(): number {
    return this.now() - this.succeededAt;
  }

  /** Records that the store answered a call. */
  succeeded(): void {
    const { present, failedCount, silentMs, store } = this;
    this.succeededAt = this.now();
    this.failedCount = 0;
    if (present === undefined) return;
    this.present = undefined;
    this.log.warn({ store, afterMs: Math.round(silentMs), failedCalls: failedCount }, 'store back');
  }

  /** Records that a call failed because the store did not answer it. */
  failed(error: unknown): void {
    this.failedCount += 1;
    const { present, silentMs, store } = this;
    if (present === undefined && silentMs < LOST_AFTER_MS) return;
    const since = present?.since ?? Math.round(Date.now() - silentMs);
    this.present = { store, since, reason: this.reasonOf(error) };
    if (present === undefined) this.log.warn({ store, err: error }, 'store lost');
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
