// Length of the queue of check-ins, read now and then, because the figures of a process are told without
// waiting.

import type { CheckInQueue } from '../store/check-in-queue.ts';

const INTERVAL_MS = 2000;

export class QueueLength {
  private readonly queue: Pick<CheckInQueue, 'countCheckIns' | 'weighCheckIns'>;
  private timer: NodeJS.Timeout | undefined;
  private count = 0;
  private weight = 0;

  constructor(queue: Pick<CheckInQueue, 'countCheckIns' | 'weighCheckIns'>) {
    this.queue = queue;
  }

  /**
   * Number of batches in the queue when it was last read; while the queue cannot be read, as it was before.
   */
  get entries(): number {
    return this.count;
  }

  /** Bytes that count against the queue's bound, read like `entries`. */
  get bytes(): number {
    return this.weight;
  }

  /** Reads the length every two seconds, until `stop`. */
  start(): void {
    this.timer = setTimeout(
      () => void this.read().then(() => this.timer && this.start()),
      INTERVAL_MS,
    );
    this.timer.unref();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private async read(): Promise<void> {
    try {
      this.count = await this.queue.countCheckIns();
      this.weight = await this.queue.weighCheckIns();
    } catch {
      // The engine is away, which the health of the stores tells.
    }
  }
}
