// Reading and storing of device labels. The ledger is the record, the engine caches labels for all nodes, and
// both are asked for many devices at a time. A node caches no labels itself, because a label that a report
// has acknowledged must decide the next check on every node. It only remembers which labels are already
// recorded, until a change is announced.

import type { Labels } from '../../domain/decision/targeting.ts';
import type { CheckIn } from '../../domain/fleet/check-in.ts';
import { includesLabels, mergeLabels } from '../../domain/fleet/merge-labels.ts';
import { Batcher } from '../../flow/batcher.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { Engine } from '../../ports/engine.ts';
import type { DeviceName, StoredLabels } from '../../ports/label-cache.ts';
import type { Ledger } from '../../ports/ledger.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { StoredLabelMemory } from './stored-label-memory.ts';

export type DeviceLabelsDependencies = {
  readonly ledger: Ledger;
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
 * Maximum number of label entries queued for retry towards the engine; entries beyond it expire there by
 * their lifetime.
 */
const UNTOLD_MAX = 10_000;
const RETELL_MS = 500;

export class DeviceLabels {
  private readonly dependencies: DeviceLabelsDependencies;
  private readonly lookups: Batcher<DeviceName, StoredLabels>;
  private readonly writes: Batcher<CheckIn, StoredLabels | undefined>;
  private readonly memory = new StoredLabelMemory();
  private readonly untold = new Map<string, StoredLabels>();
  private retelling: NodeJS.Timeout | undefined;

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

  /** Reads the stored labels of a device. Rejects with `Unavailable` when neither store can answer. */
  async read(device: DeviceName): Promise<Labels> {
    return (await this.lookups.ask(device)).labels;
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
    const before = await this.lookups.ask(checkIn);
    if (includesLabels(before.labels, checkIn.labels)) {
      this.memory.note(checkIn, checkIn.labels, before.revision);
      return before.labels;
    }
    try {
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

  private async readMany(devices: readonly DeviceName[]): Promise<readonly StoredLabels[]> {
    const known = await this.askEngine(devices);
    const missing = devices.filter((_, index) => known[index] === undefined);
    if (missing.length === 0) return known as readonly StoredLabels[];
    const read = await this.dependencies.ledger.readLabels(missing);
    await this.fill(read);
    const rest = read[Symbol.iterator]();
    return known.map((entry) => entry ?? (rest.next().value as StoredLabels));
  }

  private async askEngine(
    devices: readonly DeviceName[],
  ): Promise<readonly (StoredLabels | undefined)[]> {
    // The engine's entries for devices that are queued for retry are out of date and must not be used.
    if (this.untold.size > 0) return devices.map(() => undefined);
    try {
      return await this.dependencies.engine.getLabels(devices);
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
    const recorded = await this.dependencies.ledger.recordAwaited(checkIns);
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

function deviceKey({ appId, deviceId }: DeviceName): string {
  return `${appId}/${deviceId}`;
}
