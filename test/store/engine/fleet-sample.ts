// Samples of check-ins and labels for tests.

import type { Labels } from '../../../src/domain/decision/targeting.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import type { CheckInBatch } from '../../../src/store/check-in-queue.ts';
import type { Engine } from '../../../src/store/engine.ts';
import type { CachedLabels, DeviceName, StoredLabels } from '../../../src/store/label-store.ts';

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
  const times = new Map([...labels.keys()].map((key) => [key, revision]));
  return { appId: 'app_1', deviceId, labels, times, revision };
}

/** What the engine holds of a device that it knows nothing of. */
export const NOTHING_HELD: CachedLabels = {
  stored: undefined,
  isConfirmed: false,
  notes: undefined,
};

/** Entries as the engine returns them while they need no confirmation. */
export function confirmed(...entries: readonly StoredLabels[]): CachedLabels[] {
  return entries.map((stored) => ({ stored, isConfirmed: true, notes: undefined }));
}

export function unconfirmed(...entries: readonly StoredLabels[]): CachedLabels[] {
  return confirmed(...entries).map((each) => ({ ...each, isConfirmed: false }));
}

/** Returns the labels of a device that an engine holds as notes. */
export async function notedIn(
  engine: Pick<Engine, 'getLabels'>,
  device: DeviceName,
): Promise<Labels | undefined> {
  const [held] = await engine.getLabels([device]);
  return held?.notes?.labels;
}
