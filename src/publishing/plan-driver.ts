// Drives rollout plans: begins due steps and checks guards. Every node does, each plan under the lock of its
// channel, so that the second node finds nothing to do. A node that dies midway leaves the plan unchanged.

import { isFailure } from '../contract/failure.ts';
import type { RecordedUpTo } from '../domain/rollout/drive-plan.ts';
import { type Periodic, periodic, tellFault } from '../flow/periodic.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { CheckInQueue } from '../store/check-in-queue.ts';
import type {
  DrivenRollout,
  OpenPlanState,
  PlanToDrive,
  RegionMark,
} from '../store/fleet-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { PropagateChange } from './propagate-change.ts';

/** Milliseconds between two turns; the next one follows at once if a turn did not drive all due plans. */
const TURN_INTERVAL_MS = 1000;
/** Milliseconds between checks of a plan's guards: half of the 30 s that docs/contract.md promises. */
const CHECK_MS = 15_000;
const PLANS_PER_TURN_MAX = 100;
/** Maximum number of plans driven at a time: each uses a connection to the ledger, which may have fewer. */
const DRIVEN_AT_A_TIME_MAX = 4;
/** Maximum milliseconds for which a node buffers a check-in before it is in the queue, with some reserve. */
const BUFFERED_MS_MAX = 250;

export type PlanDriverDependencies = {
  /** Guarded ledger (`guardChanges`): if it went back to an earlier state, `drivePlan` recovers it first. */
  readonly ledger: Pick<
    Ledger,
    'beginPlanTurn' | 'noteRegion' | 'listRegions' | 'listPlansToDrive' | 'drivePlan'
  >;
  readonly queue: Pick<CheckInQueue, 'ageOfCheckIns' | 'nameRegion'>;
  /** Number of the ledger's connections that plans may use at a time. */
  readonly connectionsMax: number;
  readonly propagate: PropagateChange;
  readonly metrics: Pick<Metrics, 'faults'>;
  readonly log: Pick<Log, 'debug' | 'warn' | 'error'>;
};

export class PlanDriver {
  private readonly regions: Regions;
  private readonly loop = periodic(() => this.turn(), {
    ...{ everyMs: TURN_INTERVAL_MS, firstMs: 0, busyMs: 0 },
  });

  /** Drives until `stop`. */
  readonly start = this.loop.start;
  /** Stops after the present turn. */
  readonly stop = this.loop.stop;

  constructor(private readonly dependencies: PlanDriverDependencies) {
    this.regions = new Regions(dependencies);
  }

  /** Drives due plans once, as many as a turn takes; returns whether there may be more. Never rejects. */
  async turn(): Promise<boolean> {
    const { ledger } = this.dependencies;
    try {
      // First the time, then the queue: a check-in from before this time is then in the queue or recorded.
      const { countedMs, isMarkWanted } = await ledger.beginPlanTurn(this.regions.own);
      if (isMarkWanted) await this.tried(() => this.regions.note(countedMs));
      const plans = [...(await ledger.listPlansToDrive(CHECK_MS, PLANS_PER_TURN_MAX))];
      const isFull = plans.length === PLANS_PER_TURN_MAX;
      if (plans.length === 0) return false;
      const recorded = await this.tried(() => this.regions.read(countedMs));
      const length = Math.min(this.dependencies.connectionsMax, DRIVEN_AT_A_TIME_MAX);
      const drivers = Array.from({ length }, async () => {
        for (let plan = plans.shift(); plan !== undefined; plan = plans.shift()) {
          if (this.loop.isStopped) return;
          await this.drive(plan, recorded);
        }
      });
      await Promise.all(drivers);
      return isFull;
    } catch (error) {
      this.report(error, undefined);
      return false;
    }
  }

  /** Returns the value of `work`; reports a failure and returns undefined: plans are driven anyway. */
  private async tried<Value>(work: () => Promise<Value>): Promise<Value | undefined> {
    try {
      return await work();
    } catch (error) {
      this.report(error, undefined);
      return undefined;
    }
  }

  private async drive(plan: PlanToDrive, recorded: RecordedUpTo | undefined): Promise<void> {
    const { ledger, propagate } = this.dependencies;
    try {
      const driven = await ledger.drivePlan(plan, recorded);
      // The release was deleted meanwhile, or the plan has ended: there is nothing to do.
      if (isFailure(driven)) return;
      if (driven.tripped.length > 0) this.tellTrip(driven);
      await propagate(driven.changed);
    } catch (error) {
      this.report(error, plan.id);
    }
  }

  private tellTrip({ value, tripped }: DrivenRollout): void {
    const { id: plan, app, channel, version, reason, onTrip } = value;
    const details = { plan, app, channel, version, guards: tripped, reason, onTrip };
    this.dependencies.log.warn(details, 'a guard has stopped a rollout');
  }

  private report(error: unknown, plan: string | undefined): void {
    const options = { waits: 'plans wait', details: { plan } };
    tellFault(this.dependencies, 'plan-drive', error, 'a plan could not be driven', options);
  }
}

// Marks of the regions in the ledger: up to which time each has recorded the check-ins in its Redis. A step
// of a plan waits for all regions, whichever node drives it.

class Regions {
  /** Silent regions that were logged. */
  private readonly told = new Set<string>();
  /** Region of this node; undefined until the queue has named it, and with the queue of one process. */
  own: string | undefined;

  constructor(private readonly dependencies: PlanDriverDependencies) {}

  /** Stores this region's mark in the ledger: the counted time up to which its check-ins are recorded. */
  async note(countedMs: number): Promise<void> {
    const { ledger, queue } = this.dependencies;
    this.own = await queue.nameRegion();
    if (this.own === undefined) return;
    await ledger.noteRegion(this.own, await this.measure(countedMs));
  }

  /** Returns the lowest mark of all regions that are not silent, and of this one; undefined if not known. */
  async read(countedMs: number): Promise<RecordedUpTo | undefined> {
    const { ledger, queue } = this.dependencies;
    const own = this.own ?? (await queue.nameRegion());
    const marks = await ledger.listRegions();
    this.tellSilent(marks.filter(({ region, isSilent }) => isSilent && region !== own));
    const counting = marks
      .filter(({ region, isSilent }) => !isSilent || region === own)
      .map(({ region, recordedMs }) => ({ region, seenUpToMs: recordedMs }));
    if (own !== undefined && !counting.some(({ region }) => region === own)) return undefined;
    const here = own === undefined ? [{ seenUpToMs: await this.measure(countedMs) }] : [];
    return [...here, ...counting].reduce<RecordedUpTo | undefined>(
      (least, each) => (least !== undefined && least.seenUpToMs <= each.seenUpToMs ? least : each),
      undefined,
    );
  }

  /** Returns the counted time up to which all check-ins of the queue are recorded. */
  private async measure(countedMs: number): Promise<number> {
    return countedMs - (await this.dependencies.queue.ageOfCheckIns()) - BUFFERED_MS_MAX;
  }

  /** Logs each region once while it is silent: plans go on without its check-ins. */
  private tellSilent(silent: readonly RegionMark[]): void {
    const names = silent.map(({ region }) => region);
    for (const region of this.told) if (!names.includes(region)) this.told.delete(region);
    for (const { region, notedAt } of silent) {
      if (this.told.has(region)) continue;
      this.told.add(region);
      const details = { region, silentSince: notedAt };
      this.dependencies.log.warn(details, 'plans go on without the check-ins of a region');
    }
  }
}

// Counts of the open plans for the metrics, from which an operator learns that a guard has stopped a release,
// or that a plan waits. Every node counts all plans of the service.

/** Milliseconds between counts. */
const COUNT_INTERVAL_MS = 15_000;
/** Milliseconds for which a step may be due before its plan counts as late; usually it is due for seconds. */
const LATE_MS = 120_000;

type PlanWatchDependencies = {
  readonly ledger: Pick<Ledger, 'countPlans'>;
  readonly metrics: Pick<Metrics, 'plans' | 'faults'>;
  readonly log: Pick<Log, 'debug' | 'error'>;
};

/** Returns the loop that counts plans for the metrics; if the ledger is unavailable, the last counts stay. */
export function watchPlans({ ledger, metrics, log }: PlanWatchDependencies): Periodic {
  let counts: Readonly<Record<OpenPlanState, number>> = {
    ...{ scheduled: 0, running: 0, waiting: 0, late: 0, held: 0, tripped: 0 },
  };
  const states = Object.keys(counts) as OpenPlanState[];
  for (const state of states) metrics.plans.set(state, () => counts[state]);
  const count = async (): Promise<void> => {
    counts = await ledger.countPlans(LATE_MS);
  };
  return periodic(count, {
    ...{ everyMs: COUNT_INTERVAL_MS, firstMs: 0 },
    onFault: (error) =>
      tellFault({ metrics, log }, 'plan-drive', error, 'plans could not be counted', {
        waits: false,
      }),
  });
}
