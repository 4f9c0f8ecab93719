// The part of the engine that holds the actions of devices that speak DDI, so that a poll reads no ledger.
// The ledger is the record; what the engine holds is what every process decides by. A change goes to the
// engine first, which orders the changes of all processes, and to the ledger at once or within seconds.

import type { ChangePosition, DeviceName } from './label-store.ts';

/** Actions of a device as text (domain/fleet/packed-actions.ts), with their revision. */
export type StoredActions = DeviceName & { readonly revision: number; readonly text: string };

export type HeldActions = {
  readonly text: string;
  /** Whether the ledger need not be asked whether it has a higher revision. */
  readonly isConfirmed: boolean;
  /**
   * When they were changed, in milliseconds since 1970 by the ledger's clock; 0 once the ledger has them.
   */
  readonly unstoredSince: number;
};

/** Change of actions that were at the revision `expected`, 0 when there were none. */
export type ActionChange = StoredActions & {
  readonly expected: number;
  readonly unstoredSince: number;
};

export interface ActionStore {
  /** Reads the actions of devices, in the order of `devices`; undefined where it has none. */
  getActions(devices: readonly DeviceName[]): Promise<readonly (HeldActions | undefined)[]>;

  /** Puts actions of the ledger, unless a higher revision is held; they are confirmed from now on. */
  putActions(stored: readonly StoredActions[]): Promise<void>;

  /**
   * Changes actions where the held revision is the expected one, or none are held and none is expected.
   * Returns for each whether it was changed, which counts for every process from then on.
   */
  changeActions(changes: readonly ActionChange[]): Promise<readonly boolean[]>;

  /** Notes that the ledger has actions of this revision. */
  noteStored(stored: readonly Omit<StoredActions, 'text'>[]): Promise<void>;

  /** Removes the actions of devices, because the ledger has deleted the devices. */
  dropActions(devices: readonly DeviceName[]): Promise<void>;

  /** Reads the position up to which the engine has got all changes of actions; undefined if unknown. */
  readActionPosition(): Promise<ChangePosition | undefined>;

  /** Moves the position if it is still `from`; returns whether it was moved. */
  moveActionPosition(from: ChangePosition | undefined, to: ChangePosition): Promise<boolean>;
}

// The record of actions in the ledger.

export type RecordedActions = DeviceName & {
  /** Whether the device is on record; its actions may still be none. */
  readonly isRecorded: boolean;
  /** Undefined when there are none. */
  readonly actions: Pick<StoredActions, 'revision' | 'text'> | undefined;
};

export type ActionWrite = StoredActions & {
  /** Revision on record that the write needs, 0 for none; undefined: any lower one. */
  readonly expected: number | undefined;
  /** When they were changed, in milliseconds since 1970. */
  readonly changedAt: number;
  /** Numbers of the releases that the device has a bar from. */
  readonly barred: readonly number[];
};
