// Memory of devices that are on record, so that the ledger need not look for a device again that this process
// has recorded lately. In fixed memory: a device that is not in it is only looked for once more.
//
// An entry is valid for a day: a device that is deleted meanwhile would be recorded again without a question.
// Strangers choose ids, and one that is taken for another's would be, too: the hash has a key of its own in
// each process, so nobody can construct such an id.

import { randomBytes } from 'node:crypto';
import { keyedHash } from '../domain/decision/hashes.ts';
import type { DeviceName } from '../store/label-store.ts';

/**
 * Number of sets, a power of two, with eight entries each: 16 MiB in all for two million devices, which the
 * machine provides only as it is used.
 */
const SETS = 2 ** 18;
const WAYS = 8;
const WORDS = 2;
const KEY_BYTES = 8;
const HOUR_MS = 3_600_000;
const HOURS_MAX = 24;
/** Bits of an entry's second word that hold the hour it was made in; the others hold hash. */
const HOUR_MASK = 0xff;

export class RecordedDevices {
  private readonly words = new Int32Array(SETS * WAYS * WORDS);
  private readonly key = new Int32Array(new Uint8Array(randomBytes(KEY_BYTES)).buffer);
  // Cached key of the latest app, a hash of its id: consecutive check-ins mostly belong to the same app.
  private appId: string | undefined;
  private readonly appKey = new Int32Array(2);
  /** Hash of the device that was asked about last: the set and the first word, and the second word. */
  private readonly hash = new Int32Array(2);
  private readonly now: () => number;
  /** Index of the entry that is replaced next in a full set. */
  private turn = 0;

  /** `now` returns milliseconds that never go back. */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** Remembers that the device is on record. */
  note(device: DeviceName): void {
    const at = this.find(device) ?? this.placeForNew();
    this.words[at] = this.hash[0] as number;
    this.words[at + 1] = this.secondWord(this.hour());
  }

  /** Whether the device is known to be on record. */
  has(device: DeviceName): boolean {
    const at = this.find(device);
    if (at === undefined) return false;
    const age = (this.hour() - (this.words[at + 1] as number)) & HOUR_MASK;
    return age < HOURS_MAX;
  }

  /** Forgets a device. */
  forget(device: DeviceName): void {
    const at = this.find(device);
    if (at !== undefined) this.words.fill(0, at, at + WORDS);
  }

  /** Forgets all devices. */
  clear(): void {
    this.words.fill(0);
  }

  /** Returns the offset of the device's entry, or undefined; leaves the device's hash behind. */
  private find(device: DeviceName): number | undefined {
    const { words, hash } = this;
    const { appId, deviceId } = device;
    if (appId !== this.appId) {
      keyedHash(appId, this.key, this.appKey);
      this.appId = appId;
    }
    keyedHash(deviceId, this.appKey, hash);
    const first = this.firstOfSet();
    for (let at = first; at < first + WAYS * WORDS; at += WORDS) {
      const isSame = ((words[at + 1] as number) & ~HOUR_MASK) === this.secondWord(0);
      if (isSame && words[at] === hash[0]) return at;
    }
    return undefined;
  }

  /** Returns the offset of an empty entry in the set of the device, else of the next in turn. */
  private placeForNew(): number {
    const first = this.firstOfSet();
    for (let at = first; at < first + WAYS * WORDS; at += WORDS) {
      if (this.words[at] === 0 && this.words[at + 1] === 0) return at;
    }
    this.turn = (this.turn + 1) % WAYS;
    return first + this.turn * WORDS;
  }

  private firstOfSet(): number {
    return ((this.hash[0] as number) & (SETS - 1)) * WAYS * WORDS;
  }

  private secondWord(hour: number): number {
    return ((this.hash[1] as number) & ~HOUR_MASK) | hour;
  }

  private hour(): number {
    return Math.floor(this.now() / HOUR_MS) & HOUR_MASK;
  }
}
