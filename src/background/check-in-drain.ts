// Moves check-ins from the engine into the ledger. Any number of nodes may run it: they share the work, and
// what one took and did not finish before it died, another takes over.
//
//   take ──▶ record in one statement ──▶ acknowledge ──▶ rest ──▶ take …
//              │ ledger away: wait, record the same again (idempotent); nothing is acknowledged
//
// Nobody waits for the record, so it yields to those who serve: it rests three times as long as it worked,
// until it falls behind. Databases that share a machine with the service otherwise take a core from it.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CheckIn, coalesceCheckIns } from '../domain/check-in.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { DeviceLabels } from '../operations/device-labels.ts';
import type { CheckInBatch, CheckInQueue } from '../ports/check-in-queue.ts';
import type { Ledger } from '../ports/ledger.ts';
import { Unavailable } from '../ports/unavailable.ts';

const BATCHES_MAX = 8;
const ROWS_PER_STATEMENT_MAX = 2000;
const WAIT_MS = 500;
/** Longer than any statement may take, so that only the dead are taken over from. */
const ABANDONED_MS = 30_000;
/** This far behind it works without a rest. */
const BEHIND_MS = 15_000;
const REST_FACTOR = 3;
const REST_MS_MAX = 1000;
const BACK_OFF_MIN_MS = 100;
const BACK_OFF_MAX_MS = 2000;

export type DrainDependencies = {
  readonly queue: CheckInQueue;
  readonly ledger: Pick<Ledger, 'recordCheckIns'>;
  readonly labels: Pick<DeviceLabels, 'remember'>;
  readonly metrics: Metrics;
  readonly log: Log;
};

export class CheckInDrain {
  private readonly dependencies: DrainDependencies;
  private readonly taker = randomUUID();
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;
  private backOffMs = BACK_OFF_MIN_MS;
  /** Taken, and not acknowledged yet. */
  private inHand: readonly CheckInBatch[] = [];

  constructor(dependencies: DrainDependencies) {
    this.dependencies = dependencies;
  }

  /** Drains until `stop`. */
  start(): void {
    this.running ??= this.run();
  }

  /** Ends soon, with what is in hand recorded or not. What is not stays with the engine. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Drains what is in hand and what waits, and returns; for an engine that ends with this process. */
  async finish(deadlineMs: number): Promise<void> {
    await this.stop();
    const deadline = Date.now() + deadlineMs;
    while (Date.now() < deadline) {
      if (this.inHand.length === 0) this.inHand = await this.take(0);
      if (this.inHand.length === 0 || !(await this.settleOnce())) return;
    }
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      this.inHand = await this.take(WAIT_MS);
      if (this.inHand.length === 0) continue;
      const begin = performance.now();
      const isBehind = Date.now() - oldestOf(this.inHand) > BEHIND_MS;
      await this.settle();
      if (!isBehind) await this.rest(performance.now() - begin);
    }
  }

  private async rest(workedMs: number): Promise<void> {
    const { signal } = this.stopping;
    const restMs = Math.min(workedMs * REST_FACTOR, REST_MS_MAX);
    await sleep(restMs, undefined, { signal }).catch(() => undefined);
  }

  private async take(waitMs: number): Promise<readonly CheckInBatch[]> {
    try {
      return await this.dependencies.queue.takeCheckIns(
        this.taker,
        BATCHES_MAX,
        waitMs,
        ABANDONED_MS,
      );
    } catch (error) {
      this.report(error, 'check-in-take');
      await this.pause();
      return [];
    }
  }

  /** Records what is in hand, however long the ledger is away. */
  private async settle(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      if (await this.settleOnce()) return;
      await this.pause();
    }
  }

  private async settleOnce(): Promise<boolean> {
    const { queue } = this.dependencies;
    const distinct = coalesceCheckIns(this.inHand.flatMap(({ checkIns }) => checkIns));
    try {
      for (let from = 0; from < distinct.length; from += ROWS_PER_STATEMENT_MAX) {
        await this.record(distinct.slice(from, from + ROWS_PER_STATEMENT_MAX));
      }
      await queue.acknowledgeCheckIns(this.inHand.map(({ id }) => id));
      this.inHand = [];
      this.backOffMs = BACK_OFF_MIN_MS;
      return true;
    } catch (error) {
      this.report(error, 'check-in-record');
      return false;
    }
  }

  /**
   * Records check-ins; of a statement that the ledger refuses for a reason of its own, the halves, down to
   * the one row at fault. That one is dropped: it would be refused for ever, and hold up all others.
   */
  private async record(checkIns: readonly CheckIn[]): Promise<void> {
    const { ledger, labels, metrics, log } = this.dependencies;
    try {
      await labels.remember(await ledger.recordCheckIns(checkIns));
      metrics.checkIns.add('stored', checkIns.length);
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

  private async pause(): Promise<void> {
    const { signal } = this.stopping;
    await sleep(this.backOffMs, undefined, { signal }).catch(() => undefined);
    this.backOffMs = Math.min(this.backOffMs * 2, BACK_OFF_MAX_MS);
  }

  /** A store that is away is expected; anything else is a bug, and the drain goes on trying all the same. */
  private report(error: unknown, place: string): void {
    const { metrics, log } = this.dependencies;
    metrics.faults.add(place);
    if (error instanceof Unavailable) log.debug({ err: error, place }, 'check-ins wait');
    else log.error({ err: error, place }, 'check-ins could not be recorded');
  }
}

/** When the first of these check-ins was made. */
function oldestOf(batches: readonly CheckInBatch[]): number {
  return batches[0]?.checkIns[0]?.at ?? Number.POSITIVE_INFINITY;
}
