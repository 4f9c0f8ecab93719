// The ledger of an edge, which calls the upstream. Names and revisions come from the followed index, so only
// snapshots, first offers and labels cost a call. The functions in `store/ledger` state the obligations;
// here, an unavailable ledger means an unavailable upstream.

import type { EdgeLabelChangesAnswer, EdgeLabels, EdgeSnapshotAnswer } from '../contract/edge.ts';
import { Unavailable } from '../contract/store-fault.ts';
import {
  compareServing,
  type ServingOrder,
  type ServingSnapshot,
} from '../domain/decision/serving-snapshot.ts';
import type { CheckIn } from '../domain/fleet/check-in.ts';
import { writeCheckIns } from '../domain/fleet/check-in-payload.ts';
import { timedOf } from '../domain/fleet/labels.ts';
import { demandWithin } from '../flow/within-time.ts';
import type { ChannelName, ChannelNameList } from '../store/engine.ts';
import type { LabelChanges, RecordedChecks, RecordedLabels } from '../store/fleet-ledger.ts';
import type { DeviceName, StoredLabels } from '../store/label-store.ts';
import type { ServingLedger } from '../store/ledger.ts';
import type { PresentRevisions, RaisedEpoch, SnapshotLookup } from '../store/ledger-terms.ts';
import {
  assembleSnapshot,
  MalformedIndex,
  MalformedRelease,
} from '../store/snapshot/assemble-snapshot.ts';
import { parseIndex } from '../store/snapshot/snapshot-index.ts';
import type { FollowedState } from './followed-state.ts';
import type { Follower } from './follower.ts';
import { RefusedByUpstream, type UpstreamCall, type UpstreamClient } from './upstream-client.ts';

type UpstreamLedgerDependencies = {
  readonly client: Pick<UpstreamClient, 'call' | 'refuse' | 'close'>;
  readonly state: FollowedState;
  readonly follower: Pick<Follower, 'isFresh'>;
  /** Returns why the upstream could not be followed the last time; undefined if it could. */
  readonly lastFailure: () => unknown;
};

/** Maximum times of calls in milliseconds. A snapshot may be large, and the upstream distant. */
const SNAPSHOT_MS_MAX = 20_000;
const OFFER_MS_MAX = 5000;
const CALL_MS_MAX = 5000;
/** Time beyond a call's own limit after which it is given up, in case it does not end by itself. */
const HUNG_MS = 1000;
/** Maximum number of a channel's first offers that are sent to the upstream at a time. */
const MARKS_MAX = 100;
const NOTHING_LEFT_OUT: RecordedChecks = { labels: [], unadmitted: [], left: [] };

export class UpstreamLedger implements ServingLedger {
  private readonly labelChanges: LabelChangeReader;
  /** Whether the edge has labels of devices that it read from or recorded at the upstream. */
  keepsLabels = false;
  /** Whether devices of this edge have sent labels; before that, changes of labels are not read. */
  private knowsLabels = false;
  /** List of names, and the tag of its index. Names have a tag of their own: revisions change more often. */
  private named: { readonly indexTag: string; readonly list: ChannelNameList } | undefined;

  constructor(private readonly dependencies: UpstreamLedgerDependencies) {
    this.labelChanges = new LabelChangeReader((after) => this.callLabelChanges(after));
  }

  /** Records that devices of this edge sent labels, whose changes elsewhere matter from now on. */
  noteLabels(): void {
    this.knowsLabels = true;
  }

  async listChannelNames(
    heldTag: string | undefined,
    countMax: number,
  ): Promise<ChannelNameList | undefined> {
    this.demandFresh();
    const { state } = this.dependencies;
    const indexTag = state.tag ?? '';
    if (this.named?.indexTag !== indexTag) {
      const channels = state.names.slice(0, countMax);
      const list = { tag: namesTag(channels), channels, isComplete: state.isComplete };
      this.named = { indexTag, list };
    }
    const { list } = this.named;
    return list.tag === heldTag ? undefined : list;
  }

  async readRevisions(channelIds: readonly string[]): Promise<PresentRevisions> {
    this.demandFresh();
    const { state } = this.dependencies;
    return { epoch: state.epoch, revisions: state.revisionsOf(channelIds) };
  }

  async readSnapshot(
    app: string,
    channel: string,
    known?: ServingSnapshot,
  ): Promise<SnapshotLookup> {
    this.demandFresh();
    const { state, client } = this.dependencies;
    const found = state.find(app, channel);
    if (typeof found === 'string') return found;
    const atLeast = state.newestOf(found.channelId);
    const call: UpstreamCall = {
      method: 'POST',
      path: 'snapshot',
      body: {
        ...{ app: found.appRef, channel, atLeast },
        known: known?.releases.map(({ edition }) => edition) ?? [],
      },
      timeoutMs: SNAPSHOT_MS_MAX,
    };
    const answer = await this.ask('snapshot', call);
    const name = { app: found.appRef, channel };
    const snapshot = await this.assemble(answer, known, name, call);
    if (snapshot.channelId !== found.channelId) {
      client.refuse('malformed', call, 'its snapshot is of another channel');
    }
    // The epoch of the index is that of the record; this call may have reached another copy of it.
    if (snapshot.epoch > state.epoch) {
      throw new Unavailable('upstream', new Error('it is in a later epoch than its index'));
    }
    if (compareServing(snapshot, state.newestOf(found.channelId)) < 0) {
      client.refuse('replayed', call, 'its snapshot is older than what is known');
    }
    state.see(snapshot.channelId, snapshot);
    return snapshot;
  }

  async recordFirstOffer(
    channelId: string,
    releaseId: string,
    order: ServingOrder,
  ): Promise<boolean> {
    const { state, client } = this.dependencies;
    const { appRef: app, channel } = this.channelOf(channelId);
    const { epoch, revision } = order;
    const call: UpstreamCall = {
      method: 'POST',
      path: 'offer',
      body: { app, channel, state: { epoch, revision }, release: releaseId },
      timeoutMs: OFFER_MS_MAX,
    };
    const answer = await this.ask('offer', call);
    if (answer.releaseId !== releaseId) {
      client.refuse('malformed', call, 'its answer is about another release');
    }
    // The answer has the channel's present state, which must be read next, even if the index is older.
    if (!answer.isRecorded) state.see(channelId, answer);
    return answer.isRecorded;
  }

  async readTime(): Promise<number> {
    const call = { method: 'GET', path: 'time', timeoutMs: CALL_MS_MAX } as const;
    return (await this.ask('time', call)).at;
  }

  async readLabels(devices: readonly DeviceName[]): Promise<readonly RecordedLabels[]> {
    this.keepsLabels = true;
    this.noteLabels();
    const body = { devices: devices.map(({ appId, deviceId }) => ({ appId, deviceId })) };
    const call = { method: 'POST', path: 'labels', body, timeoutMs: CALL_MS_MAX } as const;
    const { labels, areRecorded } = await this.ask('labels', call);
    const read = labels.map((each, place) => {
      return { ...storedLabels(each), isRecorded: areRecorded[place] === true };
    });
    const isAnswer =
      read.length === devices.length &&
      read.every(({ appId, deviceId }, place) => {
        return appId === devices[place]?.appId && deviceId === devices[place].deviceId;
      });
    if (!isAnswer) this.dependencies.client.refuse('malformed', call, 'it names other devices');
    return read;
  }

  async readLabelChanges(after: number | undefined, limit: number): Promise<LabelChanges> {
    if (this.knowsLabels) return this.labelChanges.read(after, limit);
    this.demandFresh();
    return { epoch: this.dependencies.state.epoch, newest: 0, changed: [] };
  }

  /** Never called: an edge uploads check-ins that no device waits for from its journal. */
  recordCheckIns(): Promise<never> {
    throw new Error('an edge uploads its check-ins from its journal');
  }

  async recordAwaited(checkIns: readonly CheckIn[]): Promise<readonly StoredLabels[]> {
    return (await this.recordChecks(checkIns)).labels;
  }

  /** Records check-ins that devices wait for, under the bounds of the upstream. */
  async recordChecks(checkIns: readonly CheckIn[]): Promise<RecordedChecks> {
    if (checkIns.length === 0) return NOTHING_LEFT_OUT;
    this.keepsLabels = true;
    this.noteLabels();
    const body = writeCheckIns(checkIns);
    const path = 'check-ins/awaited';
    const call = { method: 'POST', path, body, timeoutMs: CALL_MS_MAX } as const;
    const { labels, unadmitted } = await this.ask('recorded', call);
    return {
      labels: labels.map(storedLabels),
      unadmitted: unadmitted.map(([appId, deviceId]) => {
        return { appId, deviceId, network: undefined, bound: 'app' };
      }),
      left: [],
    };
  }

  async confirm(): Promise<void> {
    this.demandFresh();
  }

  /** Returns the epoch of the upstream, because only the upstream can find that its ledger went back. */
  async raiseEpoch(): Promise<RaisedEpoch> {
    this.demandFresh();
    return { epoch: this.dependencies.state.epoch, isRaised: false };
  }

  /** Records first offers that the upstream does not know as if they were made now. */
  async restoreOffers(channelId: string, releaseIds: readonly string[]): Promise<number> {
    const order = this.dependencies.state.newestOf(channelId);
    let restored = 0;
    for (const releaseId of releaseIds.slice(0, MARKS_MAX)) {
      if (await this.recordFirstOffer(channelId, releaseId, order)) restored += 1;
    }
    return restored;
  }

  async isReachable(): Promise<boolean> {
    return this.dependencies.follower.isFresh;
  }

  /** Returns why it is not reachable, as the error of a call. */
  lastFailure(): Unavailable {
    const failure = this.dependencies.lastFailure();
    const cause = failure instanceof Unavailable ? failure.cause : failure;
    return new Unavailable('upstream', cause ?? new Error('it has not answered for some seconds'));
  }

  async close(): Promise<void> {
    this.dependencies.client.close();
  }

  private demandFresh(): void {
    if (!this.dependencies.follower.isFresh) throw this.lastFailure();
  }

  private channelOf(channelId: string): ChannelName {
    const channel = this.dependencies.state.findById(channelId);
    if (channel !== undefined) return channel;
    throw new Unavailable('upstream', new Error('it does not name the channel'));
  }

  /** Assembles a snapshot; asks for the releases that did not fit into the answer. */
  private async assemble(
    { index: text, releases }: EdgeSnapshotAnswer,
    known: ServingSnapshot | undefined,
    channel: { readonly app: string; readonly channel: string },
    call: UpstreamCall,
  ): Promise<ServingSnapshot> {
    const index = parseIndex(text);
    if (index === undefined) {
      return this.dependencies.client.refuse('malformed', call, 'its snapshot cannot be read');
    }
    const texts = new Map(Object.entries(releases));
    const read = async (editions: readonly string[]) => {
      await this.complete(texts, editions, channel);
      return editions.map((edition) => texts.get(edition));
    };
    const snapshot = await assembleSnapshot(index, known, read).catch((error: unknown) => {
      const isMalformed = error instanceof MalformedIndex || error instanceof MalformedRelease;
      if (!isMalformed) throw error;
      return this.dependencies.client.refuse('malformed', call, error.message);
    });
    if (snapshot !== undefined) return snapshot;
    throw new Unavailable('upstream', new Error('the channel changed while it was read'));
  }

  /** Asks for missing texts until all are there or the upstream has no more. */
  private async complete(
    texts: Map<string, string>,
    editions: readonly string[],
    channel: { readonly app: string; readonly channel: string },
  ): Promise<void> {
    for (;;) {
      const missing = editions.filter((edition) => !texts.has(edition));
      if (missing.length === 0) return;
      const answer = await this.ask('releases', {
        method: 'POST',
        path: 'releases',
        body: { ...channel, editions: missing },
        timeoutMs: SNAPSHOT_MS_MAX,
      });
      const found = missing.filter((edition) => answer.releases[edition] !== undefined);
      if (found.length === 0) return;
      for (const edition of found) texts.set(edition, answer.releases[edition] ?? '');
    }
  }

  private async callLabelChanges(after: number | undefined) {
    const path = after === undefined ? 'label-changes' : `label-changes?after=${after}`;
    return this.ask('label-changes', { method: 'GET', path, timeoutMs: CALL_MS_MAX });
  }

  /** Makes a call. Rejects with `Unavailable` also if the upstream refuses the call as wrong. */
  private async ask<Kind extends Parameters<UpstreamClient['call']>[0]>(
    kind: Kind,
    call: UpstreamCall,
  ) {
    try {
      const work = this.dependencies.client.call(kind, call);
      const proven = await demandWithin(work, call.timeoutMs + HUNG_MS, hung);
      if (proven !== undefined) return proven.answer;
    } catch (error) {
      if (error instanceof RefusedByUpstream) throw new Unavailable('upstream', error);
      throw error;
    }
    return this.dependencies.client.refuse('malformed', call, 'it answers nothing');
  }
}

function hung(ms: number): Unavailable {
  return new Unavailable('upstream', new Error(`no call ended within ${ms} ms`));
}

function storedLabels([appId, deviceId, revision, labels]: EdgeLabels): StoredLabels {
  return { appId, deviceId, revision, ...timedOf(labels) };
}

/** Returns a text that identifies the list. Names never change, so the ids suffice. */
function namesTag(channels: readonly ChannelName[]): string {
  return channels
    .map(({ channelId }) => channelId)
    .sort()
    .join(' ');
}

// Reads changes of labels from the upstream, which leaves out those of other organizations, so a page may be
// empty although more changes follow. Positions of empty pages are remembered, to skip them only once.

/** Maximum number of pages that a read skips; the next read continues after them. */
const PAGES_MAX = 40;
/** Maximum number of remembered positions. */
const PASSED_MAX = 16;

type Changed = LabelChanges['changed'][number];

export class LabelChangeReader {
  /** Positions, each with a later one up to which there are no changes; all in `epoch`. */
  private readonly passed = new Map<number, number>();
  private epoch: number | undefined;

  /** `now` returns milliseconds that never go back. */
  constructor(
    private readonly ask: (after: number | undefined) => Promise<EdgeLabelChangesAnswer>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Reads at most `limit` changes after a position; undefined reads only the newest position. */
  async read(after: number | undefined, limit: number): Promise<LabelChanges> {
    const askedAt = this.now();
    if (after === undefined) {
      const answer = await this.ask(undefined);
      const { epoch, newest } = answer;
      return { epoch, newest, changed: [], recordedUntil: recordedUntil(askedAt, answer) };
    }
    const changed: Changed[] = [];
    let until: number | undefined;
    let from = this.passed.get(after) ?? after;
    for (let page = 1; ; page++) {
      const answer = await this.ask(from);
      if (page === 1) until = recordedUntil(askedAt, answer);
      const { epoch, newest, through } = answer;
      this.enter(epoch);
      changed.push(...answer.changed.map(changeOf));
      from = Math.max(from, through);
      if (changed.length === 0) this.pass(after, from);
      const isWhole = through >= newest;
      if (!isWhole && changed.length < limit && page < PAGES_MAX) continue;
      const taken = changed.slice(0, limit);
      return { epoch, newest, changed: taken, recordedUntil: isWhole ? until : undefined };
    }
  }

  private enter(epoch: number): void {
    if (epoch !== this.epoch) this.passed.clear();
    this.epoch = epoch;
  }

  private pass(after: number, through: number): void {
    if (this.passed.size >= PASSED_MAX) this.passed.clear();
    this.passed.set(after, through);
  }
}

/** Returns the time by which was uploaded what was recorded when the service answered. */
function recordedUntil(
  askedAt: number,
  { unrecordedMs = 0 }: EdgeLabelChangesAnswer,
): number | undefined {
  return unrecordedMs === null ? undefined : askedAt - unrecordedMs;
}

function changeOf([
  appId,
  deviceId,
  revision,
  labels,
  position,
]: EdgeLabelChangesAnswer['changed'][number]) {
  return { appId, deviceId, revision, ...timedOf(labels), position };
}
