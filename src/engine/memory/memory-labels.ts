// The label cache of a single process. `LabelCache` states the obligations.

import { deviceKey } from '../../domain/fleet/check-in.ts';
import type { LabelCache, StoredLabels } from '../../ports/label-cache.ts';

// At most a few hundred megabytes, because a device has few labels.
const ENTRY_COUNT_MAX = 200_000;
const TTL_MS = 3_600_000;

/** The storage part of `LabelCache`; announcements of changes are part of the engine's messages. */
type LabelStore = Pick<LabelCache, 'getLabels' | 'putLabels'>;

type Remembered = { readonly entry: StoredLabels; readonly expiresAt: number };

/** `now` in milliseconds that never go back; `assertOpen` throws when the engine is closed. */
export function createMemoryLabels(now: () => number, assertOpen: () => void): LabelStore {
  // Ordered from least to most recently used. A plain map, because lru-cache allocates its memory in advance:
  // megabytes in every process, also where no release asks for labels.
  const byDevice = new Map<string, Remembered>();

  function find(key: string): StoredLabels | undefined {
    const found = byDevice.get(key);
    if (found === undefined) return undefined;
    byDevice.delete(key);
    if (found.expiresAt <= now()) return undefined;
    byDevice.set(key, found);
    return found.entry;
  }

  function keep(key: string, entry: StoredLabels): void {
    byDevice.delete(key);
    byDevice.set(key, { entry, expiresAt: now() + TTL_MS });
    if (byDevice.size <= ENTRY_COUNT_MAX) return;
    for (const oldest of byDevice.keys()) {
      byDevice.delete(oldest);
      return;
    }
  }

  return {
    async getLabels(devices) {
      assertOpen();
      return devices.map((device) => find(deviceKey(device)));
    },

    async putLabels(entries) {
      assertOpen();
      for (const { appId, deviceId, labels, revision } of entries) {
        const key = deviceKey({ appId, deviceId });
        const known = find(key);
        if (known !== undefined && known.revision > revision) continue;
        keep(key, { appId, deviceId, labels: new Map(labels), revision });
      }
    },
  };
}
