// The actions of devices in a single process. `ActionStore` states the obligations.

import { LRUCache } from 'lru-cache';
import { deviceKey } from '../../domain/fleet/check-in.ts';
import type { ActionStore } from '../action-store.ts';
import type { ChangePosition } from '../label-store.ts';

/** Maximum number of devices held; the ledger has the actions of all. A few hundred bytes each. */
const DEVICES_MAX = 200_000;

type Entry = { readonly revision: number; readonly text: string; readonly unstoredSince: number };

/** `assertOpen` throws when the engine is closed. */
export function createMemoryActions(assertOpen: () => void): ActionStore {
  const entries = new LRUCache<string, Entry>({ max: DEVICES_MAX });
  let position: ChangePosition | undefined;
  return {
    async getActions(devices) {
      assertOpen();
      return devices.map((device) => {
        const entry = entries.get(deviceKey(device));
        if (entry === undefined) return undefined;
        return { text: entry.text, isConfirmed: true, unstoredSince: entry.unstoredSince };
      });
    },

    async putActions(stored) {
      assertOpen();
      for (const { revision, text, ...device } of stored) {
        const known = entries.peek(deviceKey(device));
        if (known !== undefined && known.revision > revision) continue;
        entries.set(deviceKey(device), { revision, text, unstoredSince: 0 });
      }
    },

    async changeActions(changes) {
      assertOpen();
      return changes.map(({ revision, text, expected, unstoredSince, ...device }) => {
        const key = deviceKey(device);
        if ((entries.peek(key)?.revision ?? 0) !== expected) return false;
        entries.set(key, { revision, text, unstoredSince });
        return true;
      });
    },

    async noteStored(stored) {
      assertOpen();
      for (const { revision, ...device } of stored) {
        const key = deviceKey(device);
        const known = entries.peek(key);
        if (known?.revision === revision) entries.set(key, { ...known, unstoredSince: 0 });
      }
    },

    async dropActions(devices) {
      assertOpen();
      for (const device of devices) entries.delete(deviceKey(device));
    },

    async readActionPosition() {
      assertOpen();
      return position;
    },

    async moveActionPosition(from, to) {
      assertOpen();
      if (position?.epoch !== from?.epoch || position?.position !== from?.position) return false;
      position = to;
      return true;
    },
  };
}
