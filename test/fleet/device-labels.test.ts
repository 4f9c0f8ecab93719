// Tests the labels of devices: one round trip for all callers of the same moment, the engine before the
// ledger, and never a label that is known to have changed. And labels that are noted in the engine before
// they are on record.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { tagLabels } from '../../src/domain/fleet/labels.ts';
import { checkInOf, notedIn } from '../store/engine/fleet-sample.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import { gate } from '../support/gate.ts';
import {
  areStored,
  away,
  checkInWith,
  type Differences,
  device,
  type FakeStore,
  ring,
  setUp,
  setUpWithoutNotes,
} from './device-labels-fixture.ts';

afterEach(() => {
  vi.useRealTimers();
});

const BATCH_SIZE_MAX = 500;
const PENDING_MAX = 20_000;
const LEDGER_WAIT_MS_MAX = 1500;
const LEDGER_REST_MS = 1000;
const FORGOTTEN_MAX = 500;

describe('reading', () => {
  it('asks the engine once for all devices of a turn, at most 500 at a time, the ledger not at all', async () => {
    const { cache, store, labels } = setUp();
    const ids = Array.from({ length: 1100 }, (_, index) => `device-${index}`);
    for (const id of ids) cache.hold(id, ring(id));
    const some = labels.readAll(ids.slice(0, 100).map(device));
    const others = ids.slice(100).map((id) => labels.read(device(id)));
    expect([...(await some), ...(await Promise.all(others))]).toEqual(ids.map(ring));
    expect(cache.asked.map(({ length }) => length)).toEqual([BATCH_SIZE_MAX, BATCH_SIZE_MAX, 100]);
    expect(store.reads).toEqual([]);
  });

  it('asks the ledger for what the engine does not have, only that, and refills the engine', async () => {
    const { cache, store, labels } = setUp();
    cache.hold('b', ring('cached'));
    for (const id of ['a', 'c']) store.change(device(id), ring(`of ${id}`));
    const wanted = ['a', 'b', 'c', 'unknown'].map(device);
    const expected = [ring('of a'), ring('cached'), ring('of c'), new Map()];
    expect(await labels.readAll(wanted)).toEqual(expected);
    expect(await labels.readAll(wanted)).toEqual(expected);
    // A device that the ledger does not know takes no place in the engine.
    expect(store.reads).toEqual([['a', 'c', 'unknown'].map(device), [device('unknown')]]);
    expect(cache.entries.has('unknown')).toBe(false);
  });

  it('asks the ledger when the engine is away, and the engine again when it is back', async () => {
    const { cache, store, labels, faults } = setUp();
    store.change(device('a'), ring('beta'));
    cache.readFault = away();
    cache.writeFault = away();
    expect(await labels.read(device('a'))).toEqual(ring('beta'));
    expect(faults('label-read')).toBe(1);
    cache.readFault = undefined;
    cache.writeFault = undefined;
    for (let time = 0; time < 2; time++) {
      expect(await labels.read(device('a'))).toEqual(ring('beta'));
    }
    expect(store.reads.length).toBe(2);
    store.fault = ledgerAway();
    cache.readFault = away();
    await expect(labels.read(device('a'))).rejects.toBeInstanceOf(Unavailable);
  });

  it('with the ledger away refuses the unknown devices of a round trip, not the known ones', async () => {
    const { cache, store, labels } = setUp();
    cache.hold('known', ring('known'));
    cache.hold('unconfirmed', ring('unconfirmed'), false);
    store.fault = ledgerAway();
    const ids = ['known', 'unconfirmed', 'unknown'];
    const answers = await Promise.allSettled(ids.map((id) => labels.read(device(id))));
    expect(cache.asked.length).toBe(1);
    expect(cache.unconfirmed.has('unconfirmed')).toBe(true);
    expect(answers).toEqual([
      { status: 'fulfilled', value: ring('known') },
      { status: 'fulfilled', value: ring('unconfirmed') },
      { status: 'rejected', reason: expect.any(Unavailable) },
    ]);
  });

  it('waits for a ledger that hangs for a moment, then for a second not at all; a late answer counts', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const { cache, store, labels } = setUp();
    store.change(device('a'), ring('new'));
    cache.hold('a', ring('old'), false);
    const { opened, open } = gate();
    store.gate = opened;
    const first = labels.read(device('a'));
    const unknown = labels.read(device('unknown')).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(LEDGER_WAIT_MS_MAX);
    expect(await first).toEqual(ring('old'));
    expect(await unknown).toBeInstanceOf(Unavailable);
    expect(await labels.read(device('a'))).toEqual(ring('old'));
    await expect(labels.read(device('unknown'))).rejects.toBeInstanceOf(Unavailable);
    expect(store.reads.length).toBe(1);
    open();
    await vi.advanceTimersByTimeAsync(0);
    expect(await labels.read(device('a'))).toEqual(ring('new'));
    await vi.advanceTimersByTimeAsync(LEDGER_REST_MS);
    expect(await labels.read(device('unknown'))).toEqual(new Map());
  });

  it('refuses at once when too many wait already, and asks again afterwards', async () => {
    const { labels } = setUp();
    const waiting = Array.from({ length: PENDING_MAX }, (_, index) => {
      return labels.read(device(`${index}`));
    });
    await expect(labels.read(device('one too many'))).rejects.toBeInstanceOf(Unavailable);
    await Promise.all(waiting);
    expect(await labels.read(device('later'))).toEqual(new Map());
  });
});

describe('storing', () => {
  it('writes the ledger and then the engine, in one statement, and answers what the device has', async () => {
    const { cache, store, labels } = setUpWithoutNotes();
    store.change(device('0'), new Map([['region', 'eu']]));
    const ids = Array.from({ length: 50 }, (_, index) => `${index}`);
    const [first, ...others] = await Promise.all(
      ids.map((id) => labels.store(checkInWith(id, ring(id)))),
    );
    expect(first).toEqual(new Map([...ring('0'), ['region', 'eu']]));
    expect(others).toEqual(ids.slice(1).map(ring));
    expect(store.writes.map(({ length }) => length)).toEqual([50]);
    expect(cache.entries).toEqual(store.entries);
  });

  it('with the engine away does not count labels as stored that are on record: notes may say otherwise', async () => {
    const { cache, store, labels } = setUp();
    store.change(device('a'), ring('early'));
    await labels.store(checkInWith('a', ring('late')));
    cache.readFault = away();
    expect(await labels.store(checkInWith('a', ring('early')))).toEqual(ring('early'));
    expect(areStored(labels, 'a', 'early')).toBe(false);
  });

  it('with the ledger away answers the known labels with the new ones over them, and counts a fault', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { cache, store, labels, faults } = setUpWithoutNotes();
    cache.hold('a', new Map([...ring('alpha'), ['region', 'eu']]));
    store.fault = ledgerAway();
    const answer = await labels.store(checkInWith('a', ring('beta')));
    expect(answer).toEqual(new Map([...ring('beta'), ['region', 'eu']]));
    expect(faults('label-write')).toBe(1);
    expect(areStored(labels, 'a', 'beta')).toBe(false);
    store.fault = undefined;
    vi.advanceTimersByTime(LEDGER_REST_MS);
    await labels.store(checkInWith('a', ring('beta')));
    expect(store.entries.get('a')?.labels.get('ring')).toBe('beta');
    expect(areStored(labels, 'a', 'beta')).toBe(true);
  });
});

describe('labels known to be in the record', () => {
  it('are known after they were stored, and no longer when a report, or another node, changes them', async () => {
    const { cache, store, labels } = setUpWithoutNotes();
    labels.start();
    expect(areStored(labels, 'a', 'early')).toBe(false);
    await labels.store(checkInWith('a', ring('early')));
    expect([areStored(labels, 'a', 'early'), areStored(labels, 'a', 'late')]).toEqual([
      true,
      false,
    ]);
    await labels.remember([store.change(device('a'), ring('late'))], [], 'awaited');
    expect(areStored(labels, 'a', 'early')).toBe(false);
    // The next check that sends the old labels therefore writes them again.
    expect(await labels.store(checkInWith('a', ring('early')))).toEqual(ring('early'));
    expect(store.writes.length).toBe(2);
    cache.hear([store.change(device('a'), ring('x'))]);
    expect(areStored(labels, 'a', 'early')).toBe(false);
    await labels.store(checkInWith('a', ring('early')));
    cache.resume();
    expect(areStored(labels, 'a', 'early')).toBe(false);
  });

  it('are no longer known behind a report of this process, before its announcement arrives', async () => {
    // Not started: nothing that is announced arrives.
    const { store, labels } = setUp();
    labels.noteSent(device('a'), tagLabels(ring('early')), false);
    expect(areStored(labels, 'a', 'early')).toBe(true);
    await labels.remember([store.change(device('a'), ring('late'))], [], 'awaited');
    expect(areStored(labels, 'a', 'early')).toBe(false);
  });

  it('are no longer known of a device that was deleted, and not cached either', async () => {
    const { cache, labels } = setUpWithoutNotes();
    labels.start();
    for (const id of ['a', 'b']) await labels.store(checkInWith(id, ring('early')));
    await labels.forget([device('a')]);
    expect([areStored(labels, 'a', 'early'), areStored(labels, 'b', 'early')]).toEqual([
      false,
      true,
    ]);
    expect([...cache.entries.keys()]).toEqual(['b']);
    cache.writeFault = away();
    await expect(labels.forget([device('b')])).rejects.toBeInstanceOf(Unavailable);
  });

  /** Sets up devices whose labels are known, and followed in the ledger. */
  async function followed() {
    vi.useFakeTimers({ toFake: ['performance'] });
    const made = setUpWithoutNotes();
    await made.labels.follow();
    vi.advanceTimersByTime(1);
    for (const id of ['a', 'b']) await made.labels.store(checkInWith(id, ring('early')));
    await made.labels.follow();
    expect(areStored(made.labels, 'a', 'early')).toBe(true);
    return made;
  }

  it('are no longer known when the ledger has other ones, although nobody told', async () => {
    const { cache, store, labels } = await followed();
    store.change(device('a'), ring('late'));
    // Also while the engine is away, when no other ones are known either: they may have been noted.
    cache.readFault = away();
    await expect(labels.follow()).rejects.toBeInstanceOf(Unavailable);
    expect(['a', 'b'].map((id) => areStored(labels, id, 'early'))).toEqual([false, false]);
    cache.readFault = undefined;
    await labels.follow();
    expect(['a', 'b'].map((id) => areStored(labels, id, 'early'))).toEqual([false, true]);
  });

  it.each<[string, (store: FakeStore) => void]>([
    [
      'many changes',
      (store) => {
        for (let id = 0; id <= FORGOTTEN_MAX; id++) store.change(device(`other ${id}`), ring('x'));
      },
    ],
    ['a new epoch', (store) => void store.epoch++],
    ['a position that went back', (store) => void store.changes.pop()],
  ])('are all forgotten after %s', async (_reason, happens) => {
    const { store, labels } = await followed();
    happens(store);
    await labels.follow();
    expect(areStored(labels, 'a', 'early')).toBe(false);
  });
});

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

  it('is refused where the engine is away, of what may not be recorded, and without notes', async () => {
    const { cache, note, faults } = setUpNoting();
    cache.noteFault = away();
    expect(await note('beta')).toBe(false);
    expect(faults('label-write')).toBe(1);
    const strict = setUpNoting({ isRecorded: () => false });
    expect(await strict.note('beta')).toBe(false);
    expect(await strict.ringOf()).toBeUndefined();
    expect(await setUpNoting({ keepsNotes: false }).note('beta')).toBe(false);
    for (const differences of [{ isRecorded: () => false }, { keepsNotes: false }]) {
      const { labels } = setUpNoting(differences);
      const soon = { ...device('a'), labels: ring('beta'), at };
      const asker = { answered: () => expect.fail(), failed: () => expect.fail() };
      expect(labels.noteSoon(soon, tagLabels(soon.labels), asker)).toBe(false);
    }
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
});
