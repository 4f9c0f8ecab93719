// The engine: hot state that the serving nodes share. All of it may be lost without breaking a promise,
// because none of it is a record: snapshots can be read again from the ledger, announcements are only a hint
// (the catalog refresher finds missed changes), and rate windows start anew. Only accepted check-ins must
// survive as long as the engine does: see `CheckInQueue`.
//
// Every method rejects with `Unavailable` when the engine cannot be reached or does not answer within its
// time limit (below a second), and never waits for a reconnection. Implementations: memory, redis.

import type { LiveActivity } from '../contract/console-fleet.ts';
import type { ServingOrder, ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import type { DeviceDebt } from '../domain/fleet/shared-window.ts';
import type { CheckInQueue } from './check-in-queue.ts';
import type { LabelCache, LabelNoteStore } from './label-store.ts';

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
  /**
   * Moment of the commit in milliseconds since 1970, by the ledger's clock: tells how late notifications are.
   */
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

// The part of the engine that carries live activity: the check-ins of the present second, for console pages
// that watch an app. It is lossy by design: activity that no node receives is gone.

/** Check-ins of one app on one node in one interval: their number, and a bounded sample. */
export type Activity = LiveActivity & { readonly appId: string };

export interface ActivityStream {
  /** Sends activity to every subscribed node, this one included, at most once. Rejects with `Unavailable`. */
  shareActivity(activities: readonly Activity[]): Promise<void>;

  /** Receives the activity of all nodes until the engine closes. The listener must not throw. */
  onActivity(listener: (activities: readonly Activity[]) => void): void;
}

// Names of all channels: what a node must know to tell a channel that it has not loaded from a name that
// nobody created, without asking a store about each request.

/** Every name of a channel by which a request may call it. */
export type ChannelName = {
  readonly appId: string;
  readonly appRef: string;
  readonly channelId: string;
  readonly channel: string;
};

export type ChannelNameList = {
  /** Text that differs from the tag of every other set of channels. */
  readonly tag: string;
  readonly channels: readonly ChannelName[];
  /** Whether these are all; false when there are more than were asked for. */
  readonly isComplete: boolean;
};

/**
 * Names of all channels as the ledger had them last, for a node that starts while the ledger is away. Methods
 * reject with `Unavailable`, as those of the whole engine.
 */
export interface ChannelNameStore {
  /** Stores the list in place of the stored one, unless that has the same tag. */
  putChannelNames(list: ChannelNameList): Promise<void>;

  /** Reads the stored list; undefined when there is none, or when its tag is `heldTag`. */
  getChannelNames(heldTag: string | undefined): Promise<ChannelNameList | undefined>;

  /**
   * Reads the name of the record that all of the store belongs to, and the list unless its tag is `heldTag`:
   * also while the store is refused because it belongs to another record than this node's.
   */
  readShared(heldTag: string | undefined): Promise<SharedRecord>;
}

/** What a store tells of the record that it belongs to. */
export type SharedRecord = {
  /** Undefined before a node of that record has named it. */
  readonly record: string | undefined;
  /** Tag of the list; undefined when there is none. */
  readonly tag: string | undefined;
  /** Undefined when there is none, or the caller holds it. */
  readonly list: ChannelNameList | undefined;
};

// The part of the engine in which several processes share the rate limit of busy devices. Its method rejects
// with `Unavailable` when the engine does not answer.

export interface DeviceRates {
  /**
   * Handles each debt, in order: records the owed requests, unless they were reported before, then decides
   * the request by the rule of `settleDebt` with the device limit and the rate window. Atomic per device, in
   * one round trip. The engine's clock is used, so that processes whose clocks differ share one window. A
   * device's state expires one window after its last request.
   */
  settleDevices(debts: readonly DeviceDebt[]): Promise<readonly RateDecision[]>;
}

// Answer of a rate window.

/** Answer of a rate window to a request: whether it is allowed, and else when one would be. */
export type RateDecision = {
  readonly isAllowed: boolean;
  /** Milliseconds until a request would be allowed; 0 when this one was. */
  readonly waitMs: number;
};

/** Answer that also says how full the window is. */
export type CountedRequest = RateDecision & {
  /** Number of requests that would be allowed now, after this one. */
  readonly remaining: number;
  /** Milliseconds until the window has room for one more; `waitMs` when this request was not allowed. */
  readonly leaveMs: number;
};
