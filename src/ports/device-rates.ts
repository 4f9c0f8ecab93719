// The part of the engine in which processes settle the requests of busy devices with each other.
// Rejects with `Unavailable` when the engine does not answer.

import type { DeviceDebt } from '../domain/shared-window.ts';
import type { RateDecision } from './engine.ts';

export interface DeviceRates {
  /**
   * For each debt, in order: counts what the process owes, unless it was told before, then decides on its
   * request by the rule of `settleDebt`, with the device limit and the rate window. Atomic per device. The
   * engine's clock decides, so that processes whose clocks differ share one window. One round trip. What is
   * kept of a device goes a window after its last request.
   */
  settleDevices(debts: readonly DeviceDebt[]): Promise<readonly RateDecision[]>;
}
