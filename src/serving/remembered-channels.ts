// What this process remembers of the record: its name, and the channels of it that this process has loaded,
// those on this node's disk, and those that the engine keeps for all nodes.

import { Unavailable } from '../contract/unavailable.ts';
import { pause } from '../flow/pause.ts';
import type { ChannelNameList, ChannelNameStore } from '../store/channel-names.ts';
import type { LastGood } from '../store/last-good.ts';
import type { LedgerMemory, RememberedChannel, RememberedRecord } from '../store/ledger-memory.ts';

/** Maximum number of channels that are listed from this node's disk: as many as it can have loaded. */
const ON_DISK_MAX = 10_000;
/** Maximum number of loaded channels that are remembered. */
const LOADED_MAX = 20_000;
/** Longest wait for an engine that is just connecting, in milliseconds. */
const CONNECTING_MS_MAX = 1000;
const CONNECTING_RETRY_MS = 25;

export class RememberedChannels implements LedgerMemory {
  private readonly lastGood: Pick<LastGood, 'list' | 'readRecord'>;
  private readonly engine: Pick<ChannelNameStore, 'readShared'>;
  /** Name of the record, once its database was admitted for certain. */
  private record: string | undefined;
  private readonly loaded = new Map<string, RememberedChannel>();
  private readonly gone = new Set<string>();
  private onDisk: Promise<readonly RememberedChannel[]> | undefined;
  /** What the engine had when it was read last and had something. */
  private kept: { readonly record: string | undefined; readonly list: ChannelNameList } | undefined;
  private hasEngineAnswered = false;
  private highest = 0;

  constructor(
    lastGood: Pick<LastGood, 'list' | 'readRecord'>,
    engine: Pick<ChannelNameStore, 'readShared'>,
  ) {
    this.lastGood = lastGood;
    this.engine = engine;
  }

  get highestEpoch(): number {
    return this.highest;
  }

  async own(): Promise<RememberedRecord> {
    this.onDisk ??= this.lastGood.list(ON_DISK_MAX);
    const record = this.record ?? (await this.lastGood.readRecord());
    // Before the record is known, channels may have been loaded from an engine of another one.
    const loaded = record === undefined ? [] : [...this.loaded.values()];
    return { record, channels: this.present([...(await this.onDisk), ...loaded]) };
  }

  /** At the start the engine may be connecting still, which is awaited when nothing else is known. */
  async shared(): Promise<RememberedRecord | undefined> {
    const { record, channels } = await this.own();
    const mayWait = record === undefined && channels.length === 0;
    const deadline = performance.now() + CONNECTING_MS_MAX;
    for (;;) {
      try {
        return await this.readShared();
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        const isLate = performance.now() > deadline;
        if (this.hasEngineAnswered || !mayWait || isLate) return undefined;
        await pause(CONNECTING_RETRY_MS);
      }
    }
  }

  /** Remembers the record, whose database was admitted for certain. */
  admit(record: string): void {
    this.record = record;
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

  /** Reads the engine. What it had counts on when it was emptied, as by its restart. */
  private async readShared(): Promise<RememberedRecord> {
    const held = this.kept?.list;
    const { record, tag, list = held } = await this.engine.readShared(held?.tag);
    this.hasEngineAnswered = true;
    if (list !== undefined && list.tag === tag) this.kept = { record, list };
    else if (record !== undefined && record !== this.kept?.record) this.kept = undefined;
    const { kept } = this;
    return {
      record: record ?? kept?.record,
      channels: this.present(kept?.list.channels ?? []),
    };
  }

  /** Returns channels, each once, without those that the ledger has lost. */
  private present(channels: readonly RememberedChannel[]): readonly RememberedChannel[] {
    const known = new Map(channels.map((channel) => [channel.channelId, channel]));
    for (const id of this.gone) known.delete(id);
    return [...known.values()];
  }
}
