// Tests the memory engine in cases that need a clock under control.

import { expect, it } from 'vitest';
import { createMemoryEngine } from '../../../src/store/memory/memory-engine.ts';
import { confirmed, NOTHING_HELD, notedIn, storedLabelsOf, unconfirmed } from './fleet-sample.ts';

const HOUR_MS = 3_600_000;

it('a place is not taken for longer than the window, whatever fractions the clock has', async () => {
  // The sum of this time and the window is rounded up.
  const engine = createMemoryEngine({ now: () => 125_230.470_290_547_57 });
  const [first, refused] = [
    await engine.countRequest('key', 1, 10_000),
    await engine.countRequest('key', 1, 10_000),
  ];
  expect([first.leaveMs, refused.leaveMs]).toEqual([10_000, 10_000]);
});

it('labels are confirmed for an hour after they were put, and run out a week after their last use', async () => {
  let now = 0;
  const engine = createMemoryEngine({ now: () => now });
  const [once, twice] = [storedLabelsOf('once', 1), storedLabelsOf('twice', 1)];
  await engine.putLabels([once, twice]);
  now = HOUR_MS / 2;
  await engine.putLabels([twice]);
  now = HOUR_MS - 1;
  expect(await engine.getLabels([once, twice])).toEqual(confirmed(once, twice));
  now = HOUR_MS;
  const both = [...unconfirmed(once), ...confirmed(twice)];
  expect(await engine.getLabels([once, twice])).toEqual(both);
  for (let day = 1; day <= 20; day++) {
    now = day * 24 * HOUR_MS;
    expect(await engine.getLabels([once])).toEqual(unconfirmed(once));
  }
  expect(await engine.getLabels([twice])).toEqual([NOTHING_HELD]);
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

function noting() {
  const time = { now: 1000, endedBefore: 0 };
  const [now, labelNotesEndedBefore] = [() => time.now, () => time.endedBefore];
  return { time, engine: createMemoryEngine({ now, labelNotesEndedBefore }) };
}

it('a note counts until its check-in is on record, however often others of the device come', async () => {
  const { time, engine } = noting();
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
  const { time, engine } = noting();
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
