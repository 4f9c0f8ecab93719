// Labels that devices have sent with a check and that are not on record yet. They are noted in the engine
// before the check is answered, so that they count on every node from the device's next check on, and are
// recorded with the check-in. Whoever records labels settles the notes that the record has overtaken.
//
// When the engine does not take a settlement, this process passes over those notes and tries again. Notes
// that nobody settles, because a process ended or a check-in was lost, end by themselves after minutes.

import { Unavailable } from '../contract/unavailable.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import { type CheckIn, deviceKey } from '../domain/fleet/check-in.ts';
import { Batcher } from '../flow/batcher.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Engine } from '../store/engine.ts';
import type { CheckKind } from '../store/fleet-ledger.ts';
import {
  type DeviceName,
  type LabelNote,
  type LabelNoteStore,
  NOTED_REVISION,
  type SettledLabels,
} from '../store/label-store.ts';

const BATCH_SIZE_MAX = 500;
const BATCHES_MAX = 4;
const PENDING_MAX = 20_000;
/** Maximum number of devices whose notes wait to be settled; those of others end by themselves. */
const UNSETTLED_MAX = 10_000;

/** Notes of a device that are overtaken: of each key those up to a time, in milliseconds since 1970. */
type Overtaken = DeviceName & { readonly untilByKey: ReadonlyMap<string, number> };

export class LabelNotes {
  private readonly engine: Pick<Engine, 'labelNotes' | 'tellLabels'>;
  private readonly metrics: Pick<Metrics, 'faults'>;
  private readonly writes: Batcher<LabelNote, undefined>;
  private readonly unsettled = new Map<string, Overtaken>();

  constructor(engine: Pick<Engine, 'labelNotes' | 'tellLabels'>, metrics: Pick<Metrics, 'faults'>) {
    this.engine = engine;
    this.metrics = metrics;
    this.writes = new Batcher({
      ask: (notes) => this.send(notes),
      batchSizeMax: BATCH_SIZE_MAX,
      batchesMax: BATCHES_MAX,
      pendingMax: PENDING_MAX,
    });
  }

  /** Notes labels for every node. Resolves with false when the engine does not take them; never rejects. */
  async note(note: LabelNote): Promise<boolean> {
    if (this.store === undefined) return false;
    try {
      await this.writes.ask(note);
      return true;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.metrics.faults.add('label-write');
      return false;
    }
  }

  /**
   * Reads what is noted of devices, in their order. Notes that this process knows to be on record count no
   * more. Rejects with `Unavailable` when the engine does not answer.
   */
  async read(devices: readonly DeviceName[]): Promise<readonly (Labels | undefined)[]> {
    if (this.store === undefined) return [];
    const noted = await this.store.readLabelNotes(devices);
    if (this.unsettled.size === 0) return noted;
    return noted.map((labels, index) => this.withoutSettled(devices[index], labels));
  }

  /**
   * Settles the notes of labels that are on record now. Those of a check-in that waited in a queue are
   * settled up to its time; those of one that somebody waited for are the newest that there are. Rejects with
   * `Unavailable` when the engine does not answer.
   */
  async settle(checkIns: readonly CheckIn[], kind: CheckKind): Promise<void> {
    const settled = checkIns.flatMap(overtakenBy).flatMap(settledOf);
    if (this.store === undefined || settled.length === 0) return;
    const until = Number.MAX_SAFE_INTEGER;
    await this.store.settleLabelNotes(
      kind === 'queued' ? settled : settled.map((each) => ({ ...each, until })),
    );
  }

  /** Remembers that notes are overtaken, up to the times of the check-ins: later there may be newer. */
  settleLater(checkIns: readonly CheckIn[]): void {
    if (this.store === undefined) return;
    for (const overtaken of checkIns.flatMap(overtakenBy)) {
      const name = deviceKey(overtaken);
      const known = this.unsettled.get(name);
      if (known === undefined && this.unsettled.size >= UNSETTLED_MAX) continue;
      const untilByKey = new Map(known?.untilByKey);
      for (const [key, until] of overtaken.untilByKey) {
        untilByKey.set(key, Math.max(untilByKey.get(key) ?? 0, until));
      }
      this.unsettled.set(name, { ...overtaken, untilByKey });
    }
  }

  /** Whether notes wait to be settled. */
  get isBehind(): boolean {
    return this.unsettled.size > 0;
  }

  /** Settles what waits. Rejects with `Unavailable` when the engine does not answer; then it waits on. */
  async settleAgain(): Promise<void> {
    if (!this.isBehind) return;
    const waiting = [...this.unsettled];
    await this.store?.settleLabelNotes(waiting.flatMap(([, overtaken]) => settledOf(overtaken)));
    for (const [name, overtaken] of waiting) {
      if (this.unsettled.get(name) === overtaken) this.unsettled.delete(name);
    }
  }

  /** Removes the notes of devices that the ledger has deleted. Rejects as the engine does. */
  async forget(devices: readonly DeviceName[]): Promise<void> {
    for (const device of devices) this.unsettled.delete(deviceKey(device));
    await this.store?.dropLabelNotes(devices);
  }

  /** Ends all that waits. */
  stop(): void {
    this.unsettled.clear();
  }

  /** Notes labels, and makes every process doubt what it knows of these devices' labels. */
  private async send(notes: readonly LabelNote[]): Promise<readonly undefined[]> {
    const notifications = notes.map(({ appId, deviceId }) => {
      return { appId, deviceId, revision: NOTED_REVISION };
    });
    await Promise.all([this.store?.noteLabels(notes), this.engine.tellLabels(notifications)]);
    return notes.map(() => undefined);
  }

  private get store(): LabelNoteStore | undefined {
    return this.engine.labelNotes;
  }

  private withoutSettled(
    device: DeviceName | undefined,
    labels: Labels | undefined,
  ): Labels | undefined {
    const overtaken = device && this.unsettled.get(deviceKey(device));
    if (overtaken === undefined || labels === undefined) return labels;
    const rest = [...labels].filter(([key]) => !overtaken.untilByKey.has(key));
    return rest.length === 0 ? undefined : new Map(rest);
  }
}

/** Returns which notes a check-in with labels overtakes once it is recorded; none of one without labels. */
function overtakenBy({ appId, deviceId, labels, labelTimes, at }: CheckIn): readonly Overtaken[] {
  if (labels === undefined || labels.size === 0) return [];
  const untilByKey = new Map([...labels.keys()].map((key) => [key, labelTimes?.get(key) ?? at]));
  return [{ appId, deviceId, untilByKey }];
}

function settledOf({ appId, deviceId, untilByKey }: Overtaken): readonly SettledLabels[] {
  const keysByTime = new Map<number, string[]>();
  for (const [key, until] of untilByKey) {
    keysByTime.set(until, [...(keysByTime.get(until) ?? []), key]);
  }
  return [...keysByTime].map(([until, labelKeys]) => ({ appId, deviceId, labelKeys, until }));
}
