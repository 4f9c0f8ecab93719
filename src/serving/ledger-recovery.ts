// Recognition of a ledger that went back: a standby without the last commits took over, or a backup was
// restored. The ledger is the record all the same, so its state is served; but it gives revisions out again
// that copies elsewhere already have. Copies of a channel are what this node serves, and what the engine and
// this node's disk keep.
//
// A copy was read from the ledger once. When the ledger is asked after the copy was read and answers an older
// state, or lacks the mark of an offered release, it went back. Then the marks are written back first,
// because they limit the next changes, and the ledger's epoch is raised: its states are newer than every copy
// from then on, for every node.

import { Unavailable } from '../contract/unavailable.ts';
import {
  compareServing,
  countOffered,
  orderOf,
  type ServingOrder,
  type ServingSnapshot,
} from '../domain/decision/serving-snapshot.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { pause } from '../flow/pause.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { DiskSnapshots } from '../store/disk-snapshots.ts';
import type { ChannelNameList, ChannelNameStore, SnapshotHead } from '../store/engine.ts';
import type { Ledger, SnapshotLookup } from '../store/ledger.ts';
import type {
  LedgerMemory,
  LedgerReport,
  RememberedChannel,
  RememberedRecord,
} from '../store/ledger-identity.ts';
import type { KnownState } from '../store/ledger-terms.ts';
import type { SharedSnapshots } from './cold-loads.ts';

type LedgerRecoveryDependencies = {
  readonly ledger: Pick<Ledger, 'readSnapshot' | 'raiseEpoch' | 'restoreOffers'>;
  readonly shared: SharedSnapshots;
  readonly diskSnapshots: Pick<DiskSnapshots, 'find'>;
  readonly report: Pick<LedgerReport, 'raised'>;
  readonly log: RareLog;
  readonly metrics: Metrics;
};

type Copies = readonly ServingSnapshot[];

export class LedgerRecovery {
  private readonly dependencies: LedgerRecoveryDependencies;
  /** Marks that the ledger lacks, by channel; bounded by the channels that a node holds. */
  private readonly unrestored = new Map<
    string,
    { readonly appRef: string; readonly channel: string; readonly releaseIds: readonly string[] }
  >();

  constructor(dependencies: LedgerRecoveryDependencies) {
    this.dependencies = dependencies;
  }

  /**
   * Reads a channel from the ledger, which is recovered first if it went back. `held` is what this node
   * serves of it, taken before the call. The other copies are looked at when `held` is of another epoch,
   * because this node's copy will take their place, or when `isThorough`.
   */
  async read(
    app: string,
    channel: string,
    held: ServingSnapshot | undefined,
    isThorough: boolean,
  ): Promise<SnapshotLookup> {
    const found = await this.dependencies.ledger.readSnapshot(app, channel, held);
    if (typeof found === 'string') return found;
    const own = held === undefined ? [] : [held];
    const isSameEpoch = held?.channelId === found.channelId && held.epoch === found.epoch;
    if (isSameEpoch && !isThorough) return this.settle(found, own);
    return this.settle(found, [...own, ...(await this.copiesOf(found))]);
  }

  /**
   * Returns what the ledger has of a channel, given a snapshot that was read from it and copies that may have
   * been read later. Reads the ledger again when it seems to be behind a copy, and recovers it when it is.
   */
  async settle(snapshot: ServingSnapshot, copies: Copies): Promise<SnapshotLookup> {
    const suspects = copies.filter((copy) => isBehind(snapshot, copy));
    if (suspects.length === 0) return snapshot;
    const { ledger } = this.dependencies;
    // A suspect may be of a change after the first read.
    const { appRef, channel } = snapshot;
    const present = await ledger.readSnapshot(appRef, channel, snapshot);
    if (typeof present === 'string') return present;
    const newer = suspects.filter((copy) => isBehind(present, copy));
    if (newer.length === 0) return present;
    await this.recover(present, newer);
    return ledger.readSnapshot(appRef, channel, present);
  }

  /**
   * Writes marks of offered releases back that a held state has and a state of a later epoch lacks, as soon
   * as the ledger is there. Returns the later state with the marks.
   */
  async carryOffers(later: ServingSnapshot, held: ServingSnapshot): Promise<ServingSnapshot> {
    const missing = new Set(missingOffers(later, held));
    if (missing.size === 0) return later;
    const releases = later.releases.map((release) =>
      missing.has(release.id) ? { ...release, offered: true } : release,
    );
    this.restoreLater(later, [...missing]);
    await this.restoreRest();
    return { ...later, releases };
  }

  /** Notes marks that the ledger may have lost, for the next `restoreRest`. */
  restoreLater(
    { appRef, channel, channelId }: RememberedChannel,
    releaseIds: readonly string[],
  ): void {
    const before = this.unrestored.get(channelId)?.releaseIds ?? [];
    const all = [...new Set([...before, ...releaseIds])];
    this.unrestored.set(channelId, { appRef, channel, releaseIds: all });
  }

  /** Writes marks back that could not be written when they were found missing. */
  async restoreRest(): Promise<void> {
    for (const [channelId, marks] of this.unrestored) {
      try {
        await this.restore({ ...marks, channelId }, marks.releaseIds);
        // More may have been noted meanwhile.
        if (this.unrestored.get(channelId) === marks) this.unrestored.delete(channelId);
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        return;
      }
    }
  }

  /** Raises the epoch because the ledger lacks a channel that was held at this state. */
  async raiseAbove(order: ServingOrder, details: Readonly<Record<string, unknown>>): Promise<void> {
    const { epoch, isRaised } = await this.dependencies.ledger.raiseEpoch(order.epoch);
    if (isRaised) this.dependencies.report.raised(epoch, { held: orderOf(order), ...details });
  }

  /** Returns what the engine and this node's disk keep of a channel; neither has to answer. */
  copiesOf(known: ServingSnapshot): Promise<Copies> {
    return this.findCopies(known.appRef, known.channel, known);
  }

  /**
   * Returns what is known of a channel outside of the ledger, for a change of it. When this node holds the
   * channel, the engine is asked whether it has more.
   */
  async knownState(
    app: string,
    channel: string,
    held: ServingSnapshot | undefined,
  ): Promise<KnownState | undefined> {
    if (held === undefined) return mergeCopies(await this.findCopies(app, channel));
    const { shared } = this.dependencies;
    const head = await shared.findHead(held.appRef, held.channel);
    if (head === undefined || !hasMore(head, held)) return mergeCopies([held]);
    const copy = await shared.find(held.appRef, held.channel, held);
    return mergeCopies(copy === undefined ? [held] : [held, copy]);
  }

  private async findCopies(
    appRef: string,
    channel: string,
    known?: ServingSnapshot,
  ): Promise<Copies> {
    const copies = await Promise.all([
      this.dependencies.diskSnapshots.find(appRef, channel),
      this.dependencies.shared.find(appRef, channel, known),
    ]);
    return copies.filter((copy) => copy !== undefined);
  }

  private async recover(present: ServingSnapshot, copies: Copies): Promise<void> {
    const missing = new Set(copies.flatMap((copy) => missingOffers(present, copy)));
    if (missing.size > 0) await this.restore(present, [...missing]);
    const ahead = copies.filter((copy) => isOlder(present, copy));
    const newest = ahead.reduce<ServingSnapshot | undefined>(
      (one, other) => (one === undefined || compareServing(one, other) < 0 ? other : one),
      undefined,
    );
    if (newest === undefined) return;
    const { appRef: app, channel } = present;
    await this.raiseAbove(newest, { app, channel, found: orderOf(present) });
  }

  private async restore(
    { channelId, appRef: app, channel }: RememberedChannel,
    releaseIds: readonly string[],
  ): Promise<void> {
    const { ledger, metrics, log } = this.dependencies;
    const restored = await ledger.restoreOffers(channelId, releaseIds);
    if (restored === 0) return;
    metrics.ledgerRewinds.add('offer-restored', restored);
    log.warnAbout(channelId, { app, channel, releases: restored }, 'offers were written back');
  }
}

/** Whether a state of the ledger is older than a copy of the channel, or lacks a mark that the copy has. */
function isBehind(present: ServingSnapshot, copy: ServingSnapshot): boolean {
  // Another database has left the copy under the same name.
  if (copy.channelId !== present.channelId) return false;
  return isOlder(present, copy) || missingOffers(present, copy).length > 0;
}

/** Whether a state of the ledger is older than a copy, or another state of the same place. */
function isOlder(present: ServingSnapshot, copy: ServingSnapshot): boolean {
  const difference = compareServing(present, copy);
  if (difference !== 0) return difference < 0;
  // Editions are random names of the states of releases, so that no two time lines share a new one.
  const [mine, other] = [present.releases, copy.releases];
  if (mine.length !== other.length) return true;
  return mine.some(({ edition }, place) => edition !== other[place]?.edition);
}

/**
 * Returns the ids of releases that are offered in the copy, and are not in the present state, which has them.
 */
function missingOffers(present: ServingSnapshot, copy: ServingSnapshot): readonly string[] {
  if (copy.channelId !== present.channelId) return [];
  const lacking = present.releases.filter(({ offered }) => !offered).map(({ id }) => id);
  return offeredAmong([copy], lacking);
}

/** Returns those of these releases, by id, that are offered in one of the copies. */
function offeredAmong(copies: Copies, releaseIds: readonly string[]): readonly string[] {
  // Mostly none, or a few: the releases of a channel that were never offered.
  if (releaseIds.length === 0) return [];
  const wanted = new Set(releaseIds);
  const found = new Set<string>();
  for (const { releases } of copies) {
    for (const { id, offered } of releases) if (offered && wanted.has(id)) found.add(id);
  }
  return [...found];
}

function hasMore(head: SnapshotHead, held: ServingSnapshot): boolean {
  if (head.channelId !== held.channelId) return false;
  return compareServing(head, held) > 0 || head.offered > countOffered(held);
}

/** Returns the newest state of the copies with the offers of all; undefined when there are none. */
function mergeCopies(copies: Copies): KnownState | undefined {
  const [first] = copies;
  if (first === undefined) return undefined;
  const same = copies.filter(({ channelId }) => channelId === first.channelId);
  const newest = same.reduce((one, other) => (compareServing(one, other) < 0 ? other : one), first);
  return {
    channelId: first.channelId,
    channel: first.channel,
    ...orderOf(newest),
    offeredAmong: (releaseIds) => offeredAmong(same, releaseIds),
  };
}

// Comparison of channels that were read from the ledger alone with the copies in the engine and on this
// node's disk. It begins once the channel is served, so that no answer waits for it. Until it has ended, the
// copy on disk is left as it is.

type CopyComparisonDependencies = {
  readonly recovery: Pick<LedgerRecovery, 'copiesOf' | 'settle'>;
  /** Returns what is served of a channel; undefined when it is not loaded. */
  readonly held: (channelId: string) => ServingSnapshot | undefined;
  /** Serves what the ledger has; `isNew` is true when this was not served before the comparison. */
  readonly settled: (snapshot: ServingSnapshot, isNew: boolean) => Promise<void>;
  readonly log: RareLog;
  readonly metrics: Metrics;
};

/** Maximum number of comparisons at a time, and of those that wait: as many as a node has channels. */
const RUNNING_MAX = 4;
const WAITING_MAX = 10_000;

export class CopyComparison {
  private readonly dependencies: CopyComparisonDependencies;
  private readonly gate = new ConcurrencyLimit(RUNNING_MAX, WAITING_MAX);
  /** Ids of the channels that were not compared yet; bounded by the channels that are loaded. */
  private readonly due = new Set<string>();

  constructor(dependencies: CopyComparisonDependencies) {
    this.dependencies = dependencies;
  }

  /** Whether a channel was not compared yet. */
  isDue(channelId: string): boolean {
    return this.due.has(channelId);
  }

  /** Marks a channel as one to be compared, before it is served. */
  add(channelId: string): void {
    this.due.add(channelId);
  }

  /** Gives up on a channel that is not loaded any more. */
  delete(channelId: string): void {
    this.due.delete(channelId);
  }

  /** Compares the channels whose comparison failed because a store was away. */
  async retry(): Promise<void> {
    await Promise.all([...this.due].map((channelId) => this.begin(channelId)));
  }

  /** Compares a channel that is due. Never rejects: while a store is away, it stays due. */
  async begin(channelId: string): Promise<void> {
    try {
      await this.gate.pass(() => this.compare(channelId));
    } catch (error) {
      this.dependencies.metrics.faults.add('compare');
      if (error instanceof Unavailable) return;
      this.dependencies.log.warn({ err: error, channel: channelId }, 'refresh failed');
    }
  }

  private async compare(channelId: string): Promise<void> {
    const { recovery } = this.dependencies;
    const held = this.dependencies.held(channelId);
    if (held === undefined || !this.due.has(channelId)) return;
    const copies = await recovery.copiesOf(held);
    const settled = await recovery.settle(held, copies);
    this.due.delete(channelId);
    // The poll finds out about a channel that is gone.
    if (typeof settled !== 'string') await this.dependencies.settled(settled, settled !== held);
  }
}

// What this process remembers of the record: its name, and the channels of it that this process has loaded,
// those on this node's disk, and those that the engine keeps for all nodes.

/** Maximum number of channels that are listed from this node's disk: as many as it can have loaded. */
const ON_DISK_MAX = 10_000;
/** Maximum number of loaded channels that are remembered. */
const LOADED_MAX = 20_000;
/** Longest wait for an engine that is just connecting, in milliseconds. */
const CONNECTING_MS_MAX = 1000;
const CONNECTING_RETRY_MS = 25;

export class RememberedChannels implements LedgerMemory {
  private readonly diskSnapshots: Pick<DiskSnapshots, 'list' | 'readRecord'>;
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
    diskSnapshots: Pick<DiskSnapshots, 'list' | 'readRecord'>,
    engine: Pick<ChannelNameStore, 'readShared'>,
  ) {
    this.diskSnapshots = diskSnapshots;
    this.engine = engine;
  }

  get highestEpoch(): number {
    return this.highest;
  }

  async own(): Promise<RememberedRecord> {
    this.onDisk ??= this.diskSnapshots.list(ON_DISK_MAX);
    const record = this.record ?? (await this.diskSnapshots.readRecord());
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
    const lost = channels.filter(({ channelId }) => !this.gone.has(channelId));
    for (const { channelId } of lost) {
      this.loaded.delete(channelId);
      if (this.gone.size < LOADED_MAX) this.gone.add(channelId);
    }
    return lost;
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
