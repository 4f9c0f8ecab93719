// Stops: all that an app, or one channel of it, has published is paused at once, and goes on at once.

/** Release that a stop has paused. */
export type StoppedRelease = { readonly channel: string; readonly version: string };

/** Stop, with the releases that it has paused: by channel, the oldest first. */
export type Stop = { readonly id: string; readonly releases: readonly StoppedRelease[] };

/** Release that a stop has paused and that its resumption leaves alone, with the reason. */
type ChangedRelease = StoppedRelease & { readonly reason: string };

/** What became of the releases of a stop that was resumed. */
export type ResumedStop = {
  readonly released: readonly StoppedRelease[];
  readonly changed: readonly ChangedRelease[];
};

/** What a stop would reach now: published releases, and the devices on their channels. */
export type StopReach = { readonly releases: number; readonly devices: number };
