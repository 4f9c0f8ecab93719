// The part of the engine that caches the labels of devices, so that a decision that needs them does not read
// the ledger. The ledger is the record; entries expire, and an absent entry says nothing about the device.
// Every method rejects with `Unavailable` when the engine does not answer.

import type { Labels } from '../domain/decision/targeting.ts';

export type DeviceName = { readonly appId: string; readonly deviceId: string };

/**
 * Labels of a device at a revision. The ledger raises the revision with every change; 0 means none were
 * stored yet.
 */
export type StoredLabels = DeviceName & { readonly labels: Labels; readonly revision: number };

/** Announcement that a device's labels are now at a revision. */
export type LabelNews = DeviceName & { readonly revision: number };

export interface LabelCache {
  /** Reads the cached labels of devices, in their order; undefined where none are cached. One round trip. */
  getLabels(devices: readonly DeviceName[]): Promise<readonly (StoredLabels | undefined)[]>;

  /**
   * Caches labels for every node; effective when it resolves. An entry with a higher revision stays (atomic
   * per device). One round trip.
   */
  putLabels(entries: readonly StoredLabels[]): Promise<void>;

  /** Announces changed labels to every node, this one included, at most once. */
  tellLabels(news: readonly LabelNews[]): Promise<void>;

  /**
   * Receives announcements of changed labels until the engine closes. `onResumed` is called when the
   * subscription resumes and announcements may have been missed. Listeners must not throw.
   */
  onLabels(listener: (news: readonly LabelNews[]) => void, onResumed: () => void): void;
}
