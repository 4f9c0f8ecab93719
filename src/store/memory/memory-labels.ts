// The label cache of a single process. `LabelCache` states the obligations.

import { Overloaded } from '../../contract/store-fault.ts';
import { deviceKey } from '../../domain/fleet/check-in.ts';
import { latestTimes, type TimedLabels } from '../../domain/fleet/labels.ts';
import {
  type ChangePosition,
  LABEL_NOTE_KEYS_MAX,
  LABEL_NOTE_LIFETIME_MS,
  type LabelCache,
  type LabelNote,
  type LabelUpdate,
  type StoredLabels,
} from '../label-store.ts';

// At most a few hundred megabytes, because a device has few labels.
const ENTRY_COUNT_MAX = 200_000;
/** Maximum number of devices with notes: some hundred megabytes if each of them has all labels. */
const NOTED_COUNT_MAX = 100_000;
const HOUR_MS = 3_600_000;
/** Age below which an entry is confirmed. */
const CONFIRMED_MS = HOUR_MS;
/** Longest life of an entry that nobody asks for. */
const LIFETIME_MS = 7 * 24 * HOUR_MS;

/** The storage part of `LabelCache`; announcements of changes are part of the engine's messages. */
type LabelStore = Omit<LabelCache, 'tellLabels' | 'onLabels'>;

type Remembered = { readonly entry: StoredLabels; readonly putAt: number; readonly usedAt: number };

export function createMemoryLabels({
  now,
  notesEndedBefore,
  assertOpen,
}: {
  /** Returns milliseconds that never go back. */
  readonly now: () => number;
  /** Returns a time by `now`: notes made before it are on record. Without it, none may be made. */
  readonly notesEndedBefore: (() => number) | undefined;
  /** Throws when the engine is closed. */
  readonly assertOpen: () => void;
}): LabelStore {
  const entries = createEntries(now);
  const notes = createNotes(now, notesEndedBefore ?? (() => Number.NEGATIVE_INFINITY));
  let held: ChangePosition | undefined;
  /** Time before which no entry is confirmed. */
  let doubtedAt = Number.NEGATIVE_INFINITY;

  function isConfirmed({ putAt }: Remembered): boolean {
    return putAt >= doubtedAt && now() - putAt < CONFIRMED_MS;
  }

  function putOne({ settled, ...entry }: LabelUpdate): void {
    const key = deviceKey(entry);
    const known = entries.peek(key);
    const isNewer = known !== undefined && known.entry.revision > entry.revision;
    if (!isNewer || !isConfirmed(known)) entries.keep(key, entry);
    notes.settle(key, latestTimes(entry.times, settled));
  }

  return {
    keepsNotes: notesEndedBefore !== undefined,

    async getLabels(devices) {
      assertOpen();
      return devices.map((device) => {
        const key = deviceKey(device);
        const found = entries.use(key);
        return {
          stored: found?.entry,
          isConfirmed: found !== undefined && isConfirmed(found),
          notes: notes.read(key),
        };
      });
    },

    async putLabels(updates) {
      assertOpen();
      for (const each of updates) putOne(each);
    },

    async noteLabels(noted) {
      assertOpen();
      notes.add(noted);
    },

    async dropLabels(devices) {
      assertOpen();
      for (const device of devices) {
        entries.drop(deviceKey(device));
        notes.drop(deviceKey(device));
      }
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

// Labels on record.

function createEntries(now: () => number) {
  // Ordered from least to most recently used. A plain map, because lru-cache allocates its memory in advance:
  // megabytes in every process, also where no release asks for labels.
  const byDevice = new Map<string, Remembered>();
  return {
    peek: (key: string) => byDevice.get(key),

    /** Returns the entry of a device, and marks it as the most recently used. */
    use(key: string): Remembered | undefined {
      const found = byDevice.get(key);
      if (found === undefined) return undefined;
      byDevice.delete(key);
      if (found.usedAt + LIFETIME_MS <= now()) return undefined;
      const used = { ...found, usedAt: now() };
      byDevice.set(key, used);
      return used;
    },

    keep(key: string, { appId, deviceId, labels, times, revision }: StoredLabels): void {
      const entry = {
        ...{ appId, deviceId, revision },
        ...{ labels: new Map(labels), times: new Map(times) },
      };
      byDevice.delete(key);
      byDevice.set(key, { entry, putAt: now(), usedAt: now() });
      if (byDevice.size <= ENTRY_COUNT_MAX) return;
      for (const oldest of byDevice.keys()) {
        byDevice.delete(oldest);
        return;
      }
    },

    drop: (key: string) => byDevice.delete(key),
  };
}

// Notes, separate from the labels on record: reads of other devices must not evict them.

type Note = { readonly value: string; readonly at: number; readonly notedAt: number };

function createNotes(now: () => number, endedBefore: () => number) {
  // In the order of their latest notes, so that devices whose notes have ended come first.
  const byDevice = new Map<string, Map<string, Note>>();
  const isLiving = ({ notedAt }: Note) =>
    notedAt >= Math.max(endedBefore(), now() - LABEL_NOTE_LIFETIME_MS);

  /** Removes at most `countMax` of the first devices, as long as all notes of each have ended. */
  function removeEnded(countMax: number): void {
    let count = 0;
    for (const [device, notes] of byDevice) {
      if ([...notes.values()].some(isLiving) || ++count > countMax) return;
      byDevice.delete(device);
    }
  }

  function addOne({ appId, deviceId, labels, at }: LabelNote): void {
    const device = deviceKey({ appId, deviceId });
    const notes = byDevice.get(device) ?? new Map<string, Note>();
    if (notes.size === 0 && byDevice.size >= NOTED_COUNT_MAX) {
      throw new Overloaded('too many devices wait for their labels to be recorded');
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
    add(notes: readonly LabelNote[]): void {
      // Twice as many as are added, so that the number of ended ones falls under any load.
      removeEnded(2 * notes.length);
      for (const each of notes) addOne(each);
    },

    read(device: string): TimedLabels | undefined {
      const living = [...(byDevice.get(device) ?? [])].filter(([, note]) => isLiving(note));
      if (living.length === 0) return undefined;
      return {
        labels: new Map(living.map(([key, { value }]) => [key, value])),
        times: new Map(living.map(([key, { at }]) => [key, at])),
      };
    },

    settle(device: string, settled: ReadonlyMap<string, number>): void {
      const notes = byDevice.get(device);
      if (notes === undefined) return;
      for (const [key, until] of settled) {
        if ((notes.get(key)?.at ?? Number.POSITIVE_INFINITY) <= until) notes.delete(key);
      }
      if (notes.size === 0) byDevice.delete(device);
    },

    drop: (device: string) => byDevice.delete(device),
  };
}

/** Returns the notes of a device; if there are too many, only the newest. */
function withinBound(notes: Map<string, Note>): Map<string, Note> {
  if (notes.size <= LABEL_NOTE_KEYS_MAX) return notes;
  const newest = [...notes].sort(([, left], [, right]) => right.at - left.at);
  return new Map(newest.slice(0, LABEL_NOTE_KEYS_MAX));
}
