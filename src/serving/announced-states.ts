// States of channels that this node must reach: they were announced, found by the poll, or seen in the
// ledger. One load runs per channel at a time. What is announced of a channel while it is loading for the
// first time is remembered until it is there.

import { LRUCache } from 'lru-cache';
import { compareServing, orderOf, type ServingOrder } from '../domain/decision/serving-snapshot.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { Announcement } from '../store/engine.ts';

const HEARD_MAX = 10_000;

export type AnnouncedStatesDependencies = {
  /** Returns the state that is served of a channel; undefined when it is not loaded. */
  readonly served: (channelId: string) => ServingOrder | undefined;
  /** Loads at least this state; rejects with `Unavailable` when no store has it. */
  readonly load: (channelId: string, order: ServingOrder) => Promise<void>;
  readonly log: RareLog;
};

export class AnnouncedStates {
  private readonly dependencies: AnnouncedStatesDependencies;
  private readonly chases = new Map<string, { wanted: ServingOrder; done: Promise<void> }>();
  /** Latest announced state of channels that were not loaded at that time. */
  private readonly heard = new LRUCache<string, ServingOrder>({ max: HEARD_MAX });

  constructor(dependencies: AnnouncedStatesDependencies) {
    this.dependencies = dependencies;
  }

  /** Updates an announced channel if it is loaded; resolves, once it is served, with whether it was new. */
  async hear(announcement: Announcement): Promise<boolean> {
    const { channelId } = announcement;
    if (this.dependencies.served(channelId) !== undefined) {
      return this.begin(channelId, announcement);
    }
    // It may be loading now, with the state from before the change.
    const before = this.heard.get(channelId);
    if (before === undefined || compareServing(announcement, before) > 0) {
      this.heard.set(channelId, orderOf(announcement));
    }
    return false;
  }

  /** Applies an announcement that arrived while the channel was loading. */
  catchUp(channelId: string): void {
    const order = this.heard.get(channelId);
    this.heard.delete(channelId);
    if (order !== undefined) void this.begin(channelId, order);
  }

  /**
   * Updates a loaded channel to at least this state. Rejects with `Unavailable` when no store has it; does
   * nothing when the channel is not loaded.
   */
  async chase(channelId: string, order: ServingOrder): Promise<void> {
    for (;;) {
      const served = this.dependencies.served(channelId);
      if (served === undefined || compareServing(served, order) >= 0) return;
      const running = this.chases.get(channelId);
      if (running === undefined) break;
      // It may have been for an older state, so check again afterwards.
      await running.done;
      if (compareServing(running.wanted, order) >= 0) return;
    }
    const load = this.dependencies.load(channelId, order);
    const done = load.finally(() => this.chases.delete(channelId));
    this.chases.set(channelId, { wanted: order, done });
    await done;
  }

  private async begin(channelId: string, order: ServingOrder): Promise<boolean> {
    const served = this.dependencies.served(channelId);
    if (served !== undefined && compareServing(served, order) >= 0) return false;
    try {
      await this.chase(channelId, order);
      return true;
    } catch (error) {
      // The poll will try again.
      this.dependencies.log.warn({ err: error, channel: channelId }, 'refresh failed');
      return false;
    }
  }
}
