// The part of the engine that carries live activity: the check-ins of the present second, for console pages
// that watch an app. It is lossy by design: activity that no node receives is gone.

import type { LiveActivity } from '../contract/console-fleet.ts';

/** Check-ins of one app on one node in one interval: their number, and a bounded sample. */
export type Activity = LiveActivity & { readonly appId: string };

export interface ActivityStream {
  /** Sends activity to every subscribed node, this one included, at most once. Rejects with `Unavailable`. */
  shareActivity(activities: readonly Activity[]): Promise<void>;

  /** Receives the activity of all nodes until the engine closes. The listener must not throw. */
  onActivity(listener: (activities: readonly Activity[]) => void): void;
}
