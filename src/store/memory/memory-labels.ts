// The label cache of a single process. `LabelCache` states the obligations.

import { Unavailable } from '../../contract/unavailable.ts';
import { deviceKey } from '../../domain/fleet/check-in.ts';
import {
  LABEL_NOTE_KEYS_MAX,
  LABEL_NOTE_LIFETIME_MS,
  type LabelCache,
  type LabelNote,
  type LabelNoteStore,
  type LabelPosition,
  type StoredLabels,
} from '../label-store.ts';

// At most a few hundred megabytes, because a device has few labels.
const ENTRY_COUNT_MAX = 200_000;
const HOUR_MS = 3_600_000;
/** Age below which an entry is confirmed. */
const CONFIRMED_MS = HOUR_MS;
/** Longest life of an entry that nobody asks for. */
const LIFETIME_MS = 7 * 24 * HOUR_MS;

/** The storage part of `LabelCache`; announcements of changes are part of the engine's messages. */
type LabelStore = Pick<
  LabelCache,
  'getLabels' | 'putLabels' | 'dropLabels' | 'readLabelPosition' | 'moveLabelPosition'
>;

type Remembered = { readonly entry: StoredLabels; readonly putAt: number; readonly usedAt: number };

/** `now` in milliseconds that never go back; `assertOpen` throws when the engine is closed. */
export function createMemoryLabels(now: () => number, assertOpen: () => void): LabelStore {
  // Ordered from least to most recently used. A plain map, because lru-cache allocates its memory in advance:
  // megabytes in every process, also where no release asks for labels.
  const byDevice = new Map<string, Remembered>();
  let held: LabelPosition | undefined;
  /** Time before which no entry is confirmed. */
  let doubtedAt = Number.NEGATIVE_INFINITY;

  function isConfirmed({ putAt }: Remembered): boolean {
    return putAt >= doubtedAt && now() - putAt < CONFIRMED_MS;
  }

  /** Returns the entry of a device, which is used by that. */
  function find(key: string): Remembered | undefined {
    const found = byDevice.get(key);
    if (found === undefined) return undefined;
    byDevice.delete(key);
    if (found.usedAt + LIFETIME_MS <= now()) return undefined;
    const used = { ...found, usedAt: now() };
    byDevice.set(key, used);
    return used;
  }

  function keep(key: string, entry: StoredLabels): void {
    byDevice.delete(key);
    byDevice.set(key, { entry, putAt: now(), usedAt: now() });
    if (byDevice.size <= ENTRY_COUNT_MAX) return;
    for (const oldest of byDevice.keys()) {
      byDevice.delete(oldest);
      return;
    }
  }

  return {
    async getLabels(devices) {
      assertOpen();
      return devices.map((device) => {
        const found = find(deviceKey(device));
        return found && { ...found.entry, isConfirmed: isConfirmed(found) };
      });
    },

    async putLabels(entries) {
      assertOpen();
      for (const { appId, deviceId, labels, revision } of entries) {
        const key = deviceKey({ appId, deviceId });
        const known = byDevice.get(key);
        const isNewer = known !== undefined && known.entry.revision > revision;
        if (isNewer && isConfirmed(known)) continue;
        keep(key, { appId, deviceId, labels: new Map(labels), revision });
      }
    },

    async dropLabels(devices) {
      assertOpen();
      for (const device of devices) byDevice.delete(deviceKey(device));
    },

    async readLabelPosition() {
      assertOpen();
      return held;
    },

    async moveLabelPosition(from, to, doubt) {
      assertOpen();
      if (held?.epoch !== from?.epoch || held?.position !== from?.position) return false;
      held = to;
      if (doubt) doubtedAt = now();
      return true;
    },
  };
}

// Notes of labels that are not on record yet, in one process. Only a process whose check-ins survive it has
// use for them: the notes end with it, and its check-ins bring the labels to the record. `LabelNoteStore`
// states the obligations.

/** Maximum number of devices with notes: some hundred megabytes, were each of them to have all labels. */
const DEVICES_MAX = 100_000;

type Note = { readonly value: string; readonly at: number; readonly notedAt: number };

/**
 * Creates the notes. `now` returns milliseconds that never go back; `endedBefore`, if given, the time by that
 * clock before which everything that was noted is on record. `assertOpen` throws when the engine is closed.
 */
export function createMemoryLabelNotes(
  now: () => number,
  endedBefore: () => number,
  assertOpen: () => void,
): LabelNoteStore {
  // In the order of their latest notes, so that those that have ended are in front.
  const byDevice = new Map<string, Map<string, Note>>();
  const firstLiving = () => Math.max(endedBefore(), now() - LABEL_NOTE_LIFETIME_MS);

  /** Removes devices in front whose notes have all ended; at most some at a time. */
  function removeEnded(countMax: number): void {
    const first = firstLiving();
    let count = 0;
    for (const [device, notes] of byDevice) {
      const isLiving = [...notes.values()].some(({ notedAt }) => notedAt >= first);
      if (isLiving || ++count > countMax) return;
      byDevice.delete(device);
    }
  }

  function noteOne({ appId, deviceId, labels, at }: LabelNote): void {
    const device = deviceKey({ appId, deviceId });
    const notes = byDevice.get(device) ?? new Map<string, Note>();
    if (notes.size === 0 && byDevice.size >= DEVICES_MAX) {
      throw new Unavailable(
        'engine',
        new Error('too many devices wait for their labels to be recorded'),
      );
    }
    for (const [key, value] of labels) {
      const known = notes.get(key);
      if (known !== undefined && known.at > at) continue;
      notes.set(key, { value, at, notedAt: now() });
    }
    byDevice.delete(device);
    byDevice.set(device, withinBound(notes));
  }

  return {
    async noteLabels(notes) {
      assertOpen();
      // Twice as many as are added: what has ended becomes less, whatever comes.
      removeEnded(2 * notes.length);
      for (const each of notes) noteOne(each);
    },

    async readLabelNotes(devices) {
      assertOpen();
      const first = firstLiving();
      return devices.map((device) => {
        const living = [...(byDevice.get(deviceKey(device)) ?? [])].filter(
          ([, { notedAt }]) => notedAt >= first,
        );
        if (living.length === 0) return undefined;
        return new Map(living.map(([key, { value }]) => [key, value]));
      });
    },

    async settleLabelNotes(settled) {
      assertOpen();
      for (const { labelKeys, until, ...device } of settled) {
        const name = deviceKey(device);
        const notes = byDevice.get(name);
        if (notes === undefined) continue;
        for (const key of labelKeys) {
          if ((notes.get(key)?.at ?? Number.POSITIVE_INFINITY) <= until) notes.delete(key);
        }
        if (notes.size === 0) byDevice.delete(name);
      }
    },

    async dropLabelNotes(devices) {
      assertOpen();
      for (const device of devices) byDevice.delete(deviceKey(device));
    },
  };
}

/** Returns the notes of a device, without the oldest where there are too many. */
function withinBound(notes: Map<string, Note>): Map<string, Note> {
  if (notes.size <= LABEL_NOTE_KEYS_MAX) return notes;
  const newest = [...notes].sort(([, left], [, right]) => right.at - left.at);
  return new Map(newest.slice(0, LABEL_NOTE_KEYS_MAX));
}
