// Recognises a ledger that went back to an earlier state: a standby without the last commits took over, or a
// backup was restored. Its state is served, because it still is the record; but it reuses revisions that
// copies in this node's memory, in the engine and on disk already have.
//
// If a read of the ledger returns an older state than such a copy, or lacks the mark of an offered release,
// the ledger went back. Then the marks are written back, because they limit the next changes, and the epoch
// is raised, so that for every node the ledger is newer than all copies.

import { Unavailable } from '../contract/store-fault.ts';
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
import type { Ledger } from '../store/ledger.ts';
import type {
  LedgerMemory,
  LedgerReport,
  RememberedChannel,
  RememberedRecord,
} from '../store/ledger-identity.ts';
import type { KnownState, SnapshotLookup } from '../store/ledger-terms.ts';
import { ChannelDirectory } from './channel-directory.ts';
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
  /** Marks that the ledger lacks, by channel; bounded by the channels that a node holds. */
  private readonly unrestored = new Map<
    string,
    { readonly appRef: string; readonly channel: string; readonly releaseIds: readonly string[] }
  >();

  constructor(private readonly dependencies: LedgerRecoveryDependencies) {}

  /**
   * Reads a channel from the ledger, and first recovers the ledger if it went back. `held` is what this node
   * serves of it, taken before the call. The other copies are compared if `held` has another epoch, because
   * this node's copy will replace them, or if `isThorough`.
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
   * Returns the ledger's state of a channel, given a snapshot that was read from it and copies that may be
   * newer. Reads the ledger again if it seems to be behind a copy, and recovers it if it is.
   */
  async settle(snapshot: ServingSnapshot, copies: Copies): Promise<SnapshotLookup> {
    const suspects = copies.filter((copy) => isBehind(snapshot, copy));
    if (suspects.length === 0) return snapshot;
    const { ledger } = this.dependencies;
    // A suspect may have a change made after the first read.
    const { appRef, channel } = snapshot;
    const present = await ledger.readSnapshot(appRef, channel, snapshot);
    if (typeof present === 'string') return present;
    const newer = suspects.filter((copy) => isBehind(present, copy));
    if (newer.length === 0) return present;
    await this.recover(present, newer);
    return ledger.readSnapshot(appRef, channel, present);
  }

  /**
   * Writes back marks of offered releases that a held state has and a state of a later epoch lacks, as soon
   * as the ledger is available. Returns the later state with the marks.
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

  /** Queues marks that the ledger may have lost for the next `restoreRest`. */
  restoreLater(
    { appRef, channel, channelId }: RememberedChannel,
    releaseIds: readonly string[],
  ): void {
    const before = this.unrestored.get(channelId)?.releaseIds ?? [];
    const all = [...new Set([...before, ...releaseIds])];
    this.unrestored.set(channelId, { appRef, channel, releaseIds: all });
  }

  /** Writes back marks that could not be written when they were found missing. */
  async restoreRest(): Promise<void> {
    for (const [channelId, marks] of this.unrestored) {
      try {
        await this.restore({ ...marks, channelId }, marks.releaseIds);
        // More may have been queued meanwhile.
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

  /** Returns the copies of a channel in the engine and on this node's disk; a missing answer is no copy. */
  copiesOf(known: ServingSnapshot): Promise<Copies> {
    return this.findCopies(known.appRef, known.channel, known);
  }

  /**
   * Returns what is known of a channel outside the ledger, as input for a change of it. If this node holds
   * the channel, it only asks the engine whether that has more.
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

/** Returns whether a state is older than a copy of the channel, or lacks a mark that the copy has. */
function isBehind(present: ServingSnapshot, copy: ServingSnapshot): boolean {
  // Another database left the copy under the same name.
  if (copy.channelId !== present.channelId) return false;
  return isOlder(present, copy) || missingOffers(present, copy).length > 0;
}

/** Returns whether a state is older than a copy, or a different state of the same revision. */
function isOlder(present: ServingSnapshot, copy: ServingSnapshot): boolean {
  const difference = compareServing(present, copy);
  if (difference !== 0) return difference < 0;
  // Editions are random, so two time lines never share a new one.
  const [mine, other] = [present.releases, copy.releases];
  if (mine.length !== other.length) return true;
  return mine.some(({ edition }, place) => edition !== other[place]?.edition);
}

/** Returns the ids of the present releases that are offered in the copy only. */
function missingOffers(present: ServingSnapshot, copy: ServingSnapshot): readonly string[] {
  if (copy.channelId !== present.channelId) return [];
  const lacking = present.releases.filter(({ offered }) => !offered).map(({ id }) => id);
  return offeredAmong([copy], lacking);
}

/** Returns those of these releases, by id, that are offered in one of the copies. */
function offeredAmong(copies: Copies, releaseIds: readonly string[]): readonly string[] {
  // Usually none or a few: the releases of a channel that were never offered.
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

/** Returns the newest state of the copies with the offers of all; undefined if there are none. */
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

// Compares channels, read only from the ledger so far, with the copies in the engine and on this node's disk.
// It begins once the channel is served, so that no answer waits for it. Until it ends, the copy on disk stays
// unchanged.

type CopyComparisonDependencies = {
  readonly recovery: Pick<LedgerRecovery, 'copiesOf' | 'settle'>;
  /** Returns what is served of a channel; undefined if it is not loaded. */
  readonly held: (channelId: string) => ServingSnapshot | undefined;
  /** Serves the ledger's state; `isNew` is true if the comparison changed it. */
  readonly settled: (snapshot: ServingSnapshot, isNew: boolean) => Promise<void>;
  readonly log: RareLog;
  readonly metrics: Metrics;
};

/** Maximum number of concurrent comparisons, and of waiting ones: as many as a node has channels. */
const RUNNING_MAX = 4;
const WAITING_MAX = 10_000;

export class CopyComparison {
  private readonly gate = new ConcurrencyLimit(RUNNING_MAX, WAITING_MAX);
  /** Ids of channels to compare; bounded by the loaded channels. */
  private readonly due = new Set<string>();

  constructor(private readonly dependencies: CopyComparisonDependencies) {}

  /** Returns whether a channel is still to be compared. */
  isDue(channelId: string): boolean {
    return this.due.has(channelId);
  }

  /** Marks a channel to be compared, before it is served. */
  add(channelId: string): void {
    this.due.add(channelId);
  }

  /** Removes a channel that is not loaded any more. */
  delete(channelId: string): void {
    this.due.delete(channelId);
  }

  /** Compares the channels whose comparison failed because a store was unavailable. */
  async retry(): Promise<void> {
    await Promise.all([...this.due].map((channelId) => this.begin(channelId)));
  }

  /** Compares a due channel. Never rejects: while a store is unavailable, the channel stays due. */
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
    // The poll detects a deleted channel.
    if (typeof settled !== 'string') await this.dependencies.settled(settled, settled !== held);
  }
}

// What this process knows of the record: its name, and its channels that this process loaded, that are on
// this node's disk, or that the engine keeps for all nodes.

/** Maximum number of loaded channels remembered. */
const LOADED_MAX = 20_000;
/** Maximum wait in milliseconds for an engine that is just connecting. */
const CONNECTING_MS_MAX = 1000;
const CONNECTING_RETRY_MS = 25;

export class RememberedChannels implements LedgerMemory {
  /** Name of the record, once its database was admitted for certain. */
  private record: string | undefined;
  private readonly loaded = new Map<string, RememberedChannel>();
  private readonly gone = new Set<string>();
  private onDisk: Promise<readonly RememberedChannel[]> | undefined;
  /** Last answer of the engine that was not empty. */
  private kept: { readonly record: string | undefined; readonly list: ChannelNameList } | undefined;
  private hasEngineAnswered = false;
  private highest = 0;

  constructor(
    private readonly diskSnapshots: Pick<DiskSnapshots, 'list' | 'readRecord'>,
    private readonly engine: Pick<ChannelNameStore, 'readShared'>,
  ) {}

  get highestEpoch(): number {
    return this.highest;
  }

  async own(): Promise<RememberedRecord> {
    this.onDisk ??= this.diskSnapshots.list(ChannelDirectory.ON_DISK_MAX);
    const record = this.record ?? (await this.diskSnapshots.readRecord());
    // Before the record is known, channels may have been loaded from the engine of another one.
    const loaded = record === undefined ? [] : [...this.loaded.values()];
    return { record, channels: this.present([...(await this.onDisk), ...loaded]) };
  }

  /** Reads what the engine keeps. At the start, waits for a connecting engine if nothing else is known. */
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

  /** Remembers the record after its database was admitted for certain. */
  admit(record: string): void {
    this.record = record;
  }

  /** Remembers a loaded channel, whatever its source. */
  note(channel: RememberedChannel & { readonly epoch: number }): void {
    this.highest = Math.max(this.highest, channel.epoch);
    const { channelId, appRef, channel: name } = channel;
    this.gone.delete(channelId);
    if (this.loaded.has(channelId) || this.loaded.size >= LOADED_MAX) return;
    // Copied, because the caller's object may be a whole snapshot.
    this.loaded.set(channelId, { channelId, appRef, channel: name });
  }

  /** Forgets channels that the ledger lost; returns those not forgotten before. */
  forget(channels: readonly RememberedChannel[]): readonly RememberedChannel[] {
    const lost = channels.filter(({ channelId }) => !this.gone.has(channelId));
    for (const { channelId } of lost) {
      this.loaded.delete(channelId);
      if (this.gone.size < LOADED_MAX) this.gone.add(channelId);
    }
    return lost;
  }

  /** Reads the engine. Its last answer still counts after a restart emptied it. */
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

  /** Returns channels, each once, without those that the ledger lost. */
  private present(channels: readonly RememberedChannel[]): readonly RememberedChannel[] {
    const known = new Map(channels.map((channel) => [channel.channelId, channel]));
    for (const id of this.gone) known.delete(id);
    return [...known.values()];
  }
}
