// Keeps this node's catalogs at the ledger's revisions. Announcements do that within milliseconds; this poll
// catches changes whose announcement was lost: a dropped message, an engine that restarted empty, a publisher
// that died between commit and announcement. A poll is one small indexed query.

import { compareServing, type ServingOrder } from '../domain/decision/serving-snapshot.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { periodic, tellFault } from '../flow/periodic.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Announcement, Engine } from '../store/engine.ts';
import type { Ledger } from '../store/ledger.ts';
import type { LedgerReport } from '../store/ledger-identity.ts';
import type { Catalogs } from './catalogs.ts';
import type { ChannelDirectory } from './channel-directory.ts';
import type { LedgerRecovery } from './ledger-recovery.ts';

/** Milliseconds between polls: well below the promised 5 s, because a load may follow a poll. */
const POLL_INTERVAL_MS = 1500;
/** Maximum number of channels read at a time after a poll, and of waiting channels. */
const REFRESHES_RUNNING_MAX = 3;
const REFRESHES_WAITING_MAX = 20_000;

export type CatalogRefresherDependencies = {
  readonly catalogs: Catalogs;
  readonly known: Pick<ChannelDirectory, 'renew'>;
  readonly ledger: Pick<Ledger, 'readRevisions' | 'confirm'>;
  readonly recovery: Pick<LedgerRecovery, 'raiseAbove' | 'restoreRest'>;
  readonly report: Pick<LedgerReport, 'lost'>;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Returns the ledger's time in ms since 1970; without it, announcement delays are not measured. */
  readonly now?: () => number;
};

export class CatalogRefresher {
  private readonly gate = new ConcurrencyLimit(REFRESHES_RUNNING_MAX, REFRESHES_WAITING_MAX);
  private readonly polls = periodic(() => this.poll(), { everyMs: POLL_INTERVAL_MS, jitter: 0.2 });
  private running: Promise<void> | undefined;
  /** Epoch at the latest poll. */
  private epoch: number | undefined;

  /** Stops polling and waits for the poll in progress. */
  readonly stop = this.polls.stop;

  constructor(private readonly dependencies: CatalogRefresherDependencies) {}

  /** Subscribes to announcements and polls until `stop`. */
  start(engine: Engine): void {
    engine.subscribe(
      (announcement) => void this.hear(announcement),
      // Announcements may have been lost while the subscription was down: poll now, not at the next turn. The
      // ledger may be unavailable, so also check the snapshots that other nodes shared.
      () => {
        void this.polls.turn();
        void this.followShared(engine);
      },
    );
    this.polls.start();
  }

  /** Compares the held revisions with the ledger's once. Joins a poll in progress; never rejects. */
  poll(): Promise<void> {
    this.running ??= this.compare().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  /**
   * Brings the held channels to the states that other nodes have shared, where those are newer. Ends early if
   * the engine becomes unavailable again. Never rejects.
   */
  private async followShared(engine: Engine): Promise<void> {
    const { catalogs } = this.dependencies;
    try {
      for (const [channelId, held] of catalogs.held()) {
        const shared = await engine.getSnapshotHead(held.appRef, held.channel);
        if (shared?.channelId !== channelId || compareServing(shared, held) <= 0) continue;
        await this.load(channelId, () => catalogs.catchUp(channelId, shared));
      }
    } catch (error) {
      this.tellFailure(error);
    }
  }

  private async hear(announcement: Announcement): Promise<void> {
    const { committedAt } = announcement;
    const { catalogs, metrics, now } = this.dependencies;
    const isNew = await catalogs.hear(announcement);
    if (!isNew || committedAt === undefined || now === undefined) return;
    // Two clocks that follow the ledger's may still differ by part of a round trip.
    metrics.propagation.observe(Math.max(0, now() - committedAt) / 1000);
  }

  private async compare(): Promise<void> {
    const { catalogs, ledger, recovery } = this.dependencies;
    const held = catalogs.held();
    if (held.size === 0) return;
    try {
      const { epoch, revisions } = await ledger.readRevisions([...held.keys()]);
      const states = [...revisions].flatMap(([id, revision]) => {
        const order = held.get(id);
        return order === undefined ? [] : [{ id, order, present: { epoch, revision } }];
      });
      // The held states were read before this query, so a ledger that is behind them went back.
      const ahead = states.filter(({ order, present }) => compareServing(order, present) > 0);
      const behind = states.filter(({ order, present }) => compareServing(order, present) < 0);
      const lost = [...held].filter(([id]) => !revisions.has(id));
      this.tell(epoch, behind.length);
      // Channels load independently: one that cannot be read must not delay the others.
      await Promise.all([
        ...ahead.map(({ id }) => this.load(id, () => catalogs.refresh(id))),
        ...behind.map(({ id, order, present }) => this.follow(id, order, present)),
        this.drop(new Map(lost)),
        catalogs.compareRest(),
        recovery.restoreRest(),
      ]);
    } catch (error) {
      this.tellFailure(error);
    }
  }

  private tellFailure(error: unknown): void {
    tellFault(this.dependencies, 'poll', error, 'revision poll failed');
  }

  /** Logs a raised epoch once: every channel is read again then, and `follow` logs none of them. */
  private tell(epoch: number, channels: number): void {
    if (epoch !== this.epoch && this.epoch !== undefined && channels > 0) {
      this.dependencies.log.info({ epoch, channels }, 'following the ledger to another epoch');
    }
    this.epoch = epoch;
  }

  private async follow(
    channelId: string,
    held: ServingOrder,
    present: ServingOrder,
  ): Promise<void> {
    const { catalogs, log } = this.dependencies;
    if (held.epoch === present.epoch) {
      log.info({ channel: channelId, ...present }, 'found a change whose announcement was lost');
    }
    await this.load(channelId, () => catalogs.catchUp(channelId, present));
  }

  private async load(channelId: string, load: () => Promise<void>): Promise<void> {
    try {
      await this.gate.pass(load);
    } catch (error) {
      const { metrics, log } = this.dependencies;
      metrics.faults.add('poll');
      log.warn({ err: error, channel: channelId }, 'a channel stays behind');
    }
  }

  /** Stops serving channels that the ledger lacks, after confirming that the ledger is the record. */
  private async drop(lost: ReadonlyMap<string, ServingOrder>): Promise<void> {
    if (lost.size === 0) return;
    const { catalogs, known, ledger, recovery, report } = this.dependencies;
    await ledger.confirm();
    // The list first: while the ledger is down, a starting node serves the engine's copy of a listed channel.
    await known.renew();
    const dropped = catalogs.drop([...lost.keys()]);
    report.lost(dropped);
    const epoch = Math.max(...[...lost.values()].map((order) => order.epoch));
    await recovery.raiseAbove({ epoch, revision: 0 }, { lost: lost.size });
  }
}
