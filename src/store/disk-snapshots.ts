// The last known snapshots on this node's own disk. After a restart, the node serves from them while neither
// the ledger nor the engine answers; it never uses them while a store answers.

import type { ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import type { ChannelName } from './engine.ts';

export interface DiskSnapshots {
  /** Schedules writing a snapshot; it replaces an older one that still waits. Never throws or waits. */
  keep(snapshot: ServingSnapshot): void;

  /** Reads a channel's snapshot; undefined when there is none, or none that can be read. */
  find(appRef: string, channel: string): Promise<ServingSnapshot | undefined>;

  /** Returns the name of the record that the snapshots belong to; undefined if unknown. Never rejects. */
  readRecord(): Promise<string | undefined>;

  /** Schedules writing the name of the record that the snapshots belong to. Never throws or waits. */
  keepRecord(record: string): void;

  /** Removes a channel's snapshot, because the ledger lost the channel. Never throws or waits. */
  forget(appRef: string, channel: string): void;

  /** Lists at most `countMax` channels that have a readable snapshot. Never rejects. */
  list(countMax: number): Promise<readonly ChannelName[]>;

  /** Returns whether a readable snapshot is on disk. Never rejects. */
  hasAny(): Promise<boolean>;

  /** Waits until all scheduled snapshots are on disk, or one last attempt to write them has failed. */
  flush(): Promise<void>;
}
