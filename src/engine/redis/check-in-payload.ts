// How a batch of check-ins is packed into bytes, and read back. What many devices share (their kind) is
// written once; a device is the row that `CheckInPacker` has made of it, copied as it is:
//
//   bytes of kinds | bytes of labels | count      32 bits each, little-endian
//   rows     see `CheckInPack`; little-endian, as every machine is that uWebSockets.js runs on
//   kinds    [[number, rest, number, rest, …], [number of its rest, version or null, number, version, …]]
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
  type WrittenRest,
} from '../../domain/check-in-pack.ts';
import type { Labels } from '../../domain/targeting.ts';
import { isLabelPairs } from './label-payload.ts';
import { parseJson } from './payload.ts';

const HEAD_BYTES = 12;
const [KINDS_AT, LABELS_AT, COUNT_AT] = [0, 4, 8];
const [KINDS_WIDTH, LABELS_WIDTH] = [2, 2];
const NO_LABELS_TEXT = '[]';

/** Packs a batch into bytes: into what `roomFor` answers for their number. */
export function packCheckInPayload(
  { kinds, count, rows, labels }: CheckInPack,
  roomFor: (byteLength: number) => Buffer,
): Buffer {
  const kindsText = writeKinds(kinds);
  const labelsText = labels.size === 0 ? NO_LABELS_TEXT : writeLabels(labels);
  const kindsBytes = Buffer.byteLength(kindsText);
  const labelsBytes = Buffer.byteLength(labelsText);
  const rowsEnd = HEAD_BYTES + rows.byteLength;
  const payload = roomFor(rowsEnd + kindsBytes + labelsBytes);
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

let lastBatch = 0;

/** For each kind it only joins what was written of it once: a busy node sends many thousands a second. */
function writeKinds(kinds: readonly SharedKind[]): string {
  lastBatch += 1;
  const rests: string[] = [];
  const texts: string[] = new Array(kinds.length);
  for (let index = 0; index < kinds.length; index++) {
    const each = kinds[index] as SharedKind;
    const rest = each.writtenRest ?? writeKind(each);
    texts[index] = each.writtenText;
    if (rest.batch === lastBatch) continue;
    rest.batch = lastBatch;
    rests.push(rest.text);
  }
  return `[[${rests.join(',')}],[${texts.join(',')}]]`;
}

/** What JSON needs no escapes for, which is all that a version is written with. */
const PLAIN = /^[0-9A-Za-z.+-]*$/;

function writeKind(shared: SharedKind): WrittenRest {
  const rest = writeRest(shared.kind);
  shared.writtenText = `${rest.number},${writeVersion(shared.kind)}`;
  shared.writtenRest = rest;
  return rest;
}

function writeVersion({ version }: CheckInKind): string {
  if (version === undefined) return 'null';
  return PLAIN.test(version) ? `"${version}"` : JSON.stringify(version);
}

type NumberedRest = WrittenRest & { readonly kind: CheckInKind; readonly number: number };

/** The rests written last: versions that are never seen again have the rest of others. */
const lastRests: NumberedRest[] = [];
const LAST_RESTS_MAX = 16;
/** No two of this process have the same, so a batch may mix those that were written anew with others. */
let restNumber = 0;

/** In an array, JSON makes null of undefined. */
function writeRest(kind: CheckInKind): NumberedRest {
  const known = lastRests.find((last) => isSameRest(last.kind, kind));
  if (known !== undefined) return known;
  const { appId, channel, platform, arch, source, offeredReleaseId } = kind;
  const fields = JSON.stringify([appId, channel, platform, arch, source, offeredReleaseId]);
  const number = restNumber++;
  const rest = { text: `${number},${fields}`, batch: 0, kind, number };
  lastRests[number % LAST_RESTS_MAX] = rest;
  return rest;
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
  const rests = parseRests(packed[0]);
  if (rests === undefined) return undefined;
  const pairs = packed[1] as unknown[];
  const kinds: SharedKind[] = [];
  for (let at = 0; at < pairs.length; at += KINDS_WIDTH) {
    const [number, version] = [pairs[at], pairs[at + 1]];
    const rest = rests.get(number);
    if (rest === undefined || !(version === null || typeof version === 'string')) return undefined;
    kinds.push(new SharedKind(kindOf(rest, version ?? undefined)));
  }
  return kinds;
}

type Rest = Omit<CheckInKind, 'version'>;

/** By number. */
function parseRests(pairs: readonly unknown[]): Map<unknown, Rest> | undefined {
  const rests = new Map<unknown, Rest>();
  for (let at = 0; at < pairs.length; at += KINDS_WIDTH) {
    const rest = parseRest(pairs[at + 1]);
    if (rest === undefined) return undefined;
    rests.set(pairs[at], rest);
  }
  return rests;
}

/** Written out, because objects that a spread makes have no common shape, and many rows read this one. */
function kindOf(rest: Rest, version: string | undefined): CheckInKind {
  const { appId, channel, platform, arch, source, offeredReleaseId } = rest;
  return { appId, channel, version, platform, arch, source, offeredReleaseId };
}

function parseRest(packed: unknown): Rest | undefined {
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
