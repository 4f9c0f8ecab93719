// Keeps this node's catalogs at the ledger's revisions. Announcements do that within milliseconds; this poll
// catches changes whose announcement did not arrive: a lost message, an engine that restarted empty, a
// publisher that died between commit and announcement. A poll is one small indexed query, whatever the number
// of changes.

import { compareServing, type ServingOrder } from '../domain/decision/serving-order.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Catalogs } from '../operations/serving/catalogs.ts';
import type { Engine } from '../ports/engine.ts';
import type { Ledger } from '../ports/ledger.ts';
import { Unavailable } from '../ports/unavailable.ts';

/**
 * Milliseconds between polls. Well below the promised 5 s, because a poll takes time and a load may follow
 * it.
 */
const POLL_INTERVAL_MS = 1500;
/**
 * Maximum number of channels read at a time after a poll, and of channels that wait: as many as a node can
 * hold.
 */
const REFRESHES_RUNNING_MAX = 3;
const REFRESHES_WAITING_MAX = 20_000;

export class CatalogRefresher {
  private readonly catalogs: Catalogs;
  private readonly ledger: Ledger;
  private readonly metrics: Metrics;
  private readonly log: Log;
  private readonly gate = new ConcurrencyLimit(REFRESHES_RUNNING_MAX, REFRESHES_WAITING_MAX);
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private isStopped = false;

  constructor(catalogs: Catalogs, ledger: Ledger, metrics: Metrics, log: Log) {
    this.catalogs = catalogs;
    this.ledger = ledger;
    this.metrics = metrics;
    this.log = log;
  }

  /** Starts listening to announcements and polling, until `stop`. */
  start(engine: Engine): void {
    engine.subscribe(
      (announcement) => this.catalogs.hear(announcement),
      // Announcements may have been missed while the subscription was down: poll now rather than at the next
      // turn.
      () => void this.poll(),
    );
    this.schedule();
  }

  /** Stops polling and waits for the poll in progress. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  /** Compares the held revisions with the ledger's once. Joins a poll in progress; never rejects. */
  poll(): Promise<void> {
    this.running ??= this.compare().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private schedule(): void {
    if (this.isStopped) return;
    // Jitter, so that nodes started at the same time do not poll at the same time for ever.
    const delay = POLL_INTERVAL_MS * (0.8 + Math.random() * 0.2);
    this.timer = setTimeout(() => void this.poll().then(() => this.schedule()), delay);
  }

  private async compare(): Promise<void> {
    const held = this.catalogs.orders();
    if (held.size === 0) return;
    try {
      const { epoch, revisions } = await this.ledger.readRevisions([...held.keys()]);
      const behind = [...revisions].flatMap(([id, revision]) => {
        const order = held.get(id);
        const present = { epoch, revision };
        const isBehind = order !== undefined && compareServing(order, present) < 0;
        return isBehind ? [{ id, present }] : [];
      });
      // Channels load independently: one that cannot be read must not delay the others.
      await Promise.all(behind.map(({ id, present }) => this.follow(id, present)));
    } catch (error) {
      this.metrics.faults.add('poll');
      const level = error instanceof Unavailable ? 'debug' : 'error';
      this.log[level]({ err: error }, 'revision poll failed');
    }
  }

  private async follow(channelId: string, order: ServingOrder): Promise<void> {
    this.log.info({ channel: channelId, ...order }, 'found a change that no announcement told');
    try {
      await this.gate.pass(() => this.catalogs.chase(channelId, order));
    } catch (error) {
      this.metrics.faults.add('poll');
      this.log.warn({ err: error, channel: channelId, ...order }, 'a channel stays behind');
    }
  }
}
