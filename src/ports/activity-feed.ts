// The part of the engine that carries the live feed: what the fleet is doing right now, for people who watch.
// Lossy by nature: a second that nobody heard is gone.

export type ActivitySample = {
  readonly at: number;
  readonly deviceId: string;
  readonly channel: string;
  readonly version: string | undefined;
  readonly platform: string;
  readonly source: 'pull' | 'push';
  /** Whether an update was offered. */
  readonly isOffered: boolean;
};

/** One node's check-ins of one app in one interval: how many there were, and a bounded sample of them. */
export type Activity = {
  readonly appId: string;
  readonly count: number;
  readonly samples: readonly ActivitySample[];
};

export interface ActivityFeed {
  /** Tells every node that watches, this one included. At most once; rejects with `Unavailable`. */
  shareActivity(activities: readonly Activity[]): Promise<void>;

  /** Hears the activity of all nodes until the engine closes. The listener must not throw. */
  onActivity(listener: (activities: readonly Activity[]) => void): void;
}
