// Tests what is extrapolated from a played fleet: needs grow in proportion, and the dearest resource ends
// first.

import { describe, expect, it } from 'vitest';
import { type CheckCost, extrapolate, limitsOf } from '../../bench/suite/fleet/extrapolate.ts';

const COST: CheckCost = {
  serviceUs: 60,
  backgroundUs: 10,
  redisUs: 2,
  postgresUs: 30,
  recordingUs: 50,
  walBytes: 200,
  connections: 1,
  redisFixedBytes: 1_000_000,
  redisBytesByRate: 100,
};

describe('an extrapolated fleet', () => {
  it('of ten million devices asks 33,333 times a second and needs what as many checks cost', () => {
    const need = extrapolate(COST, 500, 10_000_000);
    expect(Math.round(need.checksPerSecond)).toBe(33_333);
    expect(need.service).toBeCloseTo(2);
    expect(need.background).toBeCloseTo(1 / 3);
    expect(need.redis).toBeCloseTo(1 / 15);
    expect(need.postgres).toBeCloseTo(1);
    expect(need.recording).toBeCloseTo(5 / 3);
    expect(need.walBytesPerSecond).toBeCloseTo(6_666_667, -1);
    expect(need.connectionsPerSecond).toBeCloseTo(33_333, 0);
    expect(need.deviceBytes).toBe(5e9);
    expect(need.redisBytes).toBeCloseTo(4_333_333, 0);
  });
});

describe('the first bottleneck', () => {
  it('is what a check takes the most of', () => {
    const limits = limitsOf(COST);
    expect(limits.map(({ name }) => name)).toEqual([
      'one core of one serving process',
      'the one process that records check-ins',
      'the one core of Redis',
    ]);
    expect(limits[0]?.checksPerSecond).toBeCloseTo(16_667, 0);
    expect(limits[0]?.devices).toBeCloseTo(5e6, 0);
    expect(limits[2]?.devices).toBeCloseTo(150e6, 0);
  });

  it('is not a resource whose use the system does not tell', () => {
    const cost = { ...COST, serviceUs: Number.NaN, redisUs: 0 };
    expect(limitsOf(cost).map(({ name }) => name)).toEqual([
      'the one process that records check-ins',
    ]);
  });
});
