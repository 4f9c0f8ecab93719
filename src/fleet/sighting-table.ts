// Table of what the record says of devices, in typed arrays: some 28 bytes a device, whatever its id is. Sets
// of eight entries; a full set makes the table grow, and at its largest the device that was seen longest ago
// gives way.
//
// Strangers choose ids, and a device that is taken for another would not be recorded: the hash has 64 bits,
// and a key of its own in each process, so nobody can construct such an id.

import { randomBytes } from 'node:crypto';
import { keyedHash } from '../domain/decision/hashes.ts';
import type { DeviceName } from '../store/label-store.ts';

/** What is known of a device: the number of its facts, and times in milliseconds since 1970. */
export type DeviceSighting = {
  readonly facts: number;
  /** Last sighting that is on record. */
  readonly recordedAt: number;
  /** Last sighting, on record or left out. */
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

export class SightingTable {
  private sets = SETS_MIN;
  private tags = new Int32Array(SETS_MIN * WAYS * TAG_WORDS);
  /** Number of the facts plus one; 0 is an empty entry. */
  private facts = new Uint32Array(SETS_MIN * WAYS);
  private times = new Float64Array(SETS_MIN * WAYS * TIMES);
  /** Entry that `find` found last. */
  private found = 0;

  /** Returns what is known of a device, or undefined. */
  find(device: DeviceName): DeviceSighting | undefined {
    const entry = this.entryOf(device);
    if (entry === undefined) return undefined;
    this.found = entry;
    const [recordedAt = 0, seenAt = 0] = [this.times[entry * TIMES], this.times[entry * TIMES + 1]];
    return { facts: (this.facts[entry] as number) - 1, recordedAt, seenAt };
  }

  /** Notes that the device which `find` found last was seen, in a check-in that is left out. */
  see(at: number): void {
    const place = this.found * TIMES + 1;
    this.times[place] = Math.max(this.times[place] as number, at);
  }

  /** Remembers a device. */
  put(device: DeviceName, { facts, recordedAt, seenAt }: DeviceSighting): void {
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

  /** Returns the device's entry, or undefined; leaves its tag behind. */
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

  /** Returns an empty entry for the device whose tag was left behind, or one whose device gives way. */
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

  /** Doubles the sets. The next bit of the tag tells which half an entry goes to, so that each has room. */
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
