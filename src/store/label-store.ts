// The part of the engine that caches the labels of devices, so that a decision does not read the ledger: the
// labels on record, and notes of the labels that a device sent with checks. Every label has a time. Labels on
// record remove notes that are no newer, whichever process stores them. The ledger is the record; an absent
// entry says nothing about the device.

import type { Labels } from '../domain/decision/targeting.ts';
import type { LabelTimes, TimedLabels } from '../domain/fleet/labels.ts';

export type DeviceName = { readonly appId: string; readonly deviceId: string };

/**
 * Labels of a device on record, at a revision. The ledger raises the revision with every change; 0 means none
 * were stored yet.
 */
export type StoredLabels = DeviceName & TimedLabels & { readonly revision: number };

/** Labels on record now. */
export type LabelUpdate = StoredLabels & {
  /** By key, further times up to which notes are obsolete: those of the labels just recorded. */
  readonly settled?: LabelTimes | undefined;
};

/** Labels that a device sent with a check at `at`, in milliseconds since 1970 by the ledger's clock. */
export type LabelNote = DeviceName & { readonly labels: Labels; readonly at: number };

/** Entry of a device in the cache. */
export type CachedLabels = {
  /** Labels on record when they were cached; undefined if that is unknown. */
  readonly stored: StoredLabels | undefined;
  /** Whether `stored` may be used without asking the ledger. */
  readonly isConfirmed: boolean;
  /** Labels of checks that may not be on record yet; undefined when there are none. */
  readonly notes: TimedLabels | undefined;
};

/**
 * Milliseconds until a note ends: longer than a process remembers that it noted labels, so that a device
 * whose check-ins wait for the ledger renews it. Notes that no process records end so as well.
 */
export const LABEL_NOTE_LIFETIME_MS = 900_000;

/** Maximum number of keys noted per device; twice as many as the record may have. */
export const LABEL_NOTE_KEYS_MAX = 32;

/**
 * Announcement that a device's labels are now at a revision, or that the device was deleted
 * (`DELETED_REVISION`). `labelsTag` is the hash of all labels that are on record at that revision; undefined
 * when they are not known.
 */
export type LabelNotification = DeviceName & {
  readonly revision: number;
  readonly labelsTag?: number | undefined;
};

/**
 * Position among all changes of labels, and of actions. Positions of two epochs of the ledger cannot be
 * compared.
 */
export type ChangePosition = {
  /** Number of the ledger's time line. */
  readonly epoch: number;
  /** Number of a change; concurrent changes may commit in another order (`readLabelChanges`). 0: none. */
  readonly position: number;
};

export interface LabelCache {
  /**
   * Whether labels may be noted: only if the check-ins that bring them to the ledger survive the process that
   * notes them.
   */
  readonly keepsNotes: boolean;

  /** Reads the entries of devices, in the order of `devices`. One round trip. */
  getLabels(devices: readonly DeviceName[]): Promise<readonly CachedLabels[]>;

  /**
   * Stores labels on record for every node, and removes notes of their keys that are no newer; effective when
   * it resolves. A confirmed entry with a higher revision stays (atomic per device). One round trip.
   */
  putLabels(entries: readonly LabelUpdate[]): Promise<void>;

  /**
   * Notes labels for every node, and announces them (`notedNotification`); the newest note of each key stays.
   * Effective when it resolves. One round trip.
   */
  noteLabels(notes: readonly LabelNote[]): Promise<void>;

  /**
   * Reads the position up to which the cache has all changes; undefined if unknown. Also learns which entries
   * are no longer confirmed; so every process calls it every few seconds.
   */
  readLabelPosition(): Promise<ChangePosition | undefined>;

  /**
   * Moves the position if it is still `from`; returns whether it was moved. With `doubt`, all entries stored
   * before are unconfirmed: at once for this process, for others once they have called `readLabelPosition`.
   */
  moveLabelPosition(
    from: ChangePosition | undefined,
    to: ChangePosition,
    doubt: boolean,
  ): Promise<boolean>;

  /** Removes the entries of devices, notes included, because the ledger has deleted the devices. */
  dropLabels(devices: readonly DeviceName[]): Promise<void>;

  /** Announces changed labels to every node, this one included, at most once. */
  tellLabels(notifications: readonly LabelNotification[]): Promise<void>;

  /**
   * Receives announcements of changed labels until the engine closes. `onResumed` is called when the
   * subscription resumes and announcements may have been missed. Listeners must not throw.
   */
  onLabels(
    listener: (notifications: readonly LabelNotification[]) => void,
    onResumed: () => void,
  ): void;
}

// Special revisions, by which a notification reports something else than labels on record.

/** Revision in the notification of a deleted device: above every revision that labels can have. */
export const DELETED_REVISION = 2 ** 31 - 1;

/**
 * Revision in the notification of labels that were noted and are not on record yet: above those on record.
 */
export const NOTED_REVISION = DELETED_REVISION - 1;

/** Returns the notification of labels that were noted. */
export function notedNotification({ appId, deviceId }: DeviceName): LabelNotification {
  return { appId, deviceId, revision: NOTED_REVISION };
}
