// Brings the ledger's changes of actions into the engine. A change is put there when it is made; the feed
// finds what another region changed, and what was recorded while the engine was away.
//
// The engine stores the position up to which it has all changes, so any process of any node may continue from
// there. Unlike labels, actions are never in doubt as a whole: what a feed cannot follow, it reads again.

import { type Periodic, periodic, tellFault } from '../flow/periodic.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ActionStore } from '../store/action-store.ts';
import type { Ledger } from '../store/ledger.ts';

/** Maximum number of devices whose actions are read and put in a turn. */
const PAGE_SIZE = 500;
/**
 * Positions that are read again where the engine knows none, or one of another time line, on which positions
 * may come again: the engine may hold what another region changed a moment before.
 */
const AGAIN = 10_000;
/** Milliseconds between turns: less than a device waits for the answer to a closing (`FOLLOWED_MS`). */
const INTERVAL_MS = 500;
/**
 * Milliseconds after which a change that the ledger has is in the engine, if that answers: two turns.
 * Together with the change below the 1.5 s in which a closing is answered.
 */
export const FOLLOWED_MS = 2 * INTERVAL_MS;

type ActionFeedDependencies = {
  readonly ledger: Pick<Ledger, 'readActionChanges'>;
  readonly engine: Pick<ActionStore, 'putActions' | 'readActionPosition' | 'moveActionPosition'>;
};

/** Feeds the engine with one page of changes; returns whether there are more. */
export async function feedActions({ ledger, engine }: ActionFeedDependencies): Promise<boolean> {
  const held = await engine.readActionPosition();
  const { epoch, newest, changed } = await ledger.readActionChanges(held?.position, PAGE_SIZE);
  if (held === undefined || held.epoch !== epoch) {
    const position = Math.max(0, Math.min(held?.position ?? newest, newest) - AGAIN);
    return engine.moveActionPosition(held, { epoch, position });
  }
  const last = changed.at(-1);
  if (last === undefined) return false;
  await engine.putActions(changed);
  // If another process was faster, its position stays, and the next page begins there.
  await engine.moveActionPosition(held, { epoch, position: last.position });
  return last.position !== newest;
}

/** Returns the turns of the feed. */
export function actionFeed(
  dependencies: ActionFeedDependencies & { readonly metrics: Metrics; readonly log: Log },
): Periodic {
  return periodic(() => feedActions(dependencies), {
    ...{ everyMs: INTERVAL_MS, firstMs: 0, busyMs: 0 },
    onFault: (error) =>
      tellFault(dependencies, 'action-feed', error, 'changes of actions could not be followed'),
  });
}
