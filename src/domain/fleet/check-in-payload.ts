// Serialisation of a batch of check-ins for the Redis stream, an edge's journal and its uploads. Shared
// contexts and versions are written once per batch; each check-in is the row that `CheckInPacker` made,
// copied as it is:
//
//   byte lengths of the shared values and of the labels, number of check-ins    32 bits each, little-endian
//   rows     see `CheckInPack`; little-endian, as is every machine that uWebSockets.js runs on
//   shared   [[context, context, …], [version or null, version, …], networks]
//            context = [appId, channel, platform, arch, source, offeredReleaseId or null, client or null,
//            bundle or null]; the last two may be missing
//            networks = base64 of the networks of all check-ins (`CheckInPack`); '' or missing if none
//            is known
//   labels   [row index, label pairs, row index, label pairs, …]
//
// The shared values and the labels are JSON. The name of the stream has the format's number: see
// `keys.checkIns`.

import { isDeviceClient } from '../../contract/resource.ts';
import type { Labels } from '../decision/targeting.ts';
import type { CheckIn, CheckInSource } from './check-in.ts';
import {
  areRowsWhole,
  type CheckInContext,
  type CheckInPack,
  CheckInPacker,
  InternedValue,
  internContext,
  internVersion,
  unpackCheckIns,
} from './check-in-pack.ts';
import { NETWORK_WORDS, writeNetwork } from './network-words.ts';

/** Maximum number of check-ins in a payload: the index of a shared value has 16 bits. */
const COUNT_MAX = 2 ** 16;
const HEAD_BYTES = 12;
const [SHARED_AT, LABELS_AT, COUNT_AT] = [0, 4, 8];
const LABELS_WIDTH = 2;
const NO_LABELS_TEXT = '[]';

/** Writes a batch into the buffer that `roomFor` returns for a number of bytes; returns that buffer. */
export function packCheckInPayload(
  { contexts, versions, count, rows, networks, labels }: CheckInPack,
  roomFor: (byteLength: number) => Buffer,
): Buffer {
  const shared = [
    writeShared(contexts, writeContext),
    writeShared(versions, writeVersion),
    writeNetworks(networks),
  ];
  const sharedText = `[${shared.join(',')}]`;
  const labelsText = labels.size === 0 ? NO_LABELS_TEXT : writeLabels(labels);
  const sharedBytes = Buffer.byteLength(sharedText);
  const labelsBytes = Buffer.byteLength(labelsText);
  const rowsEnd = HEAD_BYTES + rows.byteLength;
  const payload = roomFor(rowsEnd + sharedBytes + labelsBytes);
  payload.writeUInt32LE(sharedBytes, SHARED_AT);
  payload.writeUInt32LE(labelsBytes, LABELS_AT);
  payload.writeUInt32LE(count, COUNT_AT);
  payload.set(new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength), HEAD_BYTES);
  payload.write(sharedText, rowsEnd, 'utf8');
  payload.write(labelsText, rowsEnd + sharedBytes, 'utf8');
  return payload;
}

/** Returns the check-ins of a payload in order; undefined if any part of it cannot be read. */
export function parseCheckInPayload(payload: Buffer): CheckIn[] | undefined {
  if (payload.length < HEAD_BYTES) return undefined;
  const labelsAt = payload.length - payload.readUInt32LE(LABELS_AT);
  const sharedAt = labelsAt - payload.readUInt32LE(SHARED_AT);
  const rows = readRows(payload, sharedAt);
  const count = payload.readUInt32LE(COUNT_AT);
  const shared = parseShared(payload.toString('utf8', sharedAt, labelsAt), count);
  const labels = parseLabels(payload.toString('utf8', labelsAt));
  if (rows === undefined || shared === undefined || labels === undefined) return undefined;
  const pack = { ...shared, count, rows, labels };
  return areRowsWhole(pack) ? unpackCheckIns(pack) : undefined;
}

/** Copies the rows out of a payload: an Int32Array must start at a multiple of 4 bytes, a payload may not. */
function readRows(payload: Buffer, end: number): Int32Array | undefined {
  const length = end - HEAD_BYTES;
  if (length < 0 || length % Int32Array.BYTES_PER_ELEMENT !== 0) return undefined;
  const rows = new Int32Array(length / Int32Array.BYTES_PER_ELEMENT);
  new Uint8Array(rows.buffer).set(payload.subarray(HEAD_BYTES, end));
  return rows;
}

/** Joins the cached JSON of each value: a busy node sends many thousands of mostly equal values a second. */
function writeShared<Value>(
  values: readonly InternedValue<Value>[],
  write: (value: Value) => string,
): string {
  let text = '';
  for (let index = 0; index < values.length; index++) {
    const each = values[index] as InternedValue<Value>;
    if (each.serialized === '') each.serialized = write(each.value);
    text += index === 0 ? each.serialized : `,${each.serialized}`;
  }
  return `[${text}]`;
}

/** Characters that JSON does not escape. Canonical versions have no others. */
const PLAIN = /^[0-9A-Za-z.+-]*$/;

function writeVersion(version: string | undefined): string {
  if (version === undefined) return 'null';
  return PLAIN.test(version) ? `"${version}"` : JSON.stringify(version);
}

/** Serialises a context; JSON.stringify writes an undefined array element as null. */
function writeContext(context: CheckInContext): string {
  const { appId, channel, platform, arch, source, offeredReleaseId, client, bundle } = context;
  const fields = [appId, channel, platform, arch, source, offeredReleaseId, client, bundle];
  return JSON.stringify(fields);
}

function writeNetworks(networks: Int32Array): string {
  if (networks.every((word) => word === 0)) return '""';
  const bytes = Buffer.from(networks.buffer, networks.byteOffset, networks.byteLength);
  return `"${bytes.toString('base64')}"`;
}

type SharedValues = Pick<CheckInPack, 'contexts' | 'versions' | 'networks'>;

function parseShared(text: string, count: number): SharedValues | undefined {
  const packed = parseJson(text);
  if (!Array.isArray(packed)) return undefined;
  const [packedContexts, packedVersions, packedNetworks = ''] = packed as unknown[];
  const networks = parseNetworks(packedNetworks, count);
  if (networks === undefined) return undefined;
  if (!Array.isArray(packedContexts) || !Array.isArray(packedVersions)) return undefined;
  const contexts: InternedValue<CheckInContext>[] = [];
  for (const each of packedContexts) {
    const context = parseContext(each);
    if (context === undefined) return undefined;
    contexts.push(new InternedValue(context));
  }
  const versions: InternedValue<string | undefined>[] = [];
  for (const each of packedVersions as unknown[]) {
    if (each !== null && typeof each !== 'string') return undefined;
    versions.push(new InternedValue(each ?? undefined));
  }
  return { contexts, versions, networks };
}

/** Reads the networks of all check-ins; undefined if their number differs from `count`. */
function parseNetworks(packed: unknown, count: number): Int32Array | undefined {
  if (packed === '') return count > COUNT_MAX ? undefined : new Int32Array(count * NETWORK_WORDS);
  if (typeof packed !== 'string') return undefined;
  const bytes = Buffer.from(packed, 'base64');
  if (bytes.length !== count * NETWORK_WORDS * Int32Array.BYTES_PER_ELEMENT) return undefined;
  return new Int32Array(new Uint8Array(bytes).buffer);
}

function parseContext(packed: unknown): CheckInContext | undefined {
  if (!Array.isArray(packed)) return undefined;
  const [appId, channel, platform, arch, source, offeredReleaseId, client, bundle] =
    packed as unknown[];
  const isContext =
    [appId, channel, platform, arch].every((field) => typeof field === 'string') &&
    (offeredReleaseId === null || typeof offeredReleaseId === 'string') &&
    (source === 'pull' || source === 'push');
  if (!isContext) return undefined;
  return {
    appId: appId as string,
    channel: channel as string,
    platform: platform as string,
    arch: arch as string,
    source: source as CheckInSource,
    // A client name that this version of Sluice does not know becomes undefined.
    client: isDeviceClient(client) ? client : undefined,
    bundle: typeof bundle === 'string' ? bundle : undefined,
    offeredReleaseId: (offeredReleaseId as string | null) ?? undefined,
  };
}

function writeLabels(labels: ReadonlyMap<number, Labels>): string {
  const packed: unknown[] = [];
  for (const [row, each] of labels) packed.push(row, [...each]);
  return JSON.stringify(packed);
}

/** Reads labels by the index of their row. */
function parseLabels(text: string): Map<number, Labels> | undefined {
  const packed = parseJson(text);
  if (!Array.isArray(packed)) return undefined;
  const byRow = new Map<number, Labels>();
  for (let at = 0; at < packed.length; at += LABELS_WIDTH) {
    const [row, pairs] = [packed[at], packed[at + 1]];
    if (typeof row !== 'number' || !isLabelPairs(pairs)) return undefined;
    byRow.set(row, new Map(pairs));
  }
  return byRow;
}

// Check-ins as an edge uploads them: payloads, each after its length as 4 bytes, little-endian.

const LENGTH_BYTES = 4;

/** Writes check-ins as one batch. */
export function writeCheckIns(checkIns: readonly CheckIn[]): Buffer {
  const packer = new CheckInPacker();
  for (const checkIn of checkIns) packCheckIn(packer, checkIn);
  return joinBatches([packCheckInPayload(packer.take(), (length) => Buffer.alloc(length))]);
}

/** Joins payloads for one upload. */
export function joinBatches(payloads: readonly Buffer[]): Buffer {
  return Buffer.concat(
    payloads.flatMap((payload) => {
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32LE(payload.length);
      return [length, payload];
    }),
  );
}

/** Yields the check-ins of each joined payload; ends with undefined at one that cannot be read. */
export function* readBatches(joined: Buffer): Generator<readonly CheckIn[] | undefined> {
  for (let at = 0; at < joined.length; ) {
    const isWhole = joined.length - at >= LENGTH_BYTES;
    const end = isWhole ? at + LENGTH_BYTES + joined.readUInt32LE(at) : Number.POSITIVE_INFINITY;
    const batch =
      end > joined.length
        ? undefined
        : parseCheckInPayload(joined.subarray(at + LENGTH_BYTES, end));
    yield batch;
    if (batch === undefined) return;
    at = end;
  }
}

// Packs single check-ins that do not come from an update check, which has its interned parts at hand.

/** Network of the latest check-in, which the packer copies. */
const words = new Int32Array(NETWORK_WORDS);

export function packCheckIn(packer: CheckInPacker, checkIn: CheckIn): void {
  const { version, deviceId, at, labels, network = '' } = checkIn;
  writeNetwork(network, words);
  packer.add(internContext(checkIn), internVersion(version), deviceId, at, labels, words);
}

// Labels travel and are stored as pairs of texts: an object cannot hold a label named `__proto__`.

/** Whether a parsed value is a list of pairs of texts. */
function isLabelPairs(value: unknown): value is [string, string][] {
  return (
    Array.isArray(value) &&
    value.every(
      (pair) => Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'string',
    )
  );
}

// JSON from another process, which may run another version of Sluice or another program.

/** Parses JSON; returns undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
