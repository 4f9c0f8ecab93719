// Tests the memory engine in cases that need a clock under control.

import { expect, it } from 'vitest';
import { createMemoryEngine } from '../../../src/store/memory/memory-engine.ts';
import { packCheckIns } from '../../support/pack-check-ins.ts';
import { announcementOf } from './engine-contract.ts';
import {
  batchOf,
  confirmed,
  devicesIn,
  NOTHING_HELD,
  notedIn,
  storedLabelsOf,
  unconfirmed,
} from './fleet-sample.ts';

const HOUR_MS = 3_600_000;

it('a place is free exactly one window after it was taken, not a millisecond before', async () => {
  let now = 1000;
  const engine = createMemoryEngine({ now: () => now });
  await engine.countRequest('key', 2, 60_000);
  now = 1500;
  await engine.countRequest('key', 2, 60_000);
  now = 60_999;
  expect(await engine.countRequest('key', 2, 60_000)).toMatchObject({
    isAllowed: false,
    waitMs: 1,
    leaveMs: 1,
  });
  now = 61_000;
  expect(await engine.countRequest('key', 2, 60_000)).toMatchObject({ isAllowed: true, waitMs: 0 });
  expect(await engine.countRequest('key', 2, 60_000)).toMatchObject({
    isAllowed: false,
    waitMs: 500,
  });
});

it('a place is not taken for longer than the window, whatever fractions the clock has', async () => {
  // The sum of this time and the window is rounded up.
  const engine = createMemoryEngine({ now: () => 125_230.470_290_547_57 });
  const [first, refused] = [
    await engine.countRequest('key', 1, 10_000),
    await engine.countRequest('key', 1, 10_000),
  ];
  expect([first.leaveMs, refused.leaveMs]).toEqual([10_000, 10_000]);
});

it('an announcement is never heard before the call that made it has returned', async () => {
  const engine = createMemoryEngine();
  const events: string[] = [];
  engine.subscribe(
    () => events.push('heard'),
    () => events.push('resumed'),
  );
  const announced = engine.announce(announcementOf('app', 1));
  events.push('called');
  await announced;
  events.push('returned');
  await new Promise((resolve) => setImmediate(resolve));
  expect(events).toEqual(['called', 'returned', 'heard']);
});

it('a batch is abandoned after exactly the time that the one who asks allows', async () => {
  let now = 1000;
  const engine = createMemoryEngine({ now: () => now });
  await engine.appendCheckIns(packCheckIns(batchOf('a')));
  await engine.takeCheckIns('dead', 1, 0, 500);
  now = 1499;
  expect(await engine.takeCheckIns('heir', 1, 0, 500)).toEqual([]);
  now = 1500;
  expect(devicesIn(await engine.takeCheckIns('heir', 1, 0, 500))).toEqual(['a']);
  now = 1999;
  expect(await engine.takeCheckIns('third', 1, 0, 500)).toEqual([]);
});

it('an empty queue has no age, however long reading the clock takes', async () => {
  let now = 0;
  const engine = createMemoryEngine({
    now: () => {
      now += 1;
      return now;
    },
  });
  expect(await engine.ageOfCheckIns()).toBe(0);
  await engine.appendCheckIns(packCheckIns(batchOf('a')));
  expect(await engine.ageOfCheckIns()).toBeGreaterThan(0);
});

it('labels are confirmed for an hour after they were put', async () => {
  let now = 0;
  const engine = createMemoryEngine({ now: () => now });
  const [once, twice] = [storedLabelsOf('once', 1), storedLabelsOf('twice', 1)];
  await engine.putLabels([once, twice]);
  now = HOUR_MS / 2;
  await engine.putLabels([twice]);
  now = HOUR_MS - 1;
  expect(await engine.getLabels([once, twice])).toEqual(confirmed(once, twice));
  now = HOUR_MS;
  expect(await engine.getLabels([once, twice])).toEqual([
    ...unconfirmed(once),
    ...confirmed(twice),
  ]);
});

it('labels run out a week after their last use', async () => {
  let now = 0;
  const engine = createMemoryEngine({ now: () => now });
  const [used, unused] = [storedLabelsOf('used', 1), storedLabelsOf('unused', 1)];
  await engine.putLabels([used, unused]);
  for (let day = 1; day <= 20; day++) {
    now = day * 24 * HOUR_MS;
    expect(await engine.getLabels([used])).toEqual(unconfirmed(used));
  }
  expect(await engine.getLabels([unused])).toEqual([NOTHING_HELD]);
});

it('labels are bounded: those of the device that was of no use for longest go first', async () => {
  const engine = createMemoryEngine();
  const entries = Array.from({ length: 200_000 }, (_, index) => storedLabelsOf(`${index}`, 1));
  await engine.putLabels(entries);
  const [first, second, third] = entries;
  if (first === undefined || second === undefined || third === undefined) throw new Error('three');
  await engine.getLabels([first]);
  await engine.putLabels([storedLabelsOf('one more', 1)]);
  expect(await engine.getLabels([first, second, third])).toEqual([
    ...confirmed(first),
    NOTHING_HELD,
    ...confirmed(third),
  ]);
});

it('a note counts until its check-in is on record, however often others of the device come', async () => {
  const time = { now: 1000, endedBefore: 0 };
  const engine = createMemoryEngine({
    now: () => time.now,
    labelNotesEndedBefore: () => time.endedBefore,
  });
  const device = { appId: 'app_1', deviceId: 'a' };
  const note = (at: number, key: string) =>
    engine.noteLabels([{ ...device, at, labels: new Map([[key, 'v']]) }]);
  await note(1, 'ring');
  time.now = 2000;
  await note(2, 'battery');
  time.endedBefore = 1001;
  expect(await notedIn(engine, device)).toEqual(new Map([['battery', 'v']]));
  time.endedBefore = 2001;
  expect(await notedIn(engine, device)).toBeUndefined();
});

it('notes nothing of further devices while too many wait, and does again once they have ended', async () => {
  const time = { now: 1000, endedBefore: 0 };
  const engine = createMemoryEngine({
    now: () => time.now,
    labelNotesEndedBefore: () => time.endedBefore,
  });
  const noteOf = (deviceId: string) => {
    return { appId: 'app_1', deviceId, at: 1, labels: new Map([['ring', 'early']]) };
  };
  const many = Array.from({ length: 100_000 }, (_, index) => noteOf(`d${index}`));
  await engine.noteLabels(many);
  await expect(engine.noteLabels([noteOf('x')])).rejects.toThrow('too many devices');
  await engine.noteLabels([noteOf('d7')]);
  time.endedBefore = time.now + 1;
  await engine.noteLabels([noteOf('x')]);
  time.endedBefore = 0;
  expect(await notedIn(engine, noteOf('x'))).toEqual(new Map([['ring', 'early']]));
});
