// The labels of devices, for decisions and from requests. The ledger has the record, the engine remembers
// for all nodes, and both are asked for many devices at a time. No node keeps labels for itself, because a
// label that a report has acknowledged must decide the very next check anywhere: only that some are in the
// record already is remembered here, until somebody tells that they have changed.

import type { CheckIn } from '../domain/check-in.ts';
import { includesLabels, mergeLabels } from '../domain/merge-labels.ts';
import type { Labels } from '../domain/targeting.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Engine } from '../ports/engine.ts';
import type { DeviceName, DeviceLabels as StoredLabels } from '../ports/label-cache.ts';
import type { Ledger } from '../ports/ledger.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { Batcher } from './batcher.ts';
import { LabelMemory } from './label-memory.ts';

export type DeviceLabelsDependencies = {
  readonly ledger: Ledger;
  readonly engine: Engine;
  readonly metrics: Metrics;
  readonly log: Log;
};

const BATCH_SIZE_MAX = 500;
/** Enough to keep a store busy; each has a connection of its own to PostgreSQL, which others need, too. */
const BATCHES_MAX = 2;
const PENDING_MAX = 20_000;
/** Entries the engine could not be told of; beyond it they are left to run out there. */
const UNTOLD_MAX = 10_000;
const RETELL_MS = 500;

export class DeviceLabels {
  private readonly dependencies: DeviceLabelsDependencies;
  private readonly lookups: Batcher<DeviceName, StoredLabels>;
  private readonly writes: Batcher<CheckIn, StoredLabels | undefined>;
  private readonly memory = new LabelMemory();
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

  /** Begins to hear whose labels have changed, until the engine closes. */
  start(): void {
    this.dependencies.engine.onLabels(
      (news) => {
        for (const each of news) this.memory.forget(each, each.revision);
      },
      () => this.memory.clear(),
    );
  }

  /** Whether labels with this `tagLabels` are known to be in the record for a device, without asking. */
  areStored(device: DeviceName, labelsTag: number): boolean {
    return this.memory.holds(device, labelsTag);
  }

  /** The stored labels of a device. `Unavailable` when neither store can tell. */
  async read(device: DeviceName): Promise<Labels> {
    return (await this.lookups.ask(device)).labels;
  }

  /** The stored labels of many devices, in their order. `Unavailable` when neither store can tell. */
  async readAll(devices: readonly DeviceName[]): Promise<readonly Labels[]> {
    return Promise.all(devices.map((device) => this.read(device)));
  }

  /**
   * Makes the labels of a check-in the device's, for every node, before this resolves; the labels it then
   * has. When the ledger is away they are not lost: the check-in itself carries them, and what is
   * answered is what is known with the request's over it.
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

  /** Tells every node of labels that were just recorded. Never rejects: what fails is tried again. */
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

  /** Ends the attempts to tell the engine. */
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
    // What the engine has not been told of yet it would answer wrongly.
    if (this.untold.size > 0) return devices.map(() => undefined);
    try {
      return await this.dependencies.engine.getLabels(devices);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.dependencies.metrics.faults.add('label-read');
      return devices.map(() => undefined);
    }
  }

  /** Refills the engine; when it is away the next reader refills it. */
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
    const recorded = await this.dependencies.ledger.recordCheckIns(checkIns);
    await this.remember(recorded);
    const byDevice = new Map(recorded.map((entry) => [nameOf(entry), entry]));
    return checkIns.map((checkIn) => byDevice.get(nameOf(checkIn)));
  }

  private tellLater(entries: readonly StoredLabels[]): void {
    for (const entry of entries) {
      const name = nameOf(entry);
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

  /** What is being told stays untold until the engine has heard it, unless it never can. */
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
      const name = nameOf(entry);
      if (this.untold.get(name) === entry) this.untold.delete(name);
    }
  }
}

function nameOf({ appId, deviceId }: DeviceName): string {
  return `${appId}/${deviceId}`;
}
