// Reads and changes the actions of devices that speak DDI. The engine holds them for all processes, and puts
// their changes in order; the ledger is the record. A poll asks the engine alone, and many polls at a time:
// nothing is kept in the process, because a closing counts at every node before it is answered.
//
// What changes goes to the engine first and to the ledger within a second, a closing at once. Without the
// engine the ledger orders the changes, and the engine gets them later (action-feed.ts).

import { Unavailable, whenAway } from '../contract/store-fault.ts';
import { tellVersion } from '../domain/fleet/action-reports.ts';
import { type DeviceActions, NO_ACTIONS } from '../domain/fleet/device-actions.ts';
import { packActions, parseActions } from '../domain/fleet/packed-actions.ts';
import { Batcher } from '../flow/batcher.ts';
import { ReplaceableLedger } from '../flow/within-time.ts';
import type { Metrics } from '../observe/metrics.ts';
import type {
  ActionChange,
  ActionStore,
  ActionWrite,
  HeldActions,
  RecordedActions,
} from '../store/action-store.ts';
import type { DeviceName } from '../store/label-store.ts';
import type { Ledger } from '../store/ledger.ts';
import type { UnstoredActions } from './unstored-actions.ts';

export type ActionRecordDependencies = {
  readonly ledger: Pick<Ledger, 'readActions' | 'writeActions'>;
  readonly engine: ActionStore;
  readonly unstored: UnstoredActions;
  /** Waits until a change that the ledger alone has counts where the engine answers (action-feed.ts). */
  readonly untilFollowed: () => Promise<void>;
  /** Milliseconds since 1970 by the ledger's clock. */
  readonly now: () => number;
  readonly metrics: Metrics;
};

/** Actions of a device on record; where the device is not on record, there are none. */
export type KnownActions = {
  readonly actions: DeviceActions | undefined;
  /** Whether the engine answered: changes are made there then. */
  readonly isShared: boolean;
};

/** What keeps a change from the moment at which it counts. */
type Keeper = 'engine' | 'ledger';

/** Bounds of each kind of batch: see `DeviceLabels`, whose batches cost the same. */
const BATCHES = { batchSizeMax: 500, batchesMax: 2, pendingMax: 20_000 };
/** Longest wait for the ledger before what the engine holds is used. */
const LEDGER_WAIT_MS_MAX = 1000;
/** Maximum number of times that a change begins again because somebody else has changed the device. */
const ATTEMPTS_MAX = 6;
/** Age of a change that the process which made it should have stored by now. */
const UNSTORED_MS_MAX = 3000;

export class ActionRecord {
  private readonly reads: Batcher<DeviceName, KnownActions | Unavailable>;
  private readonly changes: Batcher<ActionChange, boolean>;
  private readonly writes: Batcher<ActionWrite, boolean>;
  private readonly ledger = new ReplaceableLedger(LEDGER_WAIT_MS_MAX);

  constructor(private readonly dependencies: ActionRecordDependencies) {
    const { engine, ledger } = dependencies;
    this.reads = new Batcher({ ...BATCHES, ask: (devices) => this.readMany(devices) });
    this.changes = new Batcher({ ...BATCHES, ask: (changes) => engine.changeActions(changes) });
    this.writes = new Batcher({ ...BATCHES, ask: (each) => ledger.writeActions(each) });
  }

  /** Reads the actions of a device. Rejects with `Unavailable` when they cannot be known. */
  async read(device: DeviceName): Promise<KnownActions> {
    const found = await this.reads.ask(device);
    if (found instanceof Unavailable) throw found;
    return found;
  }

  /**
   * Changes the actions of a device; returns false if somebody else has changed them meanwhile. Counts for
   * every process, and is kept by the engine or the ledger, when it resolves. Rejects with `Unavailable` when
   * neither keeps it.
   */
  async change(
    device: DeviceName,
    known: KnownActions,
    before: DeviceActions,
    after: DeviceActions,
  ): Promise<boolean> {
    const write = this.writeOf(device, after);
    const keeper = await this.order(known, write, before);
    if (keeper === 'engine') this.dependencies.unstored.add(write);
    return keeper !== undefined;
  }

  /** Changes actions like `change`, but waits for the ledger as long as it answers: for a closing. */
  async close(
    device: DeviceName,
    known: KnownActions,
    before: DeviceActions,
    after: DeviceActions,
  ): Promise<boolean> {
    const write = this.writeOf(device, after);
    const keeper = await this.order(known, write, before);
    if (keeper !== 'engine') return keeper !== undefined;
    try {
      const isStored = await this.ledger.ask(() => this.writes.ask(write));
      if (isStored)
        await this.dependencies.engine.noteStored([write]).catch(whenAway(() => undefined));
      // The record has a later change, or no such device: it is read again, and counts.
      else await this.fill([device]);
      return isStored;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.dependencies.unstored.add(write);
      return true;
    }
  }

  /**
   * Applies a change that a device or a fleet report tells to the actions of a device on record, again when
   * somebody else has changed them meanwhile. Returns what they were before, once the change counts for every
   * process; undefined if nothing changed.
   */
  async alter(
    device: DeviceName,
    way: 'change' | 'close',
    apply: (actions: DeviceActions, now: number) => DeviceActions,
  ): Promise<DeviceActions | undefined> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const known = await this.read(device);
      const before = known.actions;
      if (before === undefined) return undefined;
      const after = apply(before, this.dependencies.now());
      if (after === before) return undefined;
      if (!(await this[way](device, known, before, after))) continue;
      // Other processes may have the engine that this one has lost.
      if (!known.isShared) await this.untilFollowed(device, after);
      return before;
    }
    throw new Unavailable('process', `the actions of a device changed ${ATTEMPTS_MAX} times`);
  }

  /**
   * Notes the versions that others tell of devices of an app, by device id. Most of these may speak no DDI:
   * one read finds those that have actions, and the engine gets nothing of the others.
   */
  async tellVersions(appId: string, versions: ReadonlyMap<string, string>): Promise<void> {
    const devices = [...versions.keys()].map((deviceId) => ({ appId, deviceId }));
    const read = await this.dependencies.ledger.readActions(devices);
    await Promise.all(
      read
        .filter(({ actions }) => actions !== undefined)
        .map(({ deviceId }) => {
          const version = versions.get(deviceId) ?? '';
          return this.alter({ appId, deviceId }, 'close', (actions, now) =>
            tellVersion(actions, version, now),
          );
        }),
    );
  }

  private writeOf(device: DeviceName, after: DeviceActions): ActionWrite {
    const { appId, deviceId } = device;
    const barred = after.bars.map(({ number }) => number);
    const { revision } = after;
    const text = packActions(after);
    const changedAt = this.dependencies.now();
    return { appId, deviceId, revision, text, barred, changedAt, expected: undefined };
  }

  /**
   * Makes a change where the changes of all processes have their order: in the engine, or the ledger. Returns
   * what keeps it; undefined if somebody else has changed the actions meanwhile.
   */
  private async order(
    { isShared }: KnownActions,
    write: ActionWrite,
    { revision: expected }: DeviceActions,
  ): Promise<Keeper | undefined> {
    if (!isShared) return this.store({ ...write, expected });
    try {
      const change = { ...write, expected, unstoredSince: write.changedAt };
      return (await this.changes.ask(change)) ? 'engine' : undefined;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return this.takeOut(write);
    }
  }

  private async store(write: ActionWrite): Promise<Keeper | undefined> {
    return (await this.ledger.ask(() => this.writes.ask(write))) ? 'ledger' : undefined;
  }

  /** Stores a change that the engine does not take, and takes from it what it holds: a full one does that. */
  private async takeOut(write: ActionWrite): Promise<Keeper | undefined> {
    const keeper = await this.store(write);
    if (keeper === undefined) return undefined;
    const isOut = this.dependencies.engine.dropActions([write]).then(() => true);
    if (!(await isOut.catch(whenAway(() => false)))) await this.untilFollowed(write, write);
    return keeper;
  }

  /**
   * Waits until processes that have the engine go by a change that the ledger alone got. Rejects with
   * `Unavailable` where the engine takes no changes, but still tells the state before.
   */
  private async untilFollowed(
    device: DeviceName,
    { revision }: Pick<DeviceActions, 'revision'>,
  ): Promise<void> {
    await this.dependencies.untilFollowed();
    const [held] = (await this.askEngine([device])) ?? [];
    if (held === undefined || (parseActions(held.text)?.revision ?? 0) >= revision) return;
    throw new Unavailable('engine', 'it takes no changes');
  }

  private async readMany(
    devices: readonly DeviceName[],
  ): Promise<readonly (KnownActions | Unavailable)[]> {
    const held = await this.askEngine(devices);
    // The ledger is all that is left: it gets what this process has changed in the last second.
    if (held === undefined) await this.dependencies.unstored.flush();
    const open = devices.filter((_, index) => held?.[index]?.isConfirmed !== true);
    const { ddiStateReads } = this.dependencies.metrics;
    if (held !== undefined) ddiStateReads.add('engine', devices.length);
    ddiStateReads.add('ledger', open.length);
    const recorded = open.length === 0 ? [] : await this.fill(open);
    const rest = recorded instanceof Unavailable ? undefined : recorded[Symbol.iterator]();
    return devices.map((device, index) => {
      const mine = held?.[index];
      const known = mine && this.heal(device, mine);
      if (mine?.isConfirmed === true) return { actions: known, isShared: true };
      const read: RecordedActions | undefined = rest?.next().value;
      if (read === undefined && known === undefined) return recorded as Unavailable;
      return { actions: newer(known, read), isShared: held !== undefined };
    });
  }

  /** Returns the actions that the engine holds; stores those that the ledger should have by now. */
  private heal(
    device: DeviceName,
    { text, unstoredSince }: HeldActions,
  ): DeviceActions | undefined {
    const actions = parseActions(text);
    const isLate = unstoredSince > 0 && this.dependencies.now() - unstoredSince > UNSTORED_MS_MAX;
    if (isLate && actions !== undefined)
      this.dependencies.unstored.add(this.writeOf(device, actions));
    return actions;
  }

  /** Reads devices from the ledger, and puts them into the engine. */
  private async fill(
    devices: readonly DeviceName[],
  ): Promise<readonly RecordedActions[] | Unavailable> {
    const { ledger, engine } = this.dependencies;
    try {
      const read = await this.ledger.ask(() => ledger.readActions(devices));
      const stored = read
        .filter(({ isRecorded }) => isRecorded)
        .map(({ actions, ...device }) => ({ ...device, ...(actions ?? NONE) }));
      // If that fails, the next reader does it.
      await engine.putActions(stored).catch(whenAway(() => undefined));
      const gone = read.filter(({ isRecorded }) => !isRecorded);
      if (gone.length > 0) await engine.dropActions(gone).catch(whenAway(() => undefined));
      return read;
    } catch (error) {
      if (error instanceof Unavailable) return error;
      throw error;
    }
  }

  private async askEngine(
    devices: readonly DeviceName[],
  ): Promise<readonly (HeldActions | undefined)[] | undefined> {
    const { engine, metrics } = this.dependencies;
    return engine.getActions(devices).catch(
      whenAway(() => {
        metrics.faults.add('action-read');
        return undefined;
      }),
    );
  }
}

/** What the engine holds of a device on record without actions. */
const NONE = { revision: NO_ACTIONS.revision, text: packActions(NO_ACTIONS) };

/** Returns what counts of a device: the later change, or nothing if the device is not on record. */
function newer(
  held: DeviceActions | undefined,
  read: RecordedActions | undefined,
): DeviceActions | undefined {
  if (read === undefined) return held;
  if (!read.isRecorded) return undefined;
  const recorded = (read.actions && parseActions(read.actions.text)) ?? NO_ACTIONS;
  return held !== undefined && held.revision > recorded.revision ? held : recorded;
}
