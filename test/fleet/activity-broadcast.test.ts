// Tests the live feed: watchers are told the true number of check-ins, with a sample of bounded size. While
// the engine's feed is away, only those seconds are missed.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { LiveActivity } from '../../src/contract/console-fleet.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { ActivityBroadcast } from '../../src/fleet/live-activity.ts';
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
afterEach(() => vi.useRealTimers());

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
  return { metrics, shared, live: new ActivityBroadcast(told, metrics, createLog('silent')) };
}

/** Lets an interval pass, and what was told arrive. */
async function pass(): Promise<void> {
  await vi.advanceTimersByTimeAsync(INTERVAL_MS);
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

it('tells every interval how many check-ins there were, all of them, with a bounded sample', async () => {
  const { live } = setUp();
  const heard: LiveActivity[] = [];
  live.start();
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
  live.stop();
});

it('samples say what the device is and whether it was offered something', async () => {
  const { live, shared } = setUp();
  live.start();
  live.note(checkInOf('a', { offeredReleaseId: 'rel_1', version: undefined, source: 'push' }));
  live.note(checkInOf('b'));
  await pass();
  const { at, channel, platform } = checkInOf('a');
  const facts = { at, channel, platform };
  expect(shared[0]?.[0]?.samples).toEqual([
    { ...facts, deviceId: 'a', version: undefined, source: 'push', isOffered: true },
    { ...facts, deviceId: 'b', version: '1.2.3', source: 'pull', isOffered: false },
  ]);
  live.stop();
});

it('a watcher hears its app from every node, and no other app', async () => {
  const engine = createMemoryEngine();
  const [one, other] = [setUp(engine), setUp(engine)];
  const heard: number[] = [];
  one.live.start();
  other.live.start();
  one.live.watch('app_1', ({ count }) => heard.push(count));
  for (let index = 0; index < 3; index++) one.live.note(checkInOf(`${index}`));
  for (let index = 0; index < 40; index++) other.live.note(checkInOf(`${index}`));
  for (let index = 0; index < 7; index++) other.live.note(checkInOf('x', { appId: 'app_2' }));
  await pass();
  expect(heard.toSorted((left, right) => left - right)).toEqual([3, 40]);
  one.live.stop();
  other.live.stop();
});

it('counts at most 1000 apps in an interval; the next one begins anew', async () => {
  const { live, shared } = setUp();
  live.start();
  for (let app = 0; app < APPS_MAX + 5; app++) live.note(checkInOf('a', { appId: `app_${app}` }));
  live.note(checkInOf('b', { appId: 'app_0' }));
  await pass();
  expect(shared[0]?.length).toBe(APPS_MAX);
  expect(shared[0]?.[0]?.count).toBe(2);
  live.note(checkInOf('a', { appId: 'app_late' }));
  await pass();
  expect(shared[1]?.map(({ appId, count }) => [appId, count])).toEqual([['app_late', 1]]);
  live.stop();
});

it('who has gone hears no more, also when going in the middle of an event; others of the app do', async () => {
  const { live } = setUp();
  const heard: string[] = [];
  live.start();
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
  live.stop();
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
  live.start();
  live.watch('app_1', ({ count }) => heard.push(count));
  live.note(checkInOf('a'));
  await pass();
  expect(metrics.faults.counts.get('live')).toBe(1);
  isAway = false;
  for (const device of ['a', 'b']) live.note(checkInOf(device));
  await pass();
  expect(heard).toEqual([2]);
  live.stop();
});

it('nothing is told when there was nothing, nor after stop', async () => {
  const { live, shared } = setUp();
  live.start();
  live.watch('app_1', () => expect.fail('heard something'));
  await pass();
  live.note(checkInOf('a'));
  live.stop();
  await pass();
  expect(shared).toEqual([]);
});
