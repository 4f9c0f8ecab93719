// Tests labels that are noted in the engine before they are on record.

import { describe, expect, it } from 'vitest';
import { tagLabels } from '../../src/domain/fleet/labels.ts';
import { checkInOf, notedIn } from '../store/engine/fleet-sample.ts';
import {
  areStored,
  away,
  checkInWith,
  type Differences,
  device,
  ring,
  setUp,
} from './device-labels-fixture.ts';

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
        const entry = store.change(device('a'), ring(value), checkIn.at);
        return labels.remember([entry], [checkIn], kind);
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

  it('is overtaken by a report, whatever the clocks say', async () => {
    const { note, record, ringOf } = setUpNoting();
    await note('beta');
    await record('gamma', -1000, 'awaited');
    expect(await ringOf()).toBe('gamma');
  });

  it('is overtaken by newer labels on record, whoever brings them', async () => {
    const { cache, store, note, ringOf } = setUpNoting();
    await note('beta');
    await cache.putLabels([store.change(device('a'), ring('gamma'), at - 1)]);
    expect(await ringOf()).toBe('beta');
    await cache.putLabels([store.change(device('a'), ring('gamma'), at + 1)]);
    expect(await ringOf()).toBe('gamma');
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

  it('tells its asker without a promise, and calls nobody where a device has to be looked up', async () => {
    const { cache, labels, faults } = setUpNoting();
    const noted = (id: string) =>
      new Promise((resolve, reject) => {
        const note = { ...device(id), labels: ring('beta'), at };
        const asker = { answered: resolve, failed: reject };
        if (!labels.noteSoon(note, tagLabels(note.labels), asker)) resolve('nobody');
      });
    expect(await noted('a')).toBe(true);
    expect(await notedIn(cache as never, device('a'))).toEqual(ring('beta'));
    expect(await noted('unknown')).toBe('nobody');
    cache.noteFault = away();
    expect(await noted('a')).toBe(false);
    expect(faults('label-write')).toBe(1);
    cache.noteFault = new Error('unforeseen');
    await expect(noted('a')).rejects.toThrow('unforeseen');
  });

  it('tells nobody anything of a device that may not be on record, and where nothing is noted', () => {
    for (const differences of [{ isRecorded: () => false }, { keepsNotes: false }]) {
      const { labels } = setUpNoting(differences);
      const note = { ...device('a'), labels: ring('beta'), at };
      const asker = { answered: () => expect.fail(), failed: () => expect.fail() };
      expect(labels.noteSoon(note, tagLabels(note.labels), asker)).toBe(false);
    }
  });

  it('is refused where the engine is away, of what may not be recorded, and without notes', async () => {
    const { cache, note, faults } = setUpNoting();
    cache.noteFault = away();
    expect(await note('beta')).toBe(false);
    expect(faults('label-write')).toBe(1);
    const strict = setUpNoting({ isRecorded: () => false });
    expect(await strict.note('beta')).toBe(false);
    expect(await strict.ringOf()).toBeUndefined();
    expect(await setUpNoting({ keepsNotes: false }).note('beta')).toBe(false);
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
    expect(await notedIn(cache, device('a'))).toBeUndefined();
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
