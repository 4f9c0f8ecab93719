// Where one channel's present catalog lies, with the plans made from it: one for each place that a version
// can have in it, and each kind of machine. Whoever asks again and again keeps a subject, which finds its
// plan by a number. Plans go with their catalog: what is never asked again must not keep an old one alive.

import type { Catalog } from '../domain/catalog.ts';
import {
  type Decision,
  type Device,
  decidePlace,
  decisionAt,
  fixedPlace,
} from '../domain/decide.ts';
import { type Contender, NO_OFFER_REASONS, type Plan } from '../domain/plan.ts';
import { type CheckInOrigin, type SharedPart, sharedOrigin } from '../domain/shared-part.ts';
import { standingOf } from '../domain/standing.ts';
import type { Version } from '../domain/version.ts';
import type { CheckOrigin, CheckSubject } from './check-subject.ts';

/** What a plan decides for a device, and what all checks of that decision have in common. */
export type Settled<Planned extends Plan = Plan> = Decision<Planned['list'][number]> & {
  readonly plan: Planned;
  readonly origin: SharedPart<CheckInOrigin>;
};

/** Where the plans of an origin are, by the standing of the version. */
type PlanPlaces = Map<number, number>;

let lastGeneration = 0;

export class CatalogSlot {
  private present: Catalog | undefined;
  private plans: PreparedPlan[] = [];
  private planPlaces: PlanPlaces[] = [];
  /** Where in `planPlaces` those of an origin are, by its `planKey`. */
  private readonly originPlaces = new Map<string, number>();
  /** Of the plans; no two slots ever have the same. */
  private generation = nextGeneration();
  private readonly budget: PlanBudget;

  constructor(budget: PlanBudget) {
    this.budget = budget;
  }

  /** Undefined once the channel was evicted: what is no longer kept up to date must not be served from. */
  get catalog(): Catalog | undefined {
    return this.present;
  }

  /** Serves another catalog from now on, or none. */
  replace(catalog: Catalog | undefined): void {
    this.present = catalog;
    this.forgetPlans();
  }

  /** The plan for a subject on the present catalog; undefined when there is no catalog. */
  planFor<Planned extends Plan>(subject: CheckSubject<Planned>): PreparedPlan<Planned> | undefined {
    if (subject.generation !== this.generation) {
      const catalog = this.present;
      if (catalog === undefined) return undefined;
      const { origin, version } = subject;
      if (!origin.isKept) return new PreparedPlan(origin.plan(catalog, version));
      subject.place = this.placeOf(origin, version, catalog);
      subject.generation = this.generation;
    }
    // Whatever stands at a subject's place, an origin of the same key has made.
    return this.plans[subject.place] as PreparedPlan<Planned>;
  }

  /** The plans will be made anew as they are asked for. */
  forgetPlans(): void {
    this.plans = [];
    this.planPlaces = [];
    this.originPlaces.clear();
    this.generation = nextGeneration();
  }

  /** Of the plan for a version, made once for all that stand where it does. */
  private placeOf(origin: CheckOrigin, version: Version | undefined, catalog: Catalog): number {
    const standing = standingOf(catalog.landmarks, version);
    const known = this.placesOf(origin).get(standing);
    if (known !== undefined) return known;
    // First of all: it may forget the plans there are.
    this.budget.take(this);
    const place = this.plans.push(new PreparedPlan(origin.plan(catalog, version))) - 1;
    this.placesOf(origin).set(standing, place);
    return place;
  }

  private placesOf(origin: CheckOrigin): PlanPlaces {
    if (origin.generation !== this.generation) {
      const place = this.originPlaces.get(origin.planKey) ?? this.planPlaces.push(new Map()) - 1;
      this.originPlaces.set(origin.planKey, place);
      origin.place = place;
      origin.generation = this.generation;
    }
    return this.planPlaces[origin.place] as PlanPlaces;
  }
}

function nextGeneration(): number {
  lastGeneration += 1;
  return lastGeneration;
}

/** A plan with the decisions that it has come to so far. */
export class PreparedPlan<Planned extends Plan = Plan> {
  readonly plan: Planned;
  readonly asksForLabels: boolean;
  /** Where the decision is the same for all devices. */
  private readonly fixed: Settled<Planned> | undefined;
  /** Those that depend on the device, by place: reasons first, then the plan's list from where it begins. */
  private readonly settled: Settled<Planned>[] = [];

  constructor(plan: Planned) {
    this.plan = plan;
    this.asksForLabels = plan.labelKeys.length > 0;
    const place = fixedPlace(plan);
    this.fixed = place === undefined ? undefined : settledAt(plan, place);
  }

  /** Decides for a device; `barred` as in `decide`. */
  settle(device: Device, barred?: ReadonlySet<string>): Settled<Planned> {
    if (this.fixed !== undefined && barred === undefined) return this.fixed;
    const place = decidePlace(this.plan, device, barred);
    const index = place < 0 ? -1 - place : place - this.plan.from + NO_OFFER_REASONS.length;
    let settled = this.settled[index];
    if (settled === undefined) {
      settled = settledAt(this.plan, place);
      this.settled[index] = settled;
    }
    return settled;
  }
}

function settledAt<Planned extends Plan>(plan: Planned, place: number): Settled<Planned> {
  const { reason, candidate } = decisionAt(plan, place);
  const origin = sharedOrigin(originOf(plan, candidate));
  // Written out: objects that a spread has made have no common shape, and every check reads one of these.
  return { reason, candidate, plan, origin } as Settled<Planned>;
}

/** What the check-ins of devices have in common that a plan offers this, or nothing. */
export function originOf(plan: Plan, candidate: Contender | undefined): CheckInOrigin {
  const { appId, channel } = plan.catalog.snapshot;
  const { platform, arch } = plan.fields;
  return {
    appId,
    channel,
    platform,
    arch,
    source: 'pull',
    offeredReleaseId: candidate?.release.source.id,
  };
}

/** Strangers choose what is asked: with this many plans, all are forgotten and made again. */
const PLANS_MAX = 65_536;

/** How many plans the slots of a node hold, and which slots do. */
export class PlanBudget {
  private readonly holders = new Set<CatalogSlot>();
  private count = 0;

  /** Another plan is about to be held; makes room when there is none. */
  take(holder: CatalogSlot): void {
    if (this.count >= PLANS_MAX) {
      for (const each of this.holders) each.forgetPlans();
      this.holders.clear();
      this.count = 0;
    }
    this.holders.add(holder);
    this.count += 1;
  }
}
