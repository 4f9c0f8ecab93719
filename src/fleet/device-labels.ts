// Reading and storing of device labels. The ledger is the record, the engine caches labels for all nodes, and
// both are asked for many devices at a time. A node caches no labels itself, because a label that a report
// has acknowledged must decide the next check on every node. It only remembers which labels are already
// recorded, until it hears of a change, or finds it in the ledger.
//
// What the engine has not been told by the ledger for an hour is asked of the ledger again. When that does
// not answer, the engine's labels are the best that is known, and are used.

import { Unavailable } from '../contract/unavailable.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import { type CheckIn, deviceKey } from '../domain/fleet/check-in.ts';
import { includesLabels, mergeLabels, tagLabels } from '../domain/fleet/labels.ts';
import { Batcher } from '../flow/batcher.ts';
import { withinTime } from '../flow/within-time.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Engine } from '../store/engine.ts';
import type { CheckKind, RecordedLabels } from '../store/fleet-ledger.ts';
import {
  type CachedLabels,
  DELETED_REVISION,
  type DeviceName,
  type LabelNote,
  type LabelPosition,
  type StoredLabels,
} from '../store/label-store.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Admission } from './admission.ts';
import { NOT_RECORDED, StoredLabelMemory } from './label-memory.ts';
import { LabelNotes } from './label-notes.ts';

type DeviceLabelsDependencies = {
  readonly ledger: Pick<Ledger, 'readLabels' | 'readLabelChanges'>;
  readonly admission: Pick<Admission, 'record' | 'isRecorded' | 'learn'>;
  readonly engine: Engine;
  readonly metrics: Metrics;
  readonly log: Log;
};

/**
 * Bounds of each kind of batch. Two at a time are enough to keep a store busy: each uses a PostgreSQL
 * connection of the shared pool.
 */
const BATCHES = { batchSizeMax: 500, batchesMax: 2, pendingMax: 20_000 };
const RETELL_MS = 500;
/** Longest wait for labels from the ledger before those of the engine are used. */
const LEDGER_WAIT_MS_MAX = 1500;
/** Time for which a ledger that did not answer is not asked again. */
const LEDGER_REST_MS = 1000;
/** Number of changed devices above which all is forgotten. */
const FORGOTTEN_MAX = 500;

/** Labels on record, and those that the device has sent and that are not on record yet. */
type FoundLabels = RecordedLabels & { readonly noted: Labels | undefined };
type LabelledCheckIn = CheckIn & { readonly labels: Labels };

export class DeviceLabels {
  private readonly dependencies: DeviceLabelsDependencies;
  private readonly cached: Batcher<DeviceName, CachedLabels | undefined>;
  private readonly lookups: Batcher<DeviceName, FoundLabels | Unavailable>;
  private readonly writes: Batcher<CheckIn, StoredLabels | undefined>;
  private readonly memory = new StoredLabelMemory();
  private readonly notes: LabelNotes;
  private readonly pendingWrites = new PendingCacheWrites();
  private retelling: NodeJS.Timeout | undefined;
  /** Change of labels up to which the memory has forgotten what changed. */
  private followed: LabelPosition | undefined;
  /** Time of the monotonic clock before which the ledger is not asked. */
  private ledgerRestsUntil = Number.NEGATIVE_INFINITY;

  constructor(dependencies: DeviceLabelsDependencies) {
    this.dependencies = dependencies;
    this.notes = new LabelNotes(dependencies.engine, dependencies.metrics);
    this.cached = new Batcher({ ...BATCHES, ask: (devices) => this.askEngine(devices) });
    this.lookups = new Batcher({ ...BATCHES, ask: (devices) => this.readMany(devices) });
    this.writes = new Batcher({ ...BATCHES, ask: (checkIns) => this.writeMany(checkIns) });
  }

  /** Starts listening to announcements of changed labels, until the engine closes. */
  start(): void {
    this.dependencies.engine.onLabels(
      (notifications) => {
        for (const each of notifications) this.memory.forget(each, each.revision);
      },
      () => this.memory.clear(),
    );
  }

  /**
   * Returns whether this process knows, without asking a store, that the device's record contains labels with
   * this hash.
   */
  areStored(device: DeviceName, labelsTag: number): boolean {
    return this.memory.holds(device, labelsTag);
  }

  /** Remembers that labels with this hash travel with a check-in; see `StoredLabelMemory.noteSent`. */
  noteSent(device: DeviceName, labelsTag: number, areAskedFor: boolean): void {
    this.memory.noteSent(device, labelsTag, areAskedFor);
  }

  /**
   * Forgets what the ledger says has changed since the last call, and learns which of the engine's labels are
   * in doubt. Rejects with `Unavailable` when a store does not answer.
   */
  async follow(): Promise<void> {
    await Promise.all([this.forgetChanged(), this.dependencies.engine.readLabelPosition()]);
  }

  /** Reads the stored labels of a device. Rejects with `Unavailable` when neither store can answer. */
  async read(device: DeviceName): Promise<Labels> {
    return withNotes(await this.find(device));
  }

  /**
   * Reads the stored labels of many devices, in their order. Rejects with `Unavailable` when neither store
   * can answer.
   */
  async readAll(devices: readonly DeviceName[]): Promise<readonly Labels[]> {
    return Promise.all(devices.map((device) => this.read(device)));
  }

  /**
   * Notes labels of a check whose check-in will carry them, so that they count on every node from now on.
   * Resolves with false when that is not certain, or the device is not known to be on record, or its record
   * may have them already: `store` them. Devices mostly have the labels that they had before this process
   * began: one look at the record, and it remembers them.
   */
  async note(note: LabelNote, labelsTag: number): Promise<boolean> {
    if (!this.memory.areNew(note, labelsTag)) return false;
    return (await this.isRecorded(note)) && this.notes.note(note);
  }

  /**
   * Makes labels that `note` did not take count on every node before it resolves, and returns the device's
   * merged labels. They are recorded; or noted, where the device turns out to be on record and nothing else
   * was recorded since they were noted last. When the ledger is unavailable they are not lost, because the
   * check-in carries them too; the result is then what the engine knows, with them merged over it.
   */
  async store(checkIn: LabelledCheckIn): Promise<Labels> {
    const before = await this.find(checkIn);
    const { labels } = checkIn;
    const mayNote = before.isRecorded && !this.memory.isInDoubt(checkIn, tagLabels(labels));
    if (!mayNote || includesLabels(before.labels, labels)) return this.storeAfter(before, checkIn);
    this.dependencies.admission.learn(checkIn);
    if (await this.notes.note(checkIn)) return mergeLabels(withNotes(before), labels);
    return this.storeAfter(before, checkIn);
  }

  private async storeAfter(before: FoundLabels, checkIn: LabelledCheckIn): Promise<Labels> {
    const known = withNotes(before);
    // A note may say otherwise than the record: then the record is to get what the device says now.
    const isOnRecord = includesLabels(before.labels, checkIn.labels);
    if (isOnRecord && includesLabels(known, checkIn.labels)) {
      this.memory.note(checkIn, checkIn.labels, before.revision);
      return known;
    }
    try {
      if (this.isLedgerResting()) throw new Unavailable('ledger', 'it has just not answered');
      const after = await this.writes.ask(checkIn);
      if (after === undefined) return mergeLabels(known, checkIn.labels);
      this.memory.note(checkIn, checkIn.labels, after.revision);
      return after.labels;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.dependencies.metrics.faults.add('label-write');
      return mergeLabels(known, checkIn.labels);
    }
  }

  /**
   * Announces labels that were just recorded, with these check-ins, to every node. Never rejects: a failed
   * announcement is retried.
   */
  async remember(
    entries: readonly StoredLabels[],
    checkIns: readonly CheckIn[],
    kind: CheckKind,
  ): Promise<void> {
    if (entries.length === 0) return;
    try {
      await this.share(entries);
      // Afterwards, so that a reader who finds no note any more finds the labels.
      await this.notes.settle(checkIns, kind);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.dependencies.metrics.faults.add('label-share');
      this.pendingWrites.add(entries);
      this.notes.settleLater(checkIns);
    }
    if (this.pendingWrites.size > 0 || this.notes.isBehind) this.retellSoon();
  }

  /**
   * Tells every node that labels of these devices were sent and are not on record, because the devices have
   * no record: the next checks carry them again. Never rejects; what is not told is sent again within ten
   * minutes.
   */
  async tellLost(devices: readonly DeviceName[]): Promise<void> {
    if (devices.length === 0) return;
    const { engine, metrics } = this.dependencies;
    try {
      await engine.tellLabels(
        devices.map(({ appId, deviceId }) => ({ appId, deviceId, revision: NOT_RECORDED })),
      );
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      metrics.faults.add('label-share');
    }
  }

  /**
   * Makes every node forget the labels of devices that the ledger has deleted. Rejects with `Unavailable`
   * when the engine does not answer.
   */
  async forget(devices: readonly DeviceName[]): Promise<void> {
    const { engine } = this.dependencies;
    for (const device of devices) this.pendingWrites.forget(device);
    await Promise.all([engine.dropLabels(devices), this.notes.forget(devices)]);
    await engine.tellLabels(devices.map((device) => ({ ...device, revision: DELETED_REVISION })));
  }

  /** Ends the retries towards the engine. */
  stop(): void {
    clearTimeout(this.retelling);
    this.retelling = undefined;
    this.pendingWrites.clear();
    this.notes.stop();
  }

  /** Whether the device is on record for certain: only of those that are does the engine cache labels. */
  private async isRecorded(device: DeviceName): Promise<boolean> {
    const { admission } = this.dependencies;
    if (admission.isRecorded(device)) return true;
    if ((await this.cached.ask(device)) === undefined) return false;
    admission.learn(device);
    return true;
  }

  private async share(entries: readonly StoredLabels[]): Promise<void> {
    const { engine } = this.dependencies;
    await Promise.all([engine.putLabels(entries), engine.tellLabels(entries)]);
  }

  private async forgetChanged(): Promise<void> {
    const { followed } = this;
    const { epoch, newest, changed } = await this.dependencies.ledger.readLabelChanges(
      followed?.position,
      FORGOTTEN_MAX + 1,
    );
    const canFollow = followed?.epoch === epoch && newest >= followed.position;
    if (!canFollow || changed.length > FORGOTTEN_MAX) this.memory.clear();
    else for (const each of changed) this.memory.compare(each, each.labels, each.revision);
    this.followed = { epoch, position: newest };
  }

  private async find(device: DeviceName): Promise<FoundLabels> {
    const found = await this.lookups.ask(device);
    if (found instanceof Unavailable) throw found;
    return found;
  }

  /** Returns for each device its labels, or that they cannot be known now. */
  private async readMany(
    devices: readonly DeviceName[],
  ): Promise<readonly (FoundLabels | Unavailable)[]> {
    // Asked for first: what is noted no more by then is among the labels that are read after it.
    const [noted, cached] = await Promise.all([this.readNotes(devices), this.askEngine(devices)]);
    const stored = await this.complete(devices, cached);
    return stored.map((entry, index) => {
      if (entry instanceof Unavailable) return entry;
      // Only of devices that are on record does the engine cache labels.
      const isRecorded = cached[index] !== undefined || (entry as RecordedLabels).isRecorded;
      return { ...entry, isRecorded, noted: noted[index] };
    });
  }

  /** Returns the labels of devices: the engine's where they are confirmed, the ledger's where it answers. */
  private async complete(
    devices: readonly DeviceName[],
    cached: readonly (CachedLabels | undefined)[],
  ): Promise<readonly (CachedLabels | RecordedLabels | Unavailable)[]> {
    const open = devices.filter((_, index) => cached[index]?.isConfirmed !== true);
    if (open.length === 0) return cached as readonly CachedLabels[];
    const read = await this.askLedger(open);
    if (read instanceof Unavailable) return cached.map((entry) => entry ?? read);
    const rest = read[Symbol.iterator]();
    return cached.map((entry) =>
      entry?.isConfirmed ? entry : (rest.next().value as RecordedLabels),
    );
  }

  /** Returns what is noted of devices; without the engine nothing, and the ledger's labels are the best. */
  private async readNotes(
    devices: readonly DeviceName[],
  ): Promise<readonly (Labels | undefined)[]> {
    try {
      return await this.notes.read(devices);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return devices.map(() => undefined);
    }
  }

  /**
   * Reads labels from the ledger and puts them into the engine. A ledger that hangs is not waited for longer
   * than checks can wait, but what it answers later is put all the same.
   */
  private async askLedger(
    devices: readonly DeviceName[],
  ): Promise<readonly RecordedLabels[] | Unavailable> {
    if (this.isLedgerResting()) return new Unavailable('ledger', 'it has just not answered');
    try {
      const read = await withinTime(this.readAndFill(devices), LEDGER_WAIT_MS_MAX);
      if (read !== undefined) return read;
      this.restLedger();
      return new Unavailable('ledger', 'it does not answer in time');
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.restLedger();
      return error;
    }
  }

  private async readAndFill(devices: readonly DeviceName[]): Promise<readonly RecordedLabels[]> {
    const read = await this.dependencies.ledger.readLabels(devices);
    // An id that somebody invented is not worth a place in the engine.
    await this.fill(read.filter(({ isRecorded }) => isRecorded));
    return read;
  }

  private restLedger(): void {
    this.ledgerRestsUntil = performance.now() + LEDGER_REST_MS;
  }

  private isLedgerResting(): boolean {
    return performance.now() < this.ledgerRestsUntil;
  }

  private async askEngine(
    devices: readonly DeviceName[],
  ): Promise<readonly (CachedLabels | undefined)[]> {
    try {
      const cached = await this.dependencies.engine.getLabels(devices);
      return cached.map((entry, index) =>
        this.pendingWrites.correct(devices[index] as DeviceName, entry),
      );
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.dependencies.metrics.faults.add('label-read');
      return devices.map(() => undefined);
    }
  }

  /** Caches labels in the engine; when that fails, the next reader does it. */
  private async fill(entries: readonly StoredLabels[]): Promise<void> {
    try {
      await this.dependencies.engine.putLabels(entries);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
  }

  private async writeMany(
    checkIns: readonly CheckIn[],
  ): Promise<readonly (StoredLabels | undefined)[]> {
    const { labels: recorded } = await this.dependencies.admission.record(checkIns, 'awaited');
    await this.remember(recorded, checkIns, 'awaited');
    const byDevice = new Map(recorded.map((entry) => [deviceKey(entry), entry]));
    return checkIns.map((checkIn) => byDevice.get(deviceKey(checkIn)));
  }

  private retellSoon(): void {
    this.retelling ??= setTimeout(async () => {
      await this.retell();
      this.retelling = undefined;
      if (this.pendingWrites.size > 0 || this.notes.isBehind) this.retellSoon();
    }, RETELL_MS);
  }

  /** Keeps entries queued until the engine has accepted them, unless it can never accept them. */
  private async retell(): Promise<void> {
    const { entries } = this.pendingWrites;
    try {
      if (entries.length > 0) await this.share(entries);
      await this.notes.settleAgain();
    } catch (error) {
      if (error instanceof Unavailable) {
        this.dependencies.metrics.faults.add('label-share');
        return;
      }
      this.dependencies.log.error({ err: error }, 'labels could not be shared');
    }
    this.pendingWrites.remove(entries);
  }
}

/** Returns the labels that count for a device. */
function withNotes({ labels, noted }: FoundLabels): Labels {
  return noted === undefined || noted.size === 0 ? labels : mergeLabels(labels, noted);
}

// Labels on record that the engine was not told, because it did not answer. Until it is, this process knows
// them better than the engine does.

/** Maximum number of entries; those beyond it are left to the feed (`label-feed.ts`). */
const PENDING_MAX = 10_000;

class PendingCacheWrites {
  private readonly byDevice = new Map<string, StoredLabels>();

  get size(): number {
    return this.byDevice.size;
  }

  /** All entries, each the newest of its device. */
  get entries(): readonly StoredLabels[] {
    return [...this.byDevice.values()];
  }

  /** Keeps entries, unless newer ones of the devices are kept, or there is no room. */
  add(entries: readonly StoredLabels[]): void {
    for (const entry of entries) {
      const name = deviceKey(entry);
      const known = this.byDevice.get(name);
      const isKept =
        known === undefined ? this.size < PENDING_MAX : known.revision < entry.revision;
      if (isKept) this.byDevice.set(name, entry);
    }
  }

  /** Removes entries that the engine was told, unless newer ones have taken their place meanwhile. */
  remove(entries: readonly StoredLabels[]): void {
    for (const entry of entries) {
      const name = deviceKey(entry);
      if (this.byDevice.get(name) === entry) this.byDevice.delete(name);
    }
  }

  /** Forgets a device. */
  forget(device: DeviceName): void {
    this.byDevice.delete(deviceKey(device));
  }

  clear(): void {
    this.byDevice.clear();
  }

  /**
   * Returns the labels of a device, when those of the engine may be older than what this process recorded.
   */
  correct(device: DeviceName, cached: CachedLabels | undefined): CachedLabels | undefined {
    if (this.size === 0) return cached;
    const pending = this.byDevice.get(deviceKey(device));
    if (pending !== undefined && pending.revision > (cached?.revision ?? -1)) {
      return { ...pending, isConfirmed: true };
    }
    // When there is no room for all that the engine was not told, any of its entries may be out of date.
    const isComplete = this.size < PENDING_MAX;
    return cached && { ...cached, isConfirmed: cached.isConfirmed && isComplete };
  }
}
