// The last known snapshots of this node on its own disk, from which it serves after a restart while neither
// the ledger nor the engine answers. They are never used while a store answers.

import type { ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import type { ChannelName } from './engine.ts';

export interface DiskSnapshots {
  /**
   * Schedules writing a snapshot. Never throws and never waits; a newer snapshot replaces one not written
   * yet.
   */
  keep(snapshot: ServingSnapshot): void;

  /** Reads a channel's snapshot; undefined when there is none that can be read. */
  find(appRef: string, channel: string): Promise<ServingSnapshot | undefined>;

  /**
   * Returns the name of the record that the snapshots are of; undefined where none was noted. Never
   * rejects.
   */
  readRecord(): Promise<string | undefined>;

  /** Notes the name of the record that the snapshots are of. Never throws and never waits. */
  keepRecord(record: string): void;

  /** Removes what is kept of a channel, because the ledger lost it. Never throws and never waits. */
  forget(appRef: string, channel: string): void;

  /** Lists at most `countMax` channels of which a snapshot can be read. Never rejects. */
  list(countMax: number): Promise<readonly ChannelName[]>;

  /** Returns whether any snapshot is on disk. Never rejects. */
  hasAny(): Promise<boolean>;

  /** Waits until all scheduled snapshots are on disk, or the disk has refused them once more. */
  flush(): Promise<void>;
}
