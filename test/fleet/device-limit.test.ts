// Tests the device limit of a process: alone at once, beside others through the engine, without the engine
// alone again.

import { describe, expect, it } from 'vitest';
import { LIMIT } from '../../src/contract/limit.ts';
import { hashText } from '../../src/domain/decision/cohort.ts';
import { secondHash } from '../../src/domain/decision/hashes.ts';
import type { DeviceDebt } from '../../src/domain/fleet/shared-window.ts';
import { MUST_SETTLE } from '../../src/domain/fleet/sliding-window-limiter.ts';
import { DeviceLimit, refusalOf } from '../../src/fleet/device-limit.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { DeviceRates } from '../../src/store/engine.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';
import { engineAway } from '../serving/serving-node.ts';

const PER_MINUTE = LIMIT.deviceRequestsPerMinute;
const ALLOWANCE = LIMIT.deviceAllowancePerMinute;
const DEVICE = [hashText('device'), secondHash('device')] as const;

/** A store for several nodes that a test can take away; store and nodes share one clock. */
function sharedStore() {
  const clock = { now: 1000 };
  const engine = createMemoryEngine({ now: () => clock.now });
  const told: DeviceDebt[] = [];
  const store = { fault: undefined as Error | undefined, batches: 0 };
  const rates: DeviceRates = {
    async settleDevices(debts) {
      store.batches += 1;
      if (store.fault !== undefined) throw store.fault;
      told.push(...debts);
      return engine.settleDevices(debts);
    },
  };
  return { clock, told, store, node: (isShared = true) => nodeOn(rates, clock, isShared) };
}

function nodeOn(engine: DeviceRates, clock: { now: number }, isShared: boolean) {
  const metrics = new Metrics();
  const sizes = { capacity: 1024, busyCapacity: 64 };
  const limit = new DeviceLimit({ engine, isShared, metrics, now: () => clock.now, ...sizes });
  const allow = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) expect(await limit.limit(...DEVICE)).toBeUndefined();
  };
  return { limit, metrics, allow, ask: () => limit.limit(...DEVICE) };
}

describe('alone', () => {
  it('120 requests a minute are allowed at once, the next is 429 with Retry-After', async () => {
    const { clock, store, node } = sharedStore();
    const { limit, metrics } = node(false);
    for (let n = 0; n < PER_MINUTE; n++) expect(limit.now(...DEVICE)).toBe(0);
    clock.now += 0.7;
    expect(limit.now(...DEVICE)).toBe(60);
    clock.now += 59_299;
    expect(limit.now(...DEVICE)).toBe(1);
    clock.now += 1000;
    expect(limit.now(...DEVICE)).toBe(0);
    expect(store.batches).toBe(0);
    expect(metrics.deviceLimit.counts).toEqual(
      new Map([
        ['refused', 2],
        ['settled', 0],
      ]),
    );
    const message = 'Rate limit exceeded';
    expect(refusalOf(7)).toEqual({ failure: 'rateLimited', message, retryAfterSeconds: 7 });
  });
});

describe('beside other processes', () => {
  it('a device that was refused costs no call until its wait is over, nor once it was quiet for a window', async () => {
    const { clock, told, node } = sharedStore();
    const { allow, ask } = node();
    await allow(PER_MINUTE);
    for (let n = 0; n < 10; n++) expect(await ask()).toMatchObject({ failure: 'rateLimited' });
    expect(told).toHaveLength(PER_MINUTE - ALLOWANCE + 1);
    clock.now += 2 * LIMIT.rateWindowMs;
    await allow(ALLOWANCE);
    expect(told).toHaveLength(PER_MINUTE - ALLOWANCE + 1);
  });

  it('a device within the allowance costs no call, the next request tells all that is owed', async () => {
    const { clock, told, node } = sharedStore();
    const { limit, metrics, allow } = node();
    await allow(ALLOWANCE);
    expect(told).toEqual([]);
    clock.now += 250;
    expect(limit.now(...DEVICE)).toBe(MUST_SETTLE);
    expect(await limit.later(...DEVICE)).toBe(0);
    expect(told).toHaveLength(1);
    expect(told[0]?.owed.map(({ ageMs }) => ageMs)).toEqual(new Array(ALLOWANCE).fill(250));
    await allow(1);
    expect(told[1]?.owed).toEqual([]);
    expect(metrics.deviceLimit.counts.get('settled')).toBe(2);
  });

  it('with the engine away each process counts alone, and as strictly', async () => {
    const { clock, store, node } = sharedStore();
    store.fault = engineAway();
    const [left, right] = [node(), node()];
    await left.allow(PER_MINUTE);
    await right.allow(PER_MINUTE);
    expect(await left.ask()).toMatchObject({ failure: 'rateLimited', retryAfterSeconds: 60 });
    expect(left.metrics.faults.counts.get('device-rate')).toBe(PER_MINUTE - ALLOWANCE + 1);
    clock.now += LIMIT.rateWindowMs;
    await left.allow(PER_MINUTE);
  });

  it('with the engine back it is told what was let through meanwhile', async () => {
    const { clock, store, node } = sharedStore();
    const [left, right] = [node(), node()];
    store.fault = engineAway();
    await left.allow(60);
    await right.allow(70);
    store.fault = undefined;
    clock.now += 1;
    await left.allow(1);
    await right.allow(1);
    expect(await right.ask()).toMatchObject({ failure: 'rateLimited' });
    expect(await left.ask()).toMatchObject({ failure: 'rateLimited' });
  });

  it('a bug of the engine is not taken for its absence', async () => {
    const { store, node } = sharedStore();
    const { allow, ask } = node();
    store.fault = new TypeError('bug');
    await allow(ALLOWANCE);
    await expect(ask()).rejects.toThrow(TypeError);
  });
});
