// Packed check-ins: many check-ins in one value, in order of arrival, on their way to the ledger. Devices of
// one fleet differ in little but their id, so a pack stores shared values once, and each check-in is a row of
// a few 32-bit words. Adding a check-in allocates no object, so checks cause no garbage collection.

import { secondHash, utf8WordsOf } from '../decision/hashes.ts';
import type { Labels } from '../decision/targeting.ts';
import type { CheckIn } from './check-in.ts';
import { NETWORK_WORDS, type NetworkWords, readNetwork } from './network-words.ts';

export type CheckInPack = {
  /** Shared contexts; rows refer to them by index. */
  readonly contexts: readonly InternedValue<CheckInContext>[];
  /** Shared versions; rows refer to them by index. */
  readonly versions: readonly InternedValue<string | undefined>[];
  readonly count: number;
  /**
   * One row per check-in, in 32-bit words:
   *
   *   word 0    index of the context (low 16 bits) and of the version (high 16 bits)
   *   word 1    low word of the time, in milliseconds since 1970
   *   word 2    high word of the time (low 21 bits) and length of the device id in bytes (high 11 bits)
   *   word 3 …  UTF-8 of the device id, padded with zeros to a whole word
   *
   * An unpaired surrogate has no UTF-8 form: it is written as U+FFFD, as PostgreSQL does.
   */
  readonly rows: Int32Array;
  /** Networks of the devices, two words per check-in: see `NetworkWords`. */
  readonly networks: Int32Array;
  /** Labels of the check-ins that carry some, by row index. */
  readonly labels: ReadonlyMap<number, Labels>;
  readonly counts: ReadonlyMap<string, { readonly count: number }>;
};

const BYTES_PER_WORD = 4;
const HEAD_WORDS = 3;
const [INDEXES_AT, TIME_AT, LENGTH_AT] = [0, 1, 2];
const INDEX_BITS = 16;
const INDEX_MASK = 2 ** INDEX_BITS - 1;
/**
 * Bits for the high word of a time, enough for every date. The other 11 hold the length of the id (at most
 * about 500 bytes).
 */
const HIGH_TIME_BITS = 21;
const HIGH_TIME_MASK = 2 ** HIGH_TIME_BITS - 1;
/** Words of a row whose device id is as long as a UUID. A pack with longer ids grows as needed. */
const ROW_WORDS_TYPICAL = HEAD_WORDS + 9;
const INITIAL_ROWS = 512;
/** Maximum number of row buffers kept for reuse: more packs are in flight only while Redis is stalled. */
const SPARE_BUFFERS_MAX = 8;
const WORD_VALUES = 2 ** 32;
const NO_LABELS: ReadonlyMap<number, Labels> = new Map();

/** Number of the newest pack of this process; interned values compare it to see if their index is valid. */
let lastPackNumber = 0;

/** Collects check-ins into a pack until `take` is called. */
export class CheckInPacker {
  private packNumber = nextPackNumber();
  private contexts: InternedValue<CheckInContext>[] = [];
  private versions: InternedValue<string | undefined>[] = [];
  private rows = newRows();
  private networks = newNetworks();
  private readonly spareBuffers: Pick<CheckInPack, 'rows' | 'networks'>[] = [];
  private end = 0;
  private labels: Map<number, Labels> | undefined;
  private counts = new Map<string, { count: number }>();
  // Cached entry of `counts` for the latest app: consecutive check-ins mostly have the same app.
  private appId = '';
  private counted = { count: 0 };
  /** Number of check-ins since the last `take`. */
  size = 0;

  /**
   * Adds a check-in; `at` is in milliseconds since 1970, `network` is copied. A pack holds at most 65,536,
   * because an index has 16 bits.
   */
  add(
    context: InternedValue<CheckInContext>,
    version: InternedValue<string | undefined>,
    deviceId: string,
    at: number,
    labels: Labels | undefined,
    network: NetworkWords,
  ): void {
    const { words, wordCount, byteLength } = utf8WordsOf(deviceId);
    const { appId } = context.value;
    if (context.packNumber !== this.packNumber) enlist(context, this.contexts, this.packNumber);
    if (version.packNumber !== this.packNumber) enlist(version, this.versions, this.packNumber);
    if (appId !== this.appId) this.countApp(appId);
    this.counted.count += 1;
    const from = this.end;
    this.end = from + HEAD_WORDS + wordCount;
    if (this.end > this.rows.length) this.rows = grown(this.rows, this.end * 2);
    const { rows } = this;
    rows[from + INDEXES_AT] = context.index | (version.index << INDEX_BITS);
    rows[from + TIME_AT] = at;
    rows[from + LENGTH_AT] = Math.floor(at / WORD_VALUES) | (byteLength << HIGH_TIME_BITS);
    for (let index = 0; index < wordCount; index++) {
      rows[from + HEAD_WORDS + index] = words[index] as number;
    }
    const networkAt = this.size * NETWORK_WORDS;
    if (networkAt === this.networks.length) this.networks = grown(this.networks, networkAt * 2);
    this.networks[networkAt] = network[0] as number;
    this.networks[networkAt + 1] = network[1] as number;
    if (labels !== undefined) {
      this.labels ??= new Map();
      this.labels.set(this.size, labels);
    }
    this.size += 1;
  }

  /** Returns the pack collected so far and begins a new one. */
  take(): CheckInPack {
    const { contexts, versions, size: count, labels = NO_LABELS, counts } = this;
    const rows = this.rows.subarray(0, this.end);
    const networks = this.networks.subarray(0, count * NETWORK_WORDS);
    const spare = this.spareBuffers.pop();
    this.packNumber = nextPackNumber();
    this.rows = spare?.rows ?? newRows();
    this.networks = spare?.networks ?? newNetworks();
    this.contexts = [];
    this.versions = [];
    this.counts = new Map();
    this.appId = '';
    this.end = 0;
    this.labels = undefined;
    this.size = 0;
    return { contexts, versions, count, rows, networks, labels, counts };
  }

  /**
   * Keeps the buffers of a pack that no caller reads any more, for later packs. A busy node fills megabytes
   * of rows a second; garbage-collecting them would pause it.
   */
  reuse({ rows, networks }: CheckInPack): void {
    if (this.spareBuffers.length === SPARE_BUFFERS_MAX) return;
    this.spareBuffers.push({
      rows: new Int32Array(rows.buffer),
      networks: new Int32Array(networks.buffer),
    });
  }

  private countApp(appId: string): void {
    this.appId = appId;
    this.counted = this.counts.get(appId) ?? { count: 0 };
    this.counts.set(appId, this.counted);
  }
}

function enlist<Value>(
  interned: InternedValue<Value>,
  list: InternedValue<Value>[],
  packNumber: number,
): void {
  interned.packNumber = packNumber;
  interned.index = list.push(interned) - 1;
}

type PackedRows = Pick<CheckInPack, 'contexts' | 'versions' | 'count' | 'rows' | 'networks'>;

/** Returns whether rows from another process have the layout that a packer writes. */
export function areRowsWhole({ contexts, versions, count, rows, networks }: PackedRows): boolean {
  if (networks.length !== count * NETWORK_WORDS) return false;
  let at = 0;
  for (let row = 0; row < count; row++) {
    const [indexes, length] = [rows[at + INDEXES_AT], rows[at + LENGTH_AT]];
    if (indexes === undefined || length === undefined) return false;
    if ((indexes & INDEX_MASK) >= contexts.length) return false;
    if (indexes >>> INDEX_BITS >= versions.length) return false;
    at += rowWords(length);
  }
  return at === rows.length;
}

/** Returns the check-ins of a pack in order: all, or those whose context satisfies `isWanted`. */
export function unpackCheckIns(
  { contexts, versions, count, rows, networks, labels }: PackedRows & Pick<CheckInPack, 'labels'>,
  isWanted: (context: CheckInContext) => boolean = () => true,
): CheckIn[] {
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  const checkIns: CheckIn[] = [];
  for (let row = 0, at = 0; row < count; row++) {
    const indexes = rows[at + INDEXES_AT] as number;
    const length = rows[at + LENGTH_AT] as number;
    const { value: context } = contexts[indexes & INDEX_MASK] as InternedValue<CheckInContext>;
    const from = at;
    at += rowWords(length);
    if (!isWanted(context)) continue;
    const idAt = (from + HEAD_WORDS) * BYTES_PER_WORD;
    checkIns.push({
      appId: context.appId,
      deviceId: bytes.toString('utf8', idAt, idAt + (length >>> HIGH_TIME_BITS)),
      channel: context.channel,
      version: versions[indexes >>> INDEX_BITS]?.value,
      platform: context.platform,
      arch: context.arch,
      source: context.source,
      client: context.client,
      bundle: context.bundle,
      at: ((rows[from + TIME_AT] as number) >>> 0) + (length & HIGH_TIME_MASK) * WORD_VALUES,
      labels: labels.get(row),
      offeredReleaseId: context.offeredReleaseId,
      network: readNetwork(networks, row * NETWORK_WORDS),
    });
  }
  return checkIns;
}

/** Returns the number of 32-bit words in a row from its word 2. */
function rowWords(lengthWord: number): number {
  return HEAD_WORDS + (((lengthWord >>> HIGH_TIME_BITS) + BYTES_PER_WORD - 1) >> 2);
}

function newRows(): Int32Array {
  return new Int32Array(INITIAL_ROWS * ROW_WORDS_TYPICAL);
}

function newNetworks(): Int32Array {
  return new Int32Array(INITIAL_ROWS * NETWORK_WORDS);
}

/** Returns a larger copy of a buffer. */
function grown(buffer: Int32Array, wordCount: number): Int32Array {
  const larger = new Int32Array(wordCount);
  larger.set(buffer);
  return larger;
}

function nextPackNumber(): number {
  lastPackNumber += 1;
  return lastPackNumber;
}

// Interns values that many check-ins share. The devices of a fleet report few combinations of app, channel,
// platform, arch and offer, and more versions, so contexts and versions are interned separately.

/** Fields of a check-in except its version, device, time, labels and network. */
export type CheckInContext = Pick<
  CheckIn,
  'appId' | 'channel' | 'platform' | 'arch' | 'source' | 'client' | 'bundle' | 'offeredReleaseId'
>;

/** A shared value with what packers and serialisers cache for it. */
export class InternedValue<Value> {
  /** Number of the pack in which `index` is valid; 0 before the first. Set by `CheckInPacker`. */
  packNumber = 0;
  /** Index of the value in that pack's contexts or versions. Set by `CheckInPacker`. */
  index = 0;
  /** Cached JSON, '' until first serialised: saves one JSON.stringify per pack. Set by the payload writer. */
  serialized = '';

  constructor(readonly value: Value) {}
}

/**
 * Number of hash slots for interned versions, a power of two. A slot holds the version interned last with its
 * hash. Clients choose versions, so a flood of them costs no more memory than this table; a caller that holds
 * an evicted value can go on using it.
 */
const VERSION_SLOTS = 2 ** 11;
const versions: (InternedValue<string | undefined> | undefined)[] = new Array(VERSION_SLOTS);

/** Returns the interned form of a version as check-ins report it; undefined is the unknown version. */
export function internVersion(version: string | undefined): InternedValue<string | undefined> {
  const slot = secondHash(version ?? '') & (VERSION_SLOTS - 1);
  const known = versions[slot];
  if (known !== undefined && known.value === version) return known;
  const interned = new InternedValue(version);
  versions[slot] = interned;
  return interned;
}

/** Maximum number of interned contexts. Plans for many versions share one context. */
const CONTEXTS_MAX = 64;
const contexts: InternedValue<CheckInContext>[] = [];
let contextsMade = 0;

/** Returns the interned form of a context. Drops fields of `context` beyond `CheckInContext`. */
export function internContext(context: CheckInContext): InternedValue<CheckInContext> {
  const known = contexts.find(({ value }) => isSameContext(value, context));
  if (known !== undefined) return known;
  const { appId, channel, platform, arch, source, client, bundle, offeredReleaseId } = context;
  const where = { appId, channel, platform, arch };
  const interned = new InternedValue({ ...where, source, client, bundle, offeredReleaseId });
  contexts[contextsMade % CONTEXTS_MAX] = interned;
  contextsMade += 1;
  return interned;
}

function isSameContext(left: CheckInContext, right: CheckInContext): boolean {
  return (
    left.arch === right.arch &&
    left.platform === right.platform &&
    left.offeredReleaseId === right.offeredReleaseId &&
    left.channel === right.channel &&
    left.appId === right.appId &&
    left.source === right.source &&
    left.client === right.client &&
    left.bundle === right.bundle
  );
}

// Memory size of packed check-ins, for queues that are bounded by it.

/** Bytes of a pack's own objects, without its check-ins. */
const PACK_BYTES = 512;
/** Bytes of a label beside its two texts: a map entry and the string headers. */
const LABEL_BYTES = 64;
const BYTES_PER_CHARACTER_MAX = 2;

/**
 * Returns roughly how many bytes a pack takes: its rows, networks and labels. Shared values are interned once
 * for all packs, and are not counted.
 */
export function packBytes({ rows, networks, labels }: CheckInPack): number {
  let bytes = PACK_BYTES + rows.byteLength + networks.byteLength;
  for (const ofDevice of labels.values()) {
    for (const [key, value] of ofDevice) {
      bytes += LABEL_BYTES + (key.length + value.length) * BYTES_PER_CHARACTER_MAX;
    }
  }
  return bytes;
}
