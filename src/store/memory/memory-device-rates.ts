// Shared rate windows in memory. A single process never needs them; they are the reference that the Redis
// implementation is tested against, and let tests run several nodes in one process. `DeviceRates` states the
// obligations.

import { LRUCache } from 'lru-cache';
import { LIMIT } from '../../contract/limit.ts';
import { type SharedWindow, settleDebt } from '../../domain/fleet/shared-window.ts';
import type { DeviceRates } from '../device-rates.ts';

// An evicted window starts anew.
const WINDOW_COUNT_MAX = 10_000;

/** `now` in milliseconds that never go back; `assertOpen` throws when the engine is closed. */
export function createMemoryDeviceRates(now: () => number, assertOpen: () => void): DeviceRates {
  let windows: LRUCache<string, SharedWindow> | undefined;
  return {
    async settleDevices(debts) {
      assertOpen();
      windows ??= new LRUCache({ max: WINDOW_COUNT_MAX });
      return debts.map((debt) => {
        const window = windows?.get(debt.device) ?? new Map<string, number>();
        windows?.set(debt.device, window);
        const { deviceRequestsPerMinute, rateWindowMs } = LIMIT;
        const waitMs = settleDebt(window, debt, deviceRequestsPerMinute, rateWindowMs, now());
        return { isAllowed: waitMs === 0, waitMs };
      });
    },
  };
}
