// Brings the ledger's changes of labels into the engine. Whoever records labels puts them there at once; the
// feed finds those that are missing because the engine was away or lost them, or the process ended before.
//
// The engine stores the position up to which it has all changes, so any process of any node may continue from
// there. When the changes after that position are too many, or cannot be known, no cached labels are used any
// more until the ledger has confirmed them.

import { type Periodic, periodic, tellFault } from '../flow/periodic.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Engine } from '../store/engine.ts';
import type { LabelChanges } from '../store/fleet-ledger.ts';
import type { ChangePosition } from '../store/label-store.ts';
import type { Ledger } from '../store/ledger.ts';

/** Maximum number of devices whose labels are read and put at a time. */
const PAGE_SIZE = 500;
/** Maximum number of pages of one turn; the rest waits for the next turn. */
const PAGES_MAX = 100;
/** Number of changes above which reading labels when their device asks is less work than feeding them. */
const BACKLOG_MAX = 50_000;

type LabelFeedDependencies = {
  readonly ledger: Pick<Ledger, 'readLabelChanges'>;
  readonly engine: Pick<Engine, 'putLabels' | 'readLabelPosition' | 'moveLabelPosition'>;
  readonly log: Log;
};

export class LabelFeed {
  constructor(private readonly dependencies: LabelFeedDependencies) {}

  /**
   * Feeds the engine until it has all changes; returns the read after which it has them, or undefined if the
   * rest waits for the next turn. Rejects with `Unavailable` when a store does not answer.
   */
  async feed(): Promise<LabelChanges | undefined> {
    for (let page = 0; page < PAGES_MAX; page++) {
      const read = await this.feedPage();
      if (read !== undefined) return read;
    }
    return undefined;
  }

  /** Returns the read if the engine now has all changes that there were, else undefined. */
  private async feedPage(): Promise<LabelChanges | undefined> {
    const { ledger, engine } = this.dependencies;
    const held = await engine.readLabelPosition();
    const read = await ledger.readLabelChanges(held?.position, PAGE_SIZE);
    const { epoch, newest, changed } = read;
    const present = { epoch, position: newest };
    if (held === undefined || !canFollow(held, present)) {
      await this.doubt(held, present);
      return read;
    }
    const last = changed.at(-1);
    if (last === undefined) return read;
    await engine.putLabels(changed);
    // If another process was faster, its position stays, and the next page begins there.
    await engine.moveLabelPosition(held, { epoch, position: last.position }, false);
    return last.position === newest ? read : undefined;
  }

  private async doubt(held: ChangePosition | undefined, present: ChangePosition): Promise<void> {
    const { engine, log } = this.dependencies;
    const isMoved = await engine.moveLabelPosition(held, present, true);
    if (!isMoved || held === undefined) return;
    log.warn({ held, present }, 'cached labels are read from the ledger again');
  }
}

/** Whether all changes between the two positions are known, and few enough to be read. */
function canFollow(held: ChangePosition, present: ChangePosition): boolean {
  const distance = present.position - held.position;
  return held.epoch === present.epoch && distance >= 0 && distance <= BACKLOG_MAX;
}

// Follows the ledger's changes of labels by a poll. Announcements arrive within milliseconds; the poll finds
// changes that were not announced, because the engine was away, or the node that recorded them ended.

/**
 * Milliseconds between polls. Well below the promised 5 s, because reconnecting to the engine may take a
 * second.
 */
const POLL_INTERVAL_MS = 1500;

/** Returns the polls. `follow` does one; it rejects with `Unavailable` when a store does not answer. */
export function labelPolls(follow: () => Promise<unknown>, metrics: Metrics, log: Log): Periodic {
  return periodic(follow, {
    ...{ everyMs: POLL_INTERVAL_MS, firstMs: 0, jitter: 0.2 },
    onFault: (error) =>
      tellFault({ metrics, log }, 'label-poll', error, 'changes of labels could not be followed'),
  });
}
