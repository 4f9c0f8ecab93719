// Texts that are no device's own id, although clients send them as one: what a program writes for a value
// that it lacks, a template that was never filled in, and ids that manufacturers give to many machines. Many
// devices would share such an id, and count as one device with one cohort and one limit.

import type { MistakenId } from '../../contract/ref.ts';
import { utf8WordsOf } from '../decision/hashes.ts';

/** Mistaken ids in lower case. */
const KNOWN: ReadonlyMap<string, MistakenId> = new Map<string, MistakenId>([
  ['undefined', 'undefined'],
  ['null', 'null'],
  // Objective-C and C print these for a missing text, Go the next ones.
  ['(null)', 'null'],
  ['<null>', 'null'],
  ['nil', 'nil'],
  ['<nil>', 'nil'],
  ['(nil)', 'nil'],
  ['%!s(<nil>)', 'nil'],
  ['none', 'none'],
  ['nan', 'nan'],
  ['true', 'true'],
  ['false', 'false'],
  ['unknown', 'unknown'],
  ['0', 'zeros'],
  // An Android id, an IMEI and UUIDs, with hyphens and without.
  ['0000000000000000', 'zeros'],
  ['000000000000000', 'zeros'],
  ['00000000000000000000000000000000', 'zeros'],
  ['00000000-0000-0000-0000-000000000000', 'zeros'],
  ['{00000000-0000-0000-0000-000000000000}', 'zeros'],
  ['ffffffffffffffffffffffffffffffff', 'ones'],
  ['ffffffff-ffff-ffff-ffff-ffffffffffff', 'ones'],
  ['{ffffffff-ffff-ffff-ffff-ffffffffffff}', 'ones'],
  // UUIDs and texts of boards whose maker set none, the Android id of a firmware that many devices had, and
  // the hardware address that Android and iOS show to every app.
  ['03000200-0400-0500-0006-000700080009', 'factory'],
  ['to be filled by o.e.m.', 'factory'],
  ['default string', 'factory'],
  ['9774d56d682e549c', 'factory'],
  ['02:00:00:00:00:00', 'factory'],
]);

const OBJECT = /^\[object [a-z]+\]$/i;
/**
 * Whole texts that are templates: `{{device}}`, `${DEVICE}`, `#{device}`, `$(uuid)`, `%DEVICE_ID%`,
 * `<device>` and `{device_id}`. A UUID in braces has digits or hyphens, and is none.
 */
const TEMPLATE = /^(?:\{\{.*\}\}|[$#]\{.*\}|\$\(.*\)|%[a-z_][a-z0-9_]*%|<[^<>]+>|\{[a-z_.]+\})$/is;
/** Characters with which an object or a template begins. */
const MARKS = '[{$#%<';

/** Bits that make capitals small letters; other characters change, too, but the same way each time. */
const LOWER = 0x20202020;
const SCRAMBLE = 0x9e3779b1;
/** Number of bits of an index into `beginnings`. */
const BITS = 12;

/** 1 at the index of each known text's first four bytes (`beginningOf`): nearly all ids begin otherwise. */
const beginnings = new Uint8Array(2 ** BITS);
for (const text of KNOWN.keys()) beginnings[beginningOf(text)] = 1;
const marked = new Uint8Array(128);
for (let index = 0; index < MARKS.length; index++) marked[MARKS.charCodeAt(index)] = 1;

/**
 * Returns which mistaken id a text is; undefined for all others. A device's own id costs a few nanoseconds,
 * because this reads the words that the hash of the id needs anyway.
 */
export function mistakenIdIn(text: string): MistakenId | undefined {
  const isMarked = marked[text.charCodeAt(0)] === 1;
  if (!isMarked && beginnings[beginningOf(text)] === 0) return undefined;
  return KNOWN.get(text.toLowerCase()) ?? (isMarked ? unfilledIn(text) : undefined);
}

function unfilledIn(text: string): MistakenId | undefined {
  if (OBJECT.test(text)) return 'object';
  return TEMPLATE.test(text) ? 'template' : undefined;
}

/** Returns the index in `beginnings` of a text's first four bytes, whatever their case. */
function beginningOf(text: string): number {
  const word = utf8WordsOf(text).words[0] ?? 0;
  return Math.imul(word | LOWER, SCRAMBLE) >>> (32 - BITS);
}
