// Health of a store, from its calls. The store is lost if calls fail and none has succeeded for 2 seconds,
// and back with the next success. It refuses writes from the first call that it rejects because it is full or
// read-only, or for want of a right, until a trial write succeeds; it still answers reads. The log has one
// line for each, so that an operator sees when an outage began and ended, and how many calls it cost.

import { isFull, refusesWrites, Unavailable, Unexamined } from '../contract/store-fault.ts';
import type { Log } from './log.ts';

/** Milliseconds without a success after which a failed call means that the store is lost. */
const LOST_AFTER_MS = 2000;
/**
 * Milliseconds without a success after which a database that is being examined counts as lost. Until then the
 * result of the examination is awaited, so that the log and `/readyz` give the same reason.
 */
const EXAMINED_WITHIN_MS = 10_000;
/**
 * Milliseconds after the last refused write for which a store counts as refusing writes, even if a trial
 * succeeds: a store that takes some writes and refuses others would be logged again and again.
 */
const REFUSING_MS_MIN = 5000;

export type StoreName = 'ledger' | 'engine' | 'upstream';

/** Present outage of a store: when the last call before it succeeded, and why calls fail. */
export type StoreOutage = {
  readonly store: StoreName;
  /** Milliseconds since 1970: of the last success before it, or of the first refused write. */
  readonly since: number;
  readonly reason: string;
  /** Whether the store answers, and refuses only writes. */
  readonly isOfWrites: boolean;
};

/** Refusal of writes: whether the store is full, and the time of the latest refused write by `now`. */
type Refusal = { readonly outage: StoreOutage; readonly isFull: boolean; readonly at: number };

export class StoreHealth {
  private readonly reasonOf: ((error: unknown) => string) | undefined;
  private succeededAt: number;
  private failedCount = 0;
  private present: StoreOutage | undefined;
  private refusal: Refusal | undefined;

  /**
   * `reasonOf` replaces the usual words for the reason of an outage. `now` is a monotonic clock in
   * milliseconds. A store counts as available until a call fails.
   */
  constructor(
    readonly store: StoreName,
    private readonly log: Pick<Log, 'warn'>,
    reasonOf?: (error: unknown) => string,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.reasonOf = reasonOf;
    this.succeededAt = now();
  }

  /** Present outage, or refusal of writes; undefined while the store is available. */
  get outage(): StoreOutage | undefined {
    return this.present ?? this.refusal?.outage;
  }

  /** Whether the store does not answer. */
  get isLost(): boolean {
    return this.present !== undefined;
  }

  /** Whether the store answers and refuses writes. */
  get refusesWrites(): boolean {
    return this.refusal !== undefined;
  }

  /** Whether the store refuses writes because its disk or memory is full. */
  get isFull(): boolean {
    return this.refusal?.isFull ?? false;
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

  /** Records that a call failed because the store did not answer it, or refuses writes. */
  failed(error: unknown): void {
    if (refusesWrites(causeOf(error))) return this.refuse(error);
    this.failedCount += 1;
    const { present, silentMs, store } = this;
    const patienceMs = error instanceof Unexamined ? EXAMINED_WITHIN_MS : LOST_AFTER_MS;
    if (present === undefined ? silentMs < patienceMs : error instanceof Unexamined) return;
    const since = present?.since ?? Math.round(Date.now() - silentMs);
    const told = this.tell(error);
    this.present = { store, since, reason: told.reason, isOfWrites: false };
    if (present === undefined) this.log.warn({ store, ...told }, 'store lost');
  }

  /** Records that the store took a trial write. */
  tookWrite(): void {
    this.succeeded();
    const { refusal, store } = this;
    if (refusal === undefined || this.now() - refusal.at < REFUSING_MS_MIN) return;
    this.refusal = undefined;
    this.log.warn({ store }, 'store takes writes again');
  }

  private refuse(error: unknown): void {
    const { store, refusal } = this;
    const told = this.tell(error);
    const since = refusal?.outage.since ?? Date.now();
    const outage = { store, since, reason: told.reason, isOfWrites: true };
    this.refusal = { outage, isFull: isFull(causeOf(error)), at: this.now() };
    if (refusal === undefined) this.log.warn({ store, ...told }, 'store refuses writes');
  }

  private tell(error: unknown): ToldStoreFault {
    const reason = this.reasonOf?.(error);
    const told = tellFault(this.store, error);
    return reason === undefined ? told : { ...told, reason };
  }
}

/** Returns the driver's error of a failed call. */
function causeOf(error: unknown): unknown {
  return error instanceof Unavailable ? error.cause : error;
}

/** Description of a fault for the log: the words for its kind, and the driver's own. */
export type ToldStoreFault = { readonly reason: string; readonly detail?: string };

/** Returns the description of a store's fault, without a stack. */
export function tellFault(store: StoreName, error: unknown): ToldStoreFault {
  const told = error instanceof Unavailable ? error : new Unavailable(store, error);
  const { message: reason, detail } = told;
  return detail === undefined ? { reason } : { reason, detail };
}
