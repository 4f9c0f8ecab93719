// The last good snapshots of this node, on its own disk: what it serves after a restart in which neither
// the ledger nor the engine answers. A cache with a long life, never a source when a store is there.

import type { ServingSnapshot } from '../domain/serving-snapshot.ts';

export interface LastGood {
  /** Keeps a snapshot, soon. Never throws and never waits; a newer one replaces one not yet written. */
  keep(snapshot: ServingSnapshot): void;

  /** The kept snapshot, or undefined when there is none that can be read. */
  find(appRef: string, channel: string): Promise<ServingSnapshot | undefined>;

  /** Whether anything is kept at all. Never rejects. */
  hasAny(): Promise<boolean>;

  /** Waits until everything kept so far is on disk, or the disk has refused it once more. */
  flush(): Promise<void>;
}
