// What tests of device labels share: a label cache and a ledger that can be away or wait.

import { vi } from 'vitest';
import { Unavailable } from '../../src/contract/unavailable.ts';
import type { Labels } from '../../src/domain/decision/targeting.ts';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { mergeLabels, tagLabels } from '../../src/domain/fleet/labels.ts';
import { DeviceLabels } from '../../src/fleet/device-labels.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { Engine } from '../../src/store/engine.ts';
import type { LabelChanges, RecordedLabels } from '../../src/store/fleet-ledger.ts';
import type {
  DeviceName,
  LabelNoteStore,
  LabelNotification,
  StoredLabels,
} from '../../src/store/label-store.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';
import { checkInOf } from '../store/engine/fleet-sample.ts';
import { guarded, type Watch } from '../support/guarded.ts';
import { openAdmission } from '../support/open-admission.ts';

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
    this.entries.set(deviceId, { ...device(deviceId), labels, revision: isConfirmed ? 1 : 0 });
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
/** Ends what the tests have set up. */
export function stopAll(): void {
  for (const labels of made.splice(0)) labels.stop();
  vi.useRealTimers();
}

export type Differences = {
  readonly isRecorded?: () => boolean;
  readonly labelNotes?: undefined;
};

export function setUp(differences: Differences = {}) {
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
export function setUpWithoutNotes() {
  return setUp({ labelNotes: undefined });
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
