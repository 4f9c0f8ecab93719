// Tests the report of a played fleet: what was measured and what was not are told apart, and a run that lost
// something does not pass.

import { describe, expect, it } from 'vitest';
import { LatencyHistogram } from '../../bench/load/latency-histogram.ts';
import { fleetReport } from '../../bench/suite/fleet/fleet-report.ts';
import type { FleetRun, FleetStep } from '../../bench/suite/fleet/measure-fleet.ts';

/** Step after so many answers, at 4,000 a second. */
function step(answers: number, change: Partial<FleetStep['reading']> = {}): FleetStep {
  const at = answers / 4;
  return {
    progress: {
      ...{ asked: answers, answers, offers: 0, retries: 0, errors: {}, lateMs: 3 },
      ...{ hour: 12, awakeShare: 1, watchedShare: 0, latency: [...new LatencyHistogram().counts] },
    },
    reading: {
      cpu: { at, machineMs: 0, stolenMs: 0, processesMs: {}, endedMs: 0 },
      ...{ walBytes: answers * 200, rowsWritten: answers / 2, redisBytes: 2e6, batches: 4 },
      ...{ ageSeconds: 0.5, held: 0, dropped: 0, stored: answers, connections: answers },
      recordingSeconds: (answers * 20) / 1e6,
      ...change,
    },
  };
}

function runOf(...steps: FleetStep[]): FleetRun {
  return {
    settings: { devices: 40_000, speed: 30, seconds: 60, warmupIntervals: 2 },
    idle: step(0).reading,
    steps,
    cpuMs: { service: 12_000, background: 2000, redis: 400, postgres: 6000 },
    playerMs: 30_000,
    tables: { rows: 40_000, bytes: 20e6 },
    checkpoints: 6,
  };
}

describe('the report of a played fleet', () => {
  it('has ten million devices, marked as extrapolated, beside what was measured', () => {
    const { tables } = fleetReport(runOf(step(0), step(120_000), step(240_000)));
    const fleets = tables[2]?.rows ?? [];
    expect(fleets.map(({ devices, figures }) => [devices, figures])).toEqual([
      [1_000_000, 'scaled'],
      [1_200_000, 'measured'],
      [3_000_000, 'extrapolated'],
      [10_000_000, 'extrapolated'],
    ]);
    expect(fleets[3]).toMatchObject({ 'checks/s': 33_333, 'recording %': 61, 'devices GB': 5 });
    expect(fleets[3]?.['service cores']).toBeCloseTo(1.67, 2);
    expect(tables[1]?.rows[0]).toMatchObject({ 'service us': 50, 'WAL bytes': 200 });
    expect(tables[0]?.rows).toHaveLength(2);
  });

  it('names the first bottleneck, and says that recording kept up', () => {
    const { remarks = [], failure } = fleetReport(runOf(step(0), step(240_000)));
    expect(remarks.slice(0, 2).join(' ')).toBe(
      'First bottleneck: one core of one serving process, with 6 million devices ' +
        '(20,000 checks/s); extrapolated.',
    );
    expect(remarks.join(' ')).toContain('Recording kept up');
    expect(failure).toBeUndefined();
  });

  it('says when check-ins wait at the end, and fails when some were lost', () => {
    const last = step(240_000, { ageSeconds: 40, dropped: 7 });
    const { remarks = [], failure } = fleetReport(runOf(step(0), last));
    expect(remarks.join(' ')).toContain('Recording did not keep up');
    expect(failure).toBe('7 check-ins were dropped');
  });

  it('says what the service could not be scaled to', () => {
    const run = runOf(step(0), step(240_000));
    const quick = { ...run, settings: { ...run.settings, speed: 60 } };
    expect(fleetReport(run).remarks?.join(' ')).toContain('300 s to them, as installed');
    expect(fleetReport(quick).remarks?.join(' ')).toContain('600 s to them instead of 300');
  });
});
