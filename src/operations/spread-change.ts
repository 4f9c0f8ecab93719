// What follows a committed change of what a channel serves: this node serves it, then the others hear of
// it. The caller waits for this, so that the node that answers already serves the new state. Nothing here
// can undo the commit: a store that fails now is survived, and every node's poll finds what it missed.

import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Engine } from '../ports/engine.ts';
import type { ChannelRevision } from '../ports/ledger.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Catalogs } from './catalogs.ts';

export type SpreadChange = (changed: readonly ChannelRevision[]) => Promise<void>;

/** Builds the step that every changing operation ends with. Never rejects for a store's sake. */
export function createSpreadChange(
  catalogs: Catalogs,
  engine: Engine,
  metrics: Metrics,
  log: Log,
): SpreadChange {
  const spread = async (change: ChannelRevision): Promise<void> => {
    try {
      const snapshot = await catalogs.reload(change.appRef, change.channel);
      if (snapshot === undefined) return;
      await engine.putSnapshot(snapshot);
      await engine.announce({ ...change, revision: snapshot.revision });
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      metrics.faults.add('spread');
      log.warn({ err: error, ...change }, 'change committed, but could not be announced');
    }
  };
  return async (changed) => {
    await Promise.all(changed.map(spread));
  };
}
