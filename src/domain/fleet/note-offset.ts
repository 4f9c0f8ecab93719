// Place of a device's note in the table of device counts: two words that a caller of the table may keep with
// a device. The note follows the counts in the device's body, so that both are in one cache line.

import { LIMIT } from '../../contract/limit.ts';

/** Offset of the note of a slot among the 32-bit words of all bodies. */
export function noteOffset(slot: number): number {
  return (slot * BODY_WORDS + LIMIT.deviceAllowancePerMinute) >> 1;
}

/** Number of 16-bit words of a body: one for each exact time of a quiet device, then the note. */
export const BODY_WORDS = 16;

/** Number of 32-bit words of a note. */
const NOTE_WORDS = 2;
/** Silence in milliseconds after which a device's note is forgotten. */
export const NOTE_SILENCE_MS = 600_000;

/** Forgets the note of a slot; `notes` are the 32-bit words of all bodies. */
export function clearNote(notes: Int32Array, slot: number): void {
  const at = noteOffset(slot);
  notes.fill(0, at, at + NOTE_WORDS);
}
