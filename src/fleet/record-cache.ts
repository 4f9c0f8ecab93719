// What this process knows of the record of the devices that it records, so that check-ins which change
// nothing need not reach the ledger. It never leaves out a new version, label or offer.
//
//   confirm ──▶ sift ──▶ the rest is recorded ──▶ note
//
// It is right for four reasons. One process at a time records the devices of a part from the queue. The
// ledger says when somebody else has recorded a part meanwhile: then all entries of that part are dropped.
// The ledger lists the devices that were recorded for callers that waited, and waits for those that are being
// recorded just now. And an entry is valid for no longer than a last-seen time may be late, and never beyond
// its hour, which counts each device once. If check-ins arrive out of order, a later one that was left out is
// recorded with the earlier one.
//
// Its memory is bounded: all check-ins of a device without an entry are recorded.

import { randomBytes } from 'node:crypto';
import { storableText } from '../contract/text.ts';
import { DEVICE_PARTS, devicePart, keyedHash } from '../domain/decision/hashes.ts';
import { type CheckIn, deviceKey, mergeCheckIns } from '../domain/fleet/check-in.ts';
import type { RecordedChecks } from '../store/fleet-ledger.ts';
import type { DeviceName } from '../store/label-store.ts';
import type { Ledger } from '../store/ledger.ts';

/** Facts of a device that are known; undefined means that the record may have any value. */
type Facts = Pick<
  CheckIn,
  'channel' | 'version' | 'platform' | 'arch' | 'source' | 'client' | 'bundle' | 'offeredReleaseId'
>;

/** Maximum number of different facts; a fleet has a few hundred. Beyond it, all entries are dropped. */
const FACTS_MAX = 2 ** 16;
/** Maximum number of devices recorded for callers that waited which one call reads. */
const AWAITED_MAX = 5000;
const HOUR_MS = 3_600_000;
/** Milliseconds by which a recorded time counts as earlier, as the ledger's clock may be a little behind. */
const CLOCK_SLACK_MS = 1000;

export class RecordMemory {
  private readonly tables = Array.from({ length: DEVICE_PARTS }, () => new LastSeenTable());
  /** Turns of each part (`DeviceWriter`) when it was last confirmed; undefined before. */
  private readonly turns: (number | undefined)[] = new Array(DEVICE_PARTS).fill(undefined);
  private readonly awaited: number[] = new Array(DEVICE_PARTS).fill(0);
  private readonly facts: Facts[] = [];
  private readonly factNumbers = new Map<string, number>();

  constructor(
    /** Name under which this process records. */
    readonly writer: string,
    private readonly ledger: Pick<Ledger, 'readWriters' | 'readAwaited'>,
    private readonly freshnessMs: number,
  ) {}

  /**
   * Forgets what is no longer certain about the devices of these check-ins. Must be called before each
   * `sift`.
   */
  async confirm(checkIns: readonly CheckIn[]): Promise<void> {
    const parts = [...new Set(checkIns.map((each) => devicePart(each.appId, each.deviceId)))];
    const writers = await this.ledger.readWriters(parts);
    const followed = writers.filter(({ part, awaited }) => awaited !== this.awaited[part]);
    const devices =
      followed.length === 0
        ? []
        : await this.ledger.readAwaited(
            followed.map(({ part }) => part),
            followed.map(({ part }) => this.awaited[part] ?? 0),
            AWAITED_MAX,
          );
    for (const device of devices ?? []) this.tableOf(device).forget(device);
    for (const { part, writer, turns, awaited } of writers) {
      const isCertain =
        writer === this.writer &&
        turns === this.turns[part] &&
        (devices !== undefined || awaited === this.awaited[part]);
      if (!isCertain) this.tables[part]?.clear();
      this.turns[part] = turns;
      this.awaited[part] = awaited;
    }
  }

  /** Returns those of the check-ins, of distinct devices, that must be recorded. */
  sift(checkIns: readonly CheckIn[]): CheckIn[] {
    const needed: CheckIn[] = [];
    for (const checkIn of checkIns) {
      const table = this.tableOf(checkIn);
      const known = table.find(checkIn);
      const facts = known === undefined ? undefined : this.facts[known.facts];
      if (known === undefined || facts === undefined) needed.push(checkIn);
      else if (this.isToldBy(known, facts, checkIn)) table.see(checkIn.at);
      else if (known.seenAt > checkIn.at)
        needed.push(mergeCheckIns(checkIn, lastSeenCheckIn(checkIn, known, facts)));
      else needed.push(checkIn);
    }
    return needed;
  }

  /** Remembers what the record says of these devices after their check-ins were recorded. */
  note(checkIns: readonly CheckIn[], { unadmitted, left }: RecordedChecks): void {
    const seenAt = new Map(left.map((each) => [deviceKey(each), each.seenAt]));
    const missing = new Set(unadmitted.map(deviceKey));
    for (const checkIn of checkIns) {
      const key = deviceKey(checkIn);
      const seen = seenAt.get(key);
      // A later check-in is on record, and with it facts that are not known here.
      const isKnown = !missing.has(key) && (seen === undefined || seen <= checkIn.at);
      if (isKnown && storableText(checkIn.deviceId) === checkIn.deviceId) {
        this.keep(checkIn, seen ?? checkIn.at);
      } else this.tableOf(checkIn).forget(checkIn);
    }
  }

  private keep(checkIn: CheckIn, recordedAt: number): void {
    const table = this.tableOf(checkIn);
    const known = table.find(checkIn);
    const before = known === undefined ? undefined : this.facts[known.facts];
    const { channel, platform, arch, source } = checkIn;
    const version = checkIn.version ?? before?.version;
    const client = checkIn.client ?? before?.client;
    const bundle = checkIn.client === undefined ? before?.bundle : checkIn.bundle;
    const offeredReleaseId = checkIn.offeredReleaseId ?? before?.offeredReleaseId;
    const facts = { channel, version, platform, arch, source, client, bundle, offeredReleaseId };
    const at = recordedAt - CLOCK_SLACK_MS;
    table.put(checkIn, {
      facts: this.numberOf(facts),
      recordedAt: at,
      seenAt: checkIn.at,
    });
  }

  /** Whether the record already says what the check-in says, closely enough. */
  private isToldBy(known: LastSeenRecord, facts: Facts, checkIn: CheckIn): boolean {
    const { at, labels, offeredReleaseId, version, client } = checkIn;
    return (
      labels === undefined &&
      at >= known.recordedAt &&
      at < known.recordedAt + this.freshnessMs &&
      Math.floor(at / HOUR_MS) === Math.floor(known.recordedAt / HOUR_MS) &&
      checkIn.channel === facts.channel &&
      checkIn.platform === facts.platform &&
      checkIn.arch === facts.arch &&
      checkIn.source === facts.source &&
      (version === undefined || version === facts.version) &&
      (client === undefined || (client === facts.client && checkIn.bundle === facts.bundle)) &&
      (offeredReleaseId === undefined || offeredReleaseId === facts.offeredReleaseId)
    );
  }

  private tableOf({ appId, deviceId }: DeviceName): LastSeenTable {
    return this.tables[devicePart(appId, deviceId)] as LastSeenTable;
  }

  private numberOf(facts: Facts): number {
    const text = JSON.stringify(Object.values(facts).map((value) => value ?? null));
    const known = this.factNumbers.get(text);
    if (known !== undefined) return known;
    if (this.facts.length === FACTS_MAX) {
      for (const table of this.tables) table.clear();
      this.facts.length = 0;
      this.factNumbers.clear();
    }
    const number = this.facts.push(facts) - 1;
    this.factNumbers.set(text, number);
    return number;
  }
}

/** Returns the latest check-in of a device that was left out, with the facts that the record needs. */
function lastSeenCheckIn(
  { appId, deviceId }: CheckIn,
  { seenAt }: LastSeenRecord,
  facts: Facts,
): CheckIn {
  return { ...facts, appId, deviceId, at: seenAt, labels: undefined, offeredReleaseId: undefined };
}

// Table of what the record says of devices, in typed arrays: some 28 bytes a device, whatever its id is. It
// has sets of eight entries; a full set makes the table grow, and at its largest size the device that was
// seen longest ago is replaced.
//
// A device whose hash equals that of another would not be recorded, and strangers choose ids: so the hash has
// 64 bits, and a key of its own in each process, and nobody can construct such an id.

/** What is known of a device: the number of its facts, and times in milliseconds since 1970. */
type LastSeenRecord = {
  readonly facts: number;
  /** Last-seen time that is on record. */
  readonly recordedAt: number;
  /** Latest time at which the device was seen, whether it was recorded or left out. */
  readonly seenAt: number;
};

const WAYS = 8;
const SETS_MIN = 2 ** 7;
/** At most 131,072 devices, 3.7 MB. */
const SETS_MAX = 2 ** 14;
const TAG_WORDS = 2;
const TIMES = 2;
const KEY = new Int32Array(new Uint8Array(randomBytes(8)).buffer);

// Cached key of the latest app, a hash of its id: consecutive check-ins mostly belong to the same app.
let lastAppId: string | undefined;
const appKey = new Int32Array(2);
const tag = new Int32Array(TAG_WORDS);

class LastSeenTable {
  private sets = SETS_MIN;
  private tags = new Int32Array(SETS_MIN * WAYS * TAG_WORDS);
  /** Number of the facts plus one; 0 is an empty entry. */
  private facts = new Uint32Array(SETS_MIN * WAYS);
  private times = new Float64Array(SETS_MIN * WAYS * TIMES);
  /** Entry that `find` found last. */
  private found = 0;

  /** Returns what is known of a device, or undefined. */
  find(device: DeviceName): LastSeenRecord | undefined {
    const entry = this.entryOf(device);
    if (entry === undefined) return undefined;
    this.found = entry;
    const [recordedAt = 0, seenAt = 0] = [this.times[entry * TIMES], this.times[entry * TIMES + 1]];
    return { facts: (this.facts[entry] as number) - 1, recordedAt, seenAt };
  }

  /** Notes that the device which `find` found last was seen in a check-in that is left out. */
  see(at: number): void {
    const place = this.found * TIMES + 1;
    this.times[place] = Math.max(this.times[place] as number, at);
  }

  /** Remembers a device. */
  put(device: DeviceName, { facts, recordedAt, seenAt }: LastSeenRecord): void {
    const entry = this.entryOf(device) ?? this.placeForNew();
    this.tags[entry * TAG_WORDS] = tag[0] as number;
    this.tags[entry * TAG_WORDS + 1] = tag[1] as number;
    this.facts[entry] = facts + 1;
    this.times[entry * TIMES] = recordedAt;
    this.times[entry * TIMES + 1] = seenAt;
  }

  /** Forgets a device. */
  forget(device: DeviceName): void {
    const entry = this.entryOf(device);
    if (entry !== undefined) this.facts[entry] = 0;
  }

  /** Forgets all devices. */
  clear(): void {
    this.facts.fill(0);
  }

  /** Returns the device's entry, or undefined; leaves its tag in `tag`. */
  private entryOf({ appId, deviceId }: DeviceName): number | undefined {
    if (appId !== lastAppId) {
      keyedHash(appId, KEY, appKey);
      lastAppId = appId;
    }
    keyedHash(deviceId, appKey, tag);
    const first = this.firstOfSet(tag[0] as number);
    for (let entry = first; entry < first + WAYS; entry++) {
      const at = entry * TAG_WORDS;
      const isSame = this.tags[at] === tag[0] && this.tags[at + 1] === tag[1];
      if (isSame && this.facts[entry] !== 0) return entry;
    }
    return undefined;
  }

  /** Returns an entry for the device of `tag`: an empty one, or that of the device seen longest ago. */
  private placeForNew(): number {
    for (;;) {
      const first = this.firstOfSet(tag[0] as number);
      let oldest = first;
      for (let entry = first; entry < first + WAYS; entry++) {
        if (this.facts[entry] === 0) return entry;
        if (this.seenAt(entry) < this.seenAt(oldest)) oldest = entry;
      }
      if (this.sets === SETS_MAX) return oldest;
      this.grow();
    }
  }

  /** Doubles the sets. The next bit of the tag selects the half that an entry goes to, so each has room. */
  private grow(): void {
    const { tags, facts, times } = this;
    this.sets *= 2;
    this.tags = new Int32Array(this.sets * WAYS * TAG_WORDS);
    this.facts = new Uint32Array(this.sets * WAYS);
    this.times = new Float64Array(this.sets * WAYS * TIMES);
    for (let from = 0; from < facts.length; from++) {
      if (facts[from] === 0) continue;
      let to = this.firstOfSet(tags[from * TAG_WORDS] as number);
      while (this.facts[to] !== 0) to += 1;
      this.tags.set(tags.subarray(from * TAG_WORDS, (from + 1) * TAG_WORDS), to * TAG_WORDS);
      this.facts[to] = facts[from] as number;
      this.times.set(times.subarray(from * TIMES, (from + 1) * TIMES), to * TIMES);
    }
  }

  private firstOfSet(word: number): number {
    return (word & (this.sets - 1)) * WAYS;
  }

  private seenAt(entry: number): number {
    return this.times[entry * TIMES + 1] as number;
  }
}
