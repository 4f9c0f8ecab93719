// The engine: hot state that the serving nodes share. Losing it breaks no promise: nodes read snapshots again
// from the ledger, announcements are only hints (the catalog refresher finds missed changes), and rate
// windows start anew. Only accepted check-ins must survive as long as the engine does: see `CheckInQueue`.
//
// Every method rejects with `Unavailable` when the engine cannot be reached or does not answer within its
// time limit (below a second), and never waits for a reconnection. Implementations: memory, redis.

import type { LiveActivity } from '../contract/console-fleet.ts';
import type { ServingOrder, ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import type { DeviceDebt } from '../domain/fleet/shared-window.ts';
import type { ActionStore } from './action-store.ts';
import type { CheckInQueue } from './check-in-queue.ts';
import type { LabelCache } from './label-store.ts';

/** Message that the named channel serves a new state, or that its release was offered for the first time. */
export type Announcement = ServingOrder & {
  readonly appRef: string;
  readonly channel: string;
  readonly channelId: string;
  /** Id of the release that was offered for the first time; absent when the channel's state changed. */
  readonly offeredReleaseId?: string;
  /** Time of the commit in milliseconds since 1970, by the ledger's clock; receivers measure the delay. */
  readonly committedAt?: number;
};

/** Order of a stored snapshot, the id of its channel, and the number of its offered releases. */
export type SnapshotHead = ServingOrder & { readonly channelId: string; readonly offered: number };

export interface Engine
  extends CheckInQueue,
    LabelCache,
    ActionStore,
    ActivityStream,
    DeviceRates,
    ChannelNameStore {
  /**
   * Stores a snapshot for the other nodes, unless the stored one is as new or newer (`compareSnapshots`).
   * Check and write are atomic, so the stored snapshot never goes back. A snapshot that another database left
   * under the same name (its channel id differs) is replaced. Returns undefined when it was stored, else the
   * order of the stored snapshot.
   */
  putSnapshot(snapshot: ServingSnapshot): Promise<ServingOrder | undefined>;

  /** Reads the head of a channel's stored snapshot; undefined when there is none. */
  getSnapshotHead(appRef: string, channel: string): Promise<SnapshotHead | undefined>;

  /**
   * Reads a channel's stored snapshot; undefined when the engine has none, or not all of its releases.
   * `known` is a snapshot that the caller holds, usually of the same channel: its editions are not read
   * again.
   */
  getSnapshot(
    appRef: string,
    channel: string,
    known?: ServingSnapshot,
  ): Promise<ServingSnapshot | undefined>;

  /** Sends an announcement to every connected node, this one included, at most once. */
  announce(announcement: Announcement): Promise<void>;

  /**
   * Calls `listener` for announcements until the engine closes. Calls `onResumed` whenever the subscription
   * resumes after an interruption, in which announcements may be lost, but not when it first starts.
   * Listeners must not throw.
   */
  subscribe(listener: (announcement: Announcement) => void, onResumed: () => void): void;

  /**
   * Counts a request for `key` in a sliding window, which allows at most `limit` requests in any `windowMs`,
   * over all nodes. A refused request does not count. `waitMs` and `leaveMs`: see `CountedRequest`.
   */
  countRequest(key: string, limit: number, windowMs: number): Promise<CountedRequest>;

  forgetRequests(key: string): Promise<void>;

  /** Returns whether the engine answers now. Never rejects. */
  isReachable(): Promise<boolean>;

  /** Releases connections. Safe to call twice. */
  close(): Promise<void>;
}

// Live activity: the check-ins of the present second, for console pages that watch an app. Activity is lost
// if no node receives it.

/** Check-ins of one app on one node in one interval: their number, and a sample of limited size. */
export type Activity = LiveActivity & { readonly appId: string };

export interface ActivityStream {
  /** Sends activity to every subscribed node, this one included, at most once. Rejects with `Unavailable`. */
  shareActivity(activities: readonly Activity[]): Promise<void>;

  /** Receives the activity of all nodes until the engine closes. The listener must not throw. */
  onActivity(listener: (activities: readonly Activity[]) => void): void;
}

// Names of all channels. With them a node can tell a channel that it has not loaded from a name that does not
// exist, without asking a store for each request.

/** Names and ids by which a request may name a channel. */
export type ChannelName = {
  readonly appId: string;
  readonly appRef: string;
  readonly channelId: string;
  readonly channel: string;
};

export type ChannelNameList = {
  /** Text that differs between any two sets of channels. */
  readonly tag: string;
  readonly channels: readonly ChannelName[];
  /** False when there are more channels than were asked for. */
  readonly isComplete: boolean;
};

/**
 * Names of all channels as last read from the ledger, for a node that starts while the ledger is unreachable.
 * Methods reject with `Unavailable`, as those of the whole engine.
 */
export interface ChannelNameStore {
  /** Replaces the stored list, unless it has the same tag. */
  putChannelNames(list: ChannelNameList): Promise<void>;

  /** Reads the stored list; undefined when there is none, or when the caller has it (`heldTag`). */
  getChannelNames(heldTag: string | undefined): Promise<ChannelNameList | undefined>;

  /**
   * Reads the name of the record that the store belongs to, and the list unless its tag is `heldTag`. Answers
   * also while this node refuses the store because it belongs to another record.
   */
  readShared(heldTag: string | undefined): Promise<SharedRecord>;
}

export type SharedRecord = {
  /** Undefined until a node with that record has stored its name. */
  readonly record: string | undefined;
  /** Tag of the list; undefined when there is none. */
  readonly tag: string | undefined;
  /** Undefined when there is none, or when the caller has it. */
  readonly list: ChannelNameList | undefined;
};

// The rate limit of busy devices, which several processes share.

export interface DeviceRates {
  /**
   * Handles each debt in order: records the owed requests that are not recorded yet, then decides the request
   * by the rule of `settleDebt`, with the device limit and the rate window. Atomic per device, one round
   * trip. Uses the engine's clock, so that processes whose clocks differ share one window. A device's state
   * expires one window after its last request.
   */
  settleDevices(debts: readonly DeviceDebt[]): Promise<readonly RateDecision[]>;
}

/** Decision of a rate window about one request. */
export type RateDecision = {
  readonly isAllowed: boolean;
  /** Milliseconds until a request would be allowed, if no other one comes first; 0 when this one was. */
  readonly waitMs: number;
};

/** Decision that also says how full the window is. */
export type CountedRequest = RateDecision & {
  /** Number of requests that would be allowed now, after this one. */
  readonly remaining: number;
  /** Milliseconds until the window has room for one more; equals `waitMs` for a refused request. */
  readonly leaveMs: number;
};
