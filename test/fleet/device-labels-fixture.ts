// What tests of device labels share: a label cache and a ledger that can be away or wait.

import { Unavailable } from '../../src/contract/store-fault.ts';
import type { Labels } from '../../src/domain/decision/targeting.ts';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { mergeLabels, tagLabels } from '../../src/domain/fleet/labels.ts';
import { DeviceLabels } from '../../src/fleet/device-labels.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { Engine } from '../../src/store/engine.ts';
import type { LabelChanges, RecordedLabels } from '../../src/store/fleet-ledger.ts';
import {
  type CachedLabels,
  type DeviceName,
  type LabelNote,
  type LabelNotification,
  type LabelUpdate,
  notedNotification,
  type StoredLabels,
} from '../../src/store/label-store.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';
import { checkInOf } from '../store/engine/fleet-sample.ts';
import { openAdmission } from '../support/open-admission.ts';

type Fault = Error | undefined;

/** The label cache of an engine; reads, writes and notes can fail independently. */
class FakeCache {
  readonly entries = new Map<string, StoredLabels>();
  /** Devices whose labels need to be confirmed by the ledger. */
  readonly unconfirmed = new Set<string>();
  readonly asked: (readonly DeviceName[])[] = [];
  readonly told: (readonly StoredLabels[])[] = [];
  readonly keepsNotes: boolean;
  readFault: Fault;
  writeFault: Fault;
  noteFault: Fault;
  /** Promise that the next writes wait for before they fail or take effect. */
  gate: Promise<void> | undefined;
  /** Engine of which only the notes are used. */
  private readonly notes = createMemoryEngine({ labelNotesEndedBefore: () => 0 });

  constructor(keepsNotes: boolean) {
    this.keepsNotes = keepsNotes;
  }

  async getLabels(devices: readonly DeviceName[]): Promise<readonly CachedLabels[]> {
    this.asked.push(devices);
    if (this.readFault !== undefined) throw this.readFault;
    const noted = await this.notes.getLabels(devices);
    return devices.map(({ deviceId }, index) => {
      const stored = this.entries.get(deviceId);
      const isConfirmed = stored !== undefined && !this.unconfirmed.has(deviceId);
      return { stored, isConfirmed, notes: noted[index]?.notes };
    });
  }

  async noteLabels(notes: readonly LabelNote[]): Promise<void> {
    if (this.noteFault !== undefined) throw this.noteFault;
    await this.notes.noteLabels(notes);
    this.hear(notes.map(notedNotification));
  }

  async readLabelPosition(): Promise<undefined> {
    if (this.readFault !== undefined) throw this.readFault;
  }

  async putLabels(updates: readonly LabelUpdate[]): Promise<void> {
    const entries = updates.map(({ settled: _, ...entry }): StoredLabels => entry);
    this.told.push(entries);
    const { writeFault } = this;
    await this.gate;
    if (writeFault !== undefined) throw writeFault;
    await this.notes.putLabels(updates);
    for (const entry of entries) {
      if ((this.entries.get(entry.deviceId)?.revision ?? 0) > entry.revision) continue;
      this.entries.set(entry.deviceId, entry);
      this.unconfirmed.delete(entry.deviceId);
    }
  }

  async dropLabels(devices: readonly DeviceName[]): Promise<void> {
    if (this.writeFault !== undefined) throw this.writeFault;
    await this.notes.dropLabels(devices);
    for (const { deviceId } of devices) this.entries.delete(deviceId);
  }

  /** Drops nothing: actions are not part of these tests. */
  async dropActions(): Promise<void> {}

  async tellLabels(notifications: readonly LabelNotification[]): Promise<void> {
    this.hear(notifications);
  }

  onLabels(
    listener: (notifications: readonly LabelNotification[]) => void,
    onResumed: () => void,
  ): void {
    this.hear = listener;
    this.resume = onResumed;
  }

  /** Announces a change as another node does. */
  hear: (notifications: readonly LabelNotification[]) => void = () => {};
  resume: () => void = () => {};

  /** Caches labels that no ledger has. */
  hold(deviceId: string, labels: Labels, isConfirmed = true): void {
    const stored = { ...device(deviceId), labels, times: new Map(), revision: isConfirmed ? 1 : 0 };
    this.entries.set(deviceId, stored);
    if (!isConfirmed) this.unconfirmed.add(deviceId);
  }
}

/** The labels of a ledger, which raises the revision with every change. */
export class FakeStore {
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

  /** Changes the labels of a device as a check-in of `at` does. */
  change(device: DeviceName, newer: Labels, at = 0): StoredLabels {
    const before = this.find(device);
    const { appId, deviceId } = device;
    const entry = {
      ...{ appId, deviceId, labels: mergeLabels(before.labels, newer) },
      times: new Map([...before.times, ...[...newer.keys()].map((key) => [key, at] as const)]),
      revision: before.revision + 1,
    };
    this.entries.set(deviceId, entry);
    this.changes.push(deviceId);
    return entry;
  }

  private find({ appId, deviceId }: DeviceName): StoredLabels {
    const none = { appId, deviceId, labels: new Map(), times: new Map(), revision: 0 };
    return this.entries.get(deviceId) ?? none;
  }
}

export type Differences = {
  readonly isRecorded?: () => boolean;
  readonly keepsNotes?: boolean;
};

export function setUp(differences: Differences = {}) {
  const cache = new FakeCache(differences.keepsNotes ?? true);
  const store = new FakeStore();
  const metrics = new Metrics();
  const labels = new DeviceLabels({
    engine: cache as unknown as Engine,
    ledger: store,
    admission: Object.assign(openAdmission(store), { isRecorded: () => true }, differences),
    metrics,
  });
  const faults = (place: string) => metrics.faults.counts.get(place) ?? 0;
  return { cache, store, labels, faults };
}

/** Sets up labels that are written to the ledger, as where the engine notes none. */
export function setUpWithoutNotes() {
  return setUp({ keepsNotes: false });
}

export function device(deviceId: string): DeviceName {
  return { appId: 'app_1', deviceId };
}

export function ring(value: string): Labels {
  return new Map([['ring', value]]);
}

export function checkInWith(deviceId: string, labels: Labels) {
  return { ...checkInOf(deviceId), labels };
}

export function areStored(labels: DeviceLabels, deviceId: string, value: string): boolean {
  return labels.areStored(device(deviceId), tagLabels(ring(value)));
}

export function away(): Unavailable {
  return new Unavailable('engine', 'connection refused');
}
