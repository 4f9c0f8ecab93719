// How a batch of check-ins is packed into bytes, and read back. What many devices share (their kind) is
// written once; a device is the row that `CheckInPacker` has made of it, copied as it is:
//
//   bytes of kinds | bytes of labels | count      32 bits each, little-endian
//   rows     see `CheckInPack`; little-endian, as every machine is that uWebSockets.js runs on
//   kinds    [[rest, rest, …], [index of its rest, version or null, index, version, …]]
//            rest = [appId, channel, platform, arch, source, offeredReleaseId or null]
//   labels   [place, labelPairs, place, labelPairs, …]
//
// Kinds and labels are JSON. The format has a number, which stands in the name of the stream: see
// `keys.checkIns`.

import type { CheckIn, CheckInSource } from '../../domain/check-in.ts';
import {
  areRowsWhole,
  type CheckInKind,
  type CheckInPack,
  SharedKind,
  unpackCheckIns,
  type WrittenKind,
} from '../../domain/check-in-pack.ts';
import type { Labels } from '../../domain/targeting.ts';
import { isLabelPairs } from './label-payload.ts';
import { parseJson } from './payload.ts';

const HEAD_BYTES = 12;
const [KINDS_AT, LABELS_AT, COUNT_AT] = [0, 4, 8];
const [KINDS_WIDTH, LABELS_WIDTH] = [2, 2];
const NO_LABELS_TEXT = '[]';

export function packCheckInPayload({ kinds, count, rows, labels }: CheckInPack): Buffer {
  const kindsText = writeKinds(kinds);
  const labelsText = labels.size === 0 ? NO_LABELS_TEXT : writeLabels(labels);
  const kindsBytes = Buffer.byteLength(kindsText);
  const labelsBytes = Buffer.byteLength(labelsText);
  const rowsEnd = HEAD_BYTES + rows.byteLength;
  const payload = Buffer.allocUnsafe(rowsEnd + kindsBytes + labelsBytes);
  payload.writeUInt32LE(kindsBytes, KINDS_AT);
  payload.writeUInt32LE(labelsBytes, LABELS_AT);
  payload.writeUInt32LE(count, COUNT_AT);
  payload.set(new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength), HEAD_BYTES);
  payload.write(kindsText, rowsEnd, 'utf8');
  payload.write(labelsText, rowsEnd + kindsBytes, 'utf8');
  return payload;
}

/** The check-ins in a payload, in their order; undefined when it is none, or not wholly understood. */
export function parseCheckInPayload(payload: Buffer): CheckIn[] | undefined {
  if (payload.length < HEAD_BYTES) return undefined;
  const labelsAt = payload.length - payload.readUInt32LE(LABELS_AT);
  const kindsAt = labelsAt - payload.readUInt32LE(KINDS_AT);
  const rows = readRows(payload, kindsAt);
  const kinds = parseKinds(payload.toString('utf8', kindsAt, labelsAt));
  const labels = parseLabels(payload.toString('utf8', labelsAt));
  if (rows === undefined || kinds === undefined || labels === undefined) return undefined;
  const pack = { kinds, count: payload.readUInt32LE(COUNT_AT), rows, labels };
  return areRowsWhole(pack) ? unpackCheckIns(pack) : undefined;
}

/** A copy: words can only be read where words begin, and a payload may lie anywhere. */
function readRows(payload: Buffer, end: number): Int32Array | undefined {
  const length = end - HEAD_BYTES;
  if (length < 0 || length % Int32Array.BYTES_PER_ELEMENT !== 0) return undefined;
  const rows = new Int32Array(length / Int32Array.BYTES_PER_ELEMENT);
  new Uint8Array(rows.buffer).set(payload.subarray(HEAD_BYTES, end));
  return rows;
}

function writeKinds(kinds: readonly SharedKind[]): string {
  const rests = new Map<string, number>();
  let pairs = '';
  for (const each of kinds) {
    each.written ??= writeKind(each.kind);
    const { version, rest } = each.written;
    let index = rests.get(rest);
    if (index === undefined) {
      index = rests.size;
      rests.set(rest, index);
    }
    pairs += pairs === '' ? `${index},${version}` : `,${index},${version}`;
  }
  return `[[${[...rests.keys()].join(',')}],[${pairs}]]`;
}

/** What JSON needs no escapes for, which is all that a version is written with. */
const PLAIN = /^[0-9A-Za-z.+-]*$/;

function writeKind(kind: CheckInKind): WrittenKind {
  return { version: writeVersion(kind), rest: writeRest(kind) };
}

function writeVersion({ version }: CheckInKind): string {
  if (version === undefined) return 'null';
  return PLAIN.test(version) ? `"${version}"` : JSON.stringify(version);
}

type WrittenRest = { readonly kind: CheckInKind; readonly text: string };

/** The rests written last: versions that are never seen again have the rest of others. */
const lastRests: WrittenRest[] = [];
const LAST_RESTS_MAX = 16;
let oldestRest = 0;

/** In an array, JSON makes null of undefined. */
function writeRest(kind: CheckInKind): string {
  const known = lastRests.find((last) => isSameRest(last.kind, kind));
  if (known !== undefined) return known.text;
  const { appId, channel, platform, arch, source, offeredReleaseId } = kind;
  const text = JSON.stringify([appId, channel, platform, arch, source, offeredReleaseId]);
  lastRests[oldestRest] = { kind, text };
  oldestRest = (oldestRest + 1) % LAST_RESTS_MAX;
  return text;
}

function isSameRest(left: CheckInKind, right: CheckInKind): boolean {
  return (
    left.arch === right.arch &&
    left.platform === right.platform &&
    left.offeredReleaseId === right.offeredReleaseId &&
    left.channel === right.channel &&
    left.appId === right.appId &&
    left.source === right.source
  );
}

function parseKinds(text: string): SharedKind[] | undefined {
  const packed = parseJson(text);
  if (!Array.isArray(packed) || !Array.isArray(packed[0]) || !Array.isArray(packed[1])) {
    return undefined;
  }
  const rests = packed[0].map(parseRest);
  const pairs = packed[1] as unknown[];
  const kinds: SharedKind[] = [];
  for (let at = 0; at < pairs.length; at += KINDS_WIDTH) {
    const [index, version] = [pairs[at], pairs[at + 1]];
    const rest = typeof index === 'number' ? rests[index] : undefined;
    if (rest === undefined || !(version === null || typeof version === 'string')) return undefined;
    kinds.push(new SharedKind(kindOf(rest, version ?? undefined)));
  }
  return rests.includes(undefined) ? undefined : kinds;
}

/** Written out, because objects that a spread makes have no common shape, and many rows read this one. */
function kindOf(rest: Omit<CheckInKind, 'version'>, version: string | undefined): CheckInKind {
  const { appId, channel, platform, arch, source, offeredReleaseId } = rest;
  return { appId, channel, version, platform, arch, source, offeredReleaseId };
}

function parseRest(packed: unknown): Omit<CheckInKind, 'version'> | undefined {
  if (!Array.isArray(packed)) return undefined;
  const [appId, channel, platform, arch, source, offeredReleaseId] = packed as unknown[];
  const isRest =
    [appId, channel, platform, arch].every((field) => typeof field === 'string') &&
    (offeredReleaseId === null || typeof offeredReleaseId === 'string') &&
    (source === 'pull' || source === 'push');
  if (!isRest) return undefined;
  return {
    appId: appId as string,
    channel: channel as string,
    platform: platform as string,
    arch: arch as string,
    source: source as CheckInSource,
    offeredReleaseId: (offeredReleaseId as string | null) ?? undefined,
  };
}

function writeLabels(labels: ReadonlyMap<number, Labels>): string {
  return JSON.stringify([...labels].flatMap(([place, each]) => [place, [...each]]));
}

/** Labels by the place of the check-in that they belong to. */
function parseLabels(text: string): Map<number, Labels> | undefined {
  const packed = parseJson(text);
  if (!Array.isArray(packed)) return undefined;
  const byPlace = new Map<number, Labels>();
  for (let at = 0; at < packed.length; at += LABELS_WIDTH) {
    const [place, pairs] = [packed[at], packed[at + 1]];
    if (typeof place !== 'number' || !isLabelPairs(pairs)) return undefined;
    byPlace.set(place, new Map(pairs));
  }
  return byPlace;
}
