// Ledger for tests of the layers above it: holds what was "committed", counts its calls, and waits, is away
// or fails as a test says. Only the calls that serving needs exist; any other call is a TypeError, which
// fails the test.

import { Unavailable } from '../../src/contract/store-fault.ts';
import {
  compareServing,
  type ServingOrder,
  type ServingSnapshot,
} from '../../src/domain/decision/serving-snapshot.ts';
import type { ChannelNameList } from '../../src/store/engine.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import type {
  ChannelRevision,
  PresentRevisions,
  RaisedEpoch,
  SnapshotLookup,
} from '../../src/store/ledger-terms.ts';

type Served = Pick<
  Ledger,
  | 'readSnapshot'
  | 'readRevisions'
  | 'recordFirstOffer'
  | 'listChannelNames'
  | 'confirm'
  | 'raiseEpoch'
  | 'restoreOffers'
>;

/** The fault of a database that is away. */
export function ledgerAway(): Unavailable {
  return new Unavailable('ledger', new Error('connection refused'));
}

export class FakeLedger implements Served {
  /** Snapshot reads so far, as `app/channel`. */
  readonly reads: string[] = [];
  /** First offers asked for so far, as `release@revision`. */
  readonly offers: string[] = [];
  /** Number of times that the names of channels were listed or compared. */
  listings = 0;
  /** Number of channels that a listing leaves out, as one of too many does; the latest that was asked for. */
  unlisted = 0;
  listedMax = 0;
  /** Promise that listings of names wait for. */
  listGate: Promise<void> | undefined;
  /** Number of polls of the revisions so far. */
  polls = 0;
  /** Error that every call rejects with. */
  fault: Error | undefined;
  /** Errors that snapshot reads of one channel reject with, by `app/channel`. */
  readonly readFaults = new Map<string, Error>();
  /** Answers first offers instead of the rule of `recordFirstOffer`. */
  answerOffer: (() => Promise<boolean>) | undefined;
  /** Time line, which `raiseEpoch` moves. */
  epoch = 0;
  /** Whether `confirm` finds that the database is not the record. */
  isForeign = false;

  private readonly channels = new Map<string, ServingSnapshot>();
  /** Ids of channels by name, by the ref and by the id of their apps. */
  private readonly ids = new Map<string, Map<string, string>>();
  private isHolding = false;
  private readonly held: (() => void)[] = [];

  /** This object in the type of the whole port. */
  get port(): Ledger {
    return this as unknown as Ledger;
  }

  /** Sets the state of a channel; returns the change that a transaction would report. */
  commit(snapshot: ServingSnapshot): ChannelRevision {
    this.channels.set(snapshot.channelId, snapshot);
    const { appId, appRef, channel, channelId, revision } = snapshot;
    const ofApp = this.ids.get(appRef) ?? new Map<string, string>();
    ofApp.set(channel, channelId);
    for (const app of [appRef, appId]) this.ids.set(app, ofApp);
    return { appRef, channel, channelId, epoch: this.epoch, revision };
  }

  /** Makes the ledger what it was with these states, as a restored backup does. */
  goBackTo(...snapshots: readonly ServingSnapshot[]): void {
    for (const snapshot of snapshots) this.channels.set(snapshot.channelId, snapshot);
  }

  async confirm(): Promise<void> {
    if (this.isForeign) throw ledgerAway();
  }

  async raiseEpoch(above: number): Promise<RaisedEpoch> {
    if (this.fault !== undefined) throw this.fault;
    const isRaised = this.epoch <= above;
    if (isRaised) this.epoch = above + 1;
    return { epoch: this.epoch, isRaised };
  }

  async restoreOffers(channelId: string, releaseIds: readonly string[]): Promise<number> {
    if (this.fault !== undefined) throw this.fault;
    const present = this.channels.get(channelId);
    if (present === undefined) return 0;
    const isLost = (id: string, offered: boolean) => !offered && releaseIds.includes(id);
    const count = present.releases.filter(({ id, offered }) => isLost(id, offered)).length;
    const releases = present.releases.map((each) =>
      isLost(each.id, each.offered) ? { ...each, offered: true } : each,
    );
    this.channels.set(channelId, { ...present, releases });
    return count;
  }

  /** Removes a channel, as a restored backup does. */
  forget(channelId: string): void {
    const gone = this.channels.get(channelId);
    this.channels.delete(channelId);
    if (gone !== undefined) this.ids.get(gone.appRef)?.delete(gone.channel);
  }

  /** Makes later snapshot reads wait; each answers with the state that was committed when it began. */
  hold(): void {
    this.isHolding = true;
  }

  /** Lets one waiting read go; 0 is the one that has waited longest. */
  releaseOne(index = 0): void {
    const [go] = this.held.splice(index, 1);
    if (go === undefined) throw new Error('no read waits');
    go();
  }

  /** Ends `hold`. */
  release(): void {
    this.isHolding = false;
    while (this.held.length > 0) this.releaseOne();
  }

  async readSnapshot(app: string, channel: string): Promise<SnapshotLookup> {
    const name = `${app}/${channel}`;
    this.reads.push(name);
    const fault = this.fault ?? this.readFaults.get(name);
    const found = this.inEpoch(this.find(app, channel));
    await new Promise<void>((resolve) => {
      if (this.isHolding) this.held.push(resolve);
      else setImmediate(resolve);
    });
    if (fault !== undefined) throw fault;
    return found;
  }

  async readRevisions(channelIds: readonly string[]): Promise<PresentRevisions> {
    this.polls += 1;
    if (this.fault !== undefined) throw this.fault;
    const wanted = new Set(channelIds);
    const present = [...this.channels.values()].filter(({ channelId }) => wanted.has(channelId));
    const revisions = new Map(present.map(({ channelId, revision }) => [channelId, revision]));
    return { epoch: this.epoch, revisions };
  }

  async listChannelNames(
    heldTag: string | undefined,
    countMax: number,
  ): Promise<ChannelNameList | undefined> {
    this.listings += 1;
    if (this.fault !== undefined) throw this.fault;
    this.listedMax = countMax;
    const all = [...this.channels.values()];
    const [channels, isComplete] = [all.slice(0, all.length - this.unlisted), this.unlisted === 0];
    const tag = all.map(({ channelId }) => channelId).join();
    await this.listGate;
    return tag === heldTag ? undefined : { tag, channels, isComplete };
  }

  /** Records a first offer only at the channel's present revision, as the real ledger does. */
  async recordFirstOffer(
    channelId: string,
    releaseId: string,
    order: ServingOrder,
  ): Promise<boolean> {
    this.offers.push(`${releaseId}@${order.revision}`);
    if (this.fault !== undefined) throw this.fault;
    if (this.answerOffer !== undefined) return this.answerOffer();
    await new Promise((resolve) => setImmediate(resolve));
    const present = this.channels.get(channelId);
    if (present === undefined || compareServing({ ...present, epoch: this.epoch }, order) !== 0) {
      return false;
    }
    const releases = present.releases.map((release) =>
      release.id === releaseId ? { ...release, offered: true } : release,
    );
    this.channels.set(channelId, { ...present, releases });
    return true;
  }

  private inEpoch(found: SnapshotLookup): SnapshotLookup {
    return typeof found === 'string' ? found : { ...found, epoch: this.epoch };
  }

  private find(app: string, channel: string): SnapshotLookup {
    const ofApp = this.ids.get(app);
    if (ofApp === undefined) return 'unknown-app';
    return this.channels.get(ofApp.get(channel) ?? '') ?? 'unknown-channel';
  }
}
