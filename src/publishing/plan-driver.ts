// Drives rollout plans: begins steps when they are due and checks guards. Every node runs it; a plan is
// driven under the lock of its channel, so that whoever comes second finds nothing to do. A node that dies in
// the middle leaves the plan as it was.

import { isFailure } from '../contract/failure.ts';
import { Unavailable } from '../contract/unavailable.ts';
import { pause } from '../flow/pause.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { CheckInQueue } from '../store/check-in-queue.ts';
import type { PlanLedger, PlanToDrive } from '../store/fleet-ledger.ts';
import type { PropagateChange } from './propagate-change.ts';

/** Milliseconds between two turns, unless there is more to do than one turn takes. */
const TURN_INTERVAL_MS = 1000;
/** Milliseconds after which the guards of a plan are checked again: half of what is promised. */
const CHECK_MS = 15_000;
const PLANS_PER_TURN_MAX = 100;
/** Plans that are driven at a time: each takes a connection of the ledger. */
const DRIVEN_AT_A_TIME_MAX = 2;
/** Milliseconds for which a check-in may lie in its node before it is in the queue, and some to spare. */
const BUFFERED_MS_MAX = 250;

export type PlanDriverDependencies = {
  /** Ledger that is recovered before a change when it went back. */
  readonly ledger: Pick<PlanLedger, 'countPlanTime' | 'listPlansToDrive' | 'drivePlan'>;
  readonly queue: Pick<CheckInQueue, 'ageOfCheckIns'>;
  readonly propagate: PropagateChange;
  readonly metrics: Pick<Metrics, 'faults'>;
  readonly log: Log;
};

export class PlanDriver {
  private readonly dependencies: PlanDriverDependencies;
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;

  constructor(dependencies: PlanDriverDependencies) {
    this.dependencies = dependencies;
  }

  /** Drives until `stop`. */
  start(): void {
    this.running ??= this.run();
  }

  /** Finishes the turn under way. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /**
   * Drives plans that have something to do now, once, as many as a turn takes; returns whether there may be
   * more. Never rejects.
   */
  async turn(): Promise<boolean> {
    const { ledger } = this.dependencies;
    try {
      // Before the queue is measured: what was received by this time and is not in the queue is recorded.
      const { countedMs } = await ledger.countPlanTime();
      const plans = [...(await ledger.listPlansToDrive(CHECK_MS, PLANS_PER_TURN_MAX))];
      const isFull = plans.length === PLANS_PER_TURN_MAX;
      if (plans.length === 0) return false;
      const seenUpToMs = await this.seenUpTo(countedMs);
      const drivers = Array.from({ length: DRIVEN_AT_A_TIME_MAX }, async () => {
        for (let plan = plans.shift(); plan !== undefined; plan = plans.shift()) {
          if (this.stopping.signal.aborted) return;
          await this.drive(plan, seenUpToMs);
        }
      });
      await Promise.all(drivers);
      return isFull;
    } catch (error) {
      this.report(error, undefined);
      return false;
    }
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      if (await this.turn()) continue;
      await pause(TURN_INTERVAL_MS, this.stopping.signal);
    }
  }

  /** Counted time up to which the record is whole; undefined while the queue cannot be measured. */
  private async seenUpTo(countedMs: number): Promise<number | undefined> {
    try {
      return countedMs - (await this.dependencies.queue.ageOfCheckIns()) - BUFFERED_MS_MAX;
    } catch (error) {
      this.report(error, undefined);
      return undefined;
    }
  }

  private async drive(plan: PlanToDrive, seenUpToMs: number | undefined): Promise<void> {
    const { ledger, propagate } = this.dependencies;
    try {
      const driven = await ledger.drivePlan(plan, seenUpToMs);
      // A release that is gone meanwhile, or a plan that has ended, leaves nothing to do.
      if (!isFailure(driven)) await propagate(driven.changed);
    } catch (error) {
      this.report(error, plan.id);
    }
  }

  private report(error: unknown, plan: string | undefined): void {
    const { metrics, log } = this.dependencies;
    metrics.faults.add('plan-drive');
    if (error instanceof Unavailable) log.debug({ err: error, plan }, 'plans wait');
    else log.error({ err: error, plan }, 'a plan could not be driven');
  }
}
