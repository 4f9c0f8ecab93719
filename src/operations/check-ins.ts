// Where check-ins go on their way out of a request: into a buffer, and from there in batches to the engine.
// A check never waits for any of it. Every bound has a counter: what is dropped is known to be dropped.
//
// Batches are closed as they fill and never looked into again. Devices are not merged here: a device asks
// far too seldom to be in one turn twice, and whoever records the batches merges them anyway.

import { type CheckInPack, CheckInPacker } from '../domain/check-in-pack.ts';
import type { CheckInOrigin, SharedPart } from '../domain/shared-part.ts';
import type { Labels } from '../domain/targeting.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { CheckInQueue } from '../ports/check-in-queue.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { LiveFeed } from './live-feed.ts';

/** Check-ins this process holds before it drops new ones: some seconds of a busy node without engine. */
const HELD_MAX = 200_000;
/** Large, because each batch costs a command, and names each version in it once. */
const BATCH_SIZE_MAX = 2000;
/** Batches under way to the engine at a time: enough to fill the pipe, few enough to keep the order near. */
const BATCHES_IN_FLIGHT_MAX = 8;
const RETRY_MS = 250;

export class CheckIns {
  private readonly queue: CheckInQueue;
  private readonly live: Pick<LiveFeed, 'notePacked'>;
  private readonly metrics: Metrics;
  private readonly log: Log;
  private readonly packer = new CheckInPacker();
  /** Closed and not yet accepted, oldest first. */
  private backlog: CheckInPack[] = [];
  /** Check-ins in the backlog, those under way included. */
  private backlogSize = 0;
  private intervalMs = 0;
  /** Until the next turn; undefined when there is none. */
  private timer: NodeJS.Timeout | undefined;
  /** Whether the engine did not take all in the last turn: then it is left alone until the next. */
  private isRefused = false;
  private sending: Promise<boolean> | undefined;

  constructor(queue: CheckInQueue, live: Pick<LiveFeed, 'notePacked'>, metrics: Metrics, log: Log) {
    this.queue = queue;
    this.live = live;
    this.metrics = metrics;
    this.log = log;
  }

  /** Takes a check-in over; never waits, never throws. `at` in milliseconds since 1970. */
  add(
    origin: SharedPart<CheckInOrigin>,
    version: SharedPart<string | undefined>,
    deviceId: string,
    at: number,
    labels: Labels | undefined,
  ): void {
    if (this.backlogSize + this.packer.size >= HELD_MAX) {
      this.metrics.checkIns.add('dropped');
      return;
    }
    this.packer.add(origin, version, deviceId, at, labels);
    if (this.packer.size === BATCH_SIZE_MAX) this.closeFull();
  }

  /** How many are held here. */
  get size(): number {
    return this.packer.size + this.backlogSize;
  }

  /** Sends batches as they fill, and what is held at least every `intervalMs`, until `stop`. */
  start(intervalMs: number): void {
    this.intervalMs = intervalMs;
    this.wait(intervalMs);
  }

  /** Stops that and sends what is held, once. */
  async stop(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.sending;
    await this.send();
  }

  /** One turn: true when everything held at its begin was accepted. Never rejects. */
  send(): Promise<boolean> {
    if (this.sending === undefined) this.closeBatch();
    return this.sendClosed();
  }

  /** A full batch is on its way at once, but not before the answer to the check that filled it. */
  private closeFull(): void {
    this.closeBatch();
    if (this.timer !== undefined && !this.isRefused) setImmediate(() => void this.sendClosed());
  }

  private sendClosed(): Promise<boolean> {
    this.sending ??= this.sendBacklog().then((isSent) => {
      this.sending = undefined;
      this.isRefused = !isSent;
      if (this.timer !== undefined) this.wait(isSent ? this.intervalMs : RETRY_MS);
      return isSent;
    });
    return this.sending;
  }

  private wait(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.send(), ms);
  }

  private async sendBacklog(): Promise<boolean> {
    let waiting = this.backlog;
    this.backlog = [];
    while (waiting.length > 0) {
      const group = waiting.slice(0, BATCHES_IN_FLIGHT_MAX);
      const settled = await Promise.all(group.map((batch) => this.append(batch)));
      const refused = group.filter((_, index) => !settled[index]);
      waiting = [...refused, ...waiting.slice(group.length)];
      this.backlogSize -= sizeOf(group) - sizeOf(refused);
      if (refused.length > 0) {
        // In front of what came meanwhile.
        this.backlog = [...waiting, ...this.backlog];
        return false;
      }
    }
    return true;
  }

  private closeBatch(): void {
    if (this.packer.size === 0) return;
    const batch = this.packer.take();
    this.backlog.push(batch);
    this.backlogSize += batch.count;
    this.live.notePacked(batch);
  }

  /** Whether a batch is settled: accepted, or beyond saving. */
  private async append(batch: CheckInPack): Promise<boolean> {
    try {
      if ((await this.queue.appendCheckIns(batch)) === 'full') return false;
      this.metrics.checkIns.add('accepted', batch.count);
      this.packer.reuse(batch);
      return true;
    } catch (error) {
      if (error instanceof Unavailable) {
        this.metrics.faults.add('check-in-append');
        return false;
      }
      // A batch that cannot be packed will not be packable next time either.
      this.log.error({ err: error }, 'check-ins could not be sent');
      this.metrics.checkIns.add('dropped', batch.count);
      return true;
    }
  }
}

function sizeOf(batches: readonly CheckInPack[]): number {
  return batches.reduce((size, { count }) => size + count, 0);
}
