// Tests the labels of devices: one round trip for all callers of the same moment, the engine before the
// ledger, and never a label that is known to have changed.

import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Labels } from '../../src/domain/decision/targeting.ts';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { tagLabels } from '../../src/domain/fleet/label.ts';
import { mergeLabels } from '../../src/domain/fleet/merge-labels.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { DeviceLabels } from '../../src/operations/fleet/device-labels.ts';
import type { Engine } from '../../src/ports/engine.ts';
import type { LabelChanges, RecordedLabels } from '../../src/ports/fleet-ledger.ts';
import type {
  CachedLabels,
  DeviceName,
  LabelNews,
  LabelPosition,
  StoredLabels,
} from '../../src/ports/label-cache.ts';
import { Unavailable } from '../../src/ports/unavailable.ts';
import { checkInOf } from '../engine/fleet-sample.ts';
import { eventually } from '../support/eventually.ts';
import { FakeLabelNotes } from '../support/fake-label-notes.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import { openAdmission } from '../support/open-admission.ts';

const BATCH_SIZE_MAX = 500;
const PENDING_MAX = 20_000;
const RETELL_MS = 500;
const LEDGER_WAIT_MS_MAX = 1500;
const LEDGER_REST_MS = 1000;
const FORGOTTEN_MAX = 500;

type Fault = Error | undefined;

/** The label cache of an engine; reads and writes can fail independently. */
class FakeCache {
  readonly entries = new Map<string, StoredLabels>();
  readonly labelNotes = new FakeLabelNotes();
  readonly asked: (readonly DeviceName[])[] = [];
  readonly told: (readonly StoredLabels[])[] = [];
  readFault: Fault;
  writeFault: Fault;
  /** Promise that the next writes wait for before they fail or take effect. */
  gate: Promise<void> | undefined;

  /** Devices whose labels need to be confirmed by the ledger. */
  readonly unconfirmed = new Set<string>();

  async getLabels(devices: readonly DeviceName[]): Promise<readonly (CachedLabels | undefined)[]> {
    this.asked.push(devices);
    if (this.readFault !== undefined) throw this.readFault;
    return devices.map(({ deviceId }) => {
      const entry = this.entries.get(deviceId);
      return entry && { ...entry, isConfirmed: !this.unconfirmed.has(deviceId) };
    });
  }

  async readLabelPosition(): Promise<LabelPosition | undefined> {
    if (this.readFault !== undefined) throw this.readFault;
    return undefined;
  }

  async putLabels(entries: readonly StoredLabels[]): Promise<void> {
    this.told.push(entries);
    const { writeFault } = this;
    await this.gate;
    if (writeFault !== undefined) throw writeFault;
    for (const entry of entries) {
      const known = this.entries.get(entry.deviceId);
      if (known === undefined || known.revision <= entry.revision) {
        this.entries.set(entry.deviceId, entry);
        this.unconfirmed.delete(entry.deviceId);
      }
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

function device(deviceId: string): DeviceName {
  return { appId: 'app_1', deviceId };
}

function ring(value: string): Labels {
  return new Map([['ring', value]]);
}

function checkInWith(deviceId: string, labels: Labels) {
  return { ...checkInOf(deviceId), labels };
}

function away(): Unavailable {
  return new Unavailable('engine', 'connection refused');
}

describe('reading', () => {
  it('asks the engine once for all devices that are asked for in the same turn, the ledger not at all', async () => {
    const { cache, store, labels } = setUp();
    const ids = Array.from({ length: 300 }, (_, index) => `device-${index}`);
    for (const id of ids) cache.entries.set(id, { ...device(id), labels: ring(id), revision: 1 });
    const some = labels.readAll(ids.slice(0, 100).map(device));
    const others = ids.slice(100).map((id) => labels.read(device(id)));
    const answers = [...(await some), ...(await Promise.all(others))];
    expect(answers).toEqual(ids.map(ring));
    expect(cache.asked.length).toBe(1);
    expect(store.reads).toEqual([]);
  });

  it('asks for at most 500 devices at a time', async () => {
    const { cache, store, labels } = setUp();
    const devices = Array.from({ length: 1100 }, (_, index) => device(`${index}`));
    await labels.readAll(devices);
    expect(cache.asked.map(({ length }) => length)).toEqual([BATCH_SIZE_MAX, BATCH_SIZE_MAX, 100]);
    expect(store.reads.map(({ length }) => length)).toEqual([BATCH_SIZE_MAX, BATCH_SIZE_MAX, 100]);
  });

  it('asks the ledger for what the engine does not have, only that, and refills the engine', async () => {
    const { cache, store, labels } = setUp();
    cache.entries.set('b', { ...device('b'), labels: ring('cached'), revision: 1 });
    store.change(device('a'), ring('of a'));
    store.change(device('c'), ring('of c'));
    const wanted = ['a', 'b', 'c', 'unknown'].map(device);
    const expected = [ring('of a'), ring('cached'), ring('of c'), new Map()];
    expect(await labels.readAll(wanted)).toEqual(expected);
    expect(store.reads).toEqual([['a', 'c', 'unknown'].map(device)]);
    expect(await labels.readAll(wanted)).toEqual(expected);
    // A device that the ledger does not know takes no place in the engine.
    expect(store.reads.slice(1)).toEqual([['unknown'].map(device)]);
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
    expect(await labels.read(device('a'))).toEqual(ring('beta'));
    expect(await labels.read(device('a'))).toEqual(ring('beta'));
    expect(store.reads.length).toBe(2);
  });

  it('is unavailable when both are away, and also with the engine there but without an answer', async () => {
    const { cache, store, labels } = setUp();
    store.fault = ledgerAway();
    await expect(labels.read(device('a'))).rejects.toBeInstanceOf(Unavailable);
    cache.readFault = away();
    const answers = await Promise.allSettled(['a', 'b'].map((id) => labels.read(device(id))));
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) });
    }
  });

  it('with the ledger away, a device that the engine has is read; only those it has not are refused', async () => {
    const { cache, store, labels } = setUp();
    cache.entries.set('a', { ...device('a'), labels: ring('beta'), revision: 1 });
    store.fault = ledgerAway();
    expect(await labels.read(device('a'))).toEqual(ring('beta'));
    await expect(labels.read(device('b'))).rejects.toBeInstanceOf(Unavailable);
  });

  it('asks the ledger again for what is unconfirmed, and believes the engine when it does not answer', async () => {
    const { cache, store, labels } = setUp();
    store.change(device('a'), ring('new'));
    for (const id of ['a', 'b']) {
      cache.entries.set(id, { ...device(id), labels: ring('old'), revision: 0 });
      cache.unconfirmed.add(id);
    }
    expect(await labels.read(device('a'))).toEqual(ring('new'));
    expect(store.reads.length).toBe(1);
    expect(await labels.read(device('a'))).toEqual(ring('new'));
    expect(store.reads.length).toBe(1);
    store.fault = ledgerAway();
    expect(await labels.read(device('b'))).toEqual(ring('old'));
    expect(cache.unconfirmed.has('b')).toBe(true);
  });

  it('with the ledger away refuses the unknown devices of a round trip, not the known ones', async () => {
    const { cache, store, labels } = setUp();
    for (const id of ['known', 'unconfirmed']) {
      cache.entries.set(id, { ...device(id), labels: ring(id), revision: 1 });
    }
    cache.unconfirmed.add('unconfirmed');
    store.fault = ledgerAway();
    const answers = await Promise.allSettled(
      ['known', 'unconfirmed', 'unknown'].map((id) => labels.read(device(id))),
    );
    expect(cache.asked.length).toBe(1);
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
    cache.entries.set('a', { ...device('a'), labels: ring('old'), revision: 0 });
    cache.unconfirmed.add('a');
    let answer = () => {};
    store.gate = new Promise((resolve) => {
      answer = resolve;
    });
    const first = labels.read(device('a'));
    const unknown = labels.read(device('unknown')).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(LEDGER_WAIT_MS_MAX);
    expect(await first).toEqual(ring('old'));
    expect(await unknown).toBeInstanceOf(Unavailable);
    expect(await labels.read(device('a'))).toEqual(ring('old'));
    await expect(labels.read(device('unknown'))).rejects.toBeInstanceOf(Unavailable);
    expect(store.reads.length).toBe(1);
    answer();
    await vi.advanceTimersByTimeAsync(0);
    expect(await labels.read(device('a'))).toEqual(ring('new'));
    await vi.advanceTimersByTimeAsync(LEDGER_REST_MS);
    expect(await labels.read(device('unknown'))).toEqual(new Map());
  });

  it('refuses at once when too many wait already, and asks again afterwards', async () => {
    const { labels } = setUp();
    const waiting = Array.from({ length: PENDING_MAX }, (_, index) =>
      labels.read(device(`${index}`)),
    );
    await expect(labels.read(device('one too many'))).rejects.toBeInstanceOf(Unavailable);
    await Promise.all(waiting);
    expect(await labels.read(device('later'))).toEqual(new Map());
  });
});

describe('storing', () => {
  it('writes the ledger and then the engine before it resolves, and answers what the device has', async () => {
    const { cache, store, labels } = setUp({ labelNotes: undefined });
    store.change(device('a'), new Map([['region', 'eu']]));
    const after = await labels.store(checkInWith('a', ring('beta')));
    expect(after).toEqual(new Map([...ring('beta'), ['region', 'eu']]));
    expect(store.entries.get('a')?.labels).toEqual(after);
    expect(cache.entries.get('a')).toEqual(store.entries.get('a'));
  });

  it('writes nothing when the device has these labels already', async () => {
    const { store, labels } = setUp({ labelNotes: undefined });
    store.change(device('a'), new Map([...ring('beta'), ['region', 'eu']]));
    const answer = await labels.store(checkInWith('a', ring('beta')));
    expect(answer).toEqual(new Map([...ring('beta'), ['region', 'eu']]));
    expect(store.writes).toEqual([]);
  });

  it('is one statement for all devices of the same moment', async () => {
    const { cache, store, labels } = setUp({ labelNotes: undefined });
    const ids = Array.from({ length: 50 }, (_, index) => `${index}`);
    await Promise.all(ids.map((id) => labels.store(checkInWith(id, ring(id)))));
    expect(store.writes.map(({ length }) => length)).toEqual([50]);
    for (const id of ids) expect(cache.entries.get(id)?.labels).toEqual(ring(id));
  });

  it('with the ledger away answers the known labels with the new ones over them, and counts a fault', async () => {
    const { cache, store, labels, faults } = setUp({ labelNotes: undefined });
    const known = new Map([...ring('alpha'), ['region', 'eu']]);
    cache.entries.set('a', { ...device('a'), labels: known, revision: 1 });
    store.fault = ledgerAway();
    const answer = await labels.store(checkInWith('a', ring('beta')));
    expect(answer).toEqual(new Map([...ring('beta'), ['region', 'eu']]));
    expect(faults('label-write')).toBe(1);
    store.fault = undefined;
    await eventually('the ledger is asked again', async () => {
      await labels.store(checkInWith('a', ring('beta')));
      return store.entries.get('a')?.labels.get('ring') === 'beta';
    });
  });
});

describe('noting', () => {
  const at = checkInOf('a').at;
  const note = (value: string) => ({ ...device('a'), labels: ring(value), at });
  /** Lets a device send other labels before, so that its next ones are noted and not looked up. */
  const sendOthers = ({ labels }: ReturnType<typeof setUp>) =>
    labels.noteSent(device('a'), tagLabels(ring('before')), true);

  it('writes no ledger; what is noted counts over what is on record, until that is as new', async () => {
    const made = setUp();
    const { store, labels } = made;
    sendOthers(made);
    store.change(device('a'), new Map([...ring('alpha'), ['region', 'eu']]));
    expect(await labels.note(note('beta'), tagLabels(ring('beta')))).toBe(true);
    expect(store.writes).toEqual([]);
    expect(await labels.read(device('a'))).toEqual(new Map([...ring('beta'), ['region', 'eu']]));
    const earlier = { ...checkInWith('a', ring('gamma')), at: at - 1 };
    await labels.remember([store.change(device('a'), ring('gamma'))], [earlier], 'queued');
    expect((await labels.read(device('a'))).get('ring')).toBe('beta');
    const same = { ...checkInWith('a', ring('delta')), at };
    await labels.remember([store.change(device('a'), ring('delta'))], [same], 'queued');
    expect((await labels.read(device('a'))).get('ring')).toBe('delta');
  });

  it('is overtaken by a report, whatever the clocks say, also while the engine is not told', async () => {
    const made = setUp();
    const { cache, store, labels } = made;
    sendOthers(made);
    await labels.note(note('beta'), tagLabels(ring('beta')));
    expect((await labels.read(device('a'))).get('ring')).toBe('beta');
    const report = { ...checkInWith('a', ring('gamma')), at: at - 1000 };
    await labels.remember([store.change(device('a'), ring('gamma'))], [report], 'awaited');
    expect((await labels.read(device('a'))).get('ring')).toBe('gamma');
    await labels.note(note('beta'), tagLabels(ring('beta')));
    cache.labelNotes.fault = away();
    await labels.remember([store.change(device('a'), ring('delta'))], [report], 'awaited');
    cache.labelNotes.fault = undefined;
    expect((await labels.read(device('a'))).get('ring')).toBe('delta');
  });

  it('is done for a device that turns out to be on record, in place of writing the ledger', async () => {
    const { cache, store, labels } = setUp({ isRecorded: () => false });
    cache.entries.set('a', { ...device('a'), labels: ring('old'), revision: 1 });
    expect(await labels.store(checkInWith('a', ring('beta')))).toEqual(ring('beta'));
    expect(await labels.store(checkInWith('new', ring('beta')))).toEqual(ring('beta'));
    expect([...store.entries.keys()]).toEqual(['new']);
    expect(await labels.read(device('a'))).toEqual(ring('beta'));
  });

  it('is refused where the engine is away, of what may not be recorded, and without notes', async () => {
    const made = setUp();
    const { cache, labels, faults } = made;
    sendOthers(made);
    cache.labelNotes.fault = away();
    expect(await labels.note(note('beta'), tagLabels(ring('beta')))).toBe(false);
    expect(faults('label-write')).toBe(1);
    cache.labelNotes.fault = undefined;
    const strict = setUp({ isRecorded: () => false });
    sendOthers(strict);
    expect(await strict.labels.note(note('beta'), tagLabels(ring('beta')))).toBe(false);
    expect((await strict.labels.read(device('a'))).size).toBe(0);
    const without = setUp({ labelNotes: undefined });
    sendOthers(without);
    expect(await without.labels.note(note('beta'), tagLabels(ring('beta')))).toBe(false);
  });

  it('is not for a device of which nothing is known here: its record may have them', async () => {
    const { cache, store, labels } = setUp();
    cache.entries.set('a', store.change(device('a'), ring('beta')));
    expect(await labels.note(note('beta'), tagLabels(ring('beta')))).toBe(false);
    expect(await labels.store(checkInWith('a', ring('beta')))).toEqual(ring('beta'));
    expect(labels.areStored(device('a'), tagLabels(ring('beta')))).toBe(true);
    expect([store.writes, await cache.labelNotes.readLabelNotes([device('a')])]).toEqual([
      [],
      [undefined],
    ]);
    // From now on a look would find what the device had before.
    expect(await labels.note(note('gamma'), tagLabels(ring('gamma')))).toBe(true);
  });

  it('is forgotten with the device', async () => {
    const made = setUp();
    const { labels } = made;
    sendOthers(made);
    expect(await labels.note(note('beta'), tagLabels(ring('beta')))).toBe(true);
    await labels.forget([device('a')]);
    expect((await labels.read(device('a'))).size).toBe(0);
  });
});

describe('what the engine could not be told', () => {
  /** Sets up an engine that has old labels of a device, because it was away when they changed. */
  async function untold() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const made = setUp({ labelNotes: undefined });
    await made.labels.store(checkInWith('a', ring('old')));
    made.cache.writeFault = away();
    await made.labels.store(checkInWith('a', ring('new')));
    expect(made.faults('label-share')).toBe(1);
    expect(made.cache.entries.get('a')?.labels).toEqual(ring('old'));
    return made;
  }

  it('is not read from it as it was before', async () => {
    const { labels } = await untold();
    expect(await labels.read(device('a'))).toEqual(ring('new'));
  });

  it('it is told later, again and again until it hears; then it is asked again', async () => {
    const { cache, store, labels } = await untold();
    for (let attempt = 0; attempt < 3; attempt++) {
      await vi.advanceTimersByTimeAsync(RETELL_MS);
      expect(await labels.read(device('a'))).toEqual(ring('new'));
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
    let open = () => {};
    cache.gate = new Promise((resolve) => {
      open = resolve;
    });
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
    let open = () => {};
    cache.gate = new Promise((resolve) => {
      open = resolve;
    });
    // This attempt fails, and only after the engine could not be told of the next change either.
    await vi.advanceTimersByTimeAsync(RETELL_MS);
    const { gate } = cache;
    cache.gate = undefined;
    await labels.store(checkInWith('a', ring('newest')));
    cache.gate = gate;
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
  it('are known after they were stored, or found there, and asked about no more', async () => {
    const { store, labels } = setUp({ labelNotes: undefined });
    labels.start();
    expect(labels.areStored(device('a'), tagLabels(ring('early')))).toBe(false);
    await labels.store(checkInWith('a', ring('early')));
    expect(labels.areStored(device('a'), tagLabels(ring('early')))).toBe(true);
    expect(labels.areStored(device('a'), tagLabels(ring('late')))).toBe(false);
    store.change(device('b'), ring('early'));
    await labels.store(checkInWith('b', ring('early')));
    expect(labels.areStored(device('b'), tagLabels(ring('early')))).toBe(true);
    expect(store.writes.length).toBe(1);
  });

  it('are no longer known when a report, or another node, has changed them', async () => {
    const { cache, store, labels } = setUp({ labelNotes: undefined });
    labels.start();
    await labels.store(checkInWith('a', ring('early')));
    await labels.remember([store.change(device('a'), ring('late'))], [], 'awaited');
    expect(labels.areStored(device('a'), tagLabels(ring('early')))).toBe(false);
    // The next check that sends the old labels therefore writes them again.
    expect(await labels.store(checkInWith('a', ring('early')))).toEqual(ring('early'));
    expect(store.writes.length).toBe(2);
    cache.hear([{ ...device('a'), revision: store.change(device('a'), ring('x')).revision }]);
    expect(labels.areStored(device('a'), tagLabels(ring('early')))).toBe(false);
  });

  it('are no longer known of a device that was deleted, and not cached either', async () => {
    const { cache, labels } = setUp({ labelNotes: undefined });
    labels.start();
    for (const id of ['a', 'b']) await labels.store(checkInWith(id, ring('early')));
    await labels.forget([device('a')]);
    expect(labels.areStored(device('a'), tagLabels(ring('early')))).toBe(false);
    expect(labels.areStored(device('b'), tagLabels(ring('early')))).toBe(true);
    expect([...cache.entries.keys()]).toEqual(['b']);
    cache.writeFault = away();
    await expect(labels.forget([device('b')])).rejects.toBeInstanceOf(Unavailable);
  });

  it('are not known when the ledger could not be told, or when news may have been missed', async () => {
    const { cache, store, labels } = setUp({ labelNotes: undefined });
    labels.start();
    store.fault = away();
    cache.entries.set('a', { ...device('a'), labels: ring('old'), revision: 1 });
    await labels.store(checkInWith('a', ring('early')));
    expect(labels.areStored(device('a'), tagLabels(ring('early')))).toBe(false);
    store.fault = undefined;
    await eventually('the ledger is asked again', async () => {
      await labels.store(checkInWith('a', ring('early')));
      return labels.areStored(device('a'), tagLabels(ring('early')));
    });
    cache.resume();
    expect(labels.areStored(device('a'), tagLabels(ring('early')))).toBe(false);
  });

  it('are no longer known when the ledger has other ones, although nobody told', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { cache, store, labels } = setUp({ labelNotes: undefined });
    await labels.follow();
    vi.advanceTimersByTime(1);
    for (const id of ['a', 'b']) await labels.store(checkInWith(id, ring('early')));
    await labels.follow();
    expect(labels.areStored(device('a'), tagLabels(ring('early')))).toBe(true);
    store.change(device('a'), ring('late'));
    // Also while the engine is away.
    cache.readFault = away();
    await expect(labels.follow()).rejects.toBeInstanceOf(Unavailable);
    expect(labels.areStored(device('a'), tagLabels(ring('early')))).toBe(false);
    expect(labels.areStored(device('b'), tagLabels(ring('early')))).toBe(true);
  });

  it.each(['many changes', 'a new epoch', 'a position that went back'])(
    'are all forgotten after %s',
    async (reason) => {
      vi.useFakeTimers({ toFake: ['performance'] });
      const { store, labels } = setUp({ labelNotes: undefined });
      await labels.follow();
      vi.advanceTimersByTime(1);
      await labels.store(checkInWith('a', ring('early')));
      await labels.follow();
      expect(labels.areStored(device('a'), tagLabels(ring('early')))).toBe(true);
      if (reason === 'many changes') {
        for (let index = 0; index <= FORGOTTEN_MAX; index++) {
          store.change(device(`other ${index}`), ring('x'));
        }
      } else if (reason === 'a new epoch') store.epoch += 1;
      else store.changes.pop();
      await labels.follow();
      expect(labels.areStored(device('a'), tagLabels(ring('early')))).toBe(false);
    },
  );
});
