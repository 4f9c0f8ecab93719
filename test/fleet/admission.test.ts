// Tests the admission of new devices around the ledger: when it is asked, what is remembered, and the
// warnings. What the memory of recorded devices knows is true, and it may forget.

import { beforeEach, describe, expect, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { Admission, RecordedDevices } from '../../src/fleet/admission.ts';
import type { AdmissionBounds } from '../../src/store/fleet-ledger.ts';
import type { ServingLedger } from '../../src/store/ledger.ts';
import { checkInOf } from '../store/engine/fleet-sample.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

const BOUNDS: AdmissionBounds = { perNetwork: 2, perApp: 0 };
const MINUTE_MS = 60_000;

/**
 * Ledger that admits nobody whose id begins with `x`. It notes its calls, with the devices it had to look
 * for.
 */
class Ledger {
  readonly calls: string[] = [];
  isAway = false;

  async recordCheckIns() {
    this.calls.push('queued');
    return [];
  }

  async recordAwaited() {
    this.calls.push('awaited');
    return [];
  }

  recordChecks: ServingLedger['recordChecks'] = async (checkIns, kind, _bounds, isRecorded) => {
    const unknown = checkIns.filter((each) => isRecorded?.(each) !== true);
    this.calls.push([kind, ...unknown.map(({ deviceId }) => deviceId)].join(' '));
    if (this.isAway) throw ledgerAway();
    const refused = unknown.filter(({ deviceId }) => deviceId.startsWith('x'));
    return {
      labels: [],
      unadmitted: refused.map(({ appId, deviceId, network }) => {
        return { appId, deviceId, network, bound: 'network' as const };
      }),
      left: [],
    };
  };
}

describe('admission', () => {
  let ledger: Ledger;
  let lines: Record<string, unknown>[];
  let now: number;
  beforeEach(() => {
    ledger = new Ledger();
    lines = [];
    now = 0;
  });

  function admissionOf(bounds: AdmissionBounds, recorded?: RecordedDevices): Admission {
    const log = {
      warn: (details: object, message: string) => void lines.push({ ...details, message }),
    };
    const rest = recorded === undefined ? {} : { recorded };
    return new Admission({
      ...{ ledger, bounds, trustedProxies: 1, now: () => now, ...rest },
      log: log as ConstructorParameters<typeof Admission>[0]['log'],
    });
  }

  const checks = (ids: readonly string[], network = '203.0.113.1'): CheckIn[] =>
    ids.map((id) => checkInOf(id, { network }));

  it('without bounds, check-ins are recorded as ever', async () => {
    const admission = admissionOf({ perNetwork: 0, perApp: 0 });
    await admission.record(checks(['a']), 'queued');
    await admission.record(checks(['a']), 'awaited');
    expect(ledger.calls).toEqual(['queued', 'awaited']);
  });

  it('a device that was recorded is not looked for again, one that was not admitted is', async () => {
    const admission = admissionOf(BOUNDS, new RecordedDevices());
    const { unadmitted } = await admission.record(checks(['a', 'x1']), 'queued');
    expect(unadmitted.map(({ deviceId }) => deviceId)).toEqual(['x1']);
    await admission.record(checks(['a', 'b', 'x1']), 'queued');
    await admission.record(checks(['b', 'a']), 'queued');
    expect(ledger.calls).toEqual(['queued a x1', 'queued b x1', 'queued']);
    await admission.record(checks(['b', 'c']), 'awaited');
    await admission.record(checks(['b', 'c']), 'awaited');
    expect(ledger.calls.slice(3)).toEqual(['awaited c', 'awaited']);
  });

  it('what the ledger did not record is not remembered', async () => {
    const admission = admissionOf(BOUNDS, new RecordedDevices());
    ledger.isAway = true;
    await expect(admission.record(checks(['a']), 'queued')).rejects.toThrow(Unavailable);
    ledger.isAway = false;
    await admission.record(checks(['a']), 'queued');
    expect(ledger.calls).toEqual(['queued a', 'queued a']);
  });

  it('a flood is told once a minute, with how much of it there was', async () => {
    const admission = admissionOf(BOUNDS);
    for (let second = 0; second <= 60; second++) {
      now = second * 1000;
      await admission.record(checks(['x1', 'x2']), 'queued');
    }
    const message = 'new devices are not recorded: there are too many';
    const told = { message, bound: 'network', app: 'app_1' };
    expect(lines).toEqual([
      { ...told, checkIns: 2 },
      { ...told, checkIns: 120 },
    ]);
  });

  it('a private address is named once a minute, a public one never', async () => {
    const admission = admissionOf(BOUNDS);
    await admission.record(checks(['x1'], '192.168.0.7'), 'queued');
    await admission.record(checks(['x1'], '192.168.0.8'), 'queued');
    now = MINUTE_MS;
    await admission.record(checks(['x1'], '203.0.113.1'), 'queued');
    await admission.record(checks(['x1'], '::/64'), 'queued');
    const named = lines.filter(({ address }) => address !== undefined);
    const message = 'many new devices ask from one private address: TRUST_PROXY may be wrong';
    expect(named).toEqual([
      { address: '192.168.0.7', TRUST_PROXY: 1, message },
      { address: '::/64', TRUST_PROXY: 1, message },
    ]);
  });
});

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
