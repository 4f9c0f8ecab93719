// Check-ins on their way to the record: many in one value, in the order they came. Devices of one fleet
// differ in little but their id, so what they share stands once, and a check-in is a row of a
// few words: nothing is built for it, nothing is left to collect.

import type { CheckIn } from './check-in.ts';
import type { CheckInOrigin, SharedPart } from './shared-part.ts';
import type { Labels } from './targeting.ts';
import { wordsOf } from './text-words.ts';

export type CheckInPack = {
  /** What the check-ins share, in two parts: rows name them by their places. */
  readonly origins: readonly SharedPart<CheckInOrigin>[];
  readonly versions: readonly SharedPart<string | undefined>[];
  /** How many check-ins there are in it. */
  readonly count: number;
  /**
   * A row each, in 32-bit words: the places of the origin and of the version (16 bits each, the origin's
   * below); the low word of the time in milliseconds since 1970; its high word (21 bits, below) and the
   * length of the id in bytes (11 bits); the id's UTF-8, with zeros up to a whole word. Half a surrogate pair
   * has no UTF-8: it is U+FFFD here, as in the ledger.
   */
  readonly rows: Int32Array;
  /** Of the check-ins that carry some, by their place. */
  readonly labels: ReadonlyMap<number, Labels>;
  /** How many check-ins there are of each app, by its id. */
  readonly counts: ReadonlyMap<string, { readonly count: number }>;
};

const BYTES_PER_WORD = 4;
const HEAD_WORDS = 3;
const [SHARED_AT, TIME_AT, LENGTH_AT] = [0, 1, 2];
const PLACE_BITS = 16;
const PLACE_MASK = 2 ** PLACE_BITS - 1;
/** All that a time can be; an id has at most some 500 bytes. */
const HIGH_TIME_BITS = 21;
const HIGH_TIME_MASK = 2 ** HIGH_TIME_BITS - 1;
/** With ids of the size of a UUID; a pack of longer ones makes room as it goes. */
const ROW_WORDS_TYPICAL = HEAD_WORDS + 9;
const ROWS_AT_FIRST = 512;
/** Of packs that were sent: more are never under way at a time while nothing is held up. */
const SPARE_ROWS_MAX = 8;
const WORD_VALUES = 2 ** 32;
const NO_LABELS: ReadonlyMap<number, Labels> = new Map();

/** Numbers packs, so that a part can tell in which one it stands. */
let lastPack = 0;

/** Gathers check-ins until somebody takes them. */
export class CheckInPacker {
  private pack = nextPack();
  private origins: SharedPart<CheckInOrigin>[] = [];
  private versions: SharedPart<string | undefined>[] = [];
  private rows = newRows();
  private readonly spareRows: Int32Array[] = [];
  private end = 0;
  private labels: Map<number, Labels> | undefined;
  private counts = new Map<string, { count: number }>();
  // Of the app that came last, which is mostly the one that comes next.
  private appId = '';
  private counted = { count: 0 };
  size = 0;

  /** At most 65,535 between two takes, since a place has 16 bits. `at` in milliseconds since 1970. */
  add(
    origin: SharedPart<CheckInOrigin>,
    version: SharedPart<string | undefined>,
    deviceId: string,
    at: number,
    labels: Labels | undefined,
  ): void {
    const { words, wordCount, byteLength } = wordsOf(deviceId);
    const { appId } = origin.value;
    if (origin.pack !== this.pack) enter(origin, this.origins, this.pack);
    if (version.pack !== this.pack) enter(version, this.versions, this.pack);
    if (appId !== this.appId) this.countApp(appId);
    this.counted.count += 1;
    const from = this.end;
    this.end = from + HEAD_WORDS + wordCount;
    if (this.end > this.rows.length) this.makeRoom();
    const { rows } = this;
    rows[from + SHARED_AT] = origin.place | (version.place << PLACE_BITS);
    rows[from + TIME_AT] = at;
    rows[from + LENGTH_AT] = Math.floor(at / WORD_VALUES) | (byteLength << HIGH_TIME_BITS);
    for (let index = 0; index < wordCount; index++) {
      rows[from + HEAD_WORDS + index] = words[index] as number;
    }
    if (labels !== undefined) {
      this.labels ??= new Map();
      this.labels.set(this.size, labels);
    }
    this.size += 1;
  }

  /** What was gathered; from here on it gathers anew. */
  take(): CheckInPack {
    const { origins, versions, size: count, labels = NO_LABELS, counts } = this;
    const rows = this.rows.subarray(0, this.end);
    this.pack = nextPack();
    this.rows = this.spareRows.pop() ?? newRows();
    this.origins = [];
    this.versions = [];
    this.counts = new Map();
    this.appId = '';
    this.end = 0;
    this.labels = undefined;
    this.size = 0;
    return { origins, versions, count, rows, labels, counts };
  }

  /**
   * Gathers into the rows of a pack again, which nobody may read any more: a busy node fills megabytes of
   * them a second, and collecting those would stop it.
   */
  reuse({ rows }: CheckInPack): void {
    if (this.spareRows.length < SPARE_ROWS_MAX) this.spareRows.push(new Int32Array(rows.buffer));
  }

  private countApp(appId: string): void {
    this.appId = appId;
    this.counted = this.counts.get(appId) ?? { count: 0 };
    this.counts.set(appId, this.counted);
  }

  private makeRoom(): void {
    const roomier = new Int32Array(this.end * 2);
    roomier.set(this.rows);
    this.rows = roomier;
  }
}

function enter<Value>(part: SharedPart<Value>, parts: SharedPart<Value>[], pack: number): void {
  part.pack = pack;
  part.place = parts.push(part) - 1;
}

/** What a pack has to be read by. */
type PackedRows = Pick<CheckInPack, 'origins' | 'versions' | 'count' | 'rows'>;

/** Whether the rows are such as a packer makes: for packs that have come from somewhere else. */
export function areRowsWhole({ origins, versions, count, rows }: PackedRows): boolean {
  let at = 0;
  for (let place = 0; place < count; place++) {
    const [shared, length] = [rows[at + SHARED_AT], rows[at + LENGTH_AT]];
    if (shared === undefined || length === undefined) return false;
    if ((shared & PLACE_MASK) >= origins.length) return false;
    if (shared >>> PLACE_BITS >= versions.length) return false;
    at += rowWords(length);
  }
  return at === rows.length;
}

/** The check-ins in a pack, in their order: all, or those whose origin `isWanted`, asked for each in turn. */
export function unpackCheckIns(
  { origins, versions, count, rows, labels }: PackedRows & Pick<CheckInPack, 'labels'>,
  isWanted: (origin: CheckInOrigin) => boolean = () => true,
): CheckIn[] {
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  const checkIns: CheckIn[] = [];
  for (let place = 0, at = 0; place < count; place++) {
    const shared = rows[at + SHARED_AT] as number;
    const length = rows[at + LENGTH_AT] as number;
    const { value: origin } = origins[shared & PLACE_MASK] as SharedPart<CheckInOrigin>;
    const from = at;
    at += rowWords(length);
    if (!isWanted(origin)) continue;
    const idAt = (from + HEAD_WORDS) * BYTES_PER_WORD;
    checkIns.push({
      appId: origin.appId,
      deviceId: bytes.toString('utf8', idAt, idAt + (length >>> HIGH_TIME_BITS)),
      channel: origin.channel,
      version: versions[shared >>> PLACE_BITS]?.value,
      platform: origin.platform,
      arch: origin.arch,
      source: origin.source,
      at: ((rows[from + TIME_AT] as number) >>> 0) + (length & HIGH_TIME_MASK) * WORD_VALUES,
      labels: labels.get(place),
      offeredReleaseId: origin.offeredReleaseId,
    });
  }
  return checkIns;
}

/** Of a row with this word of lengths. */
function rowWords(length: number): number {
  return HEAD_WORDS + (((length >>> HIGH_TIME_BITS) + BYTES_PER_WORD - 1) >> 2);
}

function newRows(): Int32Array {
  return new Int32Array(ROWS_AT_FIRST * ROW_WORDS_TYPICAL);
}

function nextPack(): number {
  lastPack += 1;
  return lastPack;
}
