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
import type { Labels } from '../../domain/targeting.ts';
import { isLabelPairs } from './label-payload.ts';
import { parseJson } from './payload.ts';

type Kind = Pick<
  CheckIn,
  'appId' | 'channel' | 'version' | 'platform' | 'arch' | 'source' | 'offeredReleaseId'
>;

const ROW_WIDTH = 3;
const LABELS_WIDTH = 2;

export function packCheckInPayload(checkIns: readonly CheckIn[]): string {
  const time = checkIns[0]?.at ?? 0;
  const kinds = createKindIndex();
  const rows: (string | number)[] = [];
  const labels: unknown[] = [];
  for (const [row, checkIn] of checkIns.entries()) {
    rows.push(kinds.indexOf(checkIn), checkIn.deviceId, checkIn.at - time);
    if (checkIn.labels !== undefined) labels.push(row, [...checkIn.labels]);
  }
  return JSON.stringify([time, kinds.all, rows, labels]);
}

/** The check-ins in a payload, in their order; undefined when it is none, or not wholly understood. */
export function parseCheckInPayload(payload: string): CheckIn[] | undefined {
  const parts = parseJson(payload);
  if (!Array.isArray(parts) || !Array.isArray(parts[1]) || !Array.isArray(parts[2]))
    return undefined;
  const time: unknown = parts[0];
  const kinds = parts[1].map(parseKind);
  const rows: readonly unknown[] = parts[2];
  const labels = parseLabels(parts[3]);
  if (!isTime(time) || labels === undefined) return undefined;
  const checkIns: CheckIn[] = [];
  for (let at = 0; at < rows.length; at += ROW_WIDTH) {
    const [kindIndex, deviceId, elapsedMs] = [rows[at], rows[at + 1], rows[at + 2]];
    const kind = typeof kindIndex === 'number' ? kinds[kindIndex] : undefined;
    if (kind === undefined || typeof deviceId !== 'string' || !isTime(elapsedMs)) return undefined;
    checkIns.push({
      appId: kind.appId,
      deviceId,
      channel: kind.channel,
      version: kind.version,
      platform: kind.platform,
      arch: kind.arch,
      source: kind.source,
      at: time + elapsedMs,
      labels: labels.get(at / ROW_WIDTH),
      offeredReleaseId: kind.offeredReleaseId,
    });
  }
  return checkIns;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

type KindNode = { index: number | undefined; readonly next: Map<string | undefined, KindNode> };

/** Numbers kinds as they come. A tree of their fields: joined to one text they would need escaping. */
function createKindIndex() {
  const all: (string | undefined)[][] = [];
  const root: KindNode = { index: undefined, next: new Map() };
  return {
    all,
    indexOf(kind: Kind): number {
      const { appId, channel, version, platform, arch, source, offeredReleaseId } = kind;
      const fields = [appId, channel, version, platform, arch, source, offeredReleaseId];
      let node = root;
      for (const field of fields) {
        let next = node.next.get(field);
        if (next === undefined) {
          next = { index: undefined, next: new Map() };
          node.next.set(field, next);
        }
        node = next;
      }
      // In an array, JSON makes null of undefined.
      node.index ??= all.push(fields) - 1;
      return node.index;
    },
  };
}

function parseKind(packed: unknown): Kind | undefined {
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
