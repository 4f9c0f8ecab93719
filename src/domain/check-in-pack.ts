// Check-ins on their way to the record: many in one value, in the order they came. Devices of one fleet
// differ in little but their id, so what they share (their kind) stands once, and a check-in is three cells
// of a row: nothing is built for it, nothing is left to collect.

import type { CheckIn } from './check-in.ts';
import type { Labels } from './targeting.ts';

export type CheckInPack = {
  /** Of the first; the others count from it. */
  readonly time: number;
  readonly kinds: readonly CheckInKind[];
  /** Three cells each: the index of the kind, the device id, milliseconds after `time` (or before). */
  readonly rows: readonly (string | number)[];
  /** Of the check-ins that carry some, by their place. */
  readonly labels: ReadonlyMap<number, Labels>;
};

/** What the check-ins of many devices share. */
export type CheckInKind = Pick<
  CheckIn,
  'appId' | 'channel' | 'version' | 'platform' | 'arch' | 'source' | 'offeredReleaseId'
>;

/** Cells of a check-in in `rows`. */
export const ROW_WIDTH = 3;

/** How many check-ins there are in it. */
export function countPacked({ rows }: CheckInPack): number {
  return rows.length / ROW_WIDTH;
}

/** Packs check-ins, in their order. */
export function packCheckIns(checkIns: readonly CheckIn[]): CheckInPack {
  const packer = new CheckInPacker();
  const kinds = new Map<string, CheckInKind>();
  for (const { deviceId, at, labels, ...kind } of checkIns) {
    const key = JSON.stringify(Object.values(kind));
    const known = kinds.get(key) ?? kind;
    kinds.set(key, known);
    packer.add(known, deviceId, at, labels);
  }
  return packer.take();
}

/** The check-ins in a pack, in their order. */
export function unpackCheckIns({ time, kinds, rows, labels }: CheckInPack): CheckIn[] {
  const checkIns: CheckIn[] = [];
  for (let at = 0; at < rows.length; at += ROW_WIDTH) {
    const kind = kinds[rows[at] as number] as CheckInKind;
    checkIns.push({
      appId: kind.appId,
      deviceId: rows[at + 1] as string,
      channel: kind.channel,
      version: kind.version,
      platform: kind.platform,
      arch: kind.arch,
      source: kind.source,
      at: time + (rows[at + 2] as number),
      labels: labels.get(at / ROW_WIDTH),
      offeredReleaseId: kind.offeredReleaseId,
    });
  }
  return checkIns;
}

/** Gathers check-ins until somebody takes them. */
export class CheckInPacker {
  private time = 0;
  private kinds: CheckInKind[] = [];
  private kindIndexes = new Map<CheckInKind, number>();
  private rows: (string | number)[] = [];
  private labels = new Map<number, Labels>();
  size = 0;

  /** `at` in milliseconds since 1970. The same object is the same kind. */
  add(kind: CheckInKind, deviceId: string, at: number, labels: Labels | undefined): void {
    if (this.size === 0) this.time = at;
    let index = this.kindIndexes.get(kind);
    if (index === undefined) {
      index = this.kinds.push(kind) - 1;
      this.kindIndexes.set(kind, index);
    }
    this.rows.push(index, deviceId, at - this.time);
    if (labels !== undefined) this.labels.set(this.size, labels);
    this.size += 1;
  }

  /** What was gathered; from here on it gathers anew. */
  take(): CheckInPack {
    const { time, kinds, rows, labels } = this;
    this.kinds = [];
    this.kindIndexes = new Map();
    this.rows = [];
    this.labels = new Map();
    this.size = 0;
    return { time, kinds, rows, labels };
  }
}
