// Erases a device at its owner's request: deletes it from the record and from every cache. If the device asks
// again, it counts as a new one.

import type { Principal } from '../access/api-keys.ts';
import { isFailure, type Outcome } from '../contract/failure.ts';
import { pause } from '../flow/pause.ts';
import type { Ledger } from '../store/ledger.ts';
import type { DeviceLabels } from './device-labels.ts';

type EraseDependencies = {
  readonly ledger: Pick<Ledger, 'eraseDevice' | 'findApp'>;
  readonly labels: Pick<DeviceLabels, 'forget'>;
};

/**
 * Milliseconds by which a node's copy of the ledger's clock may be wrong, because round trips bound its
 * precision. Check-ins up to so long after the erasure count as received before it.
 */
const SLACK_MS = 250;

/**
 * Erases a device. Answers so late that a check after the answer is, by the clock of any node, later than the
 * check-ins that count as received before. Rejects with `Unavailable` when a store does not answer; the same
 * call again finishes the rest, though it may find the device already deleted from the record.
 */
export async function eraseDevice(
  { ledger, labels }: EraseDependencies,
  { scope, actor }: Principal,
  appName: string,
  deviceId: string,
): Promise<Outcome<undefined>> {
  const app = await ledger.findApp(scope, appName);
  if (isFailure(app)) return app;
  const erased = await ledger.eraseDevice(scope, app.id, deviceId, SLACK_MS, actor);
  const isGone = !isFailure(erased) || erased.failure === 'unknownDevice';
  const mayErase = actor.kind !== 'key' || actor.lacks === undefined;
  // After the deletion, so that this also drops what a node read into a cache just before it.
  if (isGone && mayErase) await labels.forget([{ appId: app.id, deviceId }]);
  if (!isFailure(erased)) await pause(2 * SLACK_MS);
  return erased;
}
