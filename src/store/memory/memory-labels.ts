// The label cache of a single process. `LabelCache` states the obligations.

import { deviceKey } from '../../domain/fleet/check-in.ts';
import type { LabelCache, LabelPosition, StoredLabels } from '../label-store.ts';

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
