// What is known of a channel outside of the ledger when a change of it begins. A ledger that is behind it
// went back: it must not accept the change before it is known to be on a new time line.

import type { ServingOrder } from '../domain/decision/serving-order.ts';

/** Newest known state of a channel, with its releases that are known to be offered. */
export type KnownState = ServingOrder & {
  readonly channelId: string;
  /** Returns those of these releases, by id, that are known to be offered. */
  offeredAmong(releaseIds: readonly string[]): readonly string[];
};

/**
 * Error of a change that found the ledger behind what was known before. Nothing was changed. The caller
 * raises the epoch of the ledger and makes the change again.
 */
export class LedgerBehind extends Error {
  constructor({ channelId, epoch, revision }: KnownState) {
    super(`the ledger is behind state ${epoch}/${revision} of channel ${channelId}`);
    this.name = 'LedgerBehind';
  }
}
