// The label cache of a single process. Obligations: see the interface.

import { deviceKey } from '../../domain/check-in.ts';
import type { DeviceLabels, LabelCache } from '../../ports/label-cache.ts';

// With the few labels a device has, some hundred megabytes at most.
const ENTRY_COUNT_MAX = 200_000;
const TTL_MS = 3_600_000;

/** The news travel with those of other kinds. */
type LabelStore = Pick<LabelCache, 'getLabels' | 'putLabels'>;

type Remembered = { readonly entry: DeviceLabels; readonly expiresAt: number };

/** `now` in milliseconds that never go back; `assertOpen` throws when the engine is closed. */
export function createMemoryLabels(now: () => number, assertOpen: () => void): LabelStore {
  // The least recently used first. A plain map, because the cache package reserves its memory in advance:
  // megabytes in every process, also where no release asks for labels.
  const byDevice = new Map<string, Remembered>();

  function find(key: string): DeviceLabels | undefined {
    const found = byDevice.get(key);
    if (found === undefined) return undefined;
    byDevice.delete(key);
    if (found.expiresAt <= now()) return undefined;
    byDevice.set(key, found);
    return found.entry;
  }

  function keep(key: string, entry: DeviceLabels): void {
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
