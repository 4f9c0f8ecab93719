// The engine: hot state that the serving nodes share. All of it may be lost without breaking a promise,
// because none of it is a record: snapshots can be read again from the ledger, announcements are only a hint
// (the catalog refresher finds missed changes), and rate windows start anew. Only accepted check-ins must
// survive as long as the engine does: see `CheckInQueue`.
//
// Every method rejects with `Unavailable` when the engine cannot be reached or does not answer within its
// time limit (below a second), and never waits for a reconnection. Implementations: memory, redis.

import type { ServingOrder, ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import type { ActivityStream } from './activity-stream.ts';
import type { ChannelNameStore } from './channel-names.ts';
import type { CheckInQueue } from './check-in-queue.ts';
import type { DeviceRates } from './device-rates.ts';
import type { LabelNoteStore } from './label-notes.ts';
import type { LabelCache } from './label-store.ts';
import type { CountedRequest } from './rate-decision.ts';

/**
 * Message that a channel serves a new state, or that a release of it was offered for the first time.
 * `appRef` and `channel` name the channel.
 */
export type Announcement = ServingOrder & {
  readonly appRef: string;
  readonly channel: string;
  readonly channelId: string;
  /** Id of the release whose first offer the ledger has recorded; absent in the message of a change. */
  readonly offeredReleaseId?: string;
  /** Moment of the commit in milliseconds since 1970, by the ledger's clock: tells how late news are. */
  readonly committedAt?: number;
};

/** Place of a stored snapshot, its channel's id and the number of its releases that were offered. */
export type SnapshotHead = ServingOrder & { readonly channelId: string; readonly offered: number };

export interface Engine
  extends CheckInQueue,
    LabelCache,
    ActivityStream,
    DeviceRates,
    ChannelNameStore {
  /** Notes of labels; undefined where notes would end with the process that makes them. */
  readonly labelNotes: LabelNoteStore | undefined;

  /**
   * Stores a snapshot for the other nodes, unless the stored one is as new or newer (`compareSnapshots`). The
   * check is atomic, so the stored snapshot only moves forward, whatever the order of writers. A snapshot
   * that another database left under the same name (its channel id differs) is replaced. Returns undefined
   * when it was stored, else the order of the snapshot that was kept.
   */
  putSnapshot(snapshot: ServingSnapshot): Promise<ServingOrder | undefined>;

  /** Reads what the stored snapshot of a channel is, without its content; undefined when there is none. */
  getSnapshotHead(appRef: string, channel: string): Promise<SnapshotHead | undefined>;

  /**
   * Reads the stored snapshot of a channel; undefined when the engine has none, or not all of it. `known` is
   * a snapshot that the caller has, of the same channel as a rule: releases with the same edition need not be
   * read again.
   */
  getSnapshot(
    appRef: string,
    channel: string,
    known?: ServingSnapshot,
  ): Promise<ServingSnapshot | undefined>;

  /**
   * Sends an announcement to every subscribed node, this one included, at most once; a disconnected node
   * misses it.
   */
  announce(announcement: Announcement): Promise<void>;

  /**
   * Receives announcements until the engine closes. `onResumed` is called whenever the subscription resumes
   * after a time in which announcements may have been missed, but not for its first start. Listeners must not
   * throw.
   */
  subscribe(listener: (announcement: Announcement) => void, onResumed: () => void): void;

  /**
   * Counts a request for `key` in a sliding window: at most `limit` allowed requests in any `windowMs`. A
   * refused request does not count. Atomic over all nodes. After `waitMs` a request is allowed, unless
   * another request came first; after `leaveMs` the window has room for one more than `remaining`.
   */
  countRequest(key: string, limit: number, windowMs: number): Promise<CountedRequest>;

  /** Empties the window of `key`. */
  forgetRequests(key: string): Promise<void>;

  /** Returns whether the engine answers now. Never rejects. */
  isReachable(): Promise<boolean>;

  /** Releases connections. Safe to call twice. */
  close(): Promise<void>;
}
