// Tests the played fleet: its devices behave as real ones, ask a real server, and are reported as measured.

import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { LatencyHistogram } from '../../bench/load/latency-histogram.ts';
import { seededRandom } from '../../bench/random.ts';
import { DeviceFleet } from '../../bench/suite/fleet/device-fleet.ts';
import { DeviceDay } from '../../bench/suite/fleet/device-hours.ts';
import { fleetReport } from '../../bench/suite/fleet/fleet-report.ts';
import type { FleetRun, FleetStep } from '../../bench/suite/fleet/measure-fleet.ts';
import { type FleetProgress, playFleet } from '../../bench/suite/fleet/play-fleet.ts';
import { loopbackServer } from '../support/loopback-server.ts';
import { own } from '../support/own.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Noon is at 0, so this is five in the afternoon: nobody sleeps for hours. */
const AFTERNOON = 5 * HOUR;

function fleetOf(size: number): DeviceFleet {
  return new DeviceFleet(size, new DeviceDay(24 * HOUR, 0), seededRandom(1), ['1.0.0']);
}

const numbers = (size: number) => Array.from({ length: size }, (_, index) => index);

describe('a played device', () => {
  it('asks first at any time of an interval, and then every five minutes, give or take a tenth', () => {
    const fleet = fleetOf(2000);
    const first = numbers(2000).map((device) => fleet.firstAsk(device));
    expect(Math.min(...first)).toBeLessThan(MINUTE / 10);
    expect(Math.max(...first)).toBeGreaterThan(4.9 * MINUTE);
    const gaps = numbers(2000).map((device) => fleet.answer(device, AFTERNOON) - AFTERNOON);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(4.5 * MINUTE);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(5.5 * MINUTE);
  });

  it('doubles its wait with each failure, up to half an hour, and forgets failures when it is answered', () => {
    const fleet = fleetOf(1);
    for (const seconds of [10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800]) {
      const wait = (fleet.fail(0, AFTERNOON) - AFTERNOON) / 1000 / seconds;
      expect([wait >= 0.5, wait <= 1, fleet.isRetrying(0)]).toEqual([true, true, true]);
    }
    fleet.answer(0, AFTERNOON);
    expect(fleet.isRetrying(0)).toBe(false);
  });

  it('runs the newest of what it was offered after some time, however often it is offered it again', () => {
    const fleet = fleetOf(1000);
    for (const [times, version] of ['1.1.0', '1.2.0', '1.2.0'].entries()) {
      for (const device of numbers(1000)) fleet.answer(device, times * 5 * MINUTE, version);
    }
    expect(fleet.shareOn('1.2.0', MINUTE - 1)).toBe(0);
    // The logarithm of the time is uniform between those of 1 and 480 minutes.
    expect(fleet.shareOn('1.2.0', 22 * MINUTE)).toBeCloseTo(0.5, 1);
    expect(fleet.shareOn('1.2.0', 490 * MINUTE)).toBe(1);
  });

  it('sleeps at night, if it ever does, by its own hours, which keep their share of a pressed day', () => {
    const fleet = fleetOf(5000);
    const shares = [0, 15 * HOUR, 21 * HOUR].map((at) => fleet.awakeShare(at));
    expect(shares).toEqual([1, expect.closeTo(0.4, 1), 1]);
    const day = new DeviceDay(24 * HOUR, 0);
    expect([9, 11, 20].map((hour) => day.nextAwake(hour * HOUR, 0) / HOUR)).toEqual([9, 19, 20]);
    const shifted = [1, Number.NaN].map((shift) => day.nextAwake(11 * HOUR, shift) / HOUR);
    expect(shifted).toEqual([20, 11]);
    const pressed = new DeviceDay(24 * MINUTE, 100 * MINUTE);
    expect([pressed.hourOf(100 * MINUTE), pressed.hourOf(99 * MINUTE)]).toEqual([12, 11]);
    // Before the first noon, when devices ask for the first time, nobody sleeps.
    expect([111, 88].map((at) => pressed.nextAwake(at * MINUTE, 0) / MINUTE)).toEqual([119, 88]);
  });
});

describe('a played fleet', () => {
  /** Plays 100 devices for five seconds, in which each asks every 0.3 s while it is awake. */
  async function played(listener: RequestListener): Promise<FleetProgress[]> {
    const { port } = own(await loopbackServer(listener));
    const told: FleetProgress[] = [];
    const options = {
      ...{ port, devices: 100, speed: 1000, warmupSeconds: 0.3, seconds: 5, steps: 2 },
      ...{ paths: ['/u/a/stable/linux/x86_64'], versions: ['1.0.0'], watched: '1.1.0' },
    };
    await playFleet(options, (progress) => told.push(progress));
    return told;
  }

  it('asks for many devices, goes on with what was offered, and tells how it goes on', async () => {
    const asked = new Map<unknown, string>();
    const told = await played(({ url = '', headers }, response) => {
      asked.set(headers['x-service-device'], url.slice(url.lastIndexOf('/') + 1));
      if (url.endsWith('/1.1.0')) response.writeHead(204).end();
      else response.end('{"version":"1.1.0","notes":""}');
    });
    expect([told.length, told[0]?.answers, told[2]?.errors]).toEqual([3, 0, {}]);
    expect(told[2]?.watchedShare).toBeGreaterThan(0);
    // All 100 of them, unless the machine is late.
    expect(asked.size).toBeGreaterThan(1);
    expect(new Set(asked.values())).toContain('1.1.0');
  });

  it('tries again when it is told to come later, and counts that and what goes wrong on the way', async () => {
    let asked = 0;
    const told = await played(({ socket }, response) => {
      asked += 1;
      if (asked % 3 === 0) return void socket.destroy();
      response.statusCode = asked % 3 === 1 ? 429 : 204;
      response.end();
    });
    expect(told[2]?.errors['status 429']).toBeGreaterThan(0);
    expect(Object.keys(told[2]?.errors ?? {}).length).toBeGreaterThan(1);
    expect(told[2]?.retries).toBeGreaterThan(0);
  });
});

describe('the report of a played fleet', () => {
  /** Step after so many answers, at 4,000 a second. */
  const step = (answers: number, change: Partial<FleetStep['reading']> = {}): FleetStep => ({
    progress: {
      ...{ asked: answers, answers, offers: 0, retries: 0, errors: {}, lateMs: 3, hour: 12 },
      ...{ awakeShare: 1, watchedShare: 0, latency: [...new LatencyHistogram().counts] },
    },
    reading: {
      ...{ walBytes: answers * 200, rowsWritten: answers / 2, redisBytes: 2e6, batches: 4 },
      ...{ ageSeconds: 0.5, held: 0, dropped: 0, connections: answers },
      ...{ recordingSeconds: (answers * 20) / 1e6, cpu: { ...CPU, at: answers / 4 }, ...change },
    },
  });
  const CPU = { machineMs: 0, stolenMs: 0, processesMs: {}, endedMs: 0, residentBytes: 0 };
  const runOf = (...steps: FleetStep[]): FleetRun => ({
    settings: { devices: 40_000, speed: 30, duration: 60, warmupIntervals: 2 },
    cpuMs: { service: 12_000, background: 2000, redis: 400, postgres: 6000 },
    ...{ idle: step(0).reading, steps, playerMs: 30_000, checkpoints: 6 },
    tables: { rows: 40_000, bytes: 20e6 },
  });

  it('has ten million devices, marked as extrapolated, beside what was measured', () => {
    const report = fleetReport(runOf(step(0), step(120_000), step(240_000)));
    const [, checks = [], fleets = [], limits = []] = report.tables.map(({ rows }) => rows);
    expect(fleets.map(({ devices, figures }) => `${devices} ${figures}`)).toEqual([
      ...['1000000 scaled', '1200000 measured', '3000000 extrapolated', '10000000 extrapolated'],
    ]);
    expect(fleets[3]).toMatchObject({ 'checks/s': 33_333, 'recording %': 61, 'devices GB': 5 });
    expect(fleets[3]?.['service cores']).toBeCloseTo(1.67, 2);
    expect(checks[0]).toMatchObject({ 'service us': 50, 'WAL bytes': 200 });
    expect(limits.map((row) => row['million devices'])).toEqual([6, 16.36, 180]);
    const remarks = report.remarks?.join(' ');
    expect(remarks).toMatch(/^First bottleneck: one core of one serving process, with 6 million/);
    expect(remarks).toMatch(/Recording kept up.* 300 s to them, as installed/);
    expect(report.failures).toEqual([]);
    // It says when check-ins wait at the end, and fails when some were lost.
    const late = fleetReport(runOf(step(0), step(240_000, { held: 20_000, dropped: 7 })));
    expect(late.remarks).toContain('Recording did not keep up: check-ins waited at the end.');
    expect(late.failures).toEqual(['7 check-ins were dropped']);
  });
});
