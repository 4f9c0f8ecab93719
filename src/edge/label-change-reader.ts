// Reads changes of labels from the upstream, which leaves out those of other organizations: so a page may be
// empty although there are more changes behind it. What was passed over is remembered, so that it is passed
// over once.

import type { EdgeLabelChangesAnswer } from '../contract/edge-answer.ts';
import type { LabelChanges } from '../store/fleet-ledger.ts';

/** Maximum number of pages that a read passes over; the next one goes on behind them. */
const PAGES_MAX = 40;
/** Maximum number of positions behind which changes were passed over. */
const PASSED_MAX = 16;

type Changed = LabelChanges['changed'][number];

export class LabelChangeReader {
  private readonly ask: (after: number | undefined) => Promise<EdgeLabelChangesAnswer>;
  /** Positions up to which there is nothing behind others, in one epoch. */
  private readonly passed = new Map<number, number>();
  private epoch: number | undefined;

  constructor(ask: (after: number | undefined) => Promise<EdgeLabelChangesAnswer>) {
    this.ask = ask;
  }

  /** Reads at most `limit` changes after a position; undefined reads none, only the newest position. */
  async read(after: number | undefined, limit: number): Promise<LabelChanges> {
    if (after === undefined) {
      const { epoch, newest } = await this.ask(undefined);
      return { epoch, newest, changed: [] };
    }
    const changed: Changed[] = [];
    let from = this.passed.get(after) ?? after;
    for (let page = 1; ; page++) {
      const answer = await this.ask(from);
      const { epoch, newest, through } = answer;
      this.enter(epoch);
      changed.push(...answer.changed.map(changeOf));
      from = Math.max(from, through);
      if (changed.length === 0) this.pass(after, from);
      const isOver = through >= newest || changed.length >= limit || page === PAGES_MAX;
      if (isOver) return { epoch, newest, changed: changed.slice(0, limit) };
    }
  }

  private enter(epoch: number): void {
    if (epoch !== this.epoch) this.passed.clear();
    this.epoch = epoch;
  }

  private pass(after: number, through: number): void {
    if (this.passed.size >= PASSED_MAX) this.passed.clear();
    this.passed.set(after, through);
  }
}

function changeOf([
  appId,
  deviceId,
  revision,
  labels,
  position,
]: EdgeLabelChangesAnswer['changed'][number]) {
  return { appId, deviceId, revision, labels: new Map(labels), position };
}
