// Merging of a device's labels: key by key, the newest write wins, and at most 16 labels are kept.

import { LIMIT } from '../../contract/limit.ts';
import type { Labels } from '../decision/targeting.ts';

/**
 * Returns the stored labels with newer ones merged over them. When that exceeds the bound, the newer keys are
 * kept first, then the stored ones in key order (by UTF-16 code units, so that every node keeps the same
 * ones).
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

/**
 * Returns whether merging would change nothing, because every newer label is already stored with that value.
 */
export function includesLabels(stored: Labels, newer: Labels): boolean {
  for (const [key, value] of newer) {
    if (stored.get(key) !== value) return false;
  }
  return true;
}
