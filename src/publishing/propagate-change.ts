// Propagates a committed change of what a channel serves: this node serves the new state first, then
// announces it to the others. The caller waits for it, so that the answering node already serves the new
// state. A failure does not undo the commit; the poll of every node finds missed changes.

import { LRUCache } from 'lru-cache';
import { type Unavailable, whenAway } from '../contract/store-fault.ts';
import { orderOf, type ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { Catalogs } from '../serving/catalogs.ts';
import type { Engine } from '../store/engine.ts';
import type { ChannelRevision } from '../store/ledger-terms.ts';

/** Propagates committed changes; `requestId` is the request that made them, for the log. */
export type PropagateChange = (
  changed: readonly ChannelRevision[],
  requestId?: string,
) => Promise<void>;

/**
 * Builds the last step of every operation that changes a channel. It continues if the engine is unavailable.
 * It rejects with `Unavailable` if this node cannot read the committed state, because the answer must not
 * claim that it serves it. `now`: the ledger's time in milliseconds; without it, no delay is measured.
 */
export function createPropagateChange(
  catalogs: Catalogs,
  engine: Engine,
  metrics: Metrics,
  log: RareLog,
  now?: () => number,
): PropagateChange {
  const untold = new UntoldChanges(engine, log);
  const tell = async (news: News, requestId: string | undefined): Promise<void> => {
    const { notStored, notTold } = await untold.tell(news);
    const fault = notTold ?? notStored;
    if (fault === undefined) return;
    metrics.faults.add('spread');
    const details = { err: fault, ...news.change, requestId };
    if (fault === notTold) log.warn(details, 'change committed, but could not be announced');
    else log.warn(details, 'change committed, but its snapshot could not be shared');
  };
  const propagate = async (
    change: ChannelRevision,
    requestId: string | undefined,
  ): Promise<void> => {
    const committedAt = now?.();
    try {
      const snapshot = await catalogs.reload(change.appRef, change.channel);
      if (now !== undefined && committedAt !== undefined) {
        metrics.propagation.observe((now() - committedAt) / 1000);
      }
      await tell({ change, snapshot, committedAt }, requestId);
    } catch (error) {
      // Other nodes may be able to read it, so announce the change before the caller gets the error.
      await tell({ change, snapshot: undefined, committedAt }, requestId);
      throw error;
    }
  };
  return async (changed, requestId) => {
    await Promise.all(changed.map((change) => propagate(change, requestId)));
  };
}

// Changes that could not be announced because the engine was unavailable. Usually the polls of other nodes
// find them. In case the ledger becomes unavailable as soon as the engine is back, this node also announces
// the latest change of each channel again.

/** Milliseconds between two attempts to announce changes again. */
export const RETELL_MS = 250;
/** Maximum number of channels remembered; beyond it, only polls find the changes. */
const UNTOLD_MAX = 1000;

type News = {
  readonly change: ChannelRevision;
  /** State after the change; undefined if this node could not read it. */
  readonly snapshot: ServingSnapshot | undefined;
  readonly committedAt: number | undefined;
};

class UntoldChanges {
  /** Latest unannounced change by channel id. */
  private readonly untold = new LRUCache<string, News>({ max: UNTOLD_MAX });
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly engine: Engine,
    private readonly log: RareLog,
  ) {}

  /** Shares the snapshot and announces the change; returns the faults of both. */
  async tell(news: News) {
    const { change, snapshot, committedAt } = news;
    // A full engine rejects the snapshot, but announces the change: other nodes then read the ledger.
    const notStored = await outageOf(snapshot && this.engine.putSnapshot(snapshot));
    const order = orderOf(snapshot ?? change);
    const notTold = await outageOf(
      this.engine.announce({
        ...change,
        ...order,
        ...(committedAt === undefined ? {} : { committedAt }),
      }),
    );
    if (notTold === undefined) this.untold.delete(change.channelId);
    else this.keep(news);
    return { notStored, notTold };
  }

  private keep(news: News): void {
    this.untold.set(news.change.channelId, news);
    this.tellLater();
  }

  private tellLater(): void {
    this.timer ??= setTimeout(() => void this.tellAgain(), RETELL_MS).unref();
  }

  /** Announces unannounced changes one by one; stops if the engine is still unavailable. Never rejects. */
  private async tellAgain(): Promise<void> {
    this.timer = undefined;
    try {
      for (const news of [...this.untold.values()]) {
        const { notTold } = await this.tell(news);
        if (notTold !== undefined) return;
      }
    } catch (error) {
      this.log.warn({ err: error }, 'a change could not be announced later');
      this.tellLater();
    }
  }
}

/** Returns the error of a call if the engine is unavailable; undefined if the call succeeds. */
async function outageOf(call: Promise<unknown> | undefined): Promise<Unavailable | undefined> {
  return call?.then(
    () => undefined,
    whenAway((fault) => fault),
  );
}

// Propagates a change to the other serving processes of the same node, so that the whole node serves the new
// state when the caller gets its answer. Other nodes get it through the engine.

/**
 * Sends changes to the other processes of the node. Resolves once all serve them, or after a time limit: a
 * process that hangs finds the changes later, by its poll. Never rejects.
 */
export type TellNode = (changes: readonly ChannelRevision[]) => Promise<void>;

/** Wraps `propagate` so that it resolves when the node's other processes serve the change too. */
export function propagateInNode(
  propagate: PropagateChange,
  tellNode: TellNode | undefined,
): PropagateChange {
  if (tellNode === undefined) return propagate;
  return async (changed, requestId) => {
    try {
      await propagate(changed, requestId);
    } finally {
      if (changed.length > 0) await tellNode(changed);
    }
  };
}

/** Loads changes that another process of the node committed. Never rejects: the poll finds what failed. */
export async function followChanges(
  catalogs: Pick<Catalogs, 'hear' | 'catchUp'>,
  changes: readonly ChannelRevision[],
): Promise<void> {
  await Promise.all(
    changes.map(async (change) => {
      void catalogs.hear(change);
      // `hear` began the load and logs its failure.
      await catalogs.catchUp(change.channelId, change).catch(() => undefined);
    }),
  );
}
