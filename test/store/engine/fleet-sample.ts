// Samples of check-ins and labels for tests.

import type { Labels } from '../../../src/domain/decision/targeting.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import type { CheckInBatch } from '../../../src/store/check-in-queue.ts';
import type { CachedLabels, StoredLabels } from '../../../src/store/label-store.ts';

/** Ids and texts that often break programs. No text that reaches the engine holds NUL. */
export const HOSTILE_TEXTS: readonly string[] = [
  '',
  ' ',
  '/',
  'a/b',
  '{',
  '}',
  '{}',
  '}{',
  'a}b',
  '{a}b',
  '%7d;',
  '%',
  ':',
  '"quoted" \\ \r\n\t',
  '__proto__',
  'constructor',
  'ü',
  'u\u0308',
  '🚀',
  // Halves of a surrogate pair: text without a form in UTF-8.
  '\ud83d',
  '\ude80',
  '\ud83e',
  '\ufffd',
  '\u0001',
  '\u2028',
  'x'.repeat(128),
  '🚀'.repeat(64),
];

export function checkInOf(deviceId: string, changes: Partial<CheckIn> = {}): CheckIn {
  return {
    appId: 'app_1',
    deviceId,
    channel: 'stable',
    version: '1.2.3',
    platform: 'linux',
    arch: 'x86_64',
    source: 'pull',
    client: undefined,
    bundle: undefined,
    at: 1_790_000_000_000,
    labels: undefined,
    offeredReleaseId: undefined,
    network: undefined,
    ...changes,
  };
}

/** A batch of one check-in, by whose device a test recognises the batch. */
export function batchOf(deviceId: string): readonly CheckIn[] {
  return [checkInOf(deviceId)];
}

/** The devices of batches, in their order. */
export function devicesIn(batches: readonly CheckInBatch[]): string[] {
  return batches.flatMap(({ checkIns }) => checkIns.map(({ deviceId }) => deviceId));
}

export function idsOf(batches: readonly CheckInBatch[]): string[] {
  return batches.map(({ id }) => id);
}

export function storedLabelsOf(
  deviceId: string,
  revision: number,
  labels: Labels = new Map([['ring', `of revision ${revision}`]]),
): StoredLabels {
  return { appId: 'app_1', deviceId, labels, revision };
}

/** Entries as the engine returns them while they need no confirmation. */
export function confirmed(...entries: readonly StoredLabels[]): CachedLabels[] {
  return entries.map((entry) => ({ ...entry, isConfirmed: true }));
}
