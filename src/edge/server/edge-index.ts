// The index for edges: all channels with their present revisions, and recent first offers. Announcements and
// a poll, which runs only while edges ask, update it. An edge that has the present index waits here for the
// next one.

import { createHash } from 'node:crypto';
import type { EdgeIndexAnswer, EdgeIndexEntry } from '../../contract/edge.ts';
import { Overloaded, Unavailable } from '../../contract/store-fault.ts';
import type { PresentStates } from '../../domain/decision/ledger-record.ts';
import { compareServing, type ServingOrder } from '../../domain/decision/serving-snapshot.ts';
import { SharedCall } from '../../flow/shared-call.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { RareLog } from '../../observe/rare-log.ts';
import type { ChannelState, ChannelStates, EdgeScope } from '../../store/console-ledger.ts';
import type { Announcement, Engine } from '../../store/engine.ts';
import type { Ledger } from '../../store/ledger.ts';

/** Maximum number of channels in an index, about 100 bytes each. */
const CHANNELS_MAX = 100_000;
/** Milliseconds for which a read of the ledger counts as present: less than the 2 s promised for a change. */
const FRESH_MS = 1500;
/** Maximum number of waiting edges. */
const EDGES_WAITING_MAX = 2000;
/** Maximum number of first offers per channel in an index. */
const OFFERED_MAX = 16;
/** Maximum number of scopes whose index is cached; any change makes a new one. */
const SCOPES_MAX = 1000;
const TAG_LENGTH = 22;
const NOTHING_READ = { epoch: 0, record: null, line: null, isComplete: true };

export type EdgeIndexDependencies = {
  readonly ledger: Pick<Ledger, 'readChannelStates'>;
  /** Returns the ledger's time in milliseconds since 1970. */
  readonly now: () => number;
  readonly metrics: Metrics;
  readonly log: RareLog;
};

/** Channel in the index. */
type Followed = ChannelState & {
  readonly offered: readonly string[];
  /** Monotonic time of the channel's latest announcement; 0 if it was only read from the ledger. */
  readonly heardAt: number;
};

type Present = Omit<ChannelStates, 'channels'>;

/** Index without the time of its answer. */
type MadeIndex = Omit<EdgeIndexAnswer, 'at'>;

export class EdgeIndex {
  private readonly reading = new SharedCall(() => this.read());
  private channels = new Map<string, Followed>();
  private organizations = new Map<string, string>();
  private present: Present = NOTHING_READ;
  /** Monotonic time at which the latest successful read began; undefined before the first. */
  private readAt: number | undefined;
  /** Indexes of the present state by scope. */
  private readonly made = new Map<EdgeScope, MadeIndex>();
  private readonly waiting = new Set<() => void>();
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;

  constructor(private readonly dependencies: EdgeIndexDependencies) {}

  /** Subscribes to changes until the engine closes. */
  start(engine: Pick<Engine, 'subscribe'>): void {
    engine.subscribe(
      (announcement) => this.hear(announcement),
      () => {
        if (this.readAt !== undefined) void this.refresh();
      },
    );
  }

  /** Ends all waits. */
  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.wakeAll();
  }

  /**
   * Returns the name of the record; null while it has none. Rejects with `Unavailable` if the ledger has
   * never answered.
   */
  async record(): Promise<string | null> {
    if (this.readAt === undefined) await this.freshen();
    return this.present.record;
  }

  /** Returns the ledger's state, read after the call began. Rejects with `Unavailable` without an answer. */
  async readPresent(): Promise<PresentStates> {
    await this.reading.ask();
    const { channels } = this;
    return { ...this.present, revisionOf: (channelId) => channels.get(channelId)?.revision };
  }

  /** Reads the ledger if a channel served here has a later epoch, so that edges get the epoch at once. */
  noteEpoch(epoch: number): void {
    if (this.readAt !== undefined && epoch > this.present.epoch) void this.refresh();
  }

  get waitingCount(): number {
    return this.waiting.size;
  }

  /**
   * Returns the index of a scope once its tag differs from `heldTag`, or undefined after `waitMs`. Rejects
   * with `Unavailable` if the ledger has never answered, or too many edges wait.
   */
  async next(
    scope: EdgeScope,
    heldTag: string | undefined,
    waitMs: number,
  ): Promise<EdgeIndexAnswer | undefined> {
    await this.freshen();
    const deadline = performance.now() + waitMs;
    for (;;) {
      const index = this.indexOf(scope);
      // Dated at the answer: an edge refuses an index that is older than one from another process.
      if (index.tag !== heldTag) return { ...index, at: Math.floor(this.dependencies.now()) };
      const leftMs = deadline - performance.now();
      if (leftMs <= 0 || this.isStopped) return undefined;
      await this.change(leftMs);
    }
  }

  /**
   * Returns whether an edge of this scope may serve an app, given by id. Rejects with `Unavailable` if that
   * is unknown: otherwise a new app would count as one that does not exist.
   */
  async mayServe(scope: EdgeScope, appId: string): Promise<boolean> {
    if (!this.organizations.has(appId)) await this.freshen();
    const owner = this.organizations.get(appId);
    if (owner !== undefined) return scope === null || owner === scope;
    if (!this.isFresh) throw new Unavailable('ledger', 'the owner of an app is not known');
    return false;
  }

  /** Returns those of these app ids that an edge of this scope may serve. */
  async servedOf(scope: EdgeScope, appIds: Iterable<string>): Promise<ReadonlySet<string>> {
    const served = new Set<string>();
    for (const appId of new Set(appIds)) {
      if (await this.mayServe(scope, appId)) served.add(appId);
    }
    return served;
  }

  private indexOf(scope: EdgeScope): MadeIndex {
    const known = this.made.get(scope);
    if (known !== undefined) return known;
    const channels = [...this.channels.values()]
      .filter(({ organizationId }) => scope === null || organizationId === scope)
      .map(entryOf);
    const { present } = this;
    const { record, epoch, line, isComplete } = present;
    const text = JSON.stringify([record, epoch, line, isComplete, channels]);
    const tag = createHash('sha256').update(text).digest('base64url').slice(0, TAG_LENGTH);
    const index = { kind: 'index', ...present, tag, channels } as const;
    if (this.made.size >= SCOPES_MAX) this.made.clear();
    this.made.set(scope, index);
    return index;
  }

  private hear(announcement: Announcement): void {
    const { channelId, epoch, revision, offeredReleaseId } = announcement;
    // No edge follows yet: the first read will find the change.
    if (this.readAt === undefined) return;
    const known = this.channels.get(channelId);
    if (known === undefined || epoch > this.present.epoch) {
      void this.refresh();
      return;
    }
    const order = compareServing({ epoch, revision }, this.orderOf(known));
    if (order < 0 || (order === 0 && offeredReleaseId === undefined)) return;
    const before = order > 0 ? [] : known.offered;
    const offered = offeredReleaseId === undefined ? before : withOffer(before, offeredReleaseId);
    if (order === 0 && offered === before) return;
    this.channels.set(channelId, { ...known, revision, offered, heardAt: performance.now() });
    this.changed();
  }

  private orderOf({ revision }: Followed): ServingOrder {
    return { epoch: this.present.epoch, revision };
  }

  private get isFresh(): boolean {
    return this.readAt !== undefined && performance.now() - this.readAt < FRESH_MS;
  }

  /** Reads the ledger unless it was just read. If it is unavailable, the known state stays. */
  private async freshen(): Promise<void> {
    if (this.isFresh) return;
    await this.refresh();
    if (this.readAt === undefined) throw new Unavailable('ledger', 'it was never read');
  }

  /** Reads the ledger; never rejects. */
  private refresh(): Promise<void> {
    return this.reading.ask().catch((error: unknown) => {
      this.dependencies.metrics.faults.add('edge-index');
      if (error instanceof Unavailable) return;
      this.dependencies.log.warn({ err: error }, 'channels could not be read for edges');
    });
  }

  private async read(): Promise<void> {
    const beganAt = performance.now();
    const states = await this.dependencies.ledger.readChannelStates(CHANNELS_MAX);
    const { channels: read, ...present } = states;
    const isNewEpoch = present.epoch !== this.present.epoch;
    const channels = new Map<string, Followed>();
    let isSame = isSamePresent(present, this.present) && read.length === this.channels.size;
    for (const state of read) {
      const known = this.channels.get(state.channelId);
      const kept = isNewEpoch ? undefined : known;
      const followed = keptOf(state, kept, beganAt);
      channels.set(state.channelId, followed);
      if (followed !== known) isSame = false;
    }
    this.readAt = beganAt;
    if (isSame) return;
    this.present = present;
    this.channels = channels;
    this.organizations = new Map(read.map((each) => [each.appId, each.organizationId]));
    this.changed();
  }

  private changed(): void {
    this.made.clear();
    this.wakeAll();
  }

  private wakeAll(): void {
    for (const wake of this.waiting) wake();
  }

  /** Resolves after a change, or after `ms`. */
  private change(ms: number): Promise<void> {
    if (this.waiting.size >= EDGES_WAITING_MAX) {
      return Promise.reject(new Overloaded('too many edges wait'));
    }
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.waiting.add(wake);
      this.poll();
    });
  }

  /** Reads the ledger regularly while an edge waits. */
  private poll(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      if (this.waiting.size === 0 || this.isStopped) return;
      void this.refresh().then(() => {
        if (this.waiting.size > 0 && !this.isStopped) this.poll();
      });
    }, FRESH_MS);
  }
}

function isSamePresent(one: Present, other: Present): boolean {
  return (['record', 'epoch', 'line', 'isComplete'] as const).every(
    (part) => one[part] === other[part],
  );
}

/** Returns a channel's state after a read. The known state stays if it was announced during the read. */
function keptOf(state: ChannelState, known: Followed | undefined, beganAt: number): Followed {
  if (known === undefined) return { ...state, offered: [], heardAt: 0 };
  const isSame = known.revision === state.revision && known.appRef === state.appRef;
  if (isSame || (known.heardAt > beganAt && known.revision > state.revision)) return known;
  return { ...state, offered: [], heardAt: 0 };
}

function withOffer(offered: readonly string[], releaseId: string): readonly string[] {
  if (offered.includes(releaseId)) return offered;
  return [...offered, releaseId].slice(-OFFERED_MAX);
}

function entryOf(followed: Followed): EdgeIndexEntry {
  const { appId, appRef, channelId, channel, revision, offered } = followed;
  return [appId, appRef, channelId, channel, revision, offered];
}
