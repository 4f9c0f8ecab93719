// Follows the ledger's changes of labels by a poll. Announcements tell a change within milliseconds; the poll
// finds those that nobody told: the engine was silent, or the node that recorded them ended.

import { Unavailable } from '../contract/unavailable.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';

/**
 * Milliseconds between polls. Well below the promised 5 s, because the engine may need a second to be reached
 * again.
 */
const POLL_INTERVAL_MS = 1500;

export class LabelRefresher {
  private readonly follow: () => Promise<void>;
  private readonly metrics: Metrics;
  private readonly log: Log;
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  /** `follow` does one poll; it rejects with `Unavailable` when a store does not answer. */
  constructor(follow: () => Promise<void>, metrics: Metrics, log: Log) {
    this.follow = follow;
    this.metrics = metrics;
    this.log = log;
  }

  /** Polls now, and then until `stop`. */
  start(): void {
    void this.poll();
  }

  /** Stops polling. A poll in progress ends when the stores are closed, at the latest. */
  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  /** Polls once, then schedules the next poll. Never rejects. */
  private async poll(): Promise<void> {
    try {
      await this.follow();
    } catch (error) {
      this.metrics.faults.add('label-poll');
      const level = error instanceof Unavailable ? 'debug' : 'error';
      this.log[level]({ err: error }, 'changes of labels could not be followed');
    }
    if (this.isStopped) return;
    // Jitter, so that nodes started at the same time do not poll at the same time for ever.
    const delay = POLL_INTERVAL_MS * (0.8 + Math.random() * 0.2);
    this.timer = setTimeout(() => void this.poll(), delay);
  }
}
