// Moves check-ins from the engine into the ledger. Any number of nodes may run the drain: they share the
// work, and when a node dies, another one takes over the batches that it took and did not finish.
//
//   take ──▶ leave out what is on record ──▶ record in one statement ──▶ acknowledge ──▶ rest ──▶ take …
//                                              │ ledger away: wait, record the same again (idempotent);
//                                              │ nothing is acknowledged
//
// All check-ins of a device are in one stream of the queue, and one drain at a time takes from a stream. So
// drains write concurrently, each to parts of the ledger that no other drain locks.
//
// No request waits for the drain, so it yields to serving: it rests three times as long as it worked, unless
// it is behind. Otherwise a database on the same machine would take a core from the service.

import { randomUUID } from 'node:crypto';
import { LIMIT } from '../contract/limit.ts';
import { Unavailable, whenAway } from '../contract/store-fault.ts';
import { type CheckIn, coalesceCheckIns, deviceKey } from '../domain/fleet/check-in.ts';
import { type BackOff, backOffMs, pause } from '../flow/pause.ts';
import { type Periodic, periodic, tellFault } from '../flow/periodic.ts';
import type { FaultPlace } from '../observe/label-values.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { CheckInBatch, CheckInQueue } from '../store/check-in-queue.ts';
import type { DeviceName } from '../store/label-store.ts';
import type { Admission } from './admission.ts';
import type { DeviceLabels } from './device-labels.ts';
import type { LedgerClock } from './ledger-clock.ts';
import type { RecordMemory } from './record-cache.ts';

const ROWS_PER_STATEMENT_MAX = 2000;
/** Bounds of the number of batches that are taken at a time: a few large ones fill a statement. */
const BATCHES = { min: 8, max: 128 };
const WAIT_MS = 500;
/**
 * Milliseconds after which a taken batch counts as abandoned: longer than any statement may take, so its node
 * is dead.
 */
const ABANDONED_MS = 30_000;
/** Age in milliseconds of the oldest check-in above which the drain works without rests. */
const BEHIND_MS = 15_000;
const REST_FACTOR = 3;
const REST_MS_MAX = 1000;
const BACK_OFF: BackOff = { minMs: 100, maxMs: 2000 };
/** Milliseconds by which the clocks of processes may differ. */
const AHEAD_MS_MAX = 1000;
const AGE_MS_MAX = LIMIT.checkInAgeDaysMax * 86_400_000;

export type DrainDependencies = {
  readonly queue: CheckInQueue;
  readonly admission: Pick<Admission, 'record'>;
  /** What the process knows of the record; the drains of a process share it. */
  readonly memory: Pick<RecordMemory, 'writer' | 'confirm' | 'sift' | 'note'>;
  /** Streams of the queue that this drain may take from at the moment. */
  readonly streams: () => readonly number[];
  readonly labels: Pick<DeviceLabels, 'remember' | 'tellLost'>;
  readonly clock: Pick<LedgerClock, 'now' | 'aheadMs'>;
  readonly metrics: Metrics;
  readonly log: Log;
};

export class CheckInDrain {
  private readonly taker = randomUUID();
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  /** Failures since check-ins were last recorded. */
  private failures = 0;
  /** Batches that were taken and are not acknowledged yet. */
  private inHand: readonly CheckInBatch[] = [];
  /** Number of batches that are taken at a time. */
  private batchesMax = BATCHES.min;
  /** Time of the oldest check-in that was taken and is not recorded, in milliseconds since 1970. */
  private oldestAt: number | undefined;

  constructor(private readonly dependencies: DrainDependencies) {}

  /** Age in milliseconds of the oldest check-in that was taken and is not recorded; 0 when there is none. */
  get behindMs(): number {
    return this.oldestAt === undefined
      ? 0
      : Math.max(0, this.dependencies.clock.now() - this.oldestAt);
  }

  /** Drains until `stop`. */
  start(): void {
    this.running ??= this.run();
  }

  /** Stops soon. Batches in hand that could not be recorded stay in the engine's queue. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Stops, then records all in hand and in the queue; for an engine that ends with this process. */
  async finish(deadlineMs: number): Promise<void> {
    await this.stop();
    const deadline = performance.now() + deadlineMs;
    while (performance.now() < deadline) {
      if (this.inHand.length === 0) this.inHand = await this.take(0);
      if (this.inHand.length === 0 || !(await this.settleOnce())) return;
    }
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      this.inHand = await this.take(WAIT_MS);
      this.oldestAt = oldestOf(this.inHand);
      if (this.inHand.length === 0) continue;
      this.fitBatches();
      const begin = performance.now();
      const isBehind = this.behindMs > BEHIND_MS;
      await this.settle();
      if (!isBehind) await this.rest(performance.now() - begin);
    }
  }

  private async rest(workedMs: number): Promise<void> {
    await pause(Math.min(workedMs * REST_FACTOR, REST_MS_MAX), this.stopping.signal);
  }

  private async take(waitMs: number): Promise<readonly CheckInBatch[]> {
    try {
      return await this.dependencies.queue.takeCheckIns(
        this.taker,
        this.batchesMax,
        waitMs,
        ABANDONED_MS,
        this.dependencies.streams(),
      );
    } catch (error) {
      this.report(error, 'check-in-take');
      await this.backOff();
      return [];
    }
  }

  /**
   * Adapts `batchesMax`: doubles it when that many batches did not fill a statement, halves it when they
   * filled two. A statement costs some milliseconds whatever is in it, and the size of a batch depends on the
   * load of a process and on the number of streams over which it spreads its check-ins.
   */
  private fitBatches(): void {
    const rows = this.inHand.reduce((sum, { checkIns }) => sum + checkIns.length, 0);
    const isWhole = this.inHand.length >= this.batchesMax;
    if (isWhole && rows < ROWS_PER_STATEMENT_MAX) {
      this.batchesMax = Math.min(this.batchesMax * 2, BATCHES.max);
    } else if (rows > 2 * ROWS_PER_STATEMENT_MAX) {
      this.batchesMax = Math.max(this.batchesMax / 2, BATCHES.min);
    }
  }

  /** Records the batches in hand, retrying for as long as the ledger is unavailable. */
  private async settle(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      if (await this.settleOnce()) return;
      await this.backOff();
    }
  }

  /** Returns the check-ins in hand with plausible times; unchanged while the ledger's time is not known. */
  private dated(): readonly CheckIn[] {
    const { clock, metrics } = this.dependencies;
    const given = this.inHand.flatMap(({ checkIns }) => checkIns);
    if (clock.aheadMs === undefined) return given;
    const dated = datedBy(clock.now(), given);
    if (dated.length < given.length) metrics.checkIns.add('dropped', given.length - dated.length);
    return dated;
  }

  private async settleOnce(): Promise<boolean> {
    const { queue, memory, metrics } = this.dependencies;
    const distinct = coalesceCheckIns(this.dated());
    try {
      await memory.confirm(distinct);
      const needed = memory.sift(distinct);
      for (let from = 0; from < needed.length; from += ROWS_PER_STATEMENT_MAX) {
        await this.record(needed.slice(from, from + ROWS_PER_STATEMENT_MAX));
      }
      if (needed.length < distinct.length) {
        metrics.checkIns.add('stored', distinct.length - needed.length);
      }
      await queue.acknowledgeCheckIns(this.inHand.map(({ id }) => id));
      this.inHand = [];
      this.failures = 0;
      return true;
    } catch (error) {
      this.report(error, 'check-in-record');
      return false;
    }
  }

  /**
   * Records check-ins. When the ledger refuses a statement for a reason other than being unavailable, its
   * halves are recorded separately, down to the one row at fault, which is dropped: it would be refused for
   * ever and block all others.
   */
  private async record(checkIns: readonly CheckIn[]): Promise<void> {
    const { admission, labels, memory, metrics, log } = this.dependencies;
    try {
      const result = await admission.record(checkIns, 'queued', memory.writer);
      memory.note(checkIns, result);
      const { labels: stored, unadmitted } = result;
      await labels.remember(stored, checkIns, 'queued');
      await labels.tellLost(lostOf(checkIns, stored));
      metrics.checkIns.add('stored', checkIns.length - unadmitted.length);
      if (unadmitted.length > 0) metrics.checkIns.add('unadmitted', unadmitted.length);
    } catch (error) {
      if (error instanceof Unavailable) throw error;
      if (checkIns.length > 1) {
        const middle = checkIns.length >> 1;
        await this.record(checkIns.slice(0, middle));
        await this.record(checkIns.slice(middle));
        return;
      }
      metrics.checkIns.add('dropped');
      log.error({ err: error }, 'a check-in could not be recorded');
    }
  }

  private async backOff(): Promise<void> {
    this.failures += 1;
    await pause(backOffMs(BACK_OFF, this.failures), this.stopping.signal);
  }

  /**
   * Reports an error. An unavailable store is expected; anything else is a bug, and the drain keeps trying
   * all the same.
   */
  private report(error: unknown, place: FaultPlace): void {
    const options = { waits: 'check-ins wait', details: { place } };
    tellFault(this.dependencies, place, error, 'check-ins could not be recorded', options);
  }
}

/**
 * Returns check-ins in their order, with times more than a second ahead reduced to that. They occur after the
 * ledger's clock was put back, or on an edge that started without its upstream and with a wrong clock, and
 * would count as newer than all check-ins of the device until then. Drops check-ins older than any journal,
 * because the erasure of their device may be forgotten.
 */
function datedBy(nowMs: number, checkIns: readonly CheckIn[]): readonly CheckIn[] {
  const latestMs = nowMs + AHEAD_MS_MAX;
  return checkIns
    .filter(({ at }) => at >= nowMs - AGE_MS_MAX)
    .map((each) => (each.at > latestMs ? { ...each, at: latestMs } : each));
}

/**
 * Returns the devices whose check-in carried labels that are not on record, because the device was not
 * admitted, or was erased after the check-in.
 */
function lostOf(
  checkIns: readonly CheckIn[],
  stored: readonly DeviceName[],
): readonly DeviceName[] {
  const isStored = new Set(stored.map(deviceKey));
  return checkIns.filter((each) => each.labels !== undefined && !isStored.has(deviceKey(each)));
}

/** Returns the time of the earliest check-in, in milliseconds since 1970; undefined when there is none. */
function oldestOf(batches: readonly CheckInBatch[]): number | undefined {
  // The batches are ordered within a stream only, so the first batch may not have the earliest time.
  const begins = batches.flatMap(({ checkIns }) => checkIns[0]?.at ?? []);
  return begins.length === 0 ? undefined : Math.min(...begins);
}

// Assigns the streams of the check-in queue to processes: all processes that record share them evenly, so
// that one at a time takes from each stream. If two take from a stream for a moment, nothing is lost or
// recorded twice, because each batch is taken once; but what a process knows of the record of its devices is
// certain only while it alone records them.
//
// A process that gains a stream waits until its previous taker must have heard of that, unless it is alone.

const INTERVAL_MS = 500;
/** Longer than the interval at which the other processes share, and a slow answer. */
const GAIN_WAIT_MS = 1500;

type SharedQueue = Pick<CheckInQueue, 'streams' | 'shareCheckIns' | 'leaveCheckIns'>;

export class StreamShare {
  /** Name of this process, unique among all nodes. */
  readonly taker = randomUUID();
  private readonly loop: Periodic;
  /** Monotonic time from which this process may take from each stream; undefined for streams of others. */
  private readonly gainedAt: (number | undefined)[];

  constructor(
    private readonly queue: SharedQueue,
    metrics: Metrics,
    log: Log,
  ) {
    this.gainedAt = new Array(queue.streams).fill(undefined);
    this.loop = periodic(async () => this.share(await queue.shareCheckIns(this.taker)), {
      ...{ everyMs: INTERVAL_MS, firstMs: 0 },
      // The assignment stays: while the engine is away, nobody can take from a stream anyway.
      onFault: (error) =>
        tellFault({ metrics, log }, 'check-in-share', error, 'check-ins are not shared', {
          waits: false,
        }),
    });
  }

  /** Shares until `stop`. */
  start(): void {
    this.loop.start();
  }

  async stop(): Promise<void> {
    await this.loop.stop();
    this.gainedAt.fill(undefined);
    // If this fails, the registration expires in a few seconds.
    await this.queue.leaveCheckIns(this.taker).catch(whenAway(() => undefined));
  }

  /**
   * Returns the streams of one of the `drains` of this process, counted from 0. A stream always goes to the
   * same drain: two would otherwise have check-ins of a device in hand at the same time.
   */
  streamsOf(drain: number, drains: number): readonly number[] {
    const now = performance.now();
    return [...this.gainedAt.keys()].filter(
      (stream) =>
        Math.floor((stream * drains) / this.gainedAt.length) === drain &&
        (this.gainedAt[stream] ?? Infinity) <= now,
    );
  }

  private share(takers: readonly string[]): void {
    const place = takers.indexOf(this.taker);
    if (place === -1) return this.keep(takers);
    const from = performance.now() + (takers.length > 1 ? GAIN_WAIT_MS : 0);
    for (let stream = 0; stream < this.gainedAt.length; stream++) {
      const isOwn = place === stream % takers.length;
      if (!isOwn) this.gainedAt[stream] = undefined;
      else this.gainedAt[stream] = Math.min(this.gainedAt[stream] ?? Infinity, from);
    }
  }

  /**
   * Keeps the streams although this process is not registered: an engine whose memory is full registers none,
   * and only taking frees its memory. While none is registered, one without streams takes from all.
   */
  private keep(takers: readonly string[]): void {
    const hasAny = this.gainedAt.some((each) => each !== undefined);
    if (takers.length === 0 && !hasAny) this.gainedAt.fill(performance.now());
  }
}

// Length of the check-in queue, read every two seconds, because the metrics of a process must not wait for
// it.

const QUEUE_LENGTH_INTERVAL_MS = 2000;

export class QueueLength {
  /** Number of batches in the queue when it was last read; stays while the queue cannot be read. */
  entries = 0;
  /** Bytes that count against the queue's bound, read like `entries`. */
  bytes = 0;
  private readonly reads = periodic(() => this.read(), {
    everyMs: QUEUE_LENGTH_INTERVAL_MS,
    // The engine is away, which the health of the stores reports.
    onFault: () => undefined,
  });

  readonly start = this.reads.start;
  readonly stop = this.reads.stop;

  constructor(private readonly queue: Pick<CheckInQueue, 'countCheckIns' | 'weighCheckIns'>) {}

  private async read(): Promise<void> {
    this.entries = await this.queue.countCheckIns();
    this.bytes = await this.queue.weighCheckIns();
  }
}
