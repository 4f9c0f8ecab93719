// Reading and storing of device labels. The ledger is the record, the engine caches labels for all nodes, and
// both are asked for many devices at a time. A node caches no labels itself, because a label that a report
// has acknowledged must decide the next check on every node. It only remembers which labels are already
// recorded, until it hears of a change, or finds it in the ledger.
//
// What the engine has not been told by the ledger for an hour is asked of the ledger again. When that does
// not answer, the engine's labels are the best that is known, and are used.

import type { Labels } from '../../domain/decision/targeting.ts';
import { type CheckIn, deviceKey } from '../../domain/fleet/check-in.ts';
import { includesLabels, mergeLabels } from '../../domain/fleet/merge-labels.ts';
import { Batcher } from '../../flow/batcher.ts';
import { withinTime } from '../../flow/within-time.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { DELETED_REVISION } from '../../ports/deleted-revision.ts';
import type { Engine } from '../../ports/engine.ts';
import type {
  CachedLabels,
  DeviceName,
  LabelPosition,
  StoredLabels,
} from '../../ports/label-cache.ts';
import type { Ledger } from '../../ports/ledger.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Admission } from './admission.ts';
import { NOT_RECORDED, StoredLabelMemory } from './stored-label-memory.ts';

export type DeviceLabelsDependencies = {
  readonly ledger: Pick<Ledger, 'readLabels' | 'readLabelChanges'>;
  readonly admission: Pick<Admission, 'record'>;
  readonly engine: Engine;
  readonly metrics: Metrics;
  readonly log: Log;
};

const BATCH_SIZE_MAX = 500;
/**
 * Maximum number of concurrent batches: enough to keep a store busy. Each uses a PostgreSQL connection of the
 * shared pool.
 */
const BATCHES_MAX = 2;
const PENDING_MAX = 20_000;
/**
 * Maximum number of label entries queued for retry towards the engine; entries beyond it are left to the feed
 * (`label-feed.ts`).
 */
const UNTOLD_MAX = 10_000;
const RETELL_MS = 500;
/** Longest wait for labels from the ledger before those of the engine are used. */
const LEDGER_WAIT_MS_MAX = 1500;
/** Time for which a ledger that did not answer is not asked again. */
const LEDGER_REST_MS = 1000;
/** Number of changed devices from which on forgetting all is less work than forgetting them. */
const FORGOTTEN_MAX = 500;

export class DeviceLabels {
  private readonly dependencies: DeviceLabelsDependencies;
  private readonly lookups: Batcher<DeviceName, StoredLabels | Unavailable>;
  private readonly writes: Batcher<CheckIn, StoredLabels | undefined>;
  private readonly memory = new StoredLabelMemory();
  private readonly untold = new Map<string, StoredLabels>();
  private retelling: NodeJS.Timeout | undefined;
  /** Change of labels up to which the memory has forgotten what changed. */
  private followed: LabelPosition | undefined;
  /** Time of the monotonic clock before which the ledger is not asked. */
  private ledgerRestsUntil = Number.NEGATIVE_INFINITY;

  constructor(dependencies: DeviceLabelsDependencies) {
    this.dependencies = dependencies;
    this.lookups = new Batcher({
      ask: (devices) => this.readMany(devices),
      batchSizeMax: BATCH_SIZE_MAX,
      batchesMax: BATCHES_MAX,
      pendingMax: PENDING_MAX,
    });
    this.writes = new Batcher({
      ask: (checkIns) => this.writeMany(checkIns),
      batchSizeMax: BATCH_SIZE_MAX,
      batchesMax: BATCHES_MAX,
      pendingMax: PENDING_MAX,
    });
  }

  /** Starts listening to announcements of changed labels, until the engine closes. */
  start(): void {
    this.dependencies.engine.onLabels(
      (news) => {
        for (const each of news) this.memory.forget(each, each.revision);
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

  /**
   * Remembers that labels with this hash are on their way to the device's record with a check-in, so that the
   * next one need not carry them. What is recorded of the device's labels makes this forgotten.
   */
  noteSent(device: DeviceName, labelsTag: number): void {
    this.memory.noteSent(device, labelsTag);
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
    return (await this.find(device)).labels;
  }

  /**
   * Reads the stored labels of many devices, in their order. Rejects with `Unavailable` when neither store
   * can answer.
   */
  async readAll(devices: readonly DeviceName[]): Promise<readonly Labels[]> {
    return Promise.all(devices.map((device) => this.read(device)));
  }

  /**
   * Records the labels of a check-in for every node before it resolves, and returns the device's merged
   * labels. When the ledger is unavailable the labels are not lost, because the check-in carries them too;
   * the result is then what the engine knows, with the request's labels merged over it.
   */
  async store(checkIn: CheckIn & { readonly labels: Labels }): Promise<Labels> {
    const before = await this.find(checkIn);
    if (includesLabels(before.labels, checkIn.labels)) {
      this.memory.note(checkIn, checkIn.labels, before.revision);
      return before.labels;
    }
    try {
      if (this.isLedgerResting()) throw new Unavailable('ledger', 'it has just not answered');
      const after = await this.writes.ask(checkIn);
      if (after === undefined) return mergeLabels(before.labels, checkIn.labels);
      this.memory.note(checkIn, checkIn.labels, after.revision);
      return after.labels;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.dependencies.metrics.faults.add('label-write');
      return mergeLabels(before.labels, checkIn.labels);
    }
  }

  /**
   * Announces labels that were just recorded to every node. Never rejects: a failed announcement is retried.
   */
  async remember(entries: readonly StoredLabels[]): Promise<void> {
    if (entries.length === 0) return;
    try {
      await this.share(entries);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.dependencies.metrics.faults.add('label-share');
      this.tellLater(entries);
    }
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
    for (const device of devices) this.untold.delete(deviceKey(device));
    await engine.dropLabels(devices);
    await engine.tellLabels(devices.map((device) => ({ ...device, revision: DELETED_REVISION })));
  }

  /** Ends the retries towards the engine. */
  stop(): void {
    clearTimeout(this.retelling);
    this.retelling = undefined;
    this.untold.clear();
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
    else for (const each of changed) this.memory.forget(each, each.revision);
    this.followed = { epoch, position: newest };
  }

  private async find(device: DeviceName): Promise<StoredLabels> {
    const found = await this.lookups.ask(device);
    if (found instanceof Unavailable) throw found;
    return found;
  }

  /** Returns for each device its labels, or that they cannot be known now. */
  private async readMany(
    devices: readonly DeviceName[],
  ): Promise<readonly (StoredLabels | Unavailable)[]> {
    const cached = await this.askEngine(devices);
    const open = devices.filter((_, index) => cached[index]?.isConfirmed !== true);
    if (open.length === 0) return cached as readonly CachedLabels[];
    const read = await this.askLedger(open);
    if (read instanceof Unavailable) return cached.map((entry) => entry ?? read);
    const rest = read[Symbol.iterator]();
    return cached.map((entry) =>
      entry?.isConfirmed ? entry : (rest.next().value as StoredLabels),
    );
  }

  /**
   * Reads labels from the ledger and puts them into the engine. A ledger that hangs is not waited for longer
   * than checks can wait, but what it answers later is put all the same.
   */
  private async askLedger(
    devices: readonly DeviceName[],
  ): Promise<readonly StoredLabels[] | Unavailable> {
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

  private async readAndFill(devices: readonly DeviceName[]): Promise<readonly StoredLabels[]> {
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
      return this.untold.size === 0
        ? cached
        : cached.map((entry, index) => {
            return this.correct(devices[index] as DeviceName, entry);
          });
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.dependencies.metrics.faults.add('label-read');
      return devices.map(() => undefined);
    }
  }

  /**
   * Returns the labels of a device, when those of the engine may be older than what this process recorded.
   */
  private correct(device: DeviceName, cached: CachedLabels | undefined): CachedLabels | undefined {
    const untold = this.untold.get(deviceKey(device));
    if (untold !== undefined && untold.revision > (cached?.revision ?? -1)) {
      return { ...untold, isConfirmed: true };
    }
    // When there is no room for all that the engine was not told, any of its entries may be out of date.
    const isComplete = this.untold.size < UNTOLD_MAX;
    return cached && { ...cached, isConfirmed: cached.isConfirmed && isComplete };
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
    await this.remember(recorded);
    const byDevice = new Map(recorded.map((entry) => [deviceKey(entry), entry]));
    return checkIns.map((checkIn) => byDevice.get(deviceKey(checkIn)));
  }

  private tellLater(entries: readonly StoredLabels[]): void {
    for (const entry of entries) {
      const name = deviceKey(entry);
      const known = this.untold.get(name);
      if (known === undefined ? this.untold.size < UNTOLD_MAX : known.revision < entry.revision) {
        this.untold.set(name, entry);
      }
    }
    this.retellSoon();
  }

  private retellSoon(): void {
    this.retelling ??= setTimeout(async () => {
      await this.retell();
      this.retelling = undefined;
      if (this.untold.size > 0) this.retellSoon();
    }, RETELL_MS);
  }

  /** Keeps entries queued until the engine has accepted them, unless it can never accept them. */
  private async retell(): Promise<void> {
    const entries = [...this.untold.values()];
    try {
      await this.share(entries);
    } catch (error) {
      if (error instanceof Unavailable) {
        this.dependencies.metrics.faults.add('label-share');
        return;
      }
      this.dependencies.log.error({ err: error }, 'labels could not be shared');
    }
    for (const entry of entries) {
      const name = deviceKey(entry);
      if (this.untold.get(name) === entry) this.untold.delete(name);
    }
  }
}
