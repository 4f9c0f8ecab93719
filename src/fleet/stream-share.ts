// The streams of the queue of check-ins that are this process's: all processes that record share them evenly,
// so that each stream is taken by one at a time. Nothing is lost or recorded twice where two take from one
// stream for a moment, as batches are taken once; but a drain knows the record of its devices only while it
// is alone.
//
// Who gains a stream waits until the one before has surely heard of it, unless nobody else is left.

import { randomUUID } from 'node:crypto';
import { Unavailable } from '../contract/unavailable.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { CheckInQueue } from '../store/check-in-queue.ts';

const INTERVAL_MS = 500;
/** Longer than the interval of the others and a slow answer. */
const GAIN_WAIT_MS = 1500;

type SharedQueue = Pick<CheckInQueue, 'streams' | 'shareCheckIns' | 'leaveCheckIns'>;

export class StreamShare {
  /** Name of this process, unique among all nodes. */
  readonly taker = randomUUID();
  private readonly queue: SharedQueue;
  private readonly metrics: Metrics;
  private readonly log: Log;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();
  private isStopped = false;
  /** Monotonic time from which each stream may be taken from; undefined for those of others. */
  private readonly gainedAt: (number | undefined)[];

  constructor(queue: SharedQueue, metrics: Metrics, log: Log) {
    this.queue = queue;
    this.metrics = metrics;
    this.log = log;
    this.gainedAt = new Array(queue.streams).fill(undefined);
  }

  /** Shares until `stop`. */
  start(): void {
    this.running = this.turn();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
    this.gainedAt.fill(undefined);
    try {
      await this.queue.leaveCheckIns(this.taker);
    } catch (error) {
      // Forgotten by itself in a few seconds.
      if (!(error instanceof Unavailable)) throw error;
    }
  }

  /**
   * Returns the streams of one of the `drains` of this process, from 0 on. A stream is the same drain's
   * whoever else there is: two drains of a process would else have check-ins of a device in hand at a time.
   */
  streamsOf(drain: number, drains: number): readonly number[] {
    const now = performance.now();
    return [...this.gainedAt.keys()].filter(
      (stream) =>
        Math.floor((stream * drains) / this.gainedAt.length) === drain &&
        (this.gainedAt[stream] ?? Infinity) <= now,
    );
  }

  private async turn(): Promise<void> {
    try {
      this.share(await this.queue.shareCheckIns(this.taker));
    } catch (error) {
      // The streams stay as they are: nobody can take from them either.
      this.metrics.faults.add('check-in-share');
      if (!(error instanceof Unavailable))
        this.log.error({ err: error }, 'check-ins are not shared');
    }
    if (this.isStopped) return;
    this.timer = setTimeout(() => {
      this.running = this.turn();
    }, INTERVAL_MS);
  }

  private share(takers: readonly string[]): void {
    const place = takers.indexOf(this.taker);
    if (place === -1) return this.keep(takers);
    const from = performance.now() + (takers.length > 1 ? GAIN_WAIT_MS : 0);
    for (let stream = 0; stream < this.gainedAt.length; stream++) {
      const isOwn = place === stream % takers.length;
      if (!isOwn) this.gainedAt[stream] = undefined;
      else this.gainedAt[stream] = Math.min(this.gainedAt[stream] ?? Infinity, from);
    }
  }

  /**
   * Goes on without being known: an engine whose memory is full keeps no taker, and taking is what frees it.
   * Streams that nobody is known to take are those of whoever has none.
   */
  private keep(takers: readonly string[]): void {
    const hasAny = this.gainedAt.some((each) => each !== undefined);
    if (takers.length === 0 && !hasAny) this.gainedAt.fill(performance.now());
  }
}
