// Tests the memory of devices that are on record: what it knows is true, and it may forget.

import { expect, it } from 'vitest';
import { RecordedDevices } from '../../src/fleet/admission.ts';

const HOUR_MS = 3_600_000;
const device = (deviceId: string, appId = 'app_1') => ({ appId, deviceId });

it('knows what was noted, by app and id', () => {
  const recorded = new RecordedDevices();
  recorded.note(device('a'));
  recorded.note(device('a'));
  expect(recorded.has(device('a'))).toBe(true);
  expect(recorded.has(device('b'))).toBe(false);
  expect(recorded.has(device('a', 'app_2'))).toBe(false);
});

it('forgets one device, all of them, and each after a day', () => {
  let now = 250 * HOUR_MS;
  const recorded = new RecordedDevices(() => now);
  for (const id of ['a', 'b', 'c']) recorded.note(device(id));
  recorded.forget(device('a'));
  recorded.forget(device('nobody'));
  expect(['a', 'b', 'c'].map((id) => recorded.has(device(id)))).toEqual([false, true, true]);
  now += 23 * HOUR_MS;
  recorded.note(device('c'));
  now += HOUR_MS;
  expect(['b', 'c'].map((id) => recorded.has(device(id)))).toEqual([false, true]);
  recorded.clear();
  expect(recorded.has(device('c'))).toBe(false);
});

it('takes no unknown device for a known one, and keeps nearly all of a million', () => {
  const recorded = new RecordedDevices();
  const count = 1_000_000;
  for (let index = 0; index < count; index++) recorded.note(device(`device ${index}`));
  let [known, strangers] = [0, 0];
  for (let index = 0; index < count; index += 10) {
    if (recorded.has(device(`device ${index}`))) known += 1;
    if (recorded.has(device(`stranger ${index}`))) strangers += 1;
  }
  expect(strangers).toBe(0);
  expect(known).toBeGreaterThan(0.99 * (count / 10));
});
