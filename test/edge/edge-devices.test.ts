// Tests when a service accepts what an edge uploads: a queue that ends with the process keeps nothing, so
// what it holds counts only once it is recorded.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { EdgeDevices } from '../../src/edge/server/edge-devices.ts';
import { checkInOf } from '../store/engine/fleet-sample.ts';

const LONG_AGO_MS = 60_000;

function unasked(): never {
  throw new Error('This is not asked');
}

type Queue = {
  /** Returns the age in milliseconds of the queue's oldest check-in. */
  ageOfCheckIns: () => Promise<number>;
  isInProcess: boolean;
  isFull?: boolean;
};

/** Releases that check-ins of the queue were offered. */
const offers = new Set<unknown>();

function devicesWith({ ageOfCheckIns, isInProcess, isFull = false }: Queue) {
  offers.clear();
  return new EdgeDevices({
    ledger: {
      readLabels: unasked,
      readLabelChanges: async () => ({ epoch: 0, newest: 7, changed: [] }),
      recordFailures: unasked,
      findReleaseApps: async () =>
        new Map([
          ['rel_own', 'app'],
          ['rel_other', 'another'],
        ]),
    },
    queue: {
      streams: 1,
      async appendCheckIns(pack) {
        for (const { value } of pack.contexts) offers.add(value.offeredReleaseId);
        return isFull ? 'full' : 'accepted';
      },
      ageOfCheckIns,
    },
    isQueueInProcess: isInProcess,
    admission: { record: unasked },
    labels: { remember: unasked },
    servedOf: async (_, appIds) => new Set([...appIds].filter((id) => id !== 'another')),
  });
}

afterEach(() => {
  vi.useRealTimers();
});

describe('check-ins of an edge', () => {
  it('are accepted once the queue has none that is older, if it ends with the process', async () => {
    const ages = [LONG_AGO_MS, LONG_AGO_MS, 0];
    const devices = devicesWith({
      ageOfCheckIns: async () => ages.shift() ?? 0,
      isInProcess: true,
    });
    const answer = await devices.take(null, [checkInOf('a'), checkInOf('')]);
    expect(answer).toEqual({ kind: 'check-ins', accepted: 1, dropped: 1 });
    expect(ages).toEqual([]);
  });

  it('are dropped of other apps, and where many devices share the id by mistake', async () => {
    const devices = devicesWith({ ageOfCheckIns: unasked, isInProcess: false });
    const sent = ['a', 'undefined', '.', '{{device}}'].map((deviceId) => checkInOf(deviceId));
    const other = checkInOf('b', { appId: 'another' });
    expect(await devices.take(null, [...sent, other])).toMatchObject({ accepted: 1, dropped: 4 });
  });

  it('lose the offers of other apps, which would be signals of those (§29.2)', async () => {
    const devices = devicesWith({ ageOfCheckIns: unasked, isInProcess: false });
    const sent = ['rel_own', 'rel_other', 'rel_none'].map((offeredReleaseId, index) =>
      checkInOf(`d${index}`, { appId: 'app', offeredReleaseId }),
    );
    expect(await devices.take('org_1', sent)).toMatchObject({ accepted: 3, dropped: 0 });
    expect(offers).toEqual(new Set(['rel_own', undefined]));
  });

  it('are refused if they are not recorded in time', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const devices = devicesWith({
      ageOfCheckIns: async () => {
        vi.advanceTimersByTime(2000);
        return LONG_AGO_MS;
      },
      isInProcess: true,
    });
    await expect(devices.take(null, [checkInOf('a')])).rejects.toThrow(Unavailable);
  });

  it('are accepted at once by a queue that outlives the process, unless it is full', async () => {
    const outliving = { ageOfCheckIns: unasked, isInProcess: false };
    const answer = await devicesWith(outliving).take(null, [checkInOf('a')]);
    expect(answer).toMatchObject({ accepted: 1 });
    const full = devicesWith({ ...outliving, isFull: true });
    await expect(full.take(null, [checkInOf('a')])).rejects.toThrow(Unavailable);
  });
});

describe('changes of labels', () => {
  const changesWith = (ageOfCheckIns: Queue['ageOfCheckIns']) =>
    devicesWith({ ageOfCheckIns, isInProcess: false }).readLabelChanges(null, 0);

  it('come with the age of what is not recorded yet, as it was before they were read', async () => {
    expect(await changesWith(async () => 1200)).toMatchObject({ newest: 7, unrecordedMs: 1200 });
  });

  it('come without it while the queue does not answer', async () => {
    const away = async () => Promise.reject(new Unavailable('engine', new Error('away')));
    expect(await changesWith(away)).toMatchObject({ newest: 7, unrecordedMs: null });
  });
});
