// How a batch of check-ins is packed into bytes, and read back. What many devices share (its parts) is
// written once; a device is the row that `CheckInPacker` has made of it, copied as it is:
//
//   bytes of parts | bytes of labels | count      32 bits each, little-endian
//   rows     see `CheckInPack`; little-endian, as every machine is that uWebSockets.js runs on
//   parts    [[origin, origin, …], [version or null, version, …]]
//            origin = [appId, channel, platform, arch, source, offeredReleaseId or null]
//   labels   [place, labelPairs, place, labelPairs, …]
//
// Kinds and labels are JSON. The format has a number, which stands in the name of the stream: see
// `keys.checkIns`.

import type { CheckIn, CheckInSource } from '../../domain/check-in.ts';
import { areRowsWhole, type CheckInPack, unpackCheckIns } from '../../domain/check-in-pack.ts';
import { type CheckInOrigin, SharedPart } from '../../domain/shared-part.ts';
import type { Labels } from '../../domain/targeting.ts';
import { isLabelPairs } from './label-payload.ts';
import { parseJson } from './payload.ts';

const HEAD_BYTES = 12;
const [PARTS_AT, LABELS_AT, COUNT_AT] = [0, 4, 8];
const LABELS_WIDTH = 2;
const NO_LABELS_TEXT = '[]';

/** Packs a batch into bytes: into what `roomFor` answers for their number. */
export function packCheckInPayload(
  { origins, versions, count, rows, labels }: CheckInPack,
  roomFor: (byteLength: number) => Buffer,
): Buffer {
  const partsText = `[${writeParts(origins, writeOrigin)},${writeParts(versions, writeVersion)}]`;
  const labelsText = labels.size === 0 ? NO_LABELS_TEXT : writeLabels(labels);
  const partsBytes = Buffer.byteLength(partsText);
  const labelsBytes = Buffer.byteLength(labelsText);
  const rowsEnd = HEAD_BYTES + rows.byteLength;
  const payload = roomFor(rowsEnd + partsBytes + labelsBytes);
  payload.writeUInt32LE(partsBytes, PARTS_AT);
  payload.writeUInt32LE(labelsBytes, LABELS_AT);
  payload.writeUInt32LE(count, COUNT_AT);
  payload.set(new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength), HEAD_BYTES);
  payload.write(partsText, rowsEnd, 'utf8');
  payload.write(labelsText, rowsEnd + partsBytes, 'utf8');
  return payload;
}

/** The check-ins in a payload, in their order; undefined when it is none, or not wholly understood. */
export function parseCheckInPayload(payload: Buffer): CheckIn[] | undefined {
  if (payload.length < HEAD_BYTES) return undefined;
  const labelsAt = payload.length - payload.readUInt32LE(LABELS_AT);
  const partsAt = labelsAt - payload.readUInt32LE(PARTS_AT);
  const rows = readRows(payload, partsAt);
  const parts = parseParts(payload.toString('utf8', partsAt, labelsAt));
  const labels = parseLabels(payload.toString('utf8', labelsAt));
  if (rows === undefined || parts === undefined || labels === undefined) return undefined;
  const pack = { ...parts, count: payload.readUInt32LE(COUNT_AT), rows, labels };
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

/** Joins what was written of each once: a busy node sends many thousands a second. */
function writeParts<Value>(
  parts: readonly SharedPart<Value>[],
  write: (value: Value) => string,
): string {
  let text = '';
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] as SharedPart<Value>;
    if (part.written === '') part.written = write(part.value);
    text += index === 0 ? part.written : `,${part.written}`;
  }
  return `[${text}]`;
}

/** What JSON needs no escapes for, which is all that a version is written with. */
const PLAIN = /^[0-9A-Za-z.+-]*$/;

function writeVersion(version: string | undefined): string {
  if (version === undefined) return 'null';
  return PLAIN.test(version) ? `"${version}"` : JSON.stringify(version);
}

/** In an array, JSON makes null of undefined. */
function writeOrigin(origin: CheckInOrigin): string {
  const { appId, channel, platform, arch, source, offeredReleaseId } = origin;
  return JSON.stringify([appId, channel, platform, arch, source, offeredReleaseId]);
}

type Parts = Pick<CheckInPack, 'origins' | 'versions'>;

function parseParts(text: string): Parts | undefined {
  const packed = parseJson(text);
  if (!Array.isArray(packed)) return undefined;
  const [packedOrigins, packedVersions] = packed as unknown[];
  if (!Array.isArray(packedOrigins) || !Array.isArray(packedVersions)) return undefined;
  const origins: SharedPart<CheckInOrigin>[] = [];
  for (const each of packedOrigins) {
    const origin = parseOrigin(each);
    if (origin === undefined) return undefined;
    origins.push(new SharedPart(origin));
  }
  const versions: SharedPart<string | undefined>[] = [];
  for (const each of packedVersions as unknown[]) {
    if (each !== null && typeof each !== 'string') return undefined;
    versions.push(new SharedPart(each ?? undefined));
  }
  return { origins, versions };
}

function parseOrigin(packed: unknown): CheckInOrigin | undefined {
  if (!Array.isArray(packed)) return undefined;
  const [appId, channel, platform, arch, source, offeredReleaseId] = packed as unknown[];
  const isOrigin =
    [appId, channel, platform, arch].every((field) => typeof field === 'string') &&
    (offeredReleaseId === null || typeof offeredReleaseId === 'string') &&
    (source === 'pull' || source === 'push');
  if (!isOrigin) return undefined;
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
