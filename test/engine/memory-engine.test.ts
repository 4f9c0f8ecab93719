// Tests the memory engine in cases that need a clock under control.

import { expect, it } from 'vitest';
import { createMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import { packCheckIns } from '../support/pack-check-ins.ts';
import { announcementOf } from './engine-contract.ts';
import { batchOf, devicesIn, storedLabelsOf } from './fleet-sample.ts';

it('a place is free exactly one window after it was taken, not a millisecond before', async () => {
  let now = 1000;
  const engine = createMemoryEngine({ now: () => now });
  await engine.countRequest('key', 2, 60_000);
  now = 1500;
  await engine.countRequest('key', 2, 60_000);
  now = 60_999;
  expect(await engine.countRequest('key', 2, 60_000)).toEqual({ isAllowed: false, waitMs: 1 });
  now = 61_000;
  expect(await engine.countRequest('key', 2, 60_000)).toEqual({ isAllowed: true, waitMs: 0 });
  expect(await engine.countRequest('key', 2, 60_000)).toEqual({ isAllowed: false, waitMs: 500 });
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

it('labels run out an hour after they were last told', async () => {
  let now = 0;
  const engine = createMemoryEngine({ now: () => now });
  const [once, twice] = [storedLabelsOf('once', 1), storedLabelsOf('twice', 1)];
  await engine.putLabels([once, twice]);
  now = 1_800_000;
  await engine.putLabels([twice]);
  now = 3_599_999;
  expect(await engine.getLabels([once, twice])).toEqual([once, twice]);
  now = 3_600_000;
  expect(await engine.getLabels([once, twice])).toEqual([undefined, twice]);
});

it('labels are bounded: those of the device that was of no use for longest go first', async () => {
  const engine = createMemoryEngine();
  const entries = Array.from({ length: 200_000 }, (_, index) => storedLabelsOf(`${index}`, 1));
  await engine.putLabels(entries);
  const [first, second, third] = entries;
  if (first === undefined || second === undefined || third === undefined) throw new Error('three');
  await engine.getLabels([first]);
  await engine.putLabels([storedLabelsOf('one more', 1)]);
  expect(await engine.getLabels([first, second, third])).toEqual([first, undefined, third]);
});
