// Which devices have which labels in the record, as far as this process knows: so that a device that says the
// same labels with every check costs no store anything after the first. Only whether they are the same is
// remembered, in fixed memory; what the labels are stays with the stores.
//
// An entry is good for as long as nobody changes the device's labels. Whoever does tells all processes; for
// whom such a message may not reach, entries run out. What a stale entry can do is little: decisions never
// come from it, and a label that was changed elsewhere in the same moment is not written back until then.

import { hashText } from '../domain/cohort.ts';
import { tagText } from '../domain/tag-text.ts';
import type { Labels } from '../domain/targeting.ts';
import type { DeviceName } from '../ports/label-cache.ts';

/** A power of two, of places for four devices each; 20 MiB in all, which only use takes from the machine. */
const SETS = 2 ** 18;
const WAYS = 4;
const WORDS = 5;
const TTL_MS = 600_000;

/** Of an entry: two hashes of the device, one of its labels, their revision, and when it was made. */
const [DEVICE, TAG, LABELS, REVISION, TIME] = [0, 1, 2, 3, 4];

export class LabelMemory {
  private readonly words = new Int32Array(SETS * WAYS * WORDS);
  private readonly now: () => number;
  /** Which of a full set goes next. */
  private turn = 0;

  /** `now` in milliseconds that never go back. */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** Remembers that the record has these labels for a device, among others or not, at this revision. */
  note(device: DeviceName, labels: Labels, revision: number): void {
    const { words } = this;
    const hash = hashText(device.deviceId) | 0;
    const tag = tagOf(device);
    const at = this.find(hash, tag) ?? this.find(0, 0, hash) ?? this.nextOf(hash);
    words[at + DEVICE] = hash;
    words[at + TAG] = tag;
    words[at + LABELS] = hashLabels(labels);
    words[at + REVISION] = revision | 0;
    words[at + TIME] = this.now() | 0;
  }

  /** Whether the record is known to have these labels for a device. */
  holds(device: DeviceName, labels: Labels): boolean {
    const { words } = this;
    const at = this.find(hashText(device.deviceId) | 0, tagOf(device));
    if (at === undefined) return false;
    const age = ((this.now() | 0) - (words[at + TIME] as number)) | 0;
    return age >= 0 && age < TTL_MS && words[at + LABELS] === hashLabels(labels);
  }

  /** The device's labels are now at this revision: what was noted of an earlier one no longer counts. */
  forget(device: DeviceName, revision: number): void {
    const { words } = this;
    const at = this.find(hashText(device.deviceId) | 0, tagOf(device));
    if (at === undefined) return;
    if ((words[at + REVISION] as number) < revision) words.fill(0, at, at + WORDS);
  }

  /** Some changes may not have been heard of. */
  clear(): void {
    this.words.fill(0);
  }

  /** Where an entry lies in the set of a device with the hash `of`. */
  private find(hash: number, tag: number, of = hash): number | undefined {
    const first = firstOf(of);
    for (let at = first; at < first + WAYS * WORDS; at += WORDS) {
      if (this.words[at + TAG] === tag && this.words[at + DEVICE] === hash) return at;
    }
    return undefined;
  }

  private nextOf(hash: number): number {
    this.turn = (this.turn + 1) % WAYS;
    return firstOf(hash) + this.turn * WORDS;
  }
}

function firstOf(hash: number): number {
  return (hash & (SETS - 1)) * WAYS * WORDS;
}

/** Never 0, which is what an empty entry has. */
function tagOf({ appId, deviceId }: DeviceName): number {
  return tagText(deviceId, tagText(appId)) | 1;
}

/** The same for the same pairs in any order. */
function hashLabels(labels: Labels): number {
  let sum = labels.size;
  for (const [key, value] of labels) sum = (sum + tagText(value, tagText(key))) | 0;
  return sum;
}
