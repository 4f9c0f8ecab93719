// Device windows of a single process. It has nobody to settle with and never asks; this is the rule that
// Redis is measured against, and lets tests run several nodes in one process. Obligations: see the interface.

import { LRUCache } from 'lru-cache';
import { LIMIT } from '../../contract/limit.ts';
import { type SharedWindow, settleDebt } from '../../domain/shared-window.ts';
import type { DeviceRates } from '../../ports/device-rates.ts';

// What falls out starts anew.
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
