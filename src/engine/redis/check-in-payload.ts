// How a batch of check-ins is packed into one text, and read back. Devices of one fleet differ in little but
// their id, so what they share (their kind) is written once:
//
//   [time, [kind, kind, …], [kindIndex, deviceId, msAfterTime,  kindIndex, …], [rowIndex, labelPairs,  …]]
//   kind = [appId, channel, version or null, platform, arch, source, offeredReleaseId or null]
//
// JSON, because it is native code: 0.2 to 0.7 microseconds to pack a check-in (few kinds are cheaper than
// many), and no more to read it. The format has a number, which stands in the name of the stream: see
// `keys.checkIns`.

import type { CheckIn, CheckInSource } from '../../domain/check-in.ts';
import {
  type CheckInKind,
  type CheckInPack,
  ROW_WIDTH,
  unpackCheckIns,
} from '../../domain/check-in-pack.ts';
import type { Labels } from '../../domain/targeting.ts';
import { isLabelPairs } from './label-payload.ts';
import { parseJson } from './payload.ts';

const LABELS_WIDTH = 2;

export function packCheckInPayload({ time, kinds, rows, labels }: CheckInPack): string {
  const pairs = [...labels].flatMap(([row, each]) => [row, [...each]]);
  return JSON.stringify([time, kinds.map(packKind), rows, pairs]);
}

/** The check-ins in a payload, in their order; undefined when it is none, or not wholly understood. */
export function parseCheckInPayload(payload: string): CheckIn[] | undefined {
  const parts = parseJson(payload);
  if (!Array.isArray(parts) || !Array.isArray(parts[1]) || !Array.isArray(parts[2]))
    return undefined;
  const time: unknown = parts[0];
  const kinds = parts[1].map(parseKind);
  const labels = parseLabels(parts[3]);
  if (!isTime(time) || labels === undefined || !areKinds(kinds)) return undefined;
  if (!areRows(parts[2], kinds.length)) return undefined;
  return unpackCheckIns({ time, kinds, rows: parts[2], labels });
}

function areKinds(kinds: readonly (CheckInKind | undefined)[]): kinds is readonly CheckInKind[] {
  return !kinds.includes(undefined);
}

function areRows(
  rows: readonly unknown[],
  kindCount: number,
): rows is readonly (string | number)[] {
  for (let at = 0; at < rows.length; at += ROW_WIDTH) {
    const [kind, deviceId, elapsedMs] = [rows[at], rows[at + 1], rows[at + 2]];
    if (!isTime(kind) || kind < 0 || kind >= kindCount) return false;
    if (typeof deviceId !== 'string' || !isTime(elapsedMs)) return false;
  }
  return true;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

/** In an array, JSON makes null of undefined. */
function packKind(kind: CheckInKind): readonly (string | undefined)[] {
  const { appId, channel, version, platform, arch, source, offeredReleaseId } = kind;
  return [appId, channel, version, platform, arch, source, offeredReleaseId];
}

function parseKind(packed: unknown): CheckInKind | undefined {
  if (!Array.isArray(packed)) return undefined;
  const [appId, channel, version, platform, arch, source, offeredReleaseId] = packed as unknown[];
  const isKind =
    [appId, channel, platform, arch].every((field) => typeof field === 'string') &&
    [version, offeredReleaseId].every((field) => field === null || typeof field === 'string') &&
    (source === 'pull' || source === 'push');
  if (!isKind) return undefined;
  return {
    appId: appId as string,
    channel: channel as string,
    version: (version as string | null) ?? undefined,
    platform: platform as string,
    arch: arch as string,
    source: source as CheckInSource,
    offeredReleaseId: (offeredReleaseId as string | null) ?? undefined,
  };
}

/** Labels by the row they belong to. */
function parseLabels(packed: unknown): Map<number, Labels> | undefined {
  if (!Array.isArray(packed)) return undefined;
  const byRow = new Map<number, Labels>();
  for (let at = 0; at < packed.length; at += LABELS_WIDTH) {
    const [row, pairs] = [packed[at], packed[at + 1]];
    if (typeof row !== 'number' || !isLabelPairs(pairs)) return undefined;
    byRow.set(row, new Map(pairs));
  }
  return byRow;
}
