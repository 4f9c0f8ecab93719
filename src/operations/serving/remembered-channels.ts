// Channels that this process remembers of the ledger: those that it has loaded, those on this node's disk and
// those that the engine keeps for all nodes. They tell the database that had them from any other one.

import { pause } from '../../flow/pause.ts';
import type { ChannelNameList, ChannelNameStore } from '../../ports/channel-names.ts';
import type { LastGood } from '../../ports/last-good.ts';
import type { LedgerMemory, RememberedChannel } from '../../ports/ledger-memory.ts';
import { Unavailable } from '../../ports/unavailable.ts';

/** Maximum number of channels that are listed from this node's disk: as many as it can have loaded. */
const ON_DISK_MAX = 10_000;
/** Maximum number of loaded channels that are remembered. */
const LOADED_MAX = 20_000;
/** Longest wait for an engine that is just connecting, in milliseconds. */
const CONNECTING_MS_MAX = 1000;
const CONNECTING_RETRY_MS = 25;

export class RememberedChannels implements LedgerMemory {
  private readonly lastGood: Pick<LastGood, 'list'>;
  private readonly engine: ChannelNameStore;
  private readonly loaded = new Map<string, RememberedChannel>();
  private readonly gone = new Set<string>();
  private onDisk: Promise<readonly RememberedChannel[]> | undefined;
  /** List of the engine as it was read last. */
  private shared: ChannelNameList | undefined;
  private hasEngineAnswered = false;
  private highest = 0;

  constructor(lastGood: Pick<LastGood, 'list'>, engine: ChannelNameStore) {
    this.lastGood = lastGood;
    this.engine = engine;
  }

  get highestEpoch(): number {
    return this.highest;
  }

  async channels(): Promise<{
    readonly channels: readonly RememberedChannel[];
    readonly isComplete: boolean;
  }> {
    this.onDisk ??= this.lastGood.list(ON_DISK_MAX);
    const known = new Map<string, RememberedChannel>();
    for (const channel of [...(await this.onDisk), ...this.loaded.values()]) {
      known.set(channel.channelId, channel);
    }
    const shared = await this.askEngine(known.size === 0);
    for (const channel of shared ?? []) known.set(channel.channelId, channel);
    for (const id of this.gone) known.delete(id);
    return { channels: [...known.values()], isComplete: shared !== undefined };
  }

  /** Remembers a channel that was loaded, from wherever. */
  note(channel: RememberedChannel & { readonly epoch: number }): void {
    this.highest = Math.max(this.highest, channel.epoch);
    const { channelId, appRef, channel: name } = channel;
    this.gone.delete(channelId);
    if (this.loaded.has(channelId) || this.loaded.size >= LOADED_MAX) return;
    // Copied, because the caller's object may be a whole snapshot.
    this.loaded.set(channelId, { channelId, appRef, channel: name });
  }

  /** Forgets channels that the ledger has lost; returns those that were not forgotten before. */
  forget(channels: readonly RememberedChannel[]): readonly RememberedChannel[] {
    const news = channels.filter(({ channelId }) => !this.gone.has(channelId));
    for (const { channelId } of news) {
      this.loaded.delete(channelId);
      if (this.gone.size < LOADED_MAX) this.gone.add(channelId);
    }
    return news;
  }

  /**
   * Asks the engine; at the start it may be connecting still, which is awaited when nothing else is known.
   */
  private async askEngine(mayWait: boolean): Promise<readonly RememberedChannel[] | undefined> {
    const deadline = performance.now() + CONNECTING_MS_MAX;
    for (;;) {
      try {
        const list = await this.engine.getChannelNames(this.shared?.tag);
        this.hasEngineAnswered = true;
        // Undefined when the list is the same, or is gone, as after a restart of the engine.
        if (list !== undefined) this.shared = list;
        return this.shared?.channels ?? [];
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        const isLate = performance.now() > deadline;
        if (this.hasEngineAnswered || !mayWait || isLate) return undefined;
        await pause(CONNECTING_RETRY_MS);
      }
    }
  }
}
