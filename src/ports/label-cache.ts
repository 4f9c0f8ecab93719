// The part of the engine that remembers the labels of devices, so that a decision that needs them asks no
// ledger. A cache: the ledger has the record, entries run out, and an absent entry says nothing.
// Every method rejects with `Unavailable` when the engine does not answer.

import type { Labels } from '../domain/targeting.ts';

export type DeviceName = { readonly appId: string; readonly deviceId: string };

/** A device's labels at a revision, which the ledger raises with every change of them; 0 is "none yet". */
export type DeviceLabels = DeviceName & { readonly labels: Labels; readonly revision: number };

/** The revision that a device's labels now are at. */
export type LabelNews = DeviceName & { readonly revision: number };

export interface LabelCache {
  /** What is remembered of each device, in the order asked; undefined where nothing is. One round trip. */
  getLabels(devices: readonly DeviceName[]): Promise<readonly (DeviceLabels | undefined)[]>;

  /**
   * Remembers labels for every node, from when this resolves; an entry with a higher revision stays
   * (atomic per device). One round trip.
   */
  putLabels(entries: readonly DeviceLabels[]): Promise<void>;

  /** Tells every node, this one included, that labels have changed. At most once. */
  tellLabels(news: readonly LabelNews[]): Promise<void>;

  /**
   * Hears of changed labels until the engine closes. `onResumed` says that hearing has begun again and that
   * some may have been missed. Neither must throw.
   */
  onLabels(listener: (news: readonly LabelNews[]) => void, onResumed: () => void): void;
}
