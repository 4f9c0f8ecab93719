// Readiness of this node: it has loaded what it served last, and can decide when the ledger answers, and
// without any store for the channels that it has loaded or keeps on disk.

import { isFailure } from '../contract/failure.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { pause } from '../flow/pause.ts';
import { withinTime } from '../flow/within-time.ts';
import type { Log } from '../observe/log.ts';
import type { StoreOutage } from '../observe/store-health.ts';
import type { DiskSnapshots } from '../store/disk-snapshots.ts';
import type { ChannelName, Engine } from '../store/engine.ts';
import type { ServingLedger } from '../store/ledger.ts';
import type { Catalogs } from './catalogs.ts';
import { ChannelDirectory } from './channel-directory.ts';

export class Readiness {
  private readonly ledger: ServingLedger;
  private readonly ledgerName: 'ledger' | 'upstream';
  private readonly engine: Engine;
  private readonly isEngineShared: boolean;
  private readonly catalogs: Catalogs;
  private readonly diskSnapshots: DiskSnapshots;
  private readonly warmUp: Pick<WarmUp, 'isOver'>;
  private isDraining = false;

  /**
   * `ledgerName` is what an operator knows the ledger by. `isEngineShared` says that other nodes may have
   * stored snapshots in the engine that this node needs.
   */
  constructor(
    ledger: ServingLedger,
    ledgerName: 'ledger' | 'upstream',
    engine: Engine,
    isEngineShared: boolean,
    catalogs: Catalogs,
    diskSnapshots: DiskSnapshots,
    warmUp: Pick<WarmUp, 'isOver'>,
  ) {
    this.ledger = ledger;
    this.ledgerName = ledgerName;
    this.engine = engine;
    this.isEngineShared = isEngineShared;
    this.catalogs = catalogs;
    this.diskSnapshots = diskSnapshots;
    this.warmUp = warmUp;
  }

  /** Makes the node permanently not ready, because it is about to stop. */
  drain(): void {
    this.isDraining = true;
  }

  /** Returns why the node cannot decide, or undefined when it can. */
  async obstacle(): Promise<string | undefined> {
    if (this.isDraining) return 'draining';
    if (!this.warmUp.isOver)
      return 'the channels that this node served last are still being loaded';
    const canDecide =
      this.catalogs.size > 0 ||
      (await this.ledger.isReachable()) ||
      (await this.diskSnapshots.hasAny()) ||
      (this.isEngineShared && (await this.engine.isReachable()));
    if (canDecide) return undefined;
    return `the ${this.ledgerName} cannot be reached and nothing is known without it`;
  }
}

// What a node tells balancers and operators of itself: whether it can decide, which of its stores are lost,
// and for how long nothing has confirmed that what it serves is still what the record has.

/** Health of one store, as the calls of this process show it. */
type ObservedStore = {
  readonly store: StoreOutage['store'];
  readonly outage: StoreOutage | undefined;
  readonly silentMs: number;
};

/** Store that a node does without, since when (RFC 3339), and what that means. */
type Degradation = {
  readonly store: StoreOutage['store'];
  readonly since: string;
  readonly message: string;
};

/**
 * Returns why a store is refused although it answers, because it is of another record; undefined when it is
 * not.
 */
export type RefusalOf = (store: StoreOutage['store']) => string | undefined;

/** Answer to the question whether a node is ready. `obstacle` says why it is not. */
export type NodeState = {
  readonly obstacle: string | undefined;
  readonly degraded: readonly Degradation[];
};

/** The reasons of a node's own stores name their addresses, and are for the log alone. */
const MESSAGES: Readonly<Record<StoreOutage['store'], (reason: string) => string>> = {
  ledger: () => 'PostgreSQL does not answer: known channels are served, nothing can be changed',
  upstream: (reason) =>
    `the upstream does not answer, known channels are served as they were last: ${reason}`,
  engine: () => 'Redis does not answer: changes arrive by poll, limits count per process',
};

export class NodeHealth {
  private readonly readiness: Pick<Readiness, 'obstacle'>;
  private readonly stores: readonly ObservedStore[];
  private readonly unconfirmedMsMax: number | undefined;
  private readonly refusalOf: RefusalOf;

  /**
   * `unconfirmedMsMax` is the time without a store after which the node is not ready; undefined for no limit.
   */
  constructor(
    readiness: Pick<Readiness, 'obstacle'>,
    stores: readonly ObservedStore[],
    unconfirmedMsMax: number | undefined,
    refusalOf: RefusalOf = () => undefined,
  ) {
    this.refusalOf = refusalOf;
    this.readiness = readiness;
    this.stores = stores;
    this.unconfirmedMsMax = unconfirmedMsMax;
  }

  /**
   * Milliseconds since a store last answered. Any store confirms what is served: the ledger is polled for
   * changes, and the engine announces them.
   */
  get unconfirmedMs(): number {
    return Math.min(...this.stores.map(({ silentMs }) => silentMs));
  }

  /** Returns whether the node is ready, and what it does without. Never rejects. */
  async state(): Promise<NodeState> {
    const degraded = this.stores.flatMap(({ outage }) => {
      if (outage === undefined) return [];
      const since = new Date(outage.since).toISOString();
      const message = this.refusalOf(outage.store) ?? MESSAGES[outage.store](outage.reason);
      return [{ store: outage.store, since, message }];
    });
    // An edge has nothing else: what it serves is not what its service has.
    const refusal = this.refusalOf('upstream');
    const obstacle = (await this.readiness.obstacle()) ?? refusal ?? this.unconfirmed();
    return { obstacle, degraded };
  }

  private unconfirmed(): string | undefined {
    const { unconfirmedMs, unconfirmedMsMax } = this;
    if (unconfirmedMsMax === undefined || unconfirmedMs <= unconfirmedMsMax) return undefined;
    const isEdge = this.stores.some(({ store }) => store === 'upstream');
    const silent = isEdge ? 'the upstream has not' : 'no store has';
    return `${silent} answered for ${Math.round(unconfirmedMs / 1000)} s`;
  }
}

// Loading of what this node served last, before it counts as ready: otherwise the devices that a balancer
// sends to a node that has just started would all wait for cold channels at once.

/** Longest time in milliseconds that loading keeps the node from being ready. */
const WARM_UP_MS_MAX = 30_000;
/** Longest time in milliseconds for which a node that starts does not listen yet because it loads. */
const START_WAIT_MS_MAX = 500;
/** Number of channels loaded at a time, as many as the ledger is read for. */
const LOADS_RUNNING_MAX = 4;
/** Milliseconds before channels are tried again that no store could give. */
const RETRY_MS = 500;

export class WarmUp {
  private readonly catalogs: Pick<Catalogs, 'find'>;
  private readonly known: Pick<ChannelDirectory, 'readDisk'>;
  private readonly log: Pick<Log, 'info' | 'warn'>;
  private readonly stopping = new AbortController();
  private readonly gate = new ConcurrencyLimit(LOADS_RUNNING_MAX, ChannelDirectory.ON_DISK_MAX);
  private readonly startedAt = performance.now();
  private running: Promise<void> | undefined;
  private giveUpTimer: NodeJS.Timeout | undefined;
  private missing = 0;
  private isEnded = false;

  constructor(
    catalogs: Pick<Catalogs, 'find'>,
    known: Pick<ChannelDirectory, 'readDisk'>,
    log: Pick<Log, 'info' | 'warn'>,
  ) {
    this.catalogs = catalogs;
    this.known = known;
    this.log = log;
  }

  /** Whether everything is loaded that can be, or it took too long. */
  get isOver(): boolean {
    return this.isEnded;
  }

  /**
   * Loads the channels that lie on this node's disk, until all are loaded, it takes too long, or `stop`.
   * Resolves when that is over, or after a moment: a node that has little to load is ready when it listens.
   */
  async start(): Promise<void> {
    this.giveUpTimer = setTimeout(() => this.giveUp(), WARM_UP_MS_MAX);
    this.running ??= this.run();
    await withinTime(this.running, START_WAIT_MS_MAX);
  }

  /** Stops soon, and waits for loads in progress. */
  async stop(): Promise<void> {
    clearTimeout(this.giveUpTimer);
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    const names = await this.known.readDisk();
    let left = names;
    this.missing = left.length;
    while (left.length > 0) {
      left = await this.loadAll(left);
      if (left.length > 0) await pause(RETRY_MS, signal);
      if (signal.aborted || this.isEnded) return;
    }
    clearTimeout(this.giveUpTimer);
    this.isEnded = true;
    const ms = Math.round(performance.now() - this.startedAt);
    this.log.info({ channels: names.length, ms }, 'last known channels loaded');
  }

  /** Loads channels, and returns those that could not be loaded now. */
  private async loadAll(names: readonly ChannelName[]): Promise<readonly ChannelName[]> {
    const left: ChannelName[] = [];
    const load = async (name: ChannelName) => {
      if (this.stopping.signal.aborted || !(await this.isSettled(name))) left.push(name);
      else this.missing -= 1;
    };
    await Promise.all(names.map((name) => this.gate.pass(() => load(name))));
    return left;
  }

  /** Loads a channel; returns false when no store could tell. A channel that is gone needs no loading. */
  private async isSettled({ appRef, channel }: ChannelName): Promise<boolean> {
    try {
      const slot = await this.catalogs.find(appRef, channel);
      return !isFailure(slot) || slot.failure !== 'unavailable';
    } catch {
      // Logged where it happened. The next attempt, or a request, meets it again.
      return false;
    }
  }

  private giveUp(): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.log.warn(
      { missing: this.missing, ms: WARM_UP_MS_MAX },
      'ready, although last known channels could not be loaded',
    );
  }
}
