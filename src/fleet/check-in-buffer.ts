// Buffer of check-ins between the requests and the engine. Check-ins are collected in batches, which are sent
// to the engine in the background: a request never waits for it. Every bound has a counter, so dropped
// check-ins are visible.
//
// Each stream of the queue has batches of its own. A full batch is closed and not changed any more. Devices
// are not merged here: a device asks too rarely to occur twice in one batch, and the drain merges the
// check-ins anyway.

import { Unavailable } from '../contract/store-fault.ts';
import { devicePart } from '../domain/decision/hashes.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import {
  type CheckInContext,
  type CheckInPack,
  CheckInPacker,
  type InternedValue,
} from '../domain/fleet/check-in-pack.ts';
import type { NetworkWords } from '../domain/fleet/network-words.ts';
import { pause } from '../flow/pause.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { CheckInQueue } from '../store/check-in-queue.ts';
import type { ActivityBroadcast } from './live-activity.ts';

/**
 * Maximum number of check-ins held before new ones are dropped: a few seconds of a busy node without an
 * engine.
 */
const HELD_MAX = 200_000;
/**
 * Maximum number of check-ins in a batch. Large, because each batch costs one command and lists its versions
 * once.
 */
const BATCH_SIZE_MAX = 2000;
/**
 * Maximum number of batches in flight to the engine: enough to use the connection, few enough to keep the
 * order close.
 */
const BATCHES_IN_FLIGHT_MAX = 8;
const RETRY_MS = 250;
/** Milliseconds for which the engine accepts nothing before the log says so. */
const WAITING_TOLD_AFTER_MS = 5000;

type Batch = { readonly pack: CheckInPack; readonly stream: number };

export class CheckInBuffer {
  /** One for each stream of the queue. */
  private readonly packers: readonly CheckInPacker[];
  /** Number of check-ins in the packers. */
  private openSize = 0;
  /** Closed batches that the engine has not accepted yet, oldest first. */
  private backlog: Batch[] = [];
  /** Number of check-ins in closed batches, including those in flight. */
  private backlogSize = 0;
  private intervalMs = 0;
  /** Timer of the next turn; undefined while none is scheduled. */
  private timer: NodeJS.Timeout | undefined;
  /** Whether the engine refused a batch in the last turn. If so, nothing is sent before the next turn. */
  private isRefused = false;
  private sending: Promise<boolean> | undefined;
  /** Monotonic time since which the engine accepts nothing; undefined while it accepts what is sent. */
  private refusedSince: number | undefined;
  private isWaitingTold = false;
  /** Number of check-ins dropped at the bound since dropping began; 0 while none are dropped. */
  private droppedCount = 0;

  constructor(
    private readonly queue: CheckInQueue,
    private readonly live: Pick<ActivityBroadcast, 'notePacked'>,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {
    this.packers = Array.from({ length: queue.streams }, () => new CheckInPacker());
  }

  /**
   * Adds a check-in, and returns whether there was room for it; never waits, never throws. `at` is in
   * milliseconds since 1970; `network` is copied.
   */
  add(
    context: InternedValue<CheckInContext>,
    version: InternedValue<string | undefined>,
    deviceId: string,
    at: number,
    labels: Labels | undefined,
    network: NetworkWords,
  ): boolean {
    if (this.size >= HELD_MAX) {
      this.drop();
      return false;
    }
    const last = this.packers.length - 1;
    // With one stream, as without Redis, no hash is needed.
    const stream = last === 0 ? 0 : devicePart(context.value.appId, deviceId) & last;
    const packer = this.packers[stream] as CheckInPacker;
    packer.add(context, version, deviceId, at, labels, network);
    this.openSize += 1;
    if (packer.size === BATCH_SIZE_MAX) this.closeFull(stream);
    return true;
  }

  /** Number of check-ins held in this process. */
  get size(): number {
    return this.openSize + this.backlogSize;
  }

  /** Starts sending: full batches at once, everything else at least every `intervalMs`, until `stop`. */
  start(intervalMs: number): void {
    this.intervalMs = intervalMs;
    this.wait(intervalMs);
  }

  /**
   * Stops the timer and sends everything held: once, and again until the engine has accepted all of it or
   * `deadline` has passed, a monotonic time.
   */
  async stop(deadline = 0): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.sending;
    while (!(await this.send()) && performance.now() < deadline) await pause(RETRY_MS);
    if (this.size > 0) this.log.warn({ lost: this.size }, 'check-ins are lost with the stop');
  }

  /** Sends everything held; returns true when all of it was accepted. Never rejects. */
  send(): Promise<boolean> {
    if (this.sending === undefined && !this.isRefused) this.closeAll();
    return this.sendClosed();
  }

  /** Sends a full batch at once, but not before the answer to the check that filled it has left. */
  private closeFull(stream: number): void {
    this.closeBatch(stream);
    if (this.timer !== undefined && !this.isRefused) setImmediate(() => void this.sendClosed());
  }

  private sendClosed(): Promise<boolean> {
    this.sending ??= this.sendHeld().then((isSent) => {
      this.sending = undefined;
      this.isRefused = !isSent;
      this.tellTurn(isSent);
      if (this.timer !== undefined) this.wait(isSent ? this.intervalMs : RETRY_MS);
      return isSent;
    });
    return this.sending;
  }

  private drop(): void {
    this.metrics.checkIns.add('dropped');
    this.droppedCount += 1;
    if (this.droppedCount === 1) this.log.warn({ held: this.size }, 'check-ins are dropped');
  }

  /** Logs when the engine stops and resumes accepting check-ins, and when dropping ends. */
  private tellTurn(isSent: boolean): void {
    const now = performance.now();
    this.refusedSince = isSent ? undefined : (this.refusedSince ?? now);
    if (this.refusedSince !== undefined) {
      if (this.isWaitingTold || now - this.refusedSince < WAITING_TOLD_AFTER_MS) return;
      this.isWaitingTold = true;
      this.log.warn({ held: this.size }, 'check-ins wait: the engine takes none');
      return;
    }
    if (this.isWaitingTold) this.log.warn({ held: this.size }, 'check-ins are taken again');
    this.isWaitingTold = false;
    if (this.droppedCount === 0) return;
    this.log.warn({ dropped: this.droppedCount }, 'check-ins are not dropped any more');
    this.droppedCount = 0;
  }

  private wait(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.send(), ms);
  }

  /**
   * Sends the closed batches. After a refusal the open batches continue to fill until the engine accepts
   * batches again: batches for each retry would be small, each with its own versions and queue entry.
   */
  private async sendHeld(): Promise<boolean> {
    if (!(await this.sendBacklog())) return false;
    if (!this.isRefused) return true;
    this.closeAll();
    return this.sendBacklog();
  }

  private async sendBacklog(): Promise<boolean> {
    let waiting = this.backlog;
    this.backlog = [];
    while (waiting.length > 0) {
      const group = waiting.slice(0, BATCHES_IN_FLIGHT_MAX);
      const accepted = await Promise.all(group.map((batch) => this.append(batch)));
      const refused = group.filter((_, index) => !accepted[index]);
      waiting = [...refused, ...waiting.slice(group.length)];
      this.backlogSize -= sizeOf(group) - sizeOf(refused);
      if (refused.length > 0) {
        // These are older than the batches that were closed meanwhile.
        this.backlog = [...waiting, ...this.backlog];
        return false;
      }
    }
    return true;
  }

  private closeAll(): void {
    for (let stream = 0; stream < this.packers.length; stream++) this.closeBatch(stream);
  }

  private closeBatch(stream: number): void {
    const packer = this.packers[stream] as CheckInPacker;
    if (packer.size === 0) return;
    const pack = packer.take();
    this.backlog.push({ pack, stream });
    this.openSize -= pack.count;
    this.backlogSize += pack.count;
    this.live.notePacked(pack);
  }

  /** Returns whether a batch is done: accepted, or dropped because it can never be sent. */
  private async append({ pack, stream }: Batch): Promise<boolean> {
    try {
      if ((await this.queue.appendCheckIns(pack, stream)) === 'full') return false;
      this.metrics.checkIns.add('accepted', pack.count);
      this.packers[stream]?.reuse(pack);
      return true;
    } catch (error) {
      if (error instanceof Unavailable) {
        this.metrics.faults.add('check-in-append');
        return false;
      }
      // Serialising the batch failed and would fail again, so the batch is dropped.
      this.log.error({ err: error }, 'check-ins could not be sent');
      this.metrics.checkIns.add('dropped', pack.count);
      return true;
    }
  }
}

function sizeOf(batches: readonly Batch[]): number {
  return batches.reduce((size, { pack }) => size + pack.count, 0);
}
