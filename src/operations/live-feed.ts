// The live feed: every second each node tells how many check-ins each app had, with a bounded sample, and
// whoever watches an app hears the sum over all nodes.

import type { CheckIn } from '../domain/check-in.ts';
import { type CheckInPack, unpackCheckIns } from '../domain/check-in-pack.ts';
import type { CheckInOrigin } from '../domain/shared-part.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Activity, ActivityFeed, ActivitySample } from '../ports/activity-feed.ts';
import { Unavailable } from '../ports/unavailable.ts';

/** What a watcher hears at a time: the true number of check-ins, and some of them. */
export type LiveEvent = {
  readonly count: number;
  readonly samples: readonly ActivitySample[];
};

export type LiveWatcher = (event: LiveEvent) => void;

type Interval = { count: number; samples: ActivitySample[] };

const INTERVAL_MS = 1000;
const SAMPLES_PER_APP_MAX = 20;
const APPS_MAX = 1000;
const WATCHERS_MAX = 1000;

export class LiveFeed {
  private readonly feed: ActivityFeed;
  private readonly metrics: Metrics;
  private readonly log: Log;
  private readonly watchers = new Map<string, Set<LiveWatcher>>();
  private watcherCount = 0;
  private current = new Map<string, Interval>();
  private timer: NodeJS.Timeout | undefined;

  constructor(feed: ActivityFeed, metrics: Metrics, log: Log) {
    this.feed = feed;
    this.metrics = metrics;
    this.log = log;
  }

  /** Begins to tell and to hear, until `stop`. */
  start(): void {
    this.feed.onActivity((activities) => this.hear(activities));
    this.timer = setInterval(() => void this.tell(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.timer);
    this.watchers.clear();
  }

  /** Counts a check-in in; the first of an interval are the sample. */
  note(checkIn: CheckIn): void {
    const activity = this.activityOf(checkIn.appId);
    if (activity === undefined) return;
    activity.count += 1;
    if (activity.samples.length < SAMPLES_PER_APP_MAX) activity.samples.push(sampleOf(checkIn));
  }

  /** Counts a batch of check-ins in, as `note` would each of them. */
  notePacked(batch: CheckInPack): void {
    let isSampled = true;
    for (const [appId, { count }] of batch.counts) {
      const activity = this.activityOf(appId);
      if (activity === undefined) continue;
      activity.count += count;
      if (activity.samples.length < SAMPLES_PER_APP_MAX) isSampled = false;
    }
    if (!isSampled) this.sample(batch);
  }

  /** Whether another watcher may come. */
  hasRoom(): boolean {
    return this.watcherCount < WATCHERS_MAX;
  }

  /** Hears an app's events until the returned function is called. */
  watch(appId: string, watcher: LiveWatcher): () => void {
    const watchers = this.watchers.get(appId) ?? new Set();
    this.watchers.set(appId, watchers.add(watcher));
    this.watcherCount += 1;
    return () => {
      if (!watchers.delete(watcher)) return;
      this.watcherCount -= 1;
      if (watchers.size === 0) this.watchers.delete(appId);
    };
  }

  /** Reads no more of a batch than its apps' samples have room for. */
  private sample(batch: CheckInPack): void {
    const room = new Map<string, number>();
    const isWanted = ({ appId }: CheckInOrigin): boolean => {
      const left = room.get(appId) ?? this.roomOf(appId);
      room.set(appId, left - 1);
      return left > 0;
    };
    for (const checkIn of unpackCheckIns(batch, isWanted)) {
      this.current.get(checkIn.appId)?.samples.push(sampleOf(checkIn));
    }
  }

  private roomOf(appId: string): number {
    const activity = this.current.get(appId);
    return activity === undefined ? 0 : SAMPLES_PER_APP_MAX - activity.samples.length;
  }

  /** The app's activity in this interval; undefined when there are too many apps to tell of. */
  private activityOf(appId: string): Interval | undefined {
    const known = this.current.get(appId);
    if (known !== undefined || this.current.size >= APPS_MAX) return known;
    const activity: Interval = { count: 0, samples: [] };
    this.current.set(appId, activity);
    return activity;
  }

  private async tell(): Promise<void> {
    if (this.current.size === 0) return;
    const activities = [...this.current].map(([appId, activity]) => ({ appId, ...activity }));
    this.current = new Map();
    try {
      await this.feed.shareActivity(activities);
    } catch (error) {
      this.metrics.faults.add('live');
      if (!(error instanceof Unavailable)) this.log.error({ err: error }, 'live feed failed');
    }
  }

  private hear(activities: readonly Activity[]): void {
    for (const { appId, count, samples } of activities) {
      for (const watcher of this.watchers.get(appId) ?? []) watcher({ count, samples });
    }
  }
}

function sampleOf(checkIn: CheckIn): ActivitySample {
  const { at, deviceId, channel, version, platform, source } = checkIn;
  const isOffered = checkIn.offeredReleaseId !== undefined;
  return { at, deviceId, channel, version, platform, source, isOffered };
}
