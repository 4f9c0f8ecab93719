// Which devices have which labels in the record, as far as this process knows: so that a device that says the
// same labels with every check costs no store anything after the first. Only whether they are the same is
// remembered, in fixed memory; what the labels are stays with the stores.
//
// An entry is good for as long as nobody changes the device's labels. Whoever does tells all processes; for
// whom such a message may not reach, entries run out. What a stale entry can do is little: decisions never
// come from it, and a label that was changed elsewhere in the same moment is not written back until then.

import { hashText } from '../domain/cohort.ts';
import { tagLabels } from '../domain/label.ts';
import { tagText } from '../domain/tag-text.ts';
import type { Labels } from '../domain/targeting.ts';
import type { DeviceName } from '../ports/label-cache.ts';

/** A power of two, of places for four devices each; 16 MiB in all, which only use takes from the machine. */
const SETS = 2 ** 18;
const WAYS = 4;
const WORDS = 4;
const TTL_MS = 600_000;

/**
 * Of an entry: a hash of the device, one of its labels mixed with a second one of the device, their revision,
 * and when it was made. Four words, so that a set is about one cache line.
 */
const [TAG, SAID, REVISION, TIME] = [0, 1, 2, 3];

export class LabelMemory {
  private readonly words = new Int32Array(SETS * WAYS * WORDS);
  private readonly now: () => number;
  /** Which of a full set goes next. */
  private turn = 0;
  // Of the app that came last, which is mostly the one that comes next.
  private appId = '';
  private appTag = tagText('');

  /** `now` in milliseconds that never go back. */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
  }

  /** Remembers that the record has these labels for a device, among others or not, at this revision. */
  note(device: DeviceName, labels: Labels, revision: number): void {
    const { words } = this;
    const hash = hashText(device.deviceId) | 0;
    const tag = this.tagOf(device);
    const at = this.find(hash, tag) ?? this.find(hash, 0) ?? this.nextOf(hash);
    words[at + TAG] = tag;
    words[at + SAID] = tagLabels(labels) ^ hash;
    words[at + REVISION] = revision | 0;
    words[at + TIME] = this.now() | 0;
  }

  /** Whether the record is known to have labels with this `tagLabels` for a device. */
  holds(device: DeviceName, labelsTag: number): boolean {
    const { words } = this;
    const hash = hashText(device.deviceId) | 0;
    const at = this.find(hash, this.tagOf(device));
    if (at === undefined || words[at + SAID] !== (labelsTag ^ hash)) return false;
    const age = ((this.now() | 0) - (words[at + TIME] as number)) | 0;
    return age >= 0 && age < TTL_MS;
  }

  /** The device's labels are now at this revision: what was noted of an earlier one no longer counts. */
  forget(device: DeviceName, revision: number): void {
    const { words } = this;
    const at = this.find(hashText(device.deviceId) | 0, this.tagOf(device));
    if (at === undefined) return;
    if ((words[at + REVISION] as number) < revision) words.fill(0, at, at + WORDS);
  }

  /** Some changes may not have been heard of. */
  clear(): void {
    this.words.fill(0);
  }

  /** Where an entry with this tag lies in the set of a device with this hash. */
  private find(hash: number, tag: number): number | undefined {
    const first = firstOf(hash);
    for (let at = first; at < first + WAYS * WORDS; at += WORDS) {
      if (this.words[at + TAG] === tag) return at;
    }
    return undefined;
  }

  /** Never 0, which is what an empty entry has. */
  private tagOf({ appId, deviceId }: DeviceName): number {
    if (appId !== this.appId) {
      this.appId = appId;
      this.appTag = tagText(appId);
    }
    return tagText(deviceId, this.appTag) | 1;
  }

  private nextOf(hash: number): number {
    this.turn = (this.turn + 1) % WAYS;
    return firstOf(hash) + this.turn * WORDS;
  }
}

function firstOf(hash: number): number {
  return (hash & (SETS - 1)) * WAYS * WORDS;
}
