// How labels of a device meet those it has: key by key, the newest write wins, and there are at most 16.

import { LIMIT } from '../contract/limit.ts';
import type { Labels } from './targeting.ts';

/**
 * The stored labels with newer ones merged over them. Where that makes too many, the newer write's keys
 * are kept first, then the stored ones in key order (by code units, as every node sorts them).
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

/** Whether merging would change nothing: every newer label is stored with that value already. */
export function includesLabels(stored: Labels, newer: Labels): boolean {
  for (const [key, value] of newer) {
    if (stored.get(key) !== value) return false;
  }
  return true;
}
