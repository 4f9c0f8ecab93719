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
  orderOf,
  type ServingOrder,
  countOffered,
  type ServingSnapshot,
} from '../domain/decision/serving-snapshot.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { SnapshotHead } from '../store/engine.ts';
import type { KnownState } from '../store/known-state.ts';
import type { LastGood } from '../store/last-good.ts';
import type { Ledger, SnapshotLookup } from '../store/ledger.ts';
import type { LedgerReport } from '../store/ledger-identity.ts';
import type { RememberedChannel } from '../store/ledger-memory.ts';
import type { SharedSnapshots } from './shared-snapshots.ts';

export type LedgerRewindDependencies = {
  readonly ledger: Pick<Ledger, 'readSnapshot' | 'raiseEpoch' | 'restoreOffers'>;
  readonly shared: SharedSnapshots;
  readonly lastGood: Pick<LastGood, 'find'>;
  readonly report: Pick<LedgerReport, 'raised'>;
  readonly log: RareLog;
  readonly metrics: Metrics;
};

type Copies = readonly ServingSnapshot[];

export class LedgerRewind {
  private readonly dependencies: LedgerRewindDependencies;
  /** Marks that the ledger lacks, by channel; bounded by the channels that a node holds. */
  private readonly unrestored = new Map<
    string,
    { readonly appRef: string; readonly channel: string; readonly releaseIds: readonly string[] }
  >();

  constructor(dependencies: LedgerRewindDependencies) {
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
      this.dependencies.lastGood.find(appRef, channel),
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
