// Live activity of the fleet: every second each node shares the number of check-ins per app, with a bounded
// sample, and the console pages that watch an app receive the sum over all nodes.

import { LRUCache } from 'lru-cache';
import type { ActivitySample, LiveActivity } from '../contract/console-fleet.ts';
import { type Failure, failUntil } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import { Unavailable } from '../contract/store-fault.ts';
import type { CheckIn } from '../domain/fleet/check-in.ts';
import {
  type CheckInContext,
  type CheckInPack,
  unpackCheckIns,
} from '../domain/fleet/check-in-pack.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Activity, ActivityStream } from '../store/engine.ts';

type LiveWatcher = (activity: LiveActivity) => void;

type Interval = { count: number; samples: ActivitySample[] };

const INTERVAL_MS = 1000;
const SAMPLES_PER_APP_MAX = LIMIT.liveSamplesMax;
const APPS_MAX = 1000;

export class ActivityBroadcast {
  private readonly watchers = new Map<string, Set<LiveWatcher>>();
  private current = new Map<string, Interval>();
  /** Latest samples of each app, the latest first, for pages that are opened later. */
  private readonly latest = new LRUCache<string, readonly ActivitySample[]>({ max: APPS_MAX });
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly feed: ActivityStream,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {}

  /** Starts sharing and receiving activity, until `stop`. */
  start(): void {
    this.feed.onActivity((activities) => this.hear(activities));
    this.timer = setInterval(() => void this.tell(), INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.timer);
    this.watchers.clear();
  }

  /** Counts a check-in; the first ones of an interval become its sample. */
  note(checkIn: CheckIn): void {
    const activity = this.activityOf(checkIn.appId);
    if (activity === undefined) return;
    activity.count += 1;
    if (activity.samples.length < SAMPLES_PER_APP_MAX) activity.samples.push(sampleOf(checkIn));
  }

  /** Counts a batch of check-ins, with the effect of calling `note` for each of them. */
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

  /**
   * Delivers an app's activity to a listener until the returned function is called. The first event has the
   * latest samples that this node has received, and a count of 0. The caller bounds the number of listeners
   * (`LivePlaces`).
   */
  watch(appId: string, watcher: LiveWatcher): () => void {
    const latest = this.latest.get(appId);
    if (latest !== undefined) watcher({ count: 0, samples: latest.toReversed() });
    const watchers = this.watchers.get(appId) ?? new Set();
    this.watchers.set(appId, watchers.add(watcher));
    return () => {
      if (!watchers.delete(watcher)) return;
      if (watchers.size === 0) this.watchers.delete(appId);
    };
  }

  /** Unpacks only as many check-ins of a batch as the samples of its apps still have room for. */
  private sample(batch: CheckInPack): void {
    const room = new Map<string, number>();
    const isWanted = ({ appId }: CheckInContext): boolean => {
      const left = room.get(appId) ?? this.roomOf(appId);
      room.set(appId, left - 1);
      return left > 0;
    };
    for (const checkIn of unpackCheckIns(batch, isWanted)) {
      this.current.get(checkIn.appId)?.samples.push(sampleOf(checkIn));
    }
  }

  private keep(appId: string, samples: readonly ActivitySample[]): void {
    if (samples.length === 0) return;
    const all = [...samples.toReversed(), ...(this.latest.get(appId) ?? [])];
    this.latest.set(appId, all.slice(0, LIMIT.liveSamplesMax));
  }

  private roomOf(appId: string): number {
    const activity = this.current.get(appId);
    return activity === undefined ? 0 : SAMPLES_PER_APP_MAX - activity.samples.length;
  }

  /**
   * Returns the app's activity of this interval; undefined when the bound of apps per interval is reached.
   */
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
      this.keep(appId, samples);
      for (const watcher of this.watchers.get(appId) ?? []) watcher({ count, samples });
    }
  }
}

function sampleOf(checkIn: CheckIn): ActivitySample {
  const { at, deviceId, channel, version, platform, source } = checkIn;
  const isOffered = checkIn.offeredReleaseId !== undefined;
  return { at, deviceId, channel, version, platform, source, isOffered };
}

// Places of the live feed: bounds how many feeds this process keeps open, for an account, for an organization
// and in all. Without the first two bounds, one viewer could take every place, and leave none for all other
// organizations.

/** Reader of a feed. The operator, who has the admin token, has no account. */
export type LiveViewer = {
  readonly accountId: string | undefined;
  readonly organizationId: string;
};

const PLACES_MAX = 1000;
const RETRY_MS = 5000;

export class LivePlaces {
  private readonly byAccount = new Map<string, number>();
  private readonly byOrganization = new Map<string, number>();
  private taken = 0;

  /** Returns why the viewer can get no place at present; undefined when one is free. */
  refusal({ accountId, organizationId }: LiveViewer): Failure | undefined {
    const ofAccount = accountId === undefined ? 0 : (this.byAccount.get(accountId) ?? 0);
    const ofOrganization = this.byOrganization.get(organizationId) ?? 0;
    const isAtLimit =
      ofAccount >= LIMIT.liveFeedsOfAccountMax ||
      ofOrganization >= LIMIT.liveFeedsOfOrganizationMax;
    if (isAtLimit) return failUntil('tooManyFeeds', RETRY_MS);
    return this.taken < PLACES_MAX ? undefined : failUntil('unavailable', RETRY_MS);
  }

  /**
   * Takes a place. Returns the function that gives it back, to be called once; undefined when none is free.
   */
  take(viewer: LiveViewer): (() => void) | undefined {
    if (this.refusal(viewer) !== undefined) return undefined;
    const { accountId, organizationId } = viewer;
    this.add(1, accountId, organizationId);
    return () => this.add(-1, accountId, organizationId);
  }

  private add(step: 1 | -1, accountId: string | undefined, organizationId: string): void {
    this.taken += step;
    addTo(this.byOrganization, organizationId, step);
    if (accountId !== undefined) addTo(this.byAccount, accountId, step);
  }
}

/** Changes a count, and deletes it when it becomes zero. */
function addTo(counts: Map<string, number>, name: string, step: number): void {
  const count = (counts.get(name) ?? 0) + step;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
