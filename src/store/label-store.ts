// The part of the engine that holds the labels of devices, so that a decision does not read the ledger: what
// the ledger has of a device, and notes of what the device has sent with checks. Every label has a time, and
// what the ledger has removes notes that are no newer, whoever brings it. The ledger is the record; an absent
// entry says nothing about the device.

import type { Labels } from '../domain/decision/targeting.ts';
import type { LabelTimes, TimedLabels } from '../domain/fleet/labels.ts';

export type DeviceName = { readonly appId: string; readonly deviceId: string };

/**
 * Labels of a device as the ledger has them, at a revision. The ledger raises the revision with every change;
 * 0 means none were stored yet.
 */
export type StoredLabels = DeviceName & TimedLabels & { readonly revision: number };

/** Labels as the ledger has them now. */
export type LabelUpdate = StoredLabels & {
  /** Times by key up to which notes are settled besides those of the labels: what was just recorded. */
  readonly settled?: LabelTimes | undefined;
};

/** Labels that a device sent with a check at `at`, in milliseconds since 1970 by the ledger's clock. */
export type LabelNote = DeviceName & { readonly labels: Labels; readonly at: number };

/** What is held of a device. */
export type CachedLabels = {
  /** Labels as the ledger had them; undefined when that is not known. */
  readonly stored: StoredLabels | undefined;
  /** Whether `stored` may be believed without asking the ledger. */
  readonly isConfirmed: boolean;
  /** Labels of checks that the ledger may not have yet; undefined when there are none. */
  readonly notes: TimedLabels | undefined;
};

/**
 * Life of a note: longer than a process remembers that it noted labels, so that a device whose check-ins wait
 * for the ledger renews them. What nobody records, because a process ended, ends by itself.
 */
export const LABEL_NOTE_LIFETIME_MS = 900_000;

/** Greatest number of keys noted of a device; twice as many as the record may have. */
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

/** Place among all changes of labels. Positions of two epochs of the ledger cannot be compared. */
export type LabelPosition = {
  /** Number of the ledger's time line. */
  readonly epoch: number;
  /** Number of a change, in the order in which changes were committed; 0 before the first. */
  readonly position: number;
};

export interface LabelCache {
  /**
   * Whether labels may be noted: the check-ins that bring them to the ledger do not end with the process that
   * notes them.
   */
  readonly keepsNotes: boolean;

  /** Reads what is held of devices, in their order. One round trip. */
  getLabels(devices: readonly DeviceName[]): Promise<readonly CachedLabels[]>;

  /**
   * Stores labels for every node, as the ledger has them, and removes notes of their keys that are no newer;
   * effective when it resolves. A confirmed entry with a higher revision stays (atomic per device). One round
   * trip.
   */
  putLabels(entries: readonly LabelUpdate[]): Promise<void>;

  /**
   * Notes labels for every node, and announces them (`notedNotification`); of each key the newest note stays.
   * Effective when it resolves. One round trip.
   */
  noteLabels(notes: readonly LabelNote[]): Promise<void>;

  /**
   * Reads the change up to which the cache has all changes; undefined when it does not know. Also learns
   * which entries are in doubt: every process calls it every few seconds.
   */
  readLabelPosition(): Promise<LabelPosition | undefined>;

  /**
   * Moves the position, unless it is not `from` any more; returns whether it was moved. With `doubt`, no
   * entry that was put before is confirmed any longer: at once for this process, for others once they have
   * called `readLabelPosition`.
   */
  moveLabelPosition(
    from: LabelPosition | undefined,
    to: LabelPosition,
    doubt: boolean,
  ): Promise<boolean>;

  /** Removes all that is held of devices, because the ledger has deleted them. */
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

// Revisions of labels by which notifications tell something else than that labels are on record.

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
