// Device labels: opaque key/value pairs that releases can be targeted by.

import { type Failure, invalidField } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isLongerThan, NOT_STORABLE } from '../../contract/text.ts';
import { secondHash } from '../decision/hashes.ts';
import type { Labels } from '../decision/targeting.ts';

/**
 * Refuses an invalid label; returns undefined for a valid one. `path` names the label in the message. Lengths
 * are in characters, not UTF-16 units. Keys with `$` first are reserved fields, which a device must not set.
 */
export function refuseLabel(
  path: string,
  key: string,
  value: string,
): Failure<'invalid'> | undefined {
  if (key === '') return invalidField(path, 'Label key must not be empty');
  if (key.startsWith('$')) return invalidField(path, 'Label key must not begin with $');
  if (isLongerThan(key, LIMIT.labelKeyLengthMax)) {
    return invalidField(path, `Label key must be at most ${LIMIT.labelKeyLengthMax} characters`);
  }
  if (key.includes('\0') || value.includes('\0')) return invalidField(path, NOT_STORABLE);
  if (isLongerThan(value, LIMIT.labelValueLengthMax)) {
    return invalidField(path, `Must be at most ${LIMIT.labelValueLengthMax} characters`);
  }
  return undefined;
}

/** Returns a hash of labels that does not depend on their order. */
export function tagLabels(labels: Labels): number {
  let sum = labels.size;
  for (const [key, value] of labels) sum = (sum + secondHash(value, secondHash(key))) | 0;
  return sum;
}

/**
 * Merges newer labels over the stored ones. Beyond 16 labels, keeps the newer keys first, then the stored
 * ones in key order (by UTF-16 code units, so that every node keeps the same ones).
 */
export function mergeLabels(stored: Labels, newer: Labels): Labels {
  const merged = new Map(newer);
  const rest = [...stored].filter(([key]) => !newer.has(key));
  rest.sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  for (const [key, value] of rest) {
    if (merged.size >= LIMIT.labelCountMax) break;
    merged.set(key, value);
  }
  return merged;
}

/** Returns whether merging would change nothing: every newer label is stored with that value. */
export function includesLabels(stored: Labels, newer: Labels): boolean {
  for (const [key, value] of newer) {
    if (stored.get(key) !== value) return false;
  }
  return true;
}
