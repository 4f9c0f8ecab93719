// Tests that played devices behave as real ones: they ask every five minutes, sleep, back off, and install.

import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../bench/random.ts';
import { DeviceDay } from '../../bench/suite/fleet/device-day.ts';
import { DeviceFleet } from '../../bench/suite/fleet/device-fleet.ts';
import { versionMix } from '../../bench/suite/fleet/version-mix.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Noon is at 0, so this is five in the afternoon: nobody sleeps for hours. */
const AFTERNOON = 5 * HOUR;

function fleetOf(devices: number, seed = 1): DeviceFleet {
  const day = new DeviceDay(DAY, 0);
  return new DeviceFleet({ devices, day, random: seededRandom(seed), drawVersion: () => '1.0.0' });
}

/** Numbers of all devices of a fleet. */
function all(fleet: DeviceFleet): number[] {
  return Array.from({ length: fleet.size }, (_, device) => device);
}

describe('a played device', () => {
  it('asks first at any time of an interval, and then every five minutes, give or take a tenth', () => {
    const fleet = fleetOf(2000);
    const first = all(fleet).map((device) => fleet.firstAsk(device));
    expect(Math.min(...first)).toBeLessThan(MINUTE / 10);
    expect(Math.max(...first)).toBeGreaterThan(4.9 * MINUTE);
    expect(Math.max(...first)).toBeLessThan(5 * MINUTE);
    const gaps = all(fleet).map((device) => fleet.answer(device, AFTERNOON) - AFTERNOON);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(4.5 * MINUTE);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(5.5 * MINUTE);
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    expect(mean / MINUTE).toBeCloseTo(5, 1);
  });

  it('doubles its wait with each failure, up to half an hour, and forgets failures when it is answered', () => {
    const fleet = fleetOf(1);
    for (const seconds of [10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800]) {
      const wait = (fleet.fail(0, AFTERNOON) - AFTERNOON) / 1000;
      expect(wait).toBeGreaterThanOrEqual(seconds / 2);
      expect(wait).toBeLessThanOrEqual(seconds);
      expect(fleet.isRetrying(0)).toBe(true);
    }
    fleet.answer(0, AFTERNOON);
    expect(fleet.isRetrying(0)).toBe(false);
    expect(fleet.fail(0, AFTERNOON) - AFTERNOON).toBeLessThanOrEqual(10_000);
  });

  it('runs what it was offered after some time, however often it is offered it again', () => {
    const fleet = fleetOf(1000);
    for (const minutes of [0, 5, 10]) {
      for (const device of all(fleet)) fleet.answer(device, minutes * MINUTE, '1.1.0');
    }
    expect(fleet.shareOn('1.1.0', MINUTE - 1)).toBe(0);
    // The logarithm of the time is uniform between those of 1 and 480 minutes.
    expect(fleet.shareOn('1.1.0', 22 * MINUTE)).toBeCloseTo(0.5, 1);
    expect(fleet.shareOn('1.1.0', 490 * MINUTE)).toBe(1);
    expect(fleet.versionAt(0, 490 * MINUTE)).toBe('1.1.0');
  });

  it('installs the newest of what it was offered meanwhile', () => {
    const fleet = fleetOf(1);
    fleet.answer(0, 0, '1.1.0');
    fleet.answer(0, 1, '1.2.0');
    expect(fleet.versionAt(0, 480 * MINUTE + 1)).toBe('1.2.0');
  });

  it('is the same in every run with the same seed', () => {
    const [one, other] = [fleetOf(50, 7), fleetOf(50, 7)];
    expect(all(one).map((device) => one.firstAsk(device))).toEqual(
      all(other).map((device) => other.firstAsk(device)),
    );
  });
});

describe('a night', () => {
  it('leaves only those awake that never sleep', () => {
    const fleet = fleetOf(5000);
    expect(fleet.awakeShare(0)).toBe(1);
    expect(fleet.awakeShare(15 * HOUR)).toBeCloseTo(0.4, 1);
    expect(fleet.awakeShare(21 * HOUR)).toBe(1);
  });

  it('ends for each device at its own hour, when it asks', () => {
    const day = new DeviceDay(DAY, 0);
    expect(day.nextAwake(9 * HOUR, 0)).toBe(9 * HOUR);
    expect(day.nextAwake(11 * HOUR, 0)).toBe(19 * HOUR);
    expect(day.nextAwake(11 * HOUR, 1)).toBe(20 * HOUR);
    expect(day.nextAwake(11 * HOUR, Number.NaN)).toBe(11 * HOUR);
    // A time at which it wakes is one at which it is awake.
    expect(day.nextAwake(20 * HOUR, 1)).toBe(20 * HOUR);
  });

  it('keeps its share of a day that is pressed', () => {
    const day = new DeviceDay(24 * MINUTE, 100 * MINUTE);
    expect(day.hourOf(100 * MINUTE)).toBe(12);
    expect(day.hourOf(99 * MINUTE)).toBe(11);
    expect(day.nextAwake(111 * MINUTE, 0)).toBe(119 * MINUTE);
  });

  it('does not come before the first noon, when devices ask for the first time', () => {
    const day = new DeviceDay(24 * MINUTE, 100 * MINUTE);
    expect(day.nextAwake(88 * MINUTE, 0)).toBe(88 * MINUTE);
  });
});

describe('the versions of a fleet', () => {
  it('are the newest for most, and each older one for fewer', () => {
    const random = seededRandom(3);
    const counts = new Array<number>(20).fill(0);
    for (let draw = 0; draw < 50_000; draw++) {
      const place = versionMix(random(), counts.length);
      counts[place] = (counts[place] ?? 0) + 1;
    }
    expect((counts[0] ?? 0) / 50_000).toBeCloseTo(0.7, 1);
    for (const [place, count] of counts.slice(1, 8).entries()) {
      expect(count).toBeGreaterThan(counts[place + 2] ?? 0);
    }
    expect(counts.every((count) => count > 0)).toBe(true);
  });

  it('are one where there is one', () => {
    expect([0, 0.8, 0.999_999].map((draw) => versionMix(draw, 1))).toEqual([0, 0, 0]);
  });
});
