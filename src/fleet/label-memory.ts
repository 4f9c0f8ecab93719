// Memory of which labels are already recorded for which devices, so that a device that sends the same labels
// with every check causes no store access after the first. It has only hashes, in fixed memory; the labels
// themselves stay in the stores.
//
// An entry is valid until the device's labels change. Every change is announced to all processes, and entries
// also expire in case an announcement was lost. A stale entry does little harm: decisions never use it; it
// only delays writing back a label that was changed elsewhere at the same moment. An expired entry still
// shows whether the device now sends other labels, for which no store need be read.

import { hashText } from '../domain/decision/cohort.ts';
import { secondHash } from '../domain/decision/hashes.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import { tagLabels } from '../domain/fleet/labels.ts';
import { type DeviceName, NOTED_REVISION } from '../store/label-store.ts';

/**
 * Number of sets, a power of two, with four entries each: 16 MiB in all, which the machine provides only as
 * it is used.
 */
const SETS = 2 ** 18;
const WAYS = 4;
const WORDS = 4;
const TTL_MS = 600_000;

/**
 * Words of an entry: a hash of the device, a hash of its labels mixed with a second hash of the device, the
 * labels' revision, and the time it was made. Four words, so that a set takes about one cache line.
 */
const [TAG, SAID, REVISION, TIME] = [0, 1, 2, 3];

// Revisions of labels that were sent, below those of all labels that are on record.

/** No release asks for the labels: they count as recorded once a record of exactly them is announced. */
const SENT = -1;
/**
 * A release asks for them: each check notes them again until a record of the device is announced; then they
 * are looked up.
 */
const SENT_ASKED_FOR = -2;
/** A record of the device was announced since they were sent: that of these labels, or another one. */
const IN_DOUBT = -3;

export class StoredLabelMemory {
  private readonly words: Int32Array;
  /** Bits of a hash that number its set. */
  private readonly mask: number;
  /** Time of the latest `clear`, in whole milliseconds. */
  private clearedMs = Number.NEGATIVE_INFINITY;
  /** Index of the entry that is replaced next in a full set. */
  private turn = 0;
  // Cached hash of the latest app id: consecutive requests mostly belong to the same app.
  private appId = '';
  private appTag = secondHash('');
  // Cached hashes of the latest device, about which a check asks more than once.
  private deviceId = '';
  private hash = 0;
  private tag = 0;

  /** `now` returns milliseconds that never go back; `sets` is a power of two. */
  constructor(
    private readonly now: () => number = () => performance.now(),
    sets = SETS,
  ) {
    this.mask = sets - 1;
    this.words = new Int32Array(sets * WAYS * WORDS);
  }

  /** Remembers that the device's record contains these labels (and possibly others) at this revision. */
  note(device: DeviceName, labels: Labels, revision: number): void {
    this.put(device, tagLabels(labels), revision);
  }

  /**
   * Remembers labels that were sent to be recorded, until other labels of the device are announced. If a
   * release asks for them, `holds` stays false, and an announcement leaves them in doubt. `NOT_RECORDED`
   * forgets them.
   */
  noteSent(device: DeviceName, labelsTag: number, areAskedFor: boolean): void {
    this.put(device, labelsTag, areAskedFor ? SENT_ASKED_FOR : SENT);
  }

  /** Returns whether labels with this hash were sent, and a record of the device was announced since. */
  isInDoubt(device: DeviceName, labelsTag: number): boolean {
    const at = this.findSaid(device, labelsTag);
    return this.words[at + REVISION] === IN_DOUBT && this.isValid(at);
  }

  /**
   * Returns whether labels with this hash are certainly not on record, so that the stores need not be read:
   * the device sent other ones before, or it sent these and no record was announced since. False for a device
   * that has no entry.
   */
  areNew(device: DeviceName, labelsTag: number): boolean {
    this.identify(device);
    const { hash } = this;
    const at = this.find(hash, this.tag);
    if (at === undefined) return false;
    if (this.words[at + SAID] !== (labelsTag ^ hash)) return true;
    return this.words[at + REVISION] === SENT_ASKED_FOR && this.isValid(at);
  }

  private put(device: DeviceName, labelsTag: number, revision: number): void {
    const { words } = this;
    this.identify(device);
    const { hash, tag } = this;
    const at = this.find(hash, tag) ?? this.find(hash, 0) ?? this.nextOf(hash);
    words[at + TAG] = tag;
    words[at + SAID] = labelsTag ^ hash;
    words[at + REVISION] = revision | 0;
    words[at + TIME] = this.now() | 0;
  }

  /** Returns whether the device's record is known to contain labels with this hash. */
  holds(device: DeviceName, labelsTag: number): boolean {
    const { words } = this;
    const at = this.findSaid(device, labelsTag);
    if (Number.isNaN(at) || (words[at + REVISION] as number) < SENT) return false;
    return this.ageOf(at) < TTL_MS;
  }

  /**
   * Invalidates the device's entry when it was made at an earlier revision of its labels. Labels that were
   * sent count as recorded at this revision when the record consists of exactly them, and are invalidated
   * when it has others, because announcements may arrive out of order. `recordTag` is the hash of all labels
   * on record; undefined when it is not known.
   */
  forget(device: DeviceName, revision: number, recordTag?: number): void {
    const { words } = this;
    this.identify(device);
    const { hash } = this;
    const at = this.find(hash, this.tag);
    if (at === undefined) return;
    const known = words[at + REVISION] as number;
    const isAskedFor = known < SENT;
    if (isAskedFor && revision === NOTED_REVISION) return;
    const isRecorded = revision > NOT_RECORDED && revision < NOTED_REVISION;
    const isSame = recordTag !== undefined && words[at + SAID] === (recordTag ^ hash);
    if (isAskedFor && isRecorded) words[at + REVISION] = IN_DOUBT;
    else if (known === SENT && isRecorded && isSame) words[at + REVISION] = revision;
    else if (known < revision) words.fill(0, at, at + WORDS);
  }

  /** Invalidates all entries, because announcements may have been missed. */
  clear(): void {
    this.clearedMs = Math.floor(this.now());
  }

  /** Returns the offset of the device's entry if it is of labels with this hash, else NaN. */
  private findSaid(device: DeviceName, labelsTag: number): number {
    this.identify(device);
    const { hash } = this;
    const at = this.find(hash, this.tag);
    return at !== undefined && this.words[at + SAID] === (labelsTag ^ hash) ? at : Number.NaN;
  }

  private isValid(at: number): boolean {
    return this.ageOf(at) < Number.POSITIVE_INFINITY;
  }

  /** Returns the age of an entry in milliseconds; infinite when all were invalidated since it was made. */
  private ageOf(at: number): number {
    const now = this.now();
    // Times are stored modulo 2^32: an entry that seems to be of the future is older than 24 days.
    const ageMs = ((now | 0) - (this.words[at + TIME] as number)) | 0;
    const isValid = ageMs >= 0 && ageMs < Math.floor(now) - this.clearedMs;
    return isValid ? ageMs : Number.POSITIVE_INFINITY;
  }

  /** Returns the offset of the entry with this tag in the set of this hash, or undefined. */
  private find(hash: number, tag: number): number | undefined {
    const first = this.firstOf(hash);
    for (let at = first; at < first + WAYS * WORDS; at += WORDS) {
      if (this.words[at + TAG] === tag) return at;
    }
    return undefined;
  }

  /** Sets the two hashes of a device. The second one is never 0, which marks an empty entry. */
  private identify({ appId, deviceId }: DeviceName): void {
    if (deviceId === this.deviceId && appId === this.appId && this.tag !== 0) return;
    if (appId !== this.appId) {
      this.appId = appId;
      this.appTag = secondHash(appId);
    }
    this.deviceId = deviceId;
    this.hash = hashText(deviceId) | 0;
    this.tag = secondHash(deviceId, this.appTag) | 1;
  }

  private nextOf(hash: number): number {
    this.turn = (this.turn + 1) % WAYS;
    return this.firstOf(hash) + this.turn * WORDS;
  }

  private firstOf(hash: number): number {
    return (hash & this.mask) * WAYS * WORDS;
  }
}

/** Announced revision of a device that has no record, so that the labels which it sent are lost. */
export const NOT_RECORDED = 0;
