// What follows a committed change of what a channel serves: this node serves it, then the others hear of
// it. The caller waits for this, so that the node that answers already serves the new state. Nothing here
// can undo the commit, and every node's poll finds what it missed.

import type { ServingSnapshot } from '../domain/serving-snapshot.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { Engine } from '../ports/engine.ts';
import type { ChannelRevision } from '../ports/ledger.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Catalogs } from './catalogs.ts';

export type SpreadChange = (changed: readonly ChannelRevision[]) => Promise<void>;

/**
 * Builds the step that every changing operation ends with. An engine that is away is survived; rejects with
 * `Unavailable` when this node cannot read what was committed: it must not say that it serves it.
 */
export function createSpreadChange(
  catalogs: Catalogs,
  engine: Engine,
  metrics: Metrics,
  log: RareLog,
): SpreadChange {
  const tell = async (
    change: ChannelRevision,
    snapshot: ServingSnapshot | undefined,
  ): Promise<void> => {
    try {
      if (snapshot !== undefined) await engine.putSnapshot(snapshot);
      await engine.announce({ ...change, revision: snapshot?.revision ?? change.revision });
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      metrics.faults.add('spread');
      log.warn({ err: error, ...change }, 'change committed, but could not be announced');
    }
  };
  const spread = async (change: ChannelRevision): Promise<void> => {
    try {
      await tell(change, await catalogs.reload(change.appRef, change.channel));
    } catch (error) {
      // The others may have more luck with it: they are told before the caller is.
      await tell(change, undefined);
      throw error;
    }
  };
  return async (changed) => {
    await Promise.all(changed.map(spread));
  };
}
