// The engine: hot state that the serving nodes share. It may be lost as a whole without breaking a
// promise, so nothing here is a record: snapshots can be read again from the ledger, announcements are
// only a hint (the catalog refresher finds what was missed), rate windows start anew. The one thing it owes
// while it lives are the check-ins it has accepted: see `CheckInQueue`.
//
// Every method rejects with `Unavailable` when the engine cannot be reached or does not answer within its
// time limit (below a second), and never waits for a reconnection. Implementations: memory, redis.

import type { ServingSnapshot } from '../domain/serving-snapshot.ts';
import type { ActivityFeed } from './activity-feed.ts';
import type { CheckInQueue } from './check-in-queue.ts';
import type { DeviceRates } from './device-rates.ts';
import type { LabelCache } from './label-cache.ts';

/** That a channel now serves another revision. `appRef` and `channel` name it, `revision` is the new one. */
export type Announcement = {
  readonly appRef: string;
  readonly channel: string;
  readonly channelId: string;
  readonly revision: number;
};

export type RateDecision = {
  readonly isAllowed: boolean;
  /** Milliseconds until a request would be allowed; 0 when this one was. */
  readonly waitMs: number;
};

export interface Engine extends CheckInQueue, LabelCache, ActivityFeed, DeviceRates {
  /**
   * Stores a snapshot for the other nodes, unless the stored one has a higher revision, or the same one and
   * at least as many offered releases: what is stored only moves forward, whatever the order in which
   * writers arrive (atomic). A snapshot that another database left under the same name (its channel has
   * another id) is replaced. True when it was stored.
   */
  putSnapshot(snapshot: ServingSnapshot): Promise<boolean>;

  /** The stored snapshot of a channel, or undefined when the engine has none. */
  getSnapshot(appRef: string, channel: string): Promise<ServingSnapshot | undefined>;

  /** Tells every subscribed node, this one included. At most once; a node that is away misses it. */
  announce(announcement: Announcement): Promise<void>;

  /**
   * Hears announcements until the engine closes. `onResumed` is called whenever hearing starts again after
   * a time in which announcements may have been missed (not for the first start). Listeners must not throw.
   */
  subscribe(listener: (announcement: Announcement) => void, onResumed: () => void): void;

  /**
   * Counts a request against `key` in a sliding window: at most `limit` allowed requests in any `windowMs`.
   * A refused request does not count. Atomic over all nodes; `waitMs` later a request is allowed, if no
   * other took the place.
   */
  countRequest(key: string, limit: number, windowMs: number): Promise<RateDecision>;

  /** Forgets what was counted against `key`: its window is empty again. */
  forgetRequests(key: string): Promise<void>;

  /** Whether the engine answers right now. Never rejects. */
  isReachable(): Promise<boolean>;

  /** Releases connections. Safe to call twice. */
  close(): Promise<void>;
}
