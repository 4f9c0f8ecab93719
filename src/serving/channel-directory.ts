// Names of all channels, held by each process so that it refuses an unknown name without reading a store, and
// never refuses a channel that exists. A poll reads the tag of the ledger's list, and the list only if the
// tag changed. Announcements add new channels within milliseconds.
//
// A name outside the list is unknown (404) for a few seconds after each successful poll. Later it is
// unavailable (503), because another node may have created it. Until the ledger's list is read, only names on
// this node's disk and in the engine are known.

import { fail, failUntil, isFailure, type Outcome } from '../contract/failure.ts';
import { isRef } from '../contract/ref.ts';
import { Unavailable } from '../contract/store-fault.ts';
import { pause } from '../flow/pause.ts';
import { type Periodic, periodic } from '../flow/periodic.ts';
import { SharedCall } from '../flow/shared-call.ts';
import { withinTime } from '../flow/within-time.ts';
import type { FaultPlace } from '../observe/label-values.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { DiskSnapshots } from '../store/disk-snapshots.ts';
import type {
  Announcement,
  ChannelName,
  ChannelNameList,
  ChannelNameStore,
  Engine,
} from '../store/engine.ts';
import type { Ledger } from '../store/ledger.ts';

type ChannelDirectoryDependencies = {
  readonly ledger: Pick<Ledger, 'listChannelNames'>;
  readonly engine: ChannelNameStore;
  readonly diskSnapshots: Pick<DiskSnapshots, 'list'>;
  readonly log: RareLog;
  readonly metrics: Metrics;
  /** Milliseconds that never go back; default: the process's monotonic clock. */
  readonly now?: () => number;
};

/** Maximum number of names held: 100,000 channels take about 40 MB. The ledger is asked for others. */
const KNOWN_CHANNELS_MAX = 100_000;
/**
 * Milliseconds after the start of a successful poll for which a name outside the list counts as unknown: as
 * long as a change may take to reach every node if its announcement is lost.
 */
const CONFIRMED_MS = 5000;
/** Maximum wait for a list that is being read, in milliseconds. */
const WAIT_MS_MAX = 1000;
/** Milliseconds without an answer of the ledger after which the engine is asked for the list. */
const PATIENCE_MS = 500;
const FIRST_RETRY_MS = 50;
/** Number of names added to the table at a time, which takes a few milliseconds. */
const NAMES_PER_TURN = 2000;
const RETRY_MS = 1000;

export class ChannelDirectory {
  /** Maximum number of channels listed from this node's disk: as many as it can load. */
  static readonly ON_DISK_MAX = 10_000;

  private readonly now: () => number;
  private readonly reading = new SharedCall(() => this.read());
  private table = new ChannelNameTable();
  /** Latest list of the ledger; undefined until it was read. */
  private list: ChannelNameList | undefined;
  /** List that the engine does not have yet. */
  private unshared: ChannelNameList | undefined;
  private sharing: Promise<void> | undefined;
  private onDisk: Promise<readonly ChannelName[]> | undefined;
  /** Tag of the engine's list; undefined unless that was read because the ledger failed or was slow. */
  private engineTag: string | undefined;
  private hasAskedEngine = false;
  /** Channels learned since the running read of the list began. */
  private added: ChannelName[] = [];
  /** Start of the latest read; undefined if it failed. */
  private confirmedAt: number | undefined;
  /** Read whose list may have a name that the present list lacks. */
  private awaited: { readonly read: Promise<unknown>; readonly until: number } | undefined;
  private isStarted = false;

  constructor(private readonly dependencies: ChannelDirectoryDependencies) {
    this.now = dependencies.now ?? (() => performance.now());
  }

  get size(): number {
    return this.table.size;
  }

  /** Whether a name outside the list may exist, because the list is cut off. */
  get mayBeUnlisted(): boolean {
    return this.list?.isComplete === false;
  }

  /**
   * Finds a channel without waiting; `app` is a ref or an id. Undefined while a list is read that may have
   * the name: the caller waits for `settled` and asks again.
   */
  find(app: string, channel: string): Outcome<ChannelName> | undefined {
    const found = this.table.find(app, channel);
    if (!isFailure(found)) return found;
    if (!isRef(app)) return fail('unknownApp');
    if (!isRef(channel)) return fail('unknownChannel');
    if (!this.isStarted) return undefined;
    if (this.awaited !== undefined && this.now() < this.awaited.until) return undefined;
    return this.isConfirmed ? found : CANNOT_TELL;
  }

  /** Resolves once the list is read that `find` waits for, after at most a second. */
  async settled(): Promise<void> {
    if (!this.isStarted) this.start();
    if (this.awaited === undefined) return;
    await withinTime(this.awaited.read, this.awaited.until - this.now());
  }

  /** Reads the first list. Look-ups of unknown names wait for it, for at most a second. */
  start(): void {
    this.isStarted = true;
    this.await(Promise.all([this.readFirst(), this.readDisk()]));
  }

  /** Compares the list with the ledger's, and reads the ledger's if that changed. Never rejects. */
  refresh(): Promise<void> {
    return this.reading.ask();
  }

  /** Reads the ledger's list, and waits until the engine has it or is unavailable. Never rejects. */
  async renew(): Promise<void> {
    await this.refresh();
    await this.share();
  }

  /** Lists the channels that this node's disk had at the start. Never rejects. */
  readDisk(): Promise<readonly ChannelName[]> {
    this.onDisk ??= this.learnFromDisk();
    return this.onDisk;
  }

  /** Adds a channel that this node read from the ledger; a new one changes the list for all nodes. */
  add({ appId, appRef, channelId, channel }: ChannelName): void {
    if (this.table.hasId(appId, channel, channelId)) return;
    // Copied, because the caller's object may be a whole snapshot.
    this.learn({ appId, appRef, channelId, channel });
    void this.refresh();
  }

  /** Learns a channel from an announcement, and reads the list if the list lacks it. */
  hear({ appRef, channel, channelId }: Announcement): void {
    if (this.table.hasId(appRef, channel, channelId)) return;
    // The announcement lacks the id of the app; the list has it.
    this.learn({ appId: appRef, appRef, channelId, channel });
    this.await(this.refresh());
  }

  /** Writes the list to the engine again, because the engine may have lost it. */
  shareAgain(): void {
    this.unshared = this.list;
    void this.share();
  }

  private learn(name: ChannelName): void {
    if (this.table.size >= KNOWN_CHANNELS_MAX) return;
    this.table.add(name);
    this.added.push(name);
  }

  private get isConfirmed(): boolean {
    return this.confirmedAt !== undefined && this.now() - this.confirmedAt < CONFIRMED_MS;
  }

  private await(read: Promise<unknown>): void {
    const awaited = { read, until: this.now() + WAIT_MS_MAX };
    this.awaited = awaited;
    void read.then(() => {
      if (this.awaited === awaited) this.awaited = undefined;
    });
  }

  /** Reads a first list from the ledger, else from the engine, which may still be connecting. */
  private async readFirst(): Promise<void> {
    const until = this.now() + WAIT_MS_MAX;
    for (;;) {
      await this.refresh();
      if (this.list !== undefined || this.hasAskedEngine || this.now() > until) return;
      await pause(FIRST_RETRY_MS);
    }
  }

  private async read(): Promise<void> {
    const { ledger, metrics, log } = this.dependencies;
    const startedAt = this.now();
    this.added = [];
    try {
      const list = ledger.listChannelNames(this.list?.tag, KNOWN_CHANNELS_MAX);
      if (this.list === undefined) await this.learnMeanwhile(list);
      const changed = await list;
      if (changed !== undefined) await this.adopt(changed);
      this.confirmedAt = startedAt;
      void this.share();
    } catch (error) {
      this.confirmedAt = undefined;
      metrics.faults.add('names');
      if (!(error instanceof Unavailable)) {
        log.warn({ err: error }, 'names of channels could not be read');
      }
      if (this.list === undefined) {
        await Promise.all([this.learnFromEngine(), this.learnFromDisk()]);
      }
    }
  }

  /** Reads the engine's names if the ledger is slow, so that look-ups need not wait for the ledger. */
  private async learnMeanwhile(list: Promise<unknown>): Promise<void> {
    const answer = list.then(
      () => true,
      () => true,
    );
    if ((await withinTime(answer, PATIENCE_MS)) === undefined) await this.learnFromEngine();
  }

  private async adopt(list: ChannelNameList): Promise<void> {
    const table = new ChannelNameTable();
    for (const [index, name] of list.channels.entries()) {
      table.add(name);
      if (index % NAMES_PER_TURN === NAMES_PER_TURN - 1) await nextTurn();
    }
    for (const name of this.added) {
      if (!table.hasId(name.appRef, name.channel, name.channelId)) table.add(name);
    }
    this.table = table;
    this.list = list;
    this.unshared = list;
    if (!list.isComplete) {
      this.dependencies.log.warn(
        { held: list.channels.length },
        'too many channels to hold all names',
      );
    }
  }

  private async learnFromDisk(): Promise<readonly ChannelName[]> {
    const names = await this.dependencies.diskSnapshots.list(ChannelDirectory.ON_DISK_MAX);
    if (this.list === undefined) for (const name of names) this.table.add(name);
    return names;
  }

  private async learnFromEngine(): Promise<void> {
    try {
      const list = await this.dependencies.engine.getChannelNames(this.engineTag);
      this.hasAskedEngine = true;
      if (list === undefined || this.list !== undefined) return;
      this.engineTag = list.tag;
      for (const name of list.channels) this.table.add(name);
    } catch (error) {
      this.surviveEngine(error, 'names-read');
    }
  }

  private share(): Promise<void> {
    this.sharing ??= this.putNames().finally(() => {
      this.sharing = undefined;
    });
    return this.sharing;
  }

  private async putNames(): Promise<void> {
    try {
      while (this.unshared !== undefined) {
        const list = this.unshared;
        await this.dependencies.engine.putChannelNames(list);
        if (this.unshared === list) this.unshared = undefined;
      }
    } catch (error) {
      // The next poll tries again.
      this.surviveEngine(error, 'names-share');
    }
  }

  private surviveEngine(error: unknown, place: FaultPlace): void {
    this.dependencies.metrics.faults.add(place);
    if (error instanceof Unavailable) return;
    this.dependencies.log.warn({ err: error }, 'names of channels could not be shared');
  }
}

/** Lets the process answer requests in between. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const CANNOT_TELL = failUntil('unavailable', RETRY_MS);

// Look-up of channels by the names in requests: the ref or the id of the app, and the channel's name.

class ChannelNameTable {
  /** Channels by name, under both the ref and the id of the app. */
  private readonly apps = new Map<string, Map<string, ChannelName>>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** Adds a channel, or replaces the one with the same names. */
  add(name: ChannelName): void {
    const { appId, appRef, channel } = name;
    let channels = this.apps.get(appRef);
    if (channels === undefined) {
      channels = new Map();
      this.apps.set(appRef, channels);
    }
    // No ref equals the id of another app: the ledger refuses it.
    this.apps.set(appId, channels);
    if (!channels.has(channel)) this.count += 1;
    channels.set(channel, name);
  }

  /** Finds a channel; `app` is a ref or an id. */
  find(app: string, channel: string): Outcome<ChannelName> {
    const channels = this.apps.get(app);
    if (channels === undefined) return UNKNOWN_APP;
    return channels.get(channel) ?? UNKNOWN_CHANNEL;
  }

  /** Returns whether the channel of this name has this id; `app` is a ref or an id. */
  hasId(app: string, channel: string, channelId: string): boolean {
    return this.apps.get(app)?.get(channel)?.channelId === channelId;
  }
}

const UNKNOWN_APP = fail('unknownApp');
const UNKNOWN_CHANNEL = fail('unknownChannel');

// Polls the ledger's list of channel names. Announcements bring new channels within milliseconds; the poll
// finds those whose announcement was lost, and confirms that names outside the list do not exist.

/**
 * Milliseconds between polls: well below the time for which a poll confirms the list, so that one slow poll
 * does not make unknown names unavailable.
 */
const POLL_INTERVAL_MS = 1500;

/** Reads the first list and polls, from its start until its stop, which waits for the poll in progress. */
export type ChannelDirectoryPoll = Pick<Periodic, 'stop'> & {
  start(engine: Pick<Engine, 'subscribe'>): void;
};

export function pollChannelNames(known: ChannelDirectory): ChannelDirectoryPoll {
  const polls = periodic(() => known.refresh(), { everyMs: POLL_INTERVAL_MS, jitter: 0.2 });
  return {
    start(engine) {
      engine.subscribe(
        // `Catalogs` subscribes to announcements and passes on their names.
        () => undefined,
        () => {
          // The engine may have restarted empty, and announcements may have been lost.
          known.shareAgain();
          void polls.turn();
        },
      );
      known.start();
      polls.start();
    },
    stop: polls.stop,
  };
}
