// Device labels: opaque key/value pairs that releases can be targeted by.

import { type Failure, invalidField } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import { tagText } from './tag-text.ts';
import type { Labels } from './targeting.ts';

/**
 * The refusal for one label, or undefined when it is fine. `path` names it in the message. Lengths count
 * characters, not UTF-16 units. `$` begins the reserved fields, which no device may claim.
 */
export function refuseLabel(path: string, key: string, value: string): Failure | undefined {
  if (key === '') return invalidField(path, 'Label key must not be empty');
  if (key.startsWith('$')) return invalidField(path, 'Label key must not begin with $');
  if (isLongerThan(key, LIMIT.labelKeyLengthMax)) {
    return invalidField(path, `Label key must be at most ${LIMIT.labelKeyLengthMax} characters`);
  }
  if (key.includes('\0') || value.includes('\0')) return invalidField(path, 'Must not contain NUL');
  if (isLongerThan(value, LIMIT.labelValueLengthMax)) {
    return invalidField(path, `Must be at most ${LIMIT.labelValueLengthMax} characters`);
  }
  return undefined;
}

/** Whether a text has more characters (code points) than `max`; most texts are settled by their units. */
export function isLongerThan(text: string, max: number): boolean {
  if (text.length <= max) return false;
  if (text.length > max * 2) return true;
  return [...text].length > max;
}

/** A hash of labels: the same for the same pairs in any order. */
export function tagLabels(labels: Labels): number {
  let sum = labels.size;
  for (const [key, value] of labels) sum = (sum + tagText(value, tagText(key))) | 0;
  return sum;
}
