// Where check-ins go on their way out of a request: into a buffer, and from there in batches to the engine.
// A check never waits for any of it. Every bound has a counter: what is dropped is known to be dropped.

import { type CheckIn, coalesceCheckIns } from '../domain/check-in.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { CheckInQueue } from '../ports/check-in-queue.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { LiveFeed } from './live-feed.ts';

/** Check-ins this process holds before it drops new ones: half a minute of a busy node without engine. */
const HELD_MAX = 200_000;
const BATCH_SIZE_MAX = 500;
/** Batches under way to the engine at a time: enough to fill the pipe, few enough to keep the order near. */
const BATCHES_IN_FLIGHT_MAX = 8;
const RETRY_MS = 250;

export class CheckIns {
  private readonly queue: CheckInQueue;
  private readonly live: Pick<LiveFeed, 'note'>;
  private readonly metrics: Metrics;
  private readonly log: Log;
  /** Added since the last turn. */
  private held: CheckIn[] = [];
  /** Not yet accepted, oldest first. */
  private backlog: (readonly CheckIn[])[] = [];
  /** Check-ins in the backlog. */
  private backlogSize = 0;
  private timer: NodeJS.Timeout | undefined;
  private sending: Promise<boolean> | undefined;

  constructor(queue: CheckInQueue, live: Pick<LiveFeed, 'note'>, metrics: Metrics, log: Log) {
    this.queue = queue;
    this.live = live;
    this.metrics = metrics;
    this.log = log;
  }

  /** Takes a check-in over; never waits, never throws. */
  add(checkIn: CheckIn): void {
    this.live.note(checkIn);
    // While a turn waits for a slow engine the backlog cannot be trimmed: then the newest goes.
    if (this.held.length + this.backlogSize >= HELD_MAX) this.metrics.checkIns.add('dropped');
    else this.held.push(checkIn);
  }

  /** How many are held here. */
  get size(): number {
    return this.held.length + this.backlogSize;
  }

  /** Sends what is held every `intervalMs`, until `stop`. */
  start(intervalMs: number): void {
    const turn = async (): Promise<void> => {
      const isSent = await this.send();
      if (this.timer === undefined) return;
      this.timer = setTimeout(() => void turn(), isSent ? intervalMs : RETRY_MS);
    };
    this.timer = setTimeout(() => void turn(), intervalMs);
  }

  /** Stops the turns and sends what is held, once. */
  async stop(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.sending;
    await this.send();
  }

  /** One turn: true when everything held at its begin was accepted. Never rejects. */
  send(): Promise<boolean> {
    this.sending ??= this.sendBacklog().finally(() => {
      this.sending = undefined;
    });
    return this.sending;
  }

  private async sendBacklog(): Promise<boolean> {
    this.gather();
    while (this.backlog.length > 0) {
      const group = this.backlog.slice(0, BATCHES_IN_FLIGHT_MAX);
      const settled = await Promise.all(group.map((batch) => this.append(batch)));
      const refused = group.filter((_, index) => !settled[index]);
      this.backlog = [...refused, ...this.backlog.slice(group.length)];
      this.backlogSize -= sizeOf(group) - sizeOf(refused);
      if (refused.length > 0) return false;
    }
    return true;
  }

  /**
   * Puts what was added into batches, merged by device. They are never looked into again: with a backlog at
   * its bound that would take a third of a core, turn after turn.
   */
  private gather(): void {
    const distinct = coalesceCheckIns(this.held);
    this.held = [];
    for (let from = 0; from < distinct.length; from += BATCH_SIZE_MAX) {
      this.backlog.push(distinct.slice(from, from + BATCH_SIZE_MAX));
    }
    this.backlogSize += distinct.length;
  }

  /** Whether a batch is settled: accepted, or beyond saving. */
  private async append(batch: readonly CheckIn[]): Promise<boolean> {
    try {
      if ((await this.queue.appendCheckIns(batch)) === 'full') return false;
      this.metrics.checkIns.add('accepted', batch.length);
      return true;
    } catch (error) {
      if (error instanceof Unavailable) {
        this.metrics.faults.add('check-in-append');
        return false;
      }
      // A batch that cannot be packed will not be packable next time either.
      this.log.error({ err: error }, 'check-ins could not be sent');
      this.metrics.checkIns.add('dropped', batch.length);
      return true;
    }
  }
}

function sizeOf(batches: readonly (readonly CheckIn[])[]): number {
  return batches.reduce((size, batch) => size + batch.length, 0);
}
