// Readiness of this node: it has loaded what it served last and can decide, either with the ledger or, for
// channels that it has loaded or keeps on disk, without any store.

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

type ReadinessDependencies = {
  readonly ledger: Pick<ServingLedger, 'isReachable'>;
  /** What messages call the ledger: on an edge, it is the upstream. */
  readonly ledgerName: 'ledger' | 'upstream';
  /** Engine, if other nodes may have stored snapshots there that this node needs. */
  readonly sharedEngine: Pick<Engine, 'isReachable'> | undefined;
  readonly catalogs: Pick<Catalogs, 'size'>;
  readonly diskSnapshots: Pick<DiskSnapshots, 'hasAny'>;
  readonly warmUp: Pick<WarmUp, 'isOver'>;
};

export class Readiness {
  private isDraining = false;

  constructor(private readonly dependencies: ReadinessDependencies) {}

  /** Makes the node permanently not ready, because it is about to stop. */
  drain(): void {
    this.isDraining = true;
  }

  /** Returns why the node cannot decide; undefined if it can. */
  async obstacle(): Promise<string | undefined> {
    if (this.isDraining) return 'draining';
    const { ledger, ledgerName, sharedEngine, catalogs, diskSnapshots, warmUp } = this.dependencies;
    if (!warmUp.isOver) return 'the channels that this node served last are still being loaded';
    const canDecide =
      catalogs.size > 0 ||
      (await ledger.isReachable()) ||
      (await diskSnapshots.hasAny()) ||
      (await sharedEngine?.isReachable());
    if (canDecide) return undefined;
    return `the ${ledgerName} cannot be reached and nothing is known without it`;
  }
}

// Health of a node for load balancers and operators: whether it can decide, which stores are unavailable, and
// for how long nothing has confirmed that it serves the record's state.

/** Health of one store, as the calls of this process show it. */
type ObservedStore = {
  readonly store: StoreOutage['store'];
  readonly outage: StoreOutage | undefined;
  readonly silentMs: number;
};

/** Unavailable store, since when (RFC 3339), and the consequence. */
type Degradation = {
  readonly store: StoreOutage['store'];
  readonly since: string;
  readonly message: string;
};

/** Returns why a store that answers is refused: it belongs to another record; undefined if it does not. */
export type RefusalOf = (store: StoreOutage['store']) => string | undefined;

/** Whether a node is ready; `obstacle` says why it is not. */
export type NodeState = {
  readonly obstacle: string | undefined;
  readonly degraded: readonly Degradation[];
};

/** Consequences if a store refuses writes: Redis still announces changes, but stores nothing. */
const NO_WRITES: Readonly<Partial<Record<StoreOutage['store'], string>>> = {
  engine: 'check-ins wait in the processes, limits count per process',
};

/** Consequences of an outage; `reason` says which store and why, as the log and the 503 of publishers do. */
const MESSAGES: Readonly<Record<StoreOutage['store'], (reason: string) => string>> = {
  ledger: (reason) => `${reason}: known channels are served, nothing can be changed`,
  upstream: (reason) =>
    `the upstream cannot be followed, known channels are served as they were last: ${reason}`,
  engine: (reason) => `${reason}: changes arrive by poll, limits count per process`,
};

function messageOf({ store, reason, isOfWrites }: StoreOutage): string {
  const without = isOfWrites ? NO_WRITES[store] : undefined;
  return without === undefined ? MESSAGES[store](reason) : `${reason}: ${without}`;
}

export class NodeHealth {
  /** `unconfirmedMsMax`: time without any store after which the node is not ready; undefined: no limit. */
  constructor(
    private readonly readiness: Pick<Readiness, 'obstacle'>,
    private readonly stores: readonly ObservedStore[],
    private readonly unconfirmedMsMax: number | undefined,
    private readonly refusalOf: RefusalOf = () => undefined,
  ) {}

  /**
   * Milliseconds since a store last answered. Any store confirms what is served: the ledger is polled for
   * changes, and the engine announces them.
   */
  get unconfirmedMs(): number {
    return Math.min(...this.stores.map(({ silentMs }) => silentMs));
  }

  /** Returns whether the node is ready, and which stores are unavailable. Never rejects. */
  async state(): Promise<NodeState> {
    const degraded = this.stores.flatMap(({ outage }) => {
      if (outage === undefined) return [];
      const since = new Date(outage.since).toISOString();
      const message = this.refusalOf(outage.store) ?? messageOf(outage);
      return [{ store: outage.store, since, message }];
    });
    // An edge has no other source: if the upstream belongs to another record, it serves wrong states.
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

// Loads what this node served last before it counts as ready: otherwise the devices that a balancer sends to
// a node that just started would all wait for cold channels at once.

/** Maximum time in milliseconds that loading keeps the node from being ready. */
const WARM_UP_MS_MAX = 30_000;
/** Maximum time in milliseconds that loading delays listening at the start. */
const START_WAIT_MS_MAX = 500;
/** Number of channels loaded at a time: as many as `ColdLoads` reads from the ledger at a time. */
const LOADS_RUNNING_MAX = 4;
/** Milliseconds until channels that no store could provide are tried again. */
const RETRY_MS = 500;

export class WarmUp {
  private readonly stopping = new AbortController();
  private readonly gate = new ConcurrencyLimit(LOADS_RUNNING_MAX, ChannelDirectory.ON_DISK_MAX);
  private readonly startedAt = performance.now();
  private running: Promise<void> | undefined;
  private giveUpTimer: NodeJS.Timeout | undefined;
  private missing = 0;
  private isEnded = false;

  constructor(
    private readonly catalogs: Pick<Catalogs, 'find'>,
    private readonly known: Pick<ChannelDirectory, 'readDisk'>,
    private readonly log: Pick<Log, 'info' | 'warn'>,
  ) {}

  /** Whether all that can be loaded is loaded, or loading took too long. */
  get isOver(): boolean {
    return this.isEnded;
  }

  /**
   * Loads the channels on this node's disk until all are loaded, it takes too long, or `stop`. Resolves then,
   * or after half a second: a node with little to load is ready when it listens.
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

  /** Loads channels; returns those that could not be loaded now. */
  private async loadAll(names: readonly ChannelName[]): Promise<readonly ChannelName[]> {
    const left: ChannelName[] = [];
    const load = async (name: ChannelName) => {
      if (this.stopping.signal.aborted || !(await this.isSettled(name))) left.push(name);
      else this.missing -= 1;
    };
    await Promise.all(names.map((name) => this.gate.pass(() => load(name))));
    return left;
  }

  /** Loads a channel; returns false if no store answered. A deleted channel needs no loading. */
  private async isSettled({ appRef, channel }: ChannelName): Promise<boolean> {
    try {
      const slot = await this.catalogs.find(appRef, channel);
      return !isFailure(slot) || slot.failure !== 'unavailable';
    } catch {
      // Logged where it happened. The next attempt, or a request, repeats it.
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
