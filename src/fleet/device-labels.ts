// Reads and stores device labels. The ledger is the record; the engine holds for all nodes what the ledger
// has, and on top of it what devices have sent since with checks. Both are asked for many devices at a time.
// A node caches no labels itself, because a label that a report has acknowledged must decide the next check
// on every node. It only remembers which labels are already recorded, until a change of them is announced, or
// found in the ledger.
//
// Labels that the engine got from the ledger more than an hour ago are read from the ledger again. When the
// ledger does not answer, the engine's labels are the best that is known, and are used. What could not be put
// into the engine is put there by the feed (label-feed.ts).

import { Unavailable, whenAway } from '../contract/store-fault.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import { type CheckIn, deviceKey } from '../domain/fleet/check-in.ts';
import {
  countingLabels,
  includesLabels,
  type LabelTimes,
  mergeLabels,
  tagLabels,
} from '../domain/fleet/labels.ts';
import { type Asker, Batcher } from '../flow/batcher.ts';
import { ReplaceableLedger } from '../flow/within-time.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Engine } from '../store/engine.ts';
import type { CheckKind, RecordedLabels } from '../store/fleet-ledger.ts';
import {
  type CachedLabels,
  type ChangePosition,
  DELETED_REVISION,
  type DeviceName,
  type LabelNote,
  type LabelNotification,
  type LabelUpdate,
  type StoredLabels,
} from '../store/label-store.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Admission } from './admission.ts';
import { NOT_RECORDED, StoredLabelMemory } from './label-memory.ts';

type DeviceLabelsDependencies = {
  readonly ledger: Pick<Ledger, 'readLabels' | 'readLabelChanges'>;
  readonly admission: Pick<Admission, 'record' | 'isRecorded' | 'learn'>;
  readonly engine: Engine;
  readonly metrics: Metrics;
  /** Memory of the labels that are already recorded, as far as this process knows. */
  readonly labelMemory?: StoredLabelMemory;
};

/**
 * Bounds of each kind of batch. Two at a time are enough to keep a store busy, and a batch costs as much as
 * dozens of its items. Each batch that asks the ledger uses a connection of its pool.
 */
const BATCHES = { batchSizeMax: 500, batchesMax: 2, pendingMax: 20_000 };
/** Longest wait for labels from the ledger before those of the engine are used. */
const LEDGER_WAIT_MS_MAX = 1500;
/** Number of changed devices above which the memory of all devices is cleared. */
const FORGOTTEN_MAX = 500;

/** Labels of a device as the ledger has them, and `counting`: those with the known notes merged over them. */
type FoundLabels = RecordedLabels & {
  readonly counting: Labels;
  readonly areNotesKnown: boolean;
};
type LabelledCheckIn = CheckIn & { readonly labels: Labels };

export class DeviceLabels {
  private readonly cached: Batcher<DeviceName, CachedLabels>;
  private readonly lookups: Batcher<DeviceName, FoundLabels | Unavailable>;
  private readonly writes: Batcher<CheckIn, StoredLabels | undefined>;
  private readonly notes: Batcher<LabelNote, boolean>;
  private readonly memory: StoredLabelMemory;
  /**
   * The engine's flag, copied: reading it through the engine's proxy takes longer than the rest of a note.
   */
  private readonly keepsNotes: boolean;
  /** Position of the last change of labels that the memory has followed. */
  private followed: ChangePosition | undefined;
  /** Whether the engine answered when it was last asked; if not, announcements may have been missed. */
  private isHeard = true;
  private readonly ledger = new ReplaceableLedger(LEDGER_WAIT_MS_MAX);

  constructor(private readonly dependencies: DeviceLabelsDependencies) {
    this.memory = dependencies.labelMemory ?? new StoredLabelMemory();
    this.keepsNotes = dependencies.engine.keepsNotes;
    this.cached = new Batcher({ ...BATCHES, ask: (devices) => this.askEngine(devices) });
    this.lookups = new Batcher({ ...BATCHES, ask: (devices) => this.readMany(devices) });
    this.writes = new Batcher({ ...BATCHES, ask: (checkIns) => this.writeMany(checkIns) });
    this.notes = new Batcher({ ...BATCHES, ask: (notes) => this.noteMany(notes) });
  }

  /** Starts listening to announcements of changed labels, until the engine closes. */
  start(): void {
    this.dependencies.engine.onLabels(
      (notifications) => this.forgetAll(notifications),
      () => this.memory.clear(),
    );
  }

  private forgetAll(notifications: readonly LabelNotification[]): void {
    for (const each of notifications) this.memory.forget(each, each.revision, each.labelsTag);
  }

  /**
   * Returns whether this process knows, without asking a store, that the device's record contains labels with
   * this hash. False while the engine does not answer: another node may have noted other labels.
   */
  areStored(device: DeviceName, labelsTag: number): boolean {
    return this.isHeard && this.memory.holds(device, labelsTag);
  }

  /** Remembers that labels with this hash travel with a check-in; see `StoredLabelMemory.noteSent`. */
  noteSent(device: DeviceName, labelsTag: number, areAskedFor: boolean): void {
    this.memory.noteSent(device, labelsTag, areAskedFor);
  }

  /**
   * Forgets the labels that have changed in the ledger since the last call, and finds out whether the engine
   * answers, so that no announcement is missed. Rejects with `Unavailable` when a store does not answer.
   */
  async follow(): Promise<void> {
    await Promise.all([this.forgetChanged(), this.listenToEngine()]);
  }

  /** Reads the stored labels of a device. Rejects with `Unavailable` when neither store can answer. */
  async read(device: DeviceName): Promise<Labels> {
    return (await this.find(device)).counting;
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
   * Resolves with false when that is not certain, when the device is not known to be on record, or when its
   * record may have them already: the caller must `store` them. Most devices still have the labels from
   * before this process started, so `store` looks at the record once and remembers them.
   */
  async note(note: LabelNote, labelsTag: number): Promise<boolean> {
    if (!this.memory.areNew(note, labelsTag)) return false;
    return (await this.isRecorded(note)) && this.tryNote(note);
  }

  /**
   * Does the same as `note` if that takes one call of the engine, and calls the asker with its result.
   * Returns false, and calls nobody, if the device has to be looked up, or nothing can be noted now.
   */
  noteSoon(note: LabelNote, labelsTag: number, asker: Asker<boolean>): boolean {
    if (!this.keepsNotes || !this.memory.areNew(note, labelsTag)) return false;
    return this.dependencies.admission.isRecorded(note) && this.notes.tell(note, asker);
  }

  /**
   * Makes labels that `note` did not accept count on every node before it resolves, and returns the device's
   * merged labels. Notes them if the device is on record and nothing was recorded since they were last noted;
   * else records them. When the ledger is unavailable they are not lost, because the check-in carries them
   * too; the result is then the engine's labels with these merged over them.
   */
  async store(checkIn: LabelledCheckIn): Promise<Labels> {
    const before = await this.find(checkIn);
    const { labels } = checkIn;
    const mayNote = before.isRecorded && !this.memory.isInDoubt(checkIn, tagLabels(labels));
    if (!mayNote || includesLabels(before.labels, labels)) return this.storeAfter(before, checkIn);
    this.dependencies.admission.learn(checkIn);
    if (await this.tryNote(checkIn)) return mergeLabels(before.counting, labels);
    return this.storeAfter(before, checkIn);
  }

  private async storeAfter(before: FoundLabels, checkIn: LabelledCheckIn): Promise<Labels> {
    const known = before.counting;
    // A note may differ from the record; then the record must get what the device sends now.
    const isOnRecord = includesLabels(before.labels, checkIn.labels);
    if (isOnRecord && includesLabels(known, checkIn.labels)) {
      // An engine that does not answer may have another note: the next check-ins must carry these again.
      if (before.areNotesKnown) this.memory.note(checkIn, checkIn.labels, before.revision);
      return known;
    }
    try {
      this.ledger.demandRested();
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
   * Announces labels, which these check-ins have just recorded, to every node. This process forgets what it
   * knew of them at once: the next check may be here before the announcement is. Never rejects: what the
   * engine does not get now, the feed brings later.
   */
  async remember(
    entries: readonly StoredLabels[],
    checkIns: readonly CheckIn[],
    kind: CheckKind,
  ): Promise<void> {
    if (entries.length === 0) return;
    const { engine, metrics } = this.dependencies;
    const settled = new Map(checkIns.map((each) => [deviceKey(each), settledBy(each, kind)]));
    const updates = entries.map((entry): LabelUpdate => {
      return { ...entry, settled: settled.get(deviceKey(entry)) };
    });
    const notifications = entries.map(({ appId, deviceId, revision, labels }) => {
      return { appId, deviceId, revision, labelsTag: tagLabels(labels) };
    });
    this.forgetAll(notifications);
    await Promise.all([engine.putLabels(updates), engine.tellLabels(notifications)]).catch(
      whenAway(() => metrics.faults.add('label-share')),
    );
  }

  /**
   * Announces to every node that labels of these devices were sent but not recorded, because the devices have
   * no record: their next checks carry the labels again. Never rejects; without the announcement they are
   * sent again within ten minutes.
   */
  async tellLost(devices: readonly DeviceName[]): Promise<void> {
    if (devices.length === 0) return;
    const { engine, metrics } = this.dependencies;
    await engine
      .tellLabels(
        devices.map(({ appId, deviceId }) => ({ appId, deviceId, revision: NOT_RECORDED })),
      )
      .catch(whenAway(() => metrics.faults.add('label-share')));
  }

  /**
   * Makes every node forget the labels and the actions of devices that the ledger has deleted. Rejects with
   * `Unavailable` when the engine does not answer.
   */
  async forget(devices: readonly DeviceName[]): Promise<void> {
    const { engine } = this.dependencies;
    await Promise.all([engine.dropLabels(devices), engine.dropActions(devices)]);
    await engine.tellLabels(devices.map((device) => ({ ...device, revision: DELETED_REVISION })));
  }

  /** Whether the device is certainly on record; the engine caches stored labels only of those that are. */
  private async isRecorded(device: DeviceName): Promise<boolean> {
    const { admission } = this.dependencies;
    if (admission.isRecorded(device)) return true;
    if ((await this.cached.ask(device)).stored === undefined) return false;
    admission.learn(device);
    return true;
  }

  /** Notes labels. Resolves with false when the engine does not accept them; never rejects. */
  private async tryNote(note: LabelNote): Promise<boolean> {
    if (!this.keepsNotes) return false;
    return this.notes.ask(note).catch(
      whenAway(() => {
        this.dependencies.metrics.faults.add('label-write');
        return false;
      }),
    );
  }

  /**
   * Notes labels, which invalidates what every process remembers of these devices' labels. Returns for each
   * whether the engine has accepted it.
   */
  private async noteMany(notes: readonly LabelNote[]): Promise<readonly boolean[]> {
    const { engine, metrics } = this.dependencies;
    const isTaken = await engine.noteLabels(notes).then(
      () => true,
      whenAway(() => {
        metrics.faults.add('label-write', notes.length);
        return false;
      }),
    );
    return new Array<boolean>(notes.length).fill(isTaken);
  }

  private async forgetChanged(): Promise<void> {
    const { followed } = this;
    const { epoch, newest, changed } = await this.dependencies.ledger.readLabelChanges(
      followed?.position,
      FORGOTTEN_MAX + 1,
    );
    const canFollow = followed?.epoch === epoch && newest >= followed.position;
    if (!canFollow || changed.length > FORGOTTEN_MAX) this.memory.clear();
    else
      for (const each of changed) this.memory.forget(each, each.revision, tagLabels(each.labels));
    this.followed = { epoch, position: newest };
  }

  private async listenToEngine(): Promise<void> {
    try {
      await this.dependencies.engine.readLabelPosition();
      this.isHeard = true;
    } catch (error) {
      this.isHeard = false;
      throw error;
    }
  }

  private async find(device: DeviceName): Promise<FoundLabels> {
    const found = await this.lookups.ask(device);
    if (found instanceof Unavailable) throw found;
    return found;
  }

  /** Returns for each device its labels, or `Unavailable` if neither store knows them. */
  private async readMany(
    devices: readonly DeviceName[],
  ): Promise<readonly (FoundLabels | Unavailable)[]> {
    const cached = await this.askEngine(devices);
    const stored = await this.complete(devices, cached);
    return stored.map((entry, index) => {
      if (entry instanceof Unavailable) return entry;
      const counting = countingLabels(entry, cached[index]?.notes);
      return { ...entry, counting, areNotesKnown: cached[index] !== NOT_ANSWERED };
    });
  }

  /** Returns stored labels: the engine's if they are confirmed, else the ledger's, else the engine's. */
  private async complete(
    devices: readonly DeviceName[],
    cached: readonly CachedLabels[],
  ): Promise<readonly (RecordedLabels | Unavailable)[]> {
    const open = devices.filter((_, index) => cached[index]?.isConfirmed !== true);
    const read = open.length === 0 ? [] : await this.askLedger(open);
    const rest = read instanceof Unavailable ? undefined : read[Symbol.iterator]();
    return cached.map(({ stored, isConfirmed }) => {
      // The engine has stored labels only of devices that are on record.
      const known = stored && { ...stored, isRecorded: true };
      if (isConfirmed && known !== undefined) return known;
      return rest === undefined
        ? (known ?? (read as Unavailable))
        : (rest.next().value as RecordedLabels);
    });
  }

  /**
   * Reads labels from the ledger and puts them into the engine. Waits for the ledger no longer than checks
   * can wait, but puts into the engine also what the ledger answers later.
   */
  private async askLedger(
    devices: readonly DeviceName[],
  ): Promise<readonly RecordedLabels[] | Unavailable> {
    return this.ledger.ask(() => this.readAndFill(devices)).catch(whenAway((error) => error));
  }

  private async readAndFill(devices: readonly DeviceName[]): Promise<readonly RecordedLabels[]> {
    const read = await this.dependencies.ledger.readLabels(devices);
    // The engine gets no entries for devices that are not on record: their ids may be invented.
    const entries = read.filter(({ isRecorded }) => isRecorded);
    // If that fails, the next reader does it.
    await this.dependencies.engine.putLabels(entries).catch(whenAway(() => undefined));
    return read;
  }

  private async askEngine(devices: readonly DeviceName[]): Promise<readonly CachedLabels[]> {
    const { engine, metrics } = this.dependencies;
    return engine.getLabels(devices).catch(
      whenAway(() => {
        metrics.faults.add('label-read');
        return devices.map(() => NOT_ANSWERED);
      }),
    );
  }

  private async writeMany(
    checkIns: readonly CheckIn[],
  ): Promise<readonly (StoredLabels | undefined)[]> {
    const { labels: recorded } = await this.dependencies.admission.record(checkIns, 'awaited');
    await this.remember(recorded, checkIns, 'awaited');
    const byDevice = new Map(recorded.map((entry) => [deviceKey(entry), entry]));
    return checkIns.map((checkIn) => byDevice.get(deviceKey(checkIn)));
  }
}

/** Stands for the engine's labels of a device while the engine does not answer. */
const NOT_ANSWERED: CachedLabels = { stored: undefined, isConfirmed: false, notes: undefined };

/**
 * Returns, by key, the time up to which a recorded check-in replaces notes. A check-in from a queue replaces
 * those up to its own times; one that a caller waited for replaces all, because it is the newest.
 */
function settledBy({ labels, labelTimes, at }: CheckIn, kind: CheckKind): LabelTimes {
  const untilOf = (key: string) =>
    kind === 'awaited' ? Number.MAX_SAFE_INTEGER : (labelTimes?.get(key) ?? at);
  return new Map([...(labels?.keys() ?? [])].map((key) => [key, untilOf(key)]));
}
