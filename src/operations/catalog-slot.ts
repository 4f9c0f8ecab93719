// Where one channel's present catalog lies, with the plans made from it. Whoever asks again and again keeps a
// subject, which finds its plan by a number instead of making it anew. The plans go with their catalog: a
// subject that is never asked again must not keep an old one alive.

import type { Catalog } from '../domain/catalog.ts';
import type { CheckInKind } from '../domain/check-in-pack.ts';
import type { Contender, Plan } from '../domain/plan.ts';
import type { CheckSubject } from './check-subject.ts';

/** A plan, and what check-ins by it have in common: per release offered, and for those offered none. */
export type PreparedPlan<Planned extends Plan = Plan> = {
  readonly plan: Planned;
  readonly kinds: Map<Contender | undefined, CheckInKind>;
};

let lastGeneration = 0;

export class CatalogSlot {
  private present: Catalog | undefined;
  private plans: PreparedPlan[] = [];
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

  /** The plan for a subject on the present catalog, made once; undefined when there is no catalog. */
  planFor<Planned extends Plan>(subject: CheckSubject<Planned>): PreparedPlan<Planned> | undefined {
    if (subject.generation === this.generation) {
      // Whatever stands at a subject's place, its own `plan` has made.
      return this.plans[subject.place] as PreparedPlan<Planned>;
    }
    if (this.present === undefined) return undefined;
    const prepared = { plan: subject.plan(this.present), kinds: new Map() };
    if (!subject.isKept) return prepared;
    this.budget.take(this);
    subject.place = this.plans.push(prepared) - 1;
    subject.generation = this.generation;
    return prepared;
  }

  /** The plans will be made anew as they are asked for. */
  forgetPlans(): void {
    this.plans = [];
    this.generation = nextGeneration();
  }
}

function nextGeneration(): number {
  lastGeneration += 1;
  return lastGeneration;
}

/** What the check-ins of an answer have in common; made once per plan and release. */
export function kindOf(
  { plan, kinds }: PreparedPlan,
  candidate: Contender | undefined,
): CheckInKind {
  const known = kinds.get(candidate);
  if (known !== undefined) return known;
  const { appId, channel } = plan.catalog.snapshot;
  const { version, platform, arch } = plan.fields;
  const kind: CheckInKind = {
    appId,
    channel,
    version: version?.canonical,
    platform,
    arch,
    source: 'pull',
    offeredReleaseId: candidate?.release.source.id,
  };
  kinds.set(candidate, kind);
  return kind;
}

/** Versions come from strangers: with this many plans, all are forgotten and made again. */
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
