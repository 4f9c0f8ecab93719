// The parts of the engine that cache the labels of devices and note new ones until the ledger has them, so
// that a decision does not read the ledger. The ledger is the record; an absent entry says nothing about
// the device.

import type { Labels } from '../domain/decision/targeting.ts';

export type DeviceName = { readonly appId: string; readonly deviceId: string };

/**
 * Labels of a device at a revision. The ledger raises the revision with every change; 0 means none were
 * stored yet.
 */
export type StoredLabels = DeviceName & { readonly labels: Labels; readonly revision: number };

export type CachedLabels = StoredLabels & {
  /** Whether the entry may be believed without asking the ledger. */
  readonly isConfirmed: boolean;
};

/**
 * Announcement that a device's labels are now at a revision, or that the device was deleted
 * (`DELETED_REVISION`).
 */
export type LabelNotification = DeviceName & { readonly revision: number };

/** Place among all changes of labels. Positions of two epochs of the ledger cannot be compared. */
export type LabelPosition = {
  /** Number of the ledger's time line. */
  readonly epoch: number;
  /** Number of a change, in the order in which changes were committed; 0 before the first. */
  readonly position: number;
};

export interface LabelCache {
  /** Reads the cached labels of devices, in their order; undefined where none are cached. One round trip. */
  getLabels(devices: readonly DeviceName[]): Promise<readonly (CachedLabels | undefined)[]>;

  /**
   * Caches labels for every node, as the ledger has them; effective when it resolves. A confirmed entry with
   * a higher revision stays (atomic per device). One round trip.
   */
  putLabels(entries: readonly StoredLabels[]): Promise<void>;

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

  /** Removes the entries of devices, because the ledger has deleted those devices. */
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

// The part of the engine that holds labels which devices have sent with a check and which are not on record
// yet, so that they count on every node from the device's next check on, although nobody waits for the
// ledger. A note is read before what is on record of the same key, until the ledger has the check-in that
// carries it, or something newer. Every method rejects with `Unavailable` when the engine does not answer.

/** Labels that a device sent with a check at `at`, in milliseconds since 1970 by the ledger's clock. */
export type LabelNote = DeviceName & { readonly labels: Labels; readonly at: number };

/** Keys of a device's labels of which the record has what was sent up to `until`, or something newer. */
export type SettledLabels = DeviceName & {
  readonly labelKeys: readonly string[];
  /** Milliseconds since 1970 by the ledger's clock. */
  readonly until: number;
};

/**
 * Life of notes after the device's last one: longer than a process remembers that it noted labels, so that a
 * device whose check-ins wait for the ledger renews them.
 */
export const LABEL_NOTE_LIFETIME_MS = 900_000;

/** Greatest number of keys noted of a device; twice as many as the record may have. */
export const LABEL_NOTE_KEYS_MAX = 32;

export interface LabelNoteStore {
  /** Notes labels for every node; of each key the newest stays. Effective when it resolves. */
  noteLabels(notes: readonly LabelNote[]): Promise<void>;

  /** Reads what is noted of devices, in their order; undefined where there is nothing. One round trip. */
  readLabelNotes(devices: readonly DeviceName[]): Promise<readonly (Labels | undefined)[]>;

  /** Removes notes of what is on record. Called after the cached labels of the devices were put. */
  settleLabelNotes(settled: readonly SettledLabels[]): Promise<void>;

  /** Removes all notes of devices, because the ledger has deleted those devices. */
  dropLabelNotes(devices: readonly DeviceName[]): Promise<void>;
}

// Revisions of labels by which notifications tell something else than that labels are on record.

/** Revision in the notification of a deleted device: above every revision that labels can have. */
export const DELETED_REVISION = 2 ** 31 - 1;

/**
 * Revision in the notification of labels that were noted and are not on record yet: above those on record.
 */
export const NOTED_REVISION = DELETED_REVISION - 1;
