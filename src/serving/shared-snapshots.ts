// Snapshots that the nodes share in the engine. An engine that is away has none, and takes none: the fault is
// counted, and callers go on with the ledger.

import { Unavailable } from '../contract/unavailable.ts';
import type { ServingOrder, ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Engine, SnapshotHead } from '../store/engine.ts';

export class SharedSnapshots {
  private readonly engine: Pick<Engine, 'getSnapshot' | 'getSnapshotHead' | 'putSnapshot'>;
  private readonly metrics: Metrics;

  constructor(
    engine: Pick<Engine, 'getSnapshot' | 'getSnapshotHead' | 'putSnapshot'>,
    metrics: Metrics,
  ) {
    this.engine = engine;
    this.metrics = metrics;
  }

  /** Returns the shared snapshot of a channel, if there is one; `known` saves reading what it has. */
  find(
    appRef: string,
    channel: string,
    known?: ServingSnapshot,
  ): Promise<ServingSnapshot | undefined> {
    return this.survive('engine-read', this.engine.getSnapshot(appRef, channel, known));
  }

  /** Returns what the shared snapshot of a channel is, without its content, if there is one. */
  findHead(appRef: string, channel: string): Promise<SnapshotHead | undefined> {
    return this.survive('engine-read', this.engine.getSnapshotHead(appRef, channel));
  }

  /** Shares a snapshot; returns the order of a newer one that was kept instead, if there is one. */
  put(snapshot: ServingSnapshot): Promise<ServingOrder | undefined> {
    return this.survive('engine-write', this.engine.putSnapshot(snapshot));
  }

  private async survive<Answer>(
    place: string,
    answer: Promise<Answer | undefined>,
  ): Promise<Answer | undefined> {
    try {
      return await answer;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.metrics.faults.add(place);
      return undefined;
    }
  }
}
