// The device rate limit: 120 requests a minute over all device endpoints. Alone, a process decides at once;
// with other processes beside it, it asks the engine about busy devices only, and when the engine does not
// answer it decides as if it were alone: the limit protects the service, and a lost engine must neither
// lock devices out nor open the gate. What is guaranteed: see `DeviceWindows`.

import { randomBytes } from 'node:crypto';
// Not the global: that one is a property with a getter, which every read has to call.
import { performance } from 'node:perf_hooks';
import { type Failure, failUntil } from '../contract/failure.ts';
import { ADMITTED, type Claim, DeviceWindows, MUST_SETTLE } from '../domain/device-windows.ts';
import type { DeviceDebt } from '../domain/shared-window.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { DeviceRates } from '../ports/device-rates.ts';
import type { RateDecision } from '../ports/engine.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { Batcher } from './batcher.ts';

export type LimitDevicesOptions = {
  readonly engine: DeviceRates;
  /** Whether other processes may serve the same devices. */
  readonly isShared: boolean;
  readonly metrics: Pick<Metrics, 'deviceLimit' | 'faults'>;
  /** Milliseconds that never go back; default: the process's monotonic clock. */
  readonly now?: () => number;
  /** Devices counted within a minute; a power of two. */
  readonly capacity?: number;
  readonly busyCapacity?: number;
};

/** 32 MiB: a fleet of a million that calls within a minute, or ten million within ten. */
const CAPACITY_DEFAULT = 2 ** 20;
/** 21 MiB when all of them are in use: devices that call more often than every five seconds. */
const BUSY_CAPACITY_DEFAULT = 2 ** 15;
/** A script holds up the engine while it runs: this many devices take it about a millisecond. */
const BATCH_SIZE_MAX = 100;
/** Under way at once; whatever else is asked of the engine stands behind them. */
const BATCHES_MAX = 16;
const PENDING_MAX = 10_000;

export class LimitDevices {
  readonly windows: DeviceWindows;
  private readonly options: LimitDevicesOptions;
  private readonly clock: () => number;
  /** No two processes have the same: the engine tells by it who owes. */
  private readonly name = randomBytes(9).toString('base64url');
  private readonly settling: Batcher<DeviceDebt, RateDecision>;
  private nowMs = 0;

  constructor(options: LimitDevicesOptions) {
    const { engine, isShared, capacity, busyCapacity } = options;
    this.options = options;
    this.clock = options.now ?? (() => performance.now());
    this.windows = new DeviceWindows({
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
   * Counts a request of the device with these hashes (`hashText`, `tagText`): 0 to go ahead, the seconds to
   * name in `Retry-After`, or `MUST_SETTLE`: then `later` must be called in the same turn.
   */
  now(hash: number, tag: number): number {
    this.nowMs = Math.floor(this.clock());
    const waitMs = this.windows.admit(hash, tag, this.nowMs);
    return waitMs > 0 ? this.refuse(waitMs) : waitMs;
  }

  /** Decides what `now` could not: 0 to go ahead, or the seconds to name in `Retry-After`. */
  async later(hash: number, tag: number): Promise<number> {
    const claim = this.windows.claim(hash, tag, this.nowMs);
    const decision = await this.settle(hash, tag, claim);
    const nowMs = Math.floor(this.clock());
    if (decision === undefined) {
      const waitMs = this.windows.unanswered(hash, tag, claim, nowMs);
      return waitMs === ADMITTED ? ADMITTED : this.refuse(waitMs);
    }
    if (decision.isAllowed) {
      this.windows.allowed(hash, tag, claim, nowMs);
      return ADMITTED;
    }
    // Rounded up: whoever comes when the wait is over must not be early by the engine's clock.
    this.windows.refused(hash, tag, claim, decision.waitMs, nowMs + 1);
    return this.refuse(decision.waitMs);
  }

  /** Both of the above, for callers that need not answer at once: the 429, or undefined to go ahead. */
  async limit(hash: number, tag: number): Promise<Failure | undefined> {
    const first = this.now(hash, tag);
    const seconds = first === MUST_SETTLE ? await this.later(hash, tag) : first;
    return seconds === ADMITTED ? undefined : refusalOf(seconds);
  }

  /** The engine's decision; undefined when it gives none. */
  private async settle(hash: number, tag: number, claim: Claim): Promise<RateDecision | undefined> {
    const { requestId, owed } = claim;
    const device = `${hash.toString(16)}.${tag.toString(16)}`;
    try {
      this.options.metrics.deviceLimit.add('settled');
      return await this.settling.ask({ device, process: this.name, requestId, owed });
    } catch (error) {
      if (!(error instanceof Unavailable)) {
        this.windows.unanswered(hash, tag, claim, this.nowMs);
        throw error;
      }
      this.options.metrics.faults.add('device-rate');
      return undefined;
    }
  }

  private refuse(waitMs: number): number {
    this.options.metrics.deviceLimit.add('refused');
    return Math.max(1, Math.ceil(waitMs / 1000));
  }
}

/** The 429 of a device that is told to wait so many seconds. */
export function refusalOf(retryAfterSeconds: number): Failure {
  return failUntil('rateLimited', retryAfterSeconds * 1000);
}
