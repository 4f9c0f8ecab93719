// Deletion of devices that should never have come to the record, such as those that a client has invented: a
// few at a time, so that check-ins and reports need not wait for long. A call works for a moment and tells
// where the next one goes on.

import { isFailure, type LostRight, type Outcome } from '../contract/failure.ts';
import type { DevicePurge, FleetLedger, PurgePlace } from '../store/fleet-ledger.ts';
import type { Actor } from '../store/ledger-terms.ts';
import type { DeviceLabels } from './device-labels.ts';

export type PurgeDependencies = {
  readonly ledger: Pick<FleetLedger, 'purgeDevices' | 'countPurgeable'>;
  readonly labels: Pick<DeviceLabels, 'forget'>;
  /** Clock in milliseconds that never goes back. */
  readonly now?: () => number;
};

export type PurgeCall = {
  readonly purge: DevicePurge;
  /** Device id after which to go on; undefined for the first call. */
  readonly after: string | undefined;
  /** Whether devices are counted and not deleted. */
  readonly isDryRun: boolean;
};

export type PurgeResult = {
  /** Number of devices that this call has deleted, or would have. */
  readonly devices: number;
  /** Device id after which the next call goes on; null when there is nothing left to look at. */
  readonly next: string | null;
};

/** Milliseconds after which a call begins no other part, so that nobody waits for its answer for long. */
const WORK_MS_MAX = 2000;

export class PurgeDevices {
  private readonly dependencies: PurgeDependencies;
  private readonly now: () => number;

  constructor(dependencies: PurgeDependencies) {
    this.dependencies = dependencies;
    this.now = dependencies.now ?? (() => performance.now());
  }

  /**
   * Deletes devices, or counts them. Rejects with `Unavailable` when a store does not answer; what was
   * deleted by then stays deleted, and the same call again goes on.
   */
  async purge(call: PurgeCall, actor: Actor): Promise<Outcome<PurgeResult, LostRight>> {
    const end = this.now() + WORK_MS_MAX;
    let place: PurgePlace = { after: call.after, auditEntryId: undefined, devices: 0 };
    do {
      const reached = await this.purgePart(call, place, actor);
      if (isFailure(reached)) return reached;
      place = reached;
    } while (place.after !== undefined && this.now() < end);
    return { devices: place.devices, next: place.after ?? null };
  }

  private async purgePart(
    { purge, isDryRun }: PurgeCall,
    place: PurgePlace,
    actor: Actor,
  ): Promise<Outcome<PurgePlace, LostRight>> {
    const { ledger, labels } = this.dependencies;
    if (isDryRun) {
      const { after, devices } = await ledger.countPurgeable(purge, place.after);
      return { ...place, after, devices: place.devices + devices };
    }
    const done = await ledger.purgeDevices(purge, place, actor);
    if (isFailure(done)) return done;
    // After the deletion: what a node read before it is dropped with the rest.
    if (done.purged.length > 0) {
      await labels.forget(done.purged.map((deviceId) => ({ appId: purge.app.id, deviceId })));
    }
    return done.place;
  }
}
