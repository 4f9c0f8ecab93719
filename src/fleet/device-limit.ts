// The device rate limit: 120 requests a minute over all device endpoints. A process that serves alone decides
// at once. One of several processes asks the engine, but only about busy devices, and decides alone when the
// engine does not answer: the limit protects the service, so a lost engine must neither lock devices out nor
// lift the limit. `SlidingWindowLimiter` states the guarantees.

import { randomBytes } from 'node:crypto';
// Imported, because every access to the global `performance` would call a getter.
import { performance } from 'node:perf_hooks';
import { type Failure, failUntil } from '../contract/failure.ts';
import { Unavailable } from '../contract/store-fault.ts';
import type { Claim } from '../domain/fleet/busy-device-rings.ts';
import type { DeviceDebt } from '../domain/fleet/shared-window.ts';
import {
  ADMITTED,
  MUST_SETTLE,
  SlidingWindowLimiter,
} from '../domain/fleet/sliding-window-limiter.ts';
import { type Asker, Batcher } from '../flow/batcher.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { DeviceRates, RateDecision } from '../store/engine.ts';

export type DeviceLimitOptions = {
  readonly engine: DeviceRates;
  /** Whether other processes serve the same devices. */
  readonly isShared: boolean;
  readonly metrics: Pick<Metrics, 'deviceLimit' | 'faults'>;
  /** Clock in milliseconds that never goes back; default: the process's monotonic clock. */
  readonly now?: () => number;
  /** Maximum number of devices counted at the same time; a power of two. */
  readonly capacity?: number;
  readonly busyCapacity?: number;
};

/**
 * Default number of counted devices (40 MiB): a fleet of a million that asks within a minute, or ten million
 * within ten.
 */
const CAPACITY_DEFAULT = 2 ** 20;
/**
 * Default number of busy devices, which ask more often than every five seconds (21 MiB when all are in use).
 */
const BUSY_CAPACITY_DEFAULT = 2 ** 15;
/**
 * Maximum number of devices per call of the engine, which is blocked for about a millisecond by that many.
 */
const BATCH_SIZE_MAX = 100;
/**
 * Maximum number of concurrent calls; other commands to the engine queue behind them. Few, because a call
 * costs as much as dozens of its devices: two settle 40,000 a second if the engine answers within 5 ms.
 */
const BATCHES_MAX = 2;
const PENDING_MAX = 10_000;

export class DeviceLimit {
  readonly windows: SlidingWindowLimiter;
  private readonly clock: () => number;
  /** Name of this process, unique among all processes: the engine attributes owed requests by it. */
  private readonly name = randomBytes(9).toString('base64url');
  private readonly settling: Batcher<DeviceDebt, RateDecision>;
  private nowMs = 0;
  /** Clock reading of the latest request in milliseconds, with a fraction. */
  readMs = 0;

  constructor(private readonly options: DeviceLimitOptions) {
    const { engine, isShared, capacity, busyCapacity } = options;
    this.clock = options.now ?? (() => performance.now());
    this.windows = new SlidingWindowLimiter({
      capacity: capacity ?? CAPACITY_DEFAULT,
      ringCapacity: busyCapacity ?? BUSY_CAPACITY_DEFAULT,
      isShared,
    });
    this.settling = new Batcher({
      ask: (debts) => engine.settleDevices(debts),
      batchSizeMax: BATCH_SIZE_MAX,
      batchesMax: BATCHES_MAX,
      pendingMax: PENDING_MAX,
    });
  }

  /**
   * Counts a request of the device with these hashes (`hashText`, `secondHash`). Returns 0 when it is
   * allowed, the seconds for `Retry-After`, or `MUST_SETTLE`, after which `later` must be called in the same
   * turn.
   */
  now(hash: number, tag: number): number {
    this.readMs = this.clock();
    this.nowMs = Math.floor(this.readMs);
    const waitMs = this.windows.admit(hash, tag, this.nowMs);
    return waitMs > 0 ? this.refuse(waitMs) : waitMs;
  }

  /**
   * Decides a request after `MUST_SETTLE`; resolves with 0 when it is allowed, or the seconds for
   * `Retry-After`.
   */
  later(hash: number, tag: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.settle(hash, tag, { answered: resolve, failed: reject });
    });
  }

  /** Does the same as `later`, but calls the asker instead of resolving a promise. */
  settle(hash: number, tag: number, asker: Asker<number>): void {
    const claim = this.windows.claim(hash, tag, this.nowMs);
    this.options.metrics.deviceLimit.add('settled');
    const { requestId, owed } = claim;
    const device = `${hash.toString(16)}.${tag.toString(16)}`;
    const debt = { device, process: this.name, requestId, owed };
    const settlement: Asker<RateDecision> = {
      answered: (decision) => asker.answered(this.decided(hash, tag, claim, decision)),
      failed: (error) => {
        if (error instanceof Unavailable) return asker.answered(this.undecided(hash, tag, claim));
        this.windows.unanswered(hash, tag, claim, this.nowMs);
        asker.failed(error);
      },
    };
    if (!this.settling.tell(debt, settlement)) asker.answered(this.undecided(hash, tag, claim));
  }

  /** Decides a request for callers that may wait: the refusal, or undefined when it is allowed. */
  async limit(hash: number, tag: number): Promise<Failure | undefined> {
    const first = this.now(hash, tag);
    const seconds = first === MUST_SETTLE ? await this.later(hash, tag) : first;
    return seconds === ADMITTED ? undefined : refusalOf(seconds);
  }

  /** Applies the engine's decision. */
  private decided(hash: number, tag: number, claim: Claim, decision: RateDecision): number {
    const nowMs = Math.floor(this.clock());
    if (decision.isAllowed) {
      this.windows.allowed(hash, tag, claim, nowMs);
      return ADMITTED;
    }
    // Rounded up, so that a client that waits exactly this long is not early by the engine's clock.
    this.windows.refused(hash, tag, claim, decision.waitMs, nowMs + 1);
    return this.refuse(decision.waitMs);
  }

  /** Decides alone, because the engine did not answer. */
  private undecided(hash: number, tag: number, claim: Claim): number {
    this.options.metrics.faults.add('device-rate');
    const waitMs = this.windows.unanswered(hash, tag, claim, Math.floor(this.clock()));
    return waitMs === ADMITTED ? ADMITTED : this.refuse(waitMs);
  }

  private refuse(waitMs: number): number {
    this.options.metrics.deviceLimit.add('refused');
    return Math.max(1, Math.ceil(waitMs / 1000));
  }
}

/** Builds the refusal of a device that must wait this many seconds. */
export function refusalOf(retryAfterSeconds: number): Failure {
  return failUntil('rateLimited', retryAfterSeconds * 1000);
}
