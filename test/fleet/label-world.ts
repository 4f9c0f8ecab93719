// Several nodes that share a label cache and a ledger, for the model test of device labels. Time stands still
// unless a test moves it; stores go away, lose what they hold, or are cut off from one node.

import { Unavailable } from '../../src/contract/store-fault.ts';
import type { Labels } from '../../src/domain/decision/targeting.ts';
import { type CheckIn, coalesceCheckIns } from '../../src/domain/fleet/check-in.ts';
import { tagLabels } from '../../src/domain/fleet/labels.ts';
import { DeviceLabels } from '../../src/fleet/device-labels.ts';
import { LabelFeed } from '../../src/fleet/label-feed.ts';
import { StoredLabelMemory } from '../../src/fleet/label-memory.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { Engine } from '../../src/store/engine.ts';
import type { DeviceName } from '../../src/store/label-store.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';
import { checkInOf } from '../store/engine/fleet-sample.ts';
import { LabelLedger } from './label-ledger.ts';

const log = createLog('silent');
const metrics = new Metrics();
/** Longer than a note of labels lives, and than a process relies on what it remembers. */
const LONG_MS = 16 * 60_000;
/** Time in which what waits for a store is tried again. */
const RETRIES_MS = 3000;

/** Passes time for everything that looks at a clock. */
export type PassTime = (ms: number) => Promise<void>;

export class LabelWorld {
  readonly ledger = new LabelLedger();
  readonly nodes: readonly LabelNode[];
  /** The process that records check-ins; it serves no device. */
  readonly recorder: LabelNode;
  /** Check-ins that the shared queue holds. */
  queue: CheckIn[] = [];
  isRedisAway = false;
  engine = this.emptyEngine();
  private readonly passTime: PassTime;

  constructor(skewsMs: readonly number[], passTime: PassTime) {
    this.passTime = passTime;
    this.nodes = skewsMs.map((skewMs) => new LabelNode(this, skewMs));
    this.recorder = new LabelNode(this, 0);
    for (const node of this.nodes) node.listen();
  }

  get everyNode(): readonly LabelNode[] {
    return [...this.nodes, this.recorder];
  }

  /** Whether labels of checks wait to be recorded. */
  get holdsLabels(): boolean {
    return (
      this.queue.some(({ labels }) => labels !== undefined) ||
      this.nodes.some((node) => node.holdsLabels)
    );
  }

  async pass(ms: number): Promise<void> {
    this.ledger.now += ms;
    await this.passTime(ms);
  }

  /** Empties Redis: the labels, and the queue of check-ins. */
  loseRedis(): void {
    this.engine = this.emptyEngine();
    this.queue = [];
    for (const node of this.nodes) node.listen();
  }

  /** Records the check-ins that wait. */
  async drain(): Promise<void> {
    if (this.isRedisAway || this.ledger.isAway) return;
    for (const node of this.nodes) node.send();
    const batch = coalesceCheckIns(this.queue.splice(0));
    const stored = await this.ledger.record(batch, 'queued');
    await this.recorder.labels.remember(stored, batch, 'queued');
  }

  /** Lets every process look for what it was not told. */
  async follow(): Promise<void> {
    const { ledger } = this;
    await new LabelFeed({ ledger, engine: this.recorder.engine, log })
      .feed()
      .catch(passUnavailable);
    for (const node of this.nodes) await node.labels.follow().catch(passUnavailable);
  }

  /** Ends all faults, and gives every process the time in which it repairs what they have left. */
  async heal(): Promise<void> {
    this.ledger.isAway = false;
    this.isRedisAway = false;
    for (const node of this.everyNode) node.reconnect();
    await this.pass(RETRIES_MS);
    await this.drain();
    await this.follow();
  }

  /** Lets all end that lasts for minutes. */
  async passLong(): Promise<void> {
    await this.pass(LONG_MS);
    await this.follow();
  }

  private emptyEngine(): Engine {
    return createMemoryEngine({ labelNotesEndedBefore: () => Number.NEGATIVE_INFINITY });
  }
}

/** One process with its memory, its clock and its way to Redis. */
export class LabelNode {
  readonly labels: DeviceLabels;
  readonly engine: Engine;
  private readonly world: LabelWorld;
  private readonly skewMs: number;
  private readonly recorded = new Set<string>();
  private buffered: CheckIn[] = [];
  private hear: Parameters<Engine['onLabels']>[0] = () => undefined;
  private resume: () => void = () => undefined;
  private isCutOff = false;

  constructor(world: LabelWorld, skewMs: number) {
    this.world = world;
    this.skewMs = skewMs;
    this.engine = this.wayToRedis();
    this.labels = new DeviceLabels({
      ledger: world.ledger,
      engine: this.engine,
      admission: {
        record: async (checkIns, kind) => {
          const stored = await world.ledger.record(checkIns, kind);
          for (const { deviceId } of checkIns) this.recorded.add(deviceId);
          return { labels: stored, unadmitted: [], left: [] };
        },
        isRecorded: ({ deviceId }) => this.recorded.has(deviceId),
        learn: ({ deviceId }) => void this.recorded.add(deviceId),
      },
      metrics,
      // Small, because every run makes one for each process.
      labelMemory: new StoredLabelMemory(undefined, 4),
    });
    this.labels.start();
  }

  get hasRedis(): boolean {
    return !this.world.isRedisAway && !this.isCutOff;
  }

  /** Whether labels of checks wait for Redis. */
  get holdsLabels(): boolean {
    return this.buffered.some(({ labels }) => labels !== undefined);
  }

  /** Subscribes to what the present Redis announces. */
  listen(): void {
    this.world.engine.onLabels(
      (notifications) => {
        if (this.hasRedis) this.hear(notifications);
      },
      () => undefined,
    );
    this.missed();
  }

  async cutOff(): Promise<void> {
    this.isCutOff = true;
    await this.noticeSilence();
  }

  /** Polls while Redis is silent, as a node does before long. */
  async noticeSilence(): Promise<void> {
    await this.labels.follow().catch(passUnavailable);
  }

  reconnect(): void {
    if (!this.isCutOff) return;
    this.isCutOff = false;
    this.missed();
  }

  /** Takes note that announcements may have been missed. */
  missed(): void {
    this.recorded.clear();
    this.resume();
  }

  /** Hands buffered check-ins to the queue. */
  send(): void {
    if (!this.hasRedis) return;
    this.world.queue.push(...this.buffered.splice(0));
  }

  /** Takes a report of a device; resolves with false when it is refused. */
  async report(deviceId: string, labels: Labels): Promise<boolean> {
    const { ledger } = this.world;
    if (ledger.isAway) return false;
    const checkIn = checkInOf(deviceId, { at: ledger.now, labels, source: 'push' });
    const stored = await ledger.record([checkIn], 'awaited');
    await this.labels.remember(stored, [checkIn], 'awaited');
    return true;
  }

  /**
   * Handles a check as serving does (src/serving/check-update.ts). `isAskedFor` tells whether a release of
   * its channel asks for labels.
   */
  async check(deviceId: string, labels: Labels, isAskedFor: boolean): Promise<void> {
    const at = this.world.ledger.now + this.skewMs;
    const tag = tagLabels(labels);
    const checkIn = { ...checkInOf(deviceId), at, labels };
    if (isAskedFor && !this.labels.areStored(checkIn, tag)) {
      const note = { appId: checkIn.appId, deviceId, labels, at };
      if (!(await this.labels.note(note, tag))) {
        await this.labels.store(checkIn).catch(passUnavailable);
      }
    }
    const isStored = this.labels.areStored(checkIn, tag);
    this.buffered.push(isStored ? { ...checkIn, labels: undefined } : checkIn);
    if (!isStored) this.labels.noteSent(checkIn, tag, isAskedFor);
    this.send();
  }

  /** Deletes a device, as an operator does. */
  async erase(deviceId: string): Promise<void> {
    this.world.ledger.delete(deviceId);
    await this.labels.forget([deviceNamed(deviceId)]);
    for (const node of this.world.everyNode) node.recorded.delete(deviceId);
  }

  /** Returns the labels that decide for a device, or undefined when they cannot be known. */
  async read(deviceId: string): Promise<Labels | undefined> {
    try {
      return await this.labels.read(deviceNamed(deviceId));
    } catch (error) {
      passUnavailable(error);
      return undefined;
    }
  }

  private wayToRedis(): Engine {
    return redirected(
      () => {
        if (!this.hasRedis) throw new Unavailable('engine', 'away');
        return this.world.engine;
      },
      (listener, onResumed) => {
        this.hear = listener;
        this.resume = onResumed;
      },
    );
  }
}

/** Returns an engine whose calls go to the present one, and reject when there is none. */
function redirected(present: () => Engine, onLabels: Engine['onLabels']): Engine {
  return new Proxy({} as Engine, {
    get: (_, name: keyof Engine) => {
      if (name === 'onLabels') return onLabels;
      if (name === 'keepsNotes') return true;
      return async (...args: readonly unknown[]) => {
        const call = present()[name] as unknown as (...each: readonly unknown[]) => unknown;
        return call(...args);
      };
    },
  });
}

function deviceNamed(deviceId: string): DeviceName {
  return { appId: 'app_1', deviceId };
}

function passUnavailable(error: unknown): void {
  if (!(error instanceof Unavailable)) throw error;
}
