// The part of the engine that holds labels which devices have sent with a check and which are not on record
// yet, so that they count on every node from the device's next check on, although nobody waits for the
// ledger. A note is read before what is on record of the same key, until the ledger has the check-in that
// carries it, or something newer. Every method rejects with `Unavailable` when the engine does not answer.

import type { Labels } from '../domain/decision/targeting.ts';
import type { DeviceName } from './label-store.ts';

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
