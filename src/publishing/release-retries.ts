// Lets devices that speak DDI have a release again (docs/contract.md 34.52): all of them by a time that the
// release has from then on, some by changing what is on record of each.

import type { Principal } from '../access/api-keys.ts';
import { isFailure, type Outcome } from '../contract/failure.ts';
import { liftBar } from '../domain/fleet/action-reports.ts';
import type { ActionRecord } from '../fleet/action-record.ts';
import type { Ledger } from '../store/ledger.ts';
import type { ReleaseName, RetriedRelease } from '../store/ledger-terms.ts';
import type { Changes } from './changes.ts';

type ReleaseRetriesDependencies = {
  readonly ledger: Pick<Ledger, 'retryRelease'>;
  readonly changes: Pick<Changes, 'make'>;
  readonly actions: Pick<ActionRecord, 'alter'>;
};

export class ReleaseRetries {
  constructor(private readonly dependencies: ReleaseRetriesDependencies) {}

  /**
   * Ends the bars of these devices from a release, or those of all; returns their number. Rejects with
   * `Unavailable` when a store does not answer; the same call again ends the rest.
   */
  async retry(
    who: Pick<Principal, 'scope' | 'actor'>,
    name: ReleaseName,
    deviceIds: readonly string[] | undefined,
    reason: string | undefined,
  ): Promise<Outcome<Pick<RetriedRelease, 'release' | 'devices'>>> {
    const { ledger, changes, actions } = this.dependencies;
    const ids = deviceIds && [...new Set(deviceIds)];
    const input = { ...name, named: ids?.length };
    const made = await changes.make(ledger.retryRelease, who, input, { reason });
    if (isFailure(made)) return made;
    const { appId, number, release, devices } = made.value;
    if (ids === undefined) return { release, devices };
    const before = await Promise.all(
      ids.map((deviceId) =>
        actions.alter({ appId, deviceId }, 'change', (device) => liftBar(device, number)),
      ),
    );
    return { release, devices: before.filter((each) => each !== undefined).length };
  }
}
