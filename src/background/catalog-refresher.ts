// Keeps this node's catalogs at the ledger's revisions. Announcements do that within milliseconds; this poll
// is for what no announcement told: a lost message, an engine that restarted empty, a publisher that died
// between commit and announcement. One small indexed query, whatever the number of changes.

import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Catalogs } from '../operations/catalogs.ts';
import { Turnstile } from '../operations/turnstile.ts';
import type { Engine } from '../ports/engine.ts';
import type { Ledger } from '../ports/ledger.ts';
import { Unavailable } from '../ports/unavailable.ts';

/** Well below the promised 5 s: a poll may have just passed, take a while, and be followed by a load. */
const POLL_INTERVAL_MS = 1500;
/** Channels read at a time after a poll, and how many may wait: every channel that a node can hold. */
const REFRESHES_RUNNING_MAX = 3;
const REFRESHES_WAITING_MAX = 20_000;

export class CatalogRefresher {
  private readonly catalogs: Catalogs;
  private readonly ledger: Ledger;
  private readonly metrics: Metrics;
  private readonly log: Log;
  private readonly gate = new Turnstile(REFRESHES_RUNNING_MAX, REFRESHES_WAITING_MAX);
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private isStopped = false;

  constructor(catalogs: Catalogs, ledger: Ledger, metrics: Metrics, log: Log) {
    this.catalogs = catalogs;
    this.ledger = ledger;
    this.metrics = metrics;
    this.log = log;
  }

  /** Begins hearing and polling; until `stop`. */
  start(engine: Engine): void {
    engine.subscribe(
      (announcement) => this.catalogs.hear(announcement),
      // Whatever was announced while this node was deaf is found now rather than at the next turn.
      () => void this.poll(),
    );
    this.schedule();
  }

  /** Stops polling and waits for a poll under way. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  /** One comparison with the ledger. Shares a poll under way; never rejects. */
  poll(): Promise<void> {
    this.running ??= this.compare().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private schedule(): void {
    if (this.isStopped) return;
    // Jitter, so that nodes started together do not ask together for ever.
    const delay = POLL_INTERVAL_MS * (0.8 + Math.random() * 0.2);
    this.timer = setTimeout(() => void this.poll().then(() => this.schedule()), delay);
  }

  private async compare(): Promise<void> {
    const held = this.catalogs.revisions();
    if (held.size === 0) return;
    try {
      const present = await this.ledger.readRevisions([...held.keys()]);
      const behind = [...present].filter(([id, revision]) => revision > (held.get(id) ?? 0));
      // Each on its own: one channel that cannot be read must not hold up the others.
      await Promise.all(behind.map(([id, revision]) => this.follow(id, revision)));
    } catch (error) {
      this.metrics.faults.add('poll');
      const level = error instanceof Unavailable ? 'debug' : 'error';
      this.log[level]({ err: error }, 'revision poll failed');
    }
  }

  private async follow(channelId: string, revision: number): Promise<void> {
    this.log.info({ channel: channelId, revision }, 'found a change that no announcement told');
    try {
      await this.gate.pass(() => this.catalogs.chase(channelId, revision));
    } catch (error) {
      this.metrics.faults.add('poll');
      this.log.warn({ err: error, channel: channelId, revision }, 'a channel stays behind');
    }
  }
}
