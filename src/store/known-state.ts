// What is known of a channel outside of the ledger when a change of it begins. A ledger that is behind it
// went back: it must not accept the change before it is known to be on a new time line.

import type { ServingOrder } from '../domain/decision/serving-snapshot.ts';

/** Newest known state of a channel, with its releases that are known to be offered. */
export type KnownState = ServingOrder & {
  readonly channelId: string;
  readonly channel: string;
  /** Returns those of these releases, by id, that are known to be offered. */
  offeredAmong(releaseIds: readonly string[]): readonly string[];
};

/**
 * What is known of the channels that a change moves, by their names: of the changed one, and of those that
 * follow it. Undefined stands for one that was asked about, and of which nothing is known.
 */
export type KnownStates = ReadonlyMap<string, KnownState | undefined>;

/**
 * Error of a change that found followers of the channel about which nobody was asked. Nothing was changed.
 * The caller asks about these channels as well, and makes the change again.
 */
export class FollowersNotAsked extends Error {
  readonly channels: readonly string[];

  constructor(channels: readonly string[]) {
    super(`nobody was asked about the followers ${channels.join(', ')}`);
    this.name = 'FollowersNotAsked';
    this.channels = channels;
  }
}

/**
 * Error of a change that found the ledger behind what was known before. Nothing was changed. The caller
 * raises the epoch of the ledger and makes the change again.
 */
export class LedgerBehind extends Error {
  /** Name of the channel of which more is known. */
  readonly channel: string;

  constructor({ channelId, channel, epoch, revision }: KnownState) {
    super(`the ledger is behind state ${epoch}/${revision} of channel ${channelId}`);
    this.name = 'LedgerBehind';
    this.channel = channel;
  }
}
