// Tests labels that are noted in the engine before they are on record, and labels that it was not told of.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { tagLabels } from '../../src/domain/fleet/labels.ts';
import { checkInOf } from '../store/engine/fleet-sample.ts';
import { eventually } from '../support/eventually.ts';
import { gate } from '../support/gate.ts';
import {
  areStored,
  away,
  checkInWith,
  type Differences,
  device,
  ring,
  setUp,
  setUpWithoutNotes,
  stopAll,
} from './device-labels-fixture.ts';

afterEach(stopAll);

const RETELL_MS = 500;

describe('noting', () => {
  const at = checkInOf('a').at;
  /** Sets up a device that has sent other labels before, so that its next ones are noted, not looked up. */
  function setUpNoting(differences?: Differences) {
    const made = setUp(differences);
    const { labels, store } = made;
    labels.noteSent(device('a'), tagLabels(ring('before')), true);
    return {
      ...made,
      note: (value: string) => {
        return labels.note({ ...device('a'), labels: ring(value), at }, tagLabels(ring(value)));
      },
      ringOf: async () => (await labels.read(device('a'))).get('ring'),
      /** Has a check-in with these labels recorded, of so many milliseconds after the note. */
      record: (value: string, afterMs: number, kind: 'queued' | 'awaited') => {
        const checkIn = { ...checkInWith('a', ring(value)), at: at + afterMs };
        return labels.remember([store.change(device('a'), ring(value))], [checkIn], kind);
      },
    };
  }

  it('writes no ledger; what is noted counts over what is on record, until that is as new', async () => {
    const { store, labels, note, record, ringOf } = setUpNoting();
    store.change(device('a'), new Map([...ring('alpha'), ['region', 'eu']]));
    expect(await note('beta')).toBe(true);
    expect(store.writes).toEqual([]);
    expect(await labels.read(device('a'))).toEqual(new Map([...ring('beta'), ['region', 'eu']]));
    await record('gamma', -1, 'queued');
    expect(await ringOf()).toBe('beta');
    await record('delta', 0, 'queued');
    expect(await ringOf()).toBe('delta');
  });

  it('is overtaken by a report, whatever the clocks say, also while the engine is not told', async () => {
    const { cache, note, record, ringOf } = setUpNoting();
    await note('beta');
    await record('gamma', -1000, 'awaited');
    expect(await ringOf()).toBe('gamma');
    await note('beta');
    cache.notes.fault = away();
    await record('delta', -1000, 'awaited');
    cache.notes.fault = undefined;
    expect(await ringOf()).toBe('delta');
  });

  it('is done for a device that turns out to be on record, in place of writing the ledger', async () => {
    const { cache, store, labels } = setUp({ isRecorded: () => false });
    cache.hold('a', ring('old'));
    for (const id of ['a', 'new']) {
      expect(await labels.store(checkInWith(id, ring('beta')))).toEqual(ring('beta'));
    }
    expect([...store.entries.keys()]).toEqual(['new']);
    expect(await labels.read(device('a'))).toEqual(ring('beta'));
  });

  it('is refused where the engine is away, of what may not be recorded, and without notes', async () => {
    const { cache, note, faults } = setUpNoting();
    cache.notes.fault = away();
    expect(await note('beta')).toBe(false);
    expect(faults('label-write')).toBe(1);
    const strict = setUpNoting({ isRecorded: () => false });
    expect(await strict.note('beta')).toBe(false);
    expect(await strict.ringOf()).toBeUndefined();
    expect(await setUpNoting({ labelNotes: undefined }).note('beta')).toBe(false);
  });

  it('is not for a device of which nothing is known here: its record may have them', async () => {
    const { cache, store, labels } = setUp();
    cache.entries.set('a', store.change(device('a'), ring('beta')));
    const note = (value: string) => {
      return labels.note({ ...device('a'), labels: ring(value), at }, tagLabels(ring(value)));
    };
    expect(await note('beta')).toBe(false);
    expect(await labels.store(checkInWith('a', ring('beta')))).toEqual(ring('beta'));
    expect(areStored(labels, 'a', 'beta')).toBe(true);
    expect(store.writes).toEqual([]);
    expect(await cache.labelNotes.readLabelNotes([device('a')])).toEqual([undefined]);
    // From now on a look would find what the device had before.
    expect(await note('gamma')).toBe(true);
  });

  it('is forgotten with the device', async () => {
    const { labels, note, ringOf } = setUpNoting();
    expect(await note('beta')).toBe(true);
    await labels.forget([device('a')]);
    expect(await ringOf()).toBeUndefined();
  });
});

describe('what the engine could not be told', () => {
  /** Sets up an engine that has old labels of a device, because it was away when they changed. */
  async function withPendingWrites() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const made = setUpWithoutNotes();
    await made.labels.store(checkInWith('a', ring('old')));
    made.cache.writeFault = away();
    await made.labels.store(checkInWith('a', ring('new')));
    expect(made.faults('label-share')).toBe(1);
    expect(made.cache.entries.get('a')?.labels).toEqual(ring('old'));
    return made;
  }

  it('is not read from it as it was; it is told later, again and again until it hears', async () => {
    const { cache, store, labels } = await withPendingWrites();
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(await labels.read(device('a'))).toEqual(ring('new'));
      await vi.advanceTimersByTimeAsync(RETELL_MS);
    }
    cache.writeFault = undefined;
    await vi.advanceTimersByTimeAsync(RETELL_MS);
    expect(cache.entries.get('a')?.labels).toEqual(ring('new'));
    const { length } = store.reads;
    expect(await labels.read(device('a'))).toEqual(ring('new'));
    expect(store.reads.length).toBe(length);
  });

  it('is not read from it either while it is being told', async () => {
    const { cache, labels } = await withPendingWrites();
    const { opened, open } = gate();
    cache.gate = opened;
    const told = cache.told.length;
    await vi.advanceTimersByTimeAsync(RETELL_MS);
    expect(cache.told.length).toBe(told + 1);
    const answer = labels.read(device('a'));
    await new Promise((resolve) => setImmediate(resolve));
    cache.writeFault = undefined;
    open();
    expect(await answer).toEqual(ring('new'));
  });

  it('is told as it is in the end, also when it changes while an older state is being told', async () => {
    const { cache, labels } = await withPendingWrites();
    const { opened, open } = gate();
    cache.gate = opened;
    // This attempt fails, and only after the engine could not be told of the next change either.
    await vi.advanceTimersByTimeAsync(RETELL_MS);
    cache.gate = undefined;
    await labels.store(checkInWith('a', ring('newest')));
    cache.gate = opened;
    open();
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    cache.writeFault = undefined;
    await vi.advanceTimersByTimeAsync(RETELL_MS * 2);
    vi.useRealTimers();
    await eventually('the engine has heard', () => {
      return cache.entries.get('a')?.labels.get('ring') === 'newest';
    });
  });

  it('is left at stop', async () => {
    const { cache, labels } = await withPendingWrites();
    labels.stop();
    const told = cache.told.length;
    await vi.advanceTimersByTimeAsync(10 * RETELL_MS);
    expect(cache.told.length).toBe(told);
  });
});
