// Device labels: opaque key/value pairs that releases can be targeted by.

import { type Failure, invalidField } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isLongerThan, NOT_STORABLE } from '../../contract/text.ts';
import { secondHash } from '../decision/hashes.ts';
import type { Labels } from '../decision/targeting.ts';

/**
 * Refuses an invalid label; returns undefined for a valid one. `path` names the label in the message. Lengths
 * are in characters, not UTF-16 units. Keys that begin with `$` are reserved: a device must not set them.
 */
export function refuseLabel(path: string, key: string, value: string): Failure | undefined {
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

/** Times at which labels were sent, by key, in milliseconds since 1970 by the ledger's clock. */
export type LabelTimes = ReadonlyMap<string, number>;

export type TimedLabels = { readonly labels: Labels; readonly times: LabelTimes };

/** A label with its time, as it travels between processes. */
export type LabelEntry = readonly [key: string, value: string, at: number];

export function entriesOf({ labels, times }: TimedLabels): LabelEntry[] {
  return [...labels].map(([key, value]) => [key, value, times.get(key) ?? 0]);
}

export function timedOf(entries: readonly LabelEntry[]): TimedLabels {
  return {
    labels: new Map(entries.map(([key, value]) => [key, value])),
    times: new Map(entries.map(([key, , at]) => [key, at])),
  };
}

/** Whether a value, which another process wrote, is a list of labels with their times. */
export function isLabelEntries(value: unknown): value is LabelEntry[] {
  return (
    Array.isArray(value) &&
    value.every(
      (entry) =>
        Array.isArray(entry) &&
        typeof entry[0] === 'string' &&
        typeof entry[1] === 'string' &&
        typeof entry[2] === 'number',
    )
  );
}

/**
 * Returns the labels of a device that decisions use: the stored ones, overridden by those noted later: a
 * reader asks two stores, and may have older notes than stored labels. Of more than 16, keeps those of the
 * newest write first, then others in key order, as the ledger does.
 */
export function countingLabels(stored: TimedLabels, notes: TimedLabels | undefined): Labels {
  if (notes === undefined) return stored.labels;
  const later = [...notes.labels].filter(([key]) => timeOf(notes, key) > timeOf(stored, key));
  const merged = new Map([...stored.labels, ...later]);
  if (merged.size <= LIMIT.labelCountMax) return merged;
  const sentAt = (key: string) => Math.max(timeOf(notes, key), timeOf(stored, key));
  const newest = Math.max(...[...merged.keys()].map(sentAt));
  const entries = [...merged].sort(([left], [right]) => {
    const rank = Number(sentAt(right) === newest) - Number(sentAt(left) === newest);
    return rank || (left < right ? -1 : 1);
  });
  return new Map(entries.slice(0, LIMIT.labelCountMax));
}

/** Returns the later of the two times of each key. */
export function latestTimes(left: LabelTimes, right: LabelTimes | undefined): LabelTimes {
  if (right === undefined) return left;
  const latest = new Map(left);
  for (const [key, at] of right) latest.set(key, Math.max(at, latest.get(key) ?? at));
  return latest;
}

function timeOf({ times }: TimedLabels, key: string): number {
  return times.get(key) ?? 0;
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
