// Erasure of a device on request of whoever it belongs to: it goes from the record and from every cache, and
// is a new device when it asks again.

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
 * Milliseconds by which the clocks of nodes may differ from the ledger's, which they follow as exactly as a
 * round trip tells. Check-ins of so long after the erasure count as received before.
 */
const SLACK_MS = 250;

/**
 * Erases a device. It answers late enough for a check after the answer to be later than what counts as
 * received before, by the clock of any node. Rejects with `Unavailable` when a store does not answer; the
 * same call again finishes what is left, though it may find the device gone from the record.
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
  // After the deletion: what a node read before it is dropped with the rest.
  if (isGone && mayErase) await labels.forget([{ appId: app.id, deviceId }]);
  if (!isFailure(erased)) await pause(2 * SLACK_MS);
  return erased;
}
