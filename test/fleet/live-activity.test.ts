// Tests the live feed: watchers are told the true number of check-ins, with a sample of bounded size; while
// the engine's feed is away, only those seconds are missed. And how many feeds a process keeps open for an
// account, an organization and in all.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LiveActivity } from '../../src/contract/console-fleet.ts';
import { isFailure } from '../../src/contract/failure.ts';
import { LIMIT } from '../../src/contract/limit.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { ActivityBroadcast, LivePlaces, type LiveViewer } from '../../src/fleet/live-activity.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { Activity, ActivityStream } from '../../src/store/engine.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';
import { checkInOf } from '../store/engine/fleet-sample.ts';

const INTERVAL_MS = 1000;
const SAMPLES_PER_APP_MAX = 20;
const APPS_MAX = 1000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
const running: ActivityBroadcast[] = [];
afterEach(() => {
  for (const live of running.splice(0)) live.stop();
  vi.useRealTimers();
});

function setUp(feed: ActivityStream = createMemoryEngine()) {
  const metrics = new Metrics();
  const shared: (readonly Activity[])[] = [];
  const told: ActivityStream = {
    async shareActivity(activities) {
      await feed.shareActivity(activities);
      shared.push(activities);
    },
    onActivity: (listener) => feed.onActivity(listener),
  };
  const live = new ActivityBroadcast(told, metrics, createLog('silent'));
  live.start();
  running.push(live);
  return { metrics, shared, live };
}

/** Lets an interval pass, and what was told arrive. */
async function pass(): Promise<void> {
  await vi.advanceTimersByTimeAsync(INTERVAL_MS);
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

it('tells every interval how many check-ins there were, all of them, with a bounded sample', async () => {
  const { live } = setUp();
  const heard: LiveActivity[] = [];
  live.watch('app_1', (event) => heard.push(event));
  for (let index = 0; index < 12_345; index++) live.note(checkInOf(`device-${index}`));
  await pass();
  expect(heard.map(({ count }) => count)).toEqual([12_345]);
  expect(heard[0]?.samples.map(({ deviceId }) => deviceId)).toEqual(
    Array.from({ length: SAMPLES_PER_APP_MAX }, (_, index) => `device-${index}`),
  );
  live.note(checkInOf('next'));
  await pass();
  expect(heard.map(({ count }) => count)).toEqual([12_345, 1]);
});

it('a watcher hears its app from every node, and no other app', async () => {
  const engine = createMemoryEngine();
  const [one, other] = [setUp(engine), setUp(engine)];
  const heard: number[] = [];
  one.live.watch('app_1', ({ count }) => heard.push(count));
  for (let index = 0; index < 3; index++) one.live.note(checkInOf(`${index}`));
  for (let index = 0; index < 40; index++) other.live.note(checkInOf(`${index}`));
  for (let index = 0; index < 7; index++) other.live.note(checkInOf('x', { appId: 'app_2' }));
  await pass();
  expect(heard.toSorted((left, right) => left - right)).toEqual([3, 40]);
});

it('counts at most 1000 apps in an interval; the next one begins anew', async () => {
  const { live, shared } = setUp();
  for (let app = 0; app < APPS_MAX + 5; app++) live.note(checkInOf('a', { appId: `app_${app}` }));
  live.note(checkInOf('b', { appId: 'app_0' }));
  await pass();
  expect(shared[0]?.length).toBe(APPS_MAX);
  expect(shared[0]?.[0]?.count).toBe(2);
  live.note(checkInOf('a', { appId: 'app_late' }));
  await pass();
  expect(shared[1]?.map(({ appId, count }) => [appId, count])).toEqual([['app_late', 1]]);
});

it('who has gone hears no more, also when going in the middle of an event; others of the app do', async () => {
  const { live } = setUp();
  const heard: string[] = [];
  const leaveFirst = live.watch('app_1', () => {
    heard.push('first');
    leaveFirst();
  });
  live.watch('app_1', () => heard.push('second'));
  for (let round = 0; round < 2; round++) {
    live.note(checkInOf('a'));
    await pass();
  }
  expect(heard).toEqual(['first', 'second', 'second']);
});

it('with the feed away a second is lost, counted as a fault, and the next is told', async () => {
  const engine = createMemoryEngine();
  let isAway = true;
  const { live, metrics } = setUp({
    async shareActivity(activities) {
      if (isAway) throw new Unavailable('engine', 'connection refused');
      await engine.shareActivity(activities);
    },
    onActivity: (listener) => engine.onActivity(listener),
  });
  const heard: number[] = [];
  live.watch('app_1', ({ count }) => heard.push(count));
  live.note(checkInOf('a'));
  await pass();
  expect(metrics.faults.counts.get('live')).toBe(1);
  isAway = false;
  for (const device of ['a', 'b']) live.note(checkInOf(device));
  await pass();
  expect(heard).toEqual([2]);
});

it('nothing is told when there was nothing, nor after stop', async () => {
  const { live, shared } = setUp();
  live.watch('app_1', () => expect.fail('heard something'));
  await pass();
  live.note(checkInOf('a'));
  live.stop();
  await pass();
  expect(shared).toEqual([]);
});

const PLACES_MAX = 1000;
const { liveFeedsOfAccountMax: ofAccount, liveFeedsOfOrganizationMax: ofOrganization } = LIMIT;

function viewer(account: number | undefined, organization: number): LiveViewer {
  const accountId = account === undefined ? undefined : `acc_${account}`;
  return { accountId, organizationId: `org_${organization}` };
}

/** Takes as many places as there are, at most `wanted`; returns the functions that give them back. */
function takeAll(places: LivePlaces, wanted: number, viewerAt: (index: number) => LiveViewer) {
  const all = Array.from({ length: wanted }, (_, index) => places.take(viewerAt(index)));
  return all.filter((leave) => leave !== undefined);
}

describe('live feeds', () => {
  it('an account has ten, in whatever organizations; another has its own', () => {
    const places = new LivePlaces();
    const taken = takeAll(places, 50, (index) => viewer(1, index));
    expect(taken).toHaveLength(ofAccount);
    expect(places.refusal(viewer(1, 7))?.failure).toBe('tooManyFeeds');
    expect(places.refusal(viewer(2, 7))).toBeUndefined();
    taken[0]?.();
    expect(places.refusal(viewer(1, 7))).toBeUndefined();
  });

  it('an organization has a tenth of all; another has its own', () => {
    const places = new LivePlaces();
    const taken = takeAll(places, 500, (index) => viewer(index, 1));
    expect(taken).toHaveLength(ofOrganization);
    const refusal = places.refusal(viewer(999, 1));
    expect([isFailure(refusal), refusal?.retryAfterSeconds]).toEqual([true, 5]);
    expect(places.refusal(viewer(999, 2))).toBeUndefined();
    for (const leave of taken) leave();
    expect(takeAll(places, 500, (index) => viewer(index, 1))).toHaveLength(ofOrganization);
  });

  it('the operator has no bound of an account, but those of the organization and of all', () => {
    const places = new LivePlaces();
    expect(takeAll(places, 500, () => viewer(undefined, 1))).toHaveLength(ofOrganization);
    const rest = takeAll(places, 2000, (index) => viewer(undefined, index));
    expect(rest).toHaveLength(PLACES_MAX - ofOrganization);
    expect(places.refusal(viewer(1, 5000))?.failure).toBe('unavailable');
    rest[0]?.();
    expect(places.refusal(viewer(1, 5000))).toBeUndefined();
  });
});
