// Loading of what this node served last, before it counts as ready: otherwise the devices that a balancer
// sends to a node that has just started would all wait for cold channels at once.

import { isFailure } from '../contract/failure.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { pause } from '../flow/pause.ts';
import { withinTime } from '../flow/within-time.ts';
import type { Log } from '../observe/log.ts';
import type { ChannelName } from '../store/channel-names.ts';
import type { Catalogs } from './catalogs.ts';
import { KnownChannels } from './known-channels.ts';

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
  private readonly known: Pick<KnownChannels, 'readDisk'>;
  private readonly log: Pick<Log, 'info' | 'warn'>;
  private readonly stopping = new AbortController();
  private readonly gate = new ConcurrencyLimit(LOADS_RUNNING_MAX, KnownChannels.ON_DISK_MAX);
  private readonly startedAt = performance.now();
  private running: Promise<void> | undefined;
  private giveUpTimer: NodeJS.Timeout | undefined;
  private missing = 0;
  private isEnded = false;

  constructor(
    catalogs: Pick<Catalogs, 'find'>,
    known: Pick<KnownChannels, 'readDisk'>,
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
