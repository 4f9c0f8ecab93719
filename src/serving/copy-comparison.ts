// Comparison of channels that were read from the ledger alone with the copies in the engine and on this
// node's disk. It begins once the channel is served, so that no answer waits for it. Until it has ended, the
// copy on disk is left as it is.

import { Unavailable } from '../contract/unavailable.ts';
import type { ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { LedgerRewind } from './ledger-recovery.ts';

export type CopyComparisonDependencies = {
  readonly rewind: Pick<LedgerRewind, 'copiesOf' | 'settle'>;
  /** Returns what is served of a channel; undefined when it is not loaded. */
  readonly held: (channelId: string) => ServingSnapshot | undefined;
  /** Serves what the ledger has; `isNews` is true when this was not served before the comparison. */
  readonly settled: (snapshot: ServingSnapshot, isNews: boolean) => Promise<void>;
  readonly log: RareLog;
  readonly metrics: Metrics;
};

/** Maximum number of comparisons at a time, and of those that wait: as many as a node has channels. */
const RUNNING_MAX = 4;
const WAITING_MAX = 10_000;

export class CopyComparison {
  private readonly dependencies: CopyComparisonDependencies;
  private readonly gate = new ConcurrencyLimit(RUNNING_MAX, WAITING_MAX);
  /** Ids of the channels that were not compared yet; bounded by the channels that are loaded. */
  private readonly due = new Set<string>();

  constructor(dependencies: CopyComparisonDependencies) {
    this.dependencies = dependencies;
  }

  /** Whether a channel was not compared yet. */
  isDue(channelId: string): boolean {
    return this.due.has(channelId);
  }

  /** Marks a channel as one to be compared, before it is served. */
  add(channelId: string): void {
    this.due.add(channelId);
  }

  /** Gives up on a channel that is not loaded any more. */
  delete(channelId: string): void {
    this.due.delete(channelId);
  }

  /** Compares the channels whose comparison failed because a store was away. */
  async retry(): Promise<void> {
    await Promise.all([...this.due].map((channelId) => this.begin(channelId)));
  }

  /** Compares a channel that is due. Never rejects: while a store is away, it stays due. */
  async begin(channelId: string): Promise<void> {
    try {
      await this.gate.pass(() => this.compare(channelId));
    } catch (error) {
      this.dependencies.metrics.faults.add('compare');
      if (error instanceof Unavailable) return;
      this.dependencies.log.warn({ err: error, channel: channelId }, 'refresh failed');
    }
  }

  private async compare(channelId: string): Promise<void> {
    const { rewind } = this.dependencies;
    const held = this.dependencies.held(channelId);
    if (held === undefined || !this.due.has(channelId)) return;
    const copies = await rewind.copiesOf(held);
    const settled = await rewind.settle(held, copies);
    this.due.delete(channelId);
    // The poll finds out about a channel that is gone.
    if (typeof settled !== 'string') await this.dependencies.settled(settled, settled !== held);
  }
}
