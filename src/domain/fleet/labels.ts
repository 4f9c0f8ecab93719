// Device labels: opaque key/value pairs that releases can be targeted by.

import { type Failure, invalidField } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isLongerThan, NOT_STORABLE } from '../../contract/text.ts';
import { secondHash } from '../decision/second-hash.ts';
import type { Labels } from '../decision/targeting.ts';

/**
 * Returns the refusal for an invalid label, or undefined for a valid one. `path` names the label in the
 * message. Lengths are in characters, not UTF-16 units. Keys that begin with `$` are reserved fields, which a
 * device must not set.
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
