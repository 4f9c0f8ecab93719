// Tests the labels of devices: one round trip for all callers of the same moment, the engine before the
// ledger, and never a label that is known to have changed.

import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Labels } from '../../src/domain/decision/targeting.ts';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { tagLabels } from '../../src/domain/fleet/label.ts';
import { mergeLabels } from '../../src/domain/fleet/merge-labels.ts';
import { createMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { DeviceLabels } from '../../src/operations/fleet/device-labels.ts';
import type { Engine } from '../../src/ports/engine.ts';
import type { LabelChanges, RecordedLabels } from '../../src/ports/fleet-ledger.ts';
import type { DeviceName, LabelNews, StoredLabels } from '../../src/ports/label-cache.ts';
import type { LabelNoteStore } from '../../src/ports/label-notes.ts';
import { Unavailable } from '../../src/ports/unavailable.ts';
import { checkInOf } from '../engine/fleet-sample.ts';
import { eventually } from '../support/eventually.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import { gate } from '../support/gate.ts';
import { guarded, type Watch } from '../support/guarded.ts';
import { openAdmission } from '../support/open-admission.ts';

const BATCH_SIZE_MAX = 500;
const PENDING_MAX = 20_000;
const RETELL_MS = 500;
const LEDGER_WAIT_MS_MAX = 1500;
const LEDGER_REST_MS = 1000;
const FORGOTTEN_MAX = 500;

type Fault = Error | undefined;

/** The label cache of an engine; reads, writes and notes can fail independently. */
class FakeCache {
  readonly entries = new Map<string, StoredLabels>();
  /** Devices whose labels need to be confirmed by the ledger. */
  readonly unconfirmed = new Set<string>();
  readonly asked: (readonly DeviceName[])[] = [];
  readonly told: (readonly StoredLabels[])[] = [];
  readFault: Fault;
  writeFault: Fault;
  /** Promise that the next writes wait for before they fail or take effect. */
  gate: Promise<void> | undefined;
  /** Fault of the notes of labels. */
  readonly notes: Watch = { fault: undefined };
  readonly labelNotes = guarded(
    createMemoryEngine({ labelNotesEndedBefore: () => 0 }).labelNotes as LabelNoteStore,
    this.notes,
  );

  async getLabels(devices: readonly DeviceName[]) {
    this.asked.push(devices);
    if (this.readFault !== undefined) throw this.readFault;
    return devices.map(({ deviceId }) => {
      const entry = this.entries.get(deviceId);
      return entry && { ...entry, isConfirmed: !this.unconfirmed.has(deviceId) };
    });
  }

  async readLabelPosition(): Promise<undefined> {
    if (this.readFault !== undefined) throw this.readFault;
  }

  async putLabels(entries: readonly StoredLabels[]): Promise<void> {
    this.told.push(entries);
    const { writeFault } = this;
    await this.gate;
    if (writeFault !== undefined) throw writeFault;
    for (const entry of entries) {
      if ((this.entries.get(entry.deviceId)?.revision ?? 0) > entry.revision) continue;
      this.entries.set(entry.deviceId, entry);
      this.unconfirmed.delete(entry.deviceId);
    }
  }

  async dropLabels(devices: readonly DeviceName[]): Promise<void> {
    if (this.writeFault !== undefined) throw this.writeFault;
    for (const { deviceId } of devices) this.entries.delete(deviceId);
  }

  async tellLabels(news: readonly LabelNews[]): Promise<void> {
    this.hear(news);
  }

  onLabels(listener: (news: readonly LabelNews[]) => void, onResumed: () => void): void {
    this.hear = listener;
    this.resume = onResumed;
  }

  /** Announces news as another node does. */
  hear: (news: readonly LabelNews[]) => void = () => {};
  resume: () => void = () => {};

  /** Caches labels that no ledger has. */
  hold(deviceId: string, labels: Labels, isConfirmed = true): void {
    this.entries.set(deviceId, { ...device(deviceId), labels, revision: isConfirmed ? 1 : 0 });
    if (!isConfirmed) this.unconfirmed.add(deviceId);
  }
}

/** The labels of a ledger, which raises the revision with every change. */
class FakeStore {
  readonly entries = new Map<string, StoredLabels>();
  readonly reads: (readonly DeviceName[])[] = [];
  readonly writes: (readonly CheckIn[])[] = [];
  fault: Fault;

  /** Promise that the next reads wait for. */
  gate: Promise<void> | undefined;
  /** Devices by the order of their changes. */
  readonly changes: string[] = [];
  epoch = 0;

  async readLabels(devices: readonly DeviceName[]): Promise<readonly RecordedLabels[]> {
    this.reads.push(devices);
    await this.gate;
    if (this.fault !== undefined) throw this.fault;
    return devices.map((device) => {
      return { ...this.find(device), isRecorded: this.entries.has(device.deviceId) };
    });
  }

  async readLabelChanges(after: number | undefined, limit: number): Promise<LabelChanges> {
    if (this.fault !== undefined) throw this.fault;
    const newest = this.changes.length;
    const changed = this.changes.slice(after ?? newest, (after ?? newest) + limit);
    return {
      epoch: this.epoch,
      newest,
      changed: changed.map((deviceId, index) => {
        return { ...this.find(device(deviceId)), position: (after ?? 0) + index + 1 };
      }),
    };
  }

  async recordAwaited(checkIns: readonly CheckIn[]): Promise<readonly StoredLabels[]> {
    this.writes.push(checkIns);
    if (this.fault !== undefined) throw this.fault;
    return checkIns
      .filter(({ labels }) => labels !== undefined)
      .map((checkIn) => this.change(checkIn, checkIn.labels ?? new Map()));
  }

  change(device: DeviceName, newer: Labels): StoredLabels {
    const { labels, revision } = this.find(device);
    const { appId, deviceId } = device;
    const entry = { appId, deviceId, labels: mergeLabels(labels, newer), revision: revision + 1 };
    this.entries.set(deviceId, entry);
    this.changes.push(deviceId);
    return entry;
  }

  private find({ appId, deviceId }: DeviceName): StoredLabels {
    return this.entries.get(deviceId) ?? { appId, deviceId, labels: new Map(), revision: 0 };
  }
}

const made: DeviceLabels[] = [];
afterEach(() => {
  for (const labels of made.splice(0)) labels.stop();
  vi.useRealTimers();
});

type Differences = {
  readonly isRecorded?: () => boolean;
  readonly labelNotes?: undefined;
};

function setUp(differences: Differences = {}) {
  const cache = new FakeCache();
  const port = 'labelNotes' in differences ? Object.assign(cache, differences) : cache;
  const store = new FakeStore();
  const metrics = new Metrics();
  const labels = new DeviceLabels({
    engine: port as unknown as Engine,
    ledger: store,
    admission: Object.assign(openAdmission(store), { isRecorded: () => true }, differences),
    metrics,
    log: createLog('silent'),
  });
  made.push(labels);
  const faults = (place: string) => metrics.faults.counts.get(place) ?? 0;
  return { cache, store, labels, faults };
}

/** Sets up labels that are written to the ledger, as where the engine notes none. */
function setUpWithoutNotes() {
  return setUp({ labelNotes: undefined });
}

function device(deviceId: string): DeviceName {
  return { appId: 'app_1', deviceId };
}

function ring(value: string): Labels {
  return new Map([['ring', value]]);
}

function checkInWith(deviceId: string, labels: Labels) {
  return { ...checkInOf(deviceId), labels };
}

function areStored(labels: DeviceLabels, deviceId: string, value: string): boolean {
  return labels.areStored(device(deviceId), tagLabels(ring(value)));
}

function away(): Unavailable {
  return new Unavailable('engine', 'connection refused');
}

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

  it('asks the ledger again for what is unconfirmed, once', async () => {
    const { cache, store, labels } = setUp();
    store.change(device('a'), ring('new'));
    cache.hold('a', ring('old'), false);
    for (let time = 0; time < 2; time++) {
      expect(await labels.read(device('a'))).toEqual(ring('new'));
    }
    expect(store.reads.length).toBe(1);
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

  it('writes nothing when the device has these labels already', async () => {
    const { store, labels } = setUpWithoutNotes();
    const { labels: had } = store.change(device('a'), new Map([...ring('beta'), ['region', 'eu']]));
    expect(await labels.store(checkInWith('a', ring('beta')))).toEqual(had);
    expect(store.writes).toEqual([]);
    expect(areStored(labels, 'a', 'beta')).toBe(true);
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
  async function untold() {
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
    const { cache, store, labels } = await untold();
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
    const { cache, labels } = await untold();
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
    const { cache, labels } = await untold();
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
    const { cache, labels } = await untold();
    labels.stop();
    const told = cache.told.length;
    await vi.advanceTimersByTimeAsync(10 * RETELL_MS);
    expect(cache.told.length).toBe(told);
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
    // Also while the engine is away.
    cache.readFault = away();
    await expect(labels.follow()).rejects.toBeInstanceOf(Unavailable);
    expect([areStored(labels, 'a', 'early'), areStored(labels, 'b', 'early')]).toEqual([
      false,
      true,
    ]);
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
