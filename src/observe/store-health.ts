// Health of a store, from its calls: the store is lost if calls fail and none has succeeded for 2 seconds,
// and back with the next success. It is full from a call that it refuses for want of room, until the same
// operation succeeds: a full store still answers reads. The log has one line for each, so that an operator
// sees when an outage began and ended, and how many calls it cost.

import { isFull } from '../contract/store-fault.ts';
import { Unavailable, Unexamined } from '../contract/unavailable.ts';
import type { Log } from './log.ts';

/** Milliseconds without a success after which a failed call means that the store is lost. */
const LOST_AFTER_MS = 2000;
/**
 * Milliseconds after which that is told of a database that is being examined. Until then what the examination
 * finds is awaited, so that the log and `/readyz` say it in the same words.
 */
const EXAMINED_WITHIN_MS = 10_000;
/** Milliseconds after the last refusal for want of room for which a store counts as full. */
const FULL_FOR_MS = 5 * 60_000;

export type StoreName = 'ledger' | 'engine' | 'upstream';

/** Present outage of a store: when the last call before it succeeded, and why calls fail. */
export type StoreOutage = {
  readonly store: StoreName;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly reason: string;
};

/** Want of room: the operation that was refused, and when last, by the clock of the health. */
type Fullness = { readonly operation: string; readonly outage: StoreOutage; readonly at: number };

export class StoreHealth {
  readonly store: StoreName;
  private readonly log: Pick<Log, 'warn'>;
  private readonly now: () => number;
  private readonly reasonOf: ((error: unknown) => string) | undefined;
  private succeededAt: number;
  private failedCount = 0;
  private present: StoreOutage | undefined;
  private fullness: Fullness | undefined;

  /**
   * `reasonOf` replaces the usual words for the reason of an outage. `now` is a monotonic clock in
   * milliseconds. A store counts as available until a call fails.
   */
  constructor(
    store: StoreName,
    log: Pick<Log, 'warn'>,
    reasonOf?: (error: unknown) => string,
    now: () => number = () => performance.now(),
  ) {
    this.store = store;
    this.log = log;
    this.now = now;
    this.reasonOf = reasonOf;
    this.succeededAt = now();
  }

  /** Present outage, or want of room; undefined while the store is available. */
  get outage(): StoreOutage | undefined {
    return this.present ?? (this.isFull ? this.fullness?.outage : undefined);
  }

  /** Whether the store does not answer. */
  get isLost(): boolean {
    return this.present !== undefined;
  }

  /** Whether the store refuses writes because its disk or memory is full. */
  get isFull(): boolean {
    return this.fullness !== undefined && this.now() - this.fullness.at < FULL_FOR_MS;
  }

  /** Milliseconds since a call succeeded. */
  get silentMs(): number {
    return this.now() - this.succeededAt;
  }

  /** Records that the store answered a call; `operation` is its name. */
  succeeded(operation?: string): void {
    const { present, failedCount, silentMs, store, fullness } = this;
    this.succeededAt = this.now();
    this.failedCount = 0;
    if (fullness !== undefined && fullness.operation === operation) {
      this.fullness = undefined;
      this.log.warn({ store }, 'store takes writes again');
    }
    if (present === undefined) return;
    this.present = undefined;
    this.log.warn({ store, afterMs: Math.round(silentMs), failedCalls: failedCount }, 'store back');
  }

  /** Records that a call failed because the store did not answer it, or has no room. */
  failed(error: unknown, operation = ''): void {
    const cause = error instanceof Unavailable ? error.cause : error;
    if (isFull(cause)) return this.fill(error, operation);
    this.failedCount += 1;
    const { present, silentMs, store } = this;
    const patienceMs = error instanceof Unexamined ? EXAMINED_WITHIN_MS : LOST_AFTER_MS;
    if (present === undefined ? silentMs < patienceMs : error instanceof Unexamined) return;
    const since = present?.since ?? Math.round(Date.now() - silentMs);
    const told = this.tell(error);
    this.present = { store, since, reason: told.reason };
    if (present === undefined) this.log.warn({ store, ...told }, 'store lost');
  }

  private fill(error: unknown, operation: string): void {
    const { store } = this;
    const before = this.isFull ? this.fullness?.outage : undefined;
    const told = this.tell(error);
    const outage = { store, since: before?.since ?? Date.now(), reason: told.reason };
    this.fullness = { operation, outage, at: this.now() };
    if (before === undefined) this.log.warn({ store, ...told }, 'store refuses writes');
  }

  private tell(error: unknown): ToldStoreFault {
    const reason = this.reasonOf?.(error);
    const told = tellFault(this.store, error);
    return reason === undefined ? told : { ...told, reason };
  }
}

/** What the log says of a fault: the words that all use, and what the driver said. */
export type ToldStoreFault = { readonly reason: string; readonly detail?: string };

/** Returns what the log says of a fault of a store, without a stack. */
export function tellFault(store: StoreName, error: unknown): ToldStoreFault {
  const told = error instanceof Unavailable ? error : new Unavailable(store, error);
  const { message: reason, detail } = told;
  return detail === undefined ? { reason } : { reason, detail };
}
