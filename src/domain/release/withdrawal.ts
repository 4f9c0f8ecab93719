// Withdrawal of a release: it is allowed while nobody can have it. What a device was offered or runs must
// stay known, because the device is still decided for by it.

import { type Failure, fail } from '../../contract/failure.ts';
import type { ReleaseStatus } from '../../contract/resource.ts';

/** Kinds of refusal of a withdrawal. */
export type WithdrawalObstacle = 'alreadyOffered' | 'alreadyRunning' | 'rolledBack';

/** Returns what keeps a release from being withdrawn; undefined when nothing does. */
export function obstacleToWithdrawal(release: {
  readonly status: ReleaseStatus;
  readonly offered: boolean;
  /** Number of devices on record that run it. */
  readonly devices: number;
}): Failure<WithdrawalObstacle> | undefined {
  const { status, offered, devices } = release;
  if (status === 'rolled_back') {
    return fail('rolledBack', 'A rolled-back release cannot be withdrawn: its version stays taken');
  }
  if (offered) return fail('alreadyOffered');
  if (devices === 0) return undefined;
  const fleet = `${devices} ${devices === 1 ? 'device' : 'devices'}`;
  return fail(
    'alreadyRunning',
    `This release already runs on ${fleet}: pause it to stop offering it, or roll it back to pull it`,
  );
}
