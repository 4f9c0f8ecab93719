// The part of the engine in which several processes share the rate limit of busy devices. Its method rejects
// with `Unavailable` when the engine does not answer.

import type { DeviceDebt } from '../domain/fleet/shared-window.ts';
import type { RateDecision } from './rate-decision.ts';

export interface DeviceRates {
  /**
   * Handles each debt, in order: records the owed requests, unless they were reported before, then decides
   * the request by the rule of `settleDebt` with the device limit and the rate window. Atomic per device, in
   * one round trip. The engine's clock is used, so that processes whose clocks differ share one window. A
   * device's state expires one window after its last request.
   */
  settleDevices(debts: readonly DeviceDebt[]): Promise<readonly RateDecision[]>;
}
