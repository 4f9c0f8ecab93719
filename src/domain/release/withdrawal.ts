// Withdrawal of a release. It is allowed only if the release was never offered and no device runs it: later
// decisions for such devices need its data.

import { type Failure, fail } from '../../contract/failure.ts';
import type { ReleaseStatus } from '../../contract/resource.ts';

/** Returns what prevents the withdrawal of a release; undefined if nothing does. */
export function obstacleToWithdrawal(release: {
  readonly status: ReleaseStatus;
  readonly offered: boolean;
  /** Number of recorded devices that run it. */
  readonly devices: number;
}): Failure | undefined {
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
