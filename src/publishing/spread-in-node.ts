// Propagation of a change to the other serving processes of the same node, so that the whole node serves the
// new state when the caller gets its answer. Other nodes hear of it through the engine.

import type { Catalogs } from '../serving/catalogs.ts';
import type { ChannelRevision } from '../store/changed.ts';
import type { SpreadChange } from './propagate-change.ts';

/**
 * Tells the other processes of the node of changes. Resolves when they serve them, or after a time limit:
 * a process that hangs finds them later. Never rejects.
 */
export type TellNode = (changes: readonly ChannelRevision[]) => Promise<void>;

/** Wraps `spread` so that the node's other processes serve the change as well before it resolves. */
export function spreadInNode(spread: SpreadChange, tellNode: TellNode | undefined): SpreadChange {
  if (tellNode === undefined) return spread;
  return async (changed, requestId) => {
    try {
      await spread(changed, requestId);
    } finally {
      if (changed.length > 0) await tellNode(changed);
    }
  };
}

/** Serves changes that another process of the node has committed; never rejects, because the poll follows. */
export async function followChanges(
  catalogs: Pick<Catalogs, 'hear' | 'chase'>,
  changes: readonly ChannelRevision[],
): Promise<void> {
  await Promise.all(
    changes.map(async (change) => {
      void catalogs.hear(change);
      // `hear` has begun the load, and logs its failure.
      await catalogs.chase(change.channelId, change).catch(() => undefined);
    }),
  );
}
