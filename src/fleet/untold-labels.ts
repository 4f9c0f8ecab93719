// Labels on record that the engine was not told, because it did not answer. Until it is, this process knows
// them better than the engine does.

import { deviceKey } from '../domain/fleet/check-in.ts';
import type { CachedLabels, DeviceName, StoredLabels } from '../store/label-store.ts';

/** Maximum number of entries; those beyond it are left to the feed (`label-feed.ts`). */
const UNTOLD_MAX = 10_000;

export class UntoldLabels {
  private readonly byDevice = new Map<string, StoredLabels>();

  get size(): number {
    return this.byDevice.size;
  }

  /** All entries, each the newest of its device. */
  get entries(): readonly StoredLabels[] {
    return [...this.byDevice.values()];
  }

  /** Keeps entries, unless newer ones of the devices are kept, or there is no room. */
  add(entries: readonly StoredLabels[]): void {
    for (const entry of entries) {
      const name = deviceKey(entry);
      const known = this.byDevice.get(name);
      const isKept = known === undefined ? this.size < UNTOLD_MAX : known.revision < entry.revision;
      if (isKept) this.byDevice.set(name, entry);
    }
  }

  /** Removes entries that the engine was told, unless newer ones have taken their place meanwhile. */
  remove(entries: readonly StoredLabels[]): void {
    for (const entry of entries) {
      const name = deviceKey(entry);
      if (this.byDevice.get(name) === entry) this.byDevice.delete(name);
    }
  }

  /** Forgets a device. */
  forget(device: DeviceName): void {
    this.byDevice.delete(deviceKey(device));
  }

  clear(): void {
    this.byDevice.clear();
  }

  /**
   * Returns the labels of a device, when those of the engine may be older than what this process recorded.
   */
  correct(device: DeviceName, cached: CachedLabels | undefined): CachedLabels | undefined {
    if (this.size === 0) return cached;
    const untold = this.byDevice.get(deviceKey(device));
    if (untold !== undefined && untold.revision > (cached?.revision ?? -1)) {
      return { ...untold, isConfirmed: true };
    }
    // When there is no room for all that the engine was not told, any of its entries may be out of date.
    const isComplete = this.size < UNTOLD_MAX;
    return cached && { ...cached, isConfirmed: cached.isConfirmed && isComplete };
  }
}
