// Check-ins on their way to the record: many in one value, in the order they came. Devices of one fleet
// differ in little but their id, so what they share (their kind) stands once, and a check-in is a row of a
// few words: nothing is built for it, nothing is left to collect.

import type { CheckIn } from './check-in.ts';
import type { Labels } from './targeting.ts';
import { wordsOf } from './text-words.ts';

export type CheckInPack = {
  readonly kinds: readonly SharedKind[];
  /** How many check-ins there are in it. */
  readonly count: number;
  /**
   * A row each, in 32-bit words: the index of the kind and the length of the id in bytes (16 bits each, the
   * index below); the time in milliseconds since 1970, its low word first; the id's UTF-8, with zeros up to
   * a whole word. Half a surrogate pair has no UTF-8: it is U+FFFD here, as in the ledger.
   */
  readonly rows: Int32Array;
  /** Of the check-ins that carry some, by their place. */
  readonly labels: ReadonlyMap<number, Labels>;
  /** How many check-ins there are of each app, by its id. */
  readonly counts: ReadonlyMap<string, { readonly count: number }>;
};

/** What the check-ins of many devices share. */
export type CheckInKind = Pick<
  CheckIn,
  'appId' | 'channel' | 'version' | 'platform' | 'arch' | 'source' | 'offeredReleaseId'
>;

const BYTES_PER_WORD = 4;
const HEAD_WORDS = 3;
/** With ids of the size of a UUID; a pack of longer ones makes room as it goes. */
const ROW_WORDS_TYPICAL = HEAD_WORDS + 9;
const ROWS_AT_FIRST = 512;
/** Of packs that were sent: more are never under way at a time while nothing is held up. */
const SPARE_ROWS_MAX = 8;
const WORD_VALUES = 2 ** 32;
const NO_LABELS: ReadonlyMap<number, Labels> = new Map();

/** Numbers packs, so that a kind can tell in which one it stands. */
let lastPack = 0;

/** A kind, kept by whoever has many check-ins of it; remembers its place in the pack that is being made. */
export class SharedKind {
  readonly kind: CheckInKind;
  readonly appId: string;
  pack = 0;
  place = 0;
  // As whoever sends packs writes it, in two parts, because fleets have many versions and little else. Kept,
  // because a kind is in one pack after the other; here, because a pack has a thousand kinds that all lie
  // somewhere else, and each look at memory counts.
  /** The version, and which rest it has. */
  writtenText = '';
  /** All but the version; undefined before it is written for the first time. */
  writtenRest: WrittenRest | undefined;

  constructor(kind: CheckInKind) {
    this.kind = kind;
    this.appId = kind.appId;
  }
}

export type WrittenRest = {
  readonly text: string;
  /** Numbers the batch that it was last written into. */
  batch: number;
};

/** Gathers check-ins until somebody takes them. */
export class CheckInPacker {
  private pack = nextPack();
  private kinds: SharedKind[] = [];
  private rows = newRows();
  private readonly spareRows: Int32Array[] = [];
  private end = 0;
  private labels: Map<number, Labels> | undefined;
  private counts = new Map<string, { count: number }>();
  // Of the app that came last, which is mostly the one that comes next.
  private appId = '';
  private counted = { count: 0 };
  size = 0;

  /** At most 65,535 between two takes, since an index has 16 bits. `at` in milliseconds since 1970. */
  add(kind: SharedKind, deviceId: string, at: number, labels: Labels | undefined): void {
    const { words, wordCount, byteLength } = wordsOf(deviceId);
    if (kind.pack !== this.pack) this.enter(kind);
    if (kind.appId !== this.appId) this.countApp(kind.appId);
    this.counted.count += 1;
    const from = this.end;
    this.end = from + HEAD_WORDS + wordCount;
    if (this.end > this.rows.length) this.makeRoom();
    const { rows } = this;
    rows[from] = kind.place | (byteLength << 16);
    rows[from + 1] = at;
    rows[from + 2] = Math.floor(at / WORD_VALUES);
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
    const { kinds, size: count } = this;
    const rows = this.rows.subarray(0, this.end);
    const { labels = NO_LABELS, counts } = this;
    this.pack = nextPack();
    this.rows = this.spareRows.pop() ?? newRows();
    this.kinds = [];
    this.counts = new Map();
    this.appId = '';
    this.end = 0;
    this.labels = undefined;
    this.size = 0;
    return { kinds, count, rows, labels, counts };
  }

  /**
   * Gathers into the rows of a pack again, which nobody may read any more: a busy node fills megabytes of
   * them a second, and collecting those would stop it.
   */
  reuse({ rows }: CheckInPack): void {
    if (this.spareRows.length < SPARE_ROWS_MAX) this.spareRows.push(new Int32Array(rows.buffer));
  }

  private enter(kind: SharedKind): void {
    kind.pack = this.pack;
    kind.place = this.kinds.push(kind) - 1;
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

/** What a pack has to be read by. */
type PackedRows = Pick<CheckInPack, 'kinds' | 'count' | 'rows'>;

/** Whether the rows are such as a packer makes: for packs that have come from somewhere else. */
export function areRowsWhole({ kinds, count, rows }: PackedRows): boolean {
  let at = 0;
  for (let place = 0; place < count; place++) {
    const head = rows[at];
    if (head === undefined || (head & 0xffff) >= kinds.length) return false;
    at += rowWords(head);
  }
  return at === rows.length;
}

/** The check-ins in a pack, in their order: all, or those whose kind `isWanted`, asked for each in turn. */
export function unpackCheckIns(
  { kinds, count, rows, labels }: PackedRows & Pick<CheckInPack, 'labels'>,
  isWanted: (kind: CheckInKind) => boolean = () => true,
): CheckIn[] {
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  const checkIns: CheckIn[] = [];
  for (let place = 0, at = 0; place < count; place++) {
    const head = rows[at] as number;
    const { kind } = kinds[head & 0xffff] as SharedKind;
    const from = at;
    at += rowWords(head);
    if (!isWanted(kind)) continue;
    const idAt = (from + HEAD_WORDS) * BYTES_PER_WORD;
    checkIns.push({
      appId: kind.appId,
      deviceId: bytes.toString('utf8', idAt, idAt + (head >>> 16)),
      channel: kind.channel,
      version: kind.version,
      platform: kind.platform,
      arch: kind.arch,
      source: kind.source,
      at: ((rows[from + 1] as number) >>> 0) + (rows[from + 2] as number) * WORD_VALUES,
      labels: labels.get(place),
      offeredReleaseId: kind.offeredReleaseId,
    });
  }
  return checkIns;
}

/** Of a row with this first word. */
function rowWords(head: number): number {
  return HEAD_WORDS + (((head >>> 16) + BYTES_PER_WORD - 1) >> 2);
}

function newRows(): Int32Array {
  return new Int32Array(ROWS_AT_FIRST * ROW_WORDS_TYPICAL);
}

function nextPack(): number {
  lastPack += 1;
  return lastPack;
}
