// Catalog that a channel is served from at present, with the plans made from it: one for each question that
// clients ask and each position that a version can have among the catalog's landmarks. Plans are forgotten
// with their catalog, since a query that is never asked again must not keep an old catalog in memory.

import type { Candidate, Catalog } from '../domain/decision/catalog.ts';
import {
  type Choice,
  choose,
  commonChoice,
  type Decision,
  decisionOf,
} from '../domain/decision/decide.ts';
import { type Plan, planUpdate } from '../domain/decision/plan.ts';
import type { Device } from '../domain/decision/rule/decision-rule.ts';
import type { Version } from '../domain/decision/version.ts';
import { versionPosition } from '../domain/decision/version-position.ts';
import {
  type CheckInContext,
  type InternedValue,
  internContext,
  internVersion,
} from '../domain/fleet/check-in-pack.ts';
import type { Question } from '../updater/updater.ts';

/** Question with the index of its plans in a slot, which saves a check the look-up of the plans by key. */
type PlanScope<Item extends Candidate = Candidate> = Question<Item> & {
  /** Whether the scope is cached and used again, so that its plans are worth keeping. The cache sets it. */
  isKept: boolean;
  /** Generation of the slot's plans in which `plansIndex` is valid; 0 before the slot has set it. */
  generation: number;
  /** Index of the scope's plans in the slot, which sets it. */
  plansIndex: number;
};

/**
 * Version in a scope, with the index of its plan in a slot. The index saves a check finding the position of
 * the version and its plan.
 */
type PlanQuery<Item extends Candidate = Candidate> = {
  readonly scope: PlanScope<Item>;
  readonly version: Version | undefined;
  /** Generation of the slot's plans in which `planIndex` is valid; 0 before the slot has set it. */
  generation: number;
  /** Index of the version's plan in the slot, which sets it. */
  planIndex: number;
};

/** Decision with its plan, and with the part that the check-ins of all devices with this decision share. */
export type PlanDecision<Item extends Candidate = Candidate> = Decision<Item> & {
  readonly plan: Plan<Item>;
  readonly context: InternedValue<CheckInContext>;
};

/** How the devices of a plan ask, for the record. */
type Asking = Pick<CheckInContext, 'client' | 'bundle'>;

/** Indexes of the plans of one scope, by the position of the version. */
type PlanIndexes = Map<number, number>;

let lastGeneration = 0;

export class CatalogSlot {
  private present: Catalog | undefined;
  /** Plans by their index. They save making a plan for every check. */
  private plans: PreparedPlan[] = [];
  private plansOfScopes: PlanIndexes[] = [];
  /** Indexes in `plansOfScopes`, by the `planKey` of the scope. */
  private readonly plansIndexes = new Map<string, number>();
  /**
   * Number of the present plans, unique among all slots. It changes when plans are forgotten, which makes the
   * indexes in queries and scopes invalid.
   */
  private generation = nextGeneration();
  private readonly budget: PlanBudget;

  constructor(budget: PlanBudget) {
    this.budget = budget;
  }

  /**
   * Present catalog; undefined once the channel was evicted, because a catalog that is no longer kept up to
   * date must not be served from.
   */
  get catalog(): Catalog | undefined {
    return this.present;
  }

  /** Serves another catalog from now on, or none. */
  replace(catalog: Catalog | undefined): void {
    this.present = catalog;
    this.forgetPlans();
  }

  /** Returns the plan of a query on the present catalog; undefined when there is no catalog. */
  planFor<Item extends Candidate>(query: PlanQuery<Item>): PreparedPlan<Item> | undefined {
    if (query.generation !== this.generation) {
      const catalog = this.present;
      if (catalog === undefined) return undefined;
      const { scope, version } = query;
      if (!scope.isKept) return preparePlan(scope, version, catalog);
      query.planIndex = this.planIndexOf(scope, version, catalog);
      query.generation = this.generation;
    }
    // A scope with the same `planKey` made this plan, so that it is of the query's type.
    return this.plans[query.planIndex] as PreparedPlan<Item>;
  }

  /** Forgets all plans. They are made again when they are asked for. */
  forgetPlans(): void {
    this.plans = [];
    this.plansOfScopes = [];
    this.plansIndexes.clear();
    this.generation = nextGeneration();
  }

  /** Returns the index of the plan for a version, which all versions at the same position share. */
  private planIndexOf(scope: PlanScope, version: Version | undefined, catalog: Catalog): number {
    const position = versionPosition(catalog.landmarks, version);
    const known = this.plansOf(scope).get(position);
    if (known !== undefined) return known;
    // Called before the plan is added, because the budget may make this slot forget the plans that it has.
    this.budget.take(this);
    const index = this.plans.push(preparePlan(scope, version, catalog)) - 1;
    this.plansOf(scope).set(position, index);
    return index;
  }

  private plansOf(scope: PlanScope): PlanIndexes {
    if (scope.generation !== this.generation) {
      const index = this.plansIndexes.get(scope.planKey) ?? this.plansOfScopes.push(new Map()) - 1;
      this.plansIndexes.set(scope.planKey, index);
      scope.plansIndex = index;
      scope.generation = this.generation;
    }
    return this.plansOfScopes[scope.plansIndex] as PlanIndexes;
  }
}

function preparePlan<Item extends Candidate>(
  { client, bundle, platform, arch, candidates }: PlanScope<Item>,
  version: Version | undefined,
  catalog: Catalog,
): PreparedPlan<Item> {
  const plan = planUpdate(catalog, { version, platform, arch }, candidates(catalog));
  return new PreparedPlan(plan, { client, bundle });
}

function nextGeneration(): number {
  lastGeneration += 1;
  return lastGeneration;
}

/** Plan with the decisions that were made from it so far. */
export class PreparedPlan<Item extends Candidate = Candidate> {
  readonly plan: Plan<Item>;
  readonly asksForLabels: boolean;
  /** Decision for all devices; undefined when it depends on the device. Saves most checks the decision. */
  private readonly common: PlanDecision<Item> | undefined;
  /** Decisions that depend on the device, one for each choice. Saves a check the objects of its decision. */
  private decisions: Map<Choice<Item>, PlanDecision<Item>> | undefined;
  private readonly asking: Asking;

  constructor(plan: Plan<Item>, asking: Asking) {
    this.plan = plan;
    this.asking = asking;
    this.asksForLabels = plan.labelKeys.length > 0;
    const choice = commonChoice(plan);
    this.common = choice === undefined ? undefined : planDecision(plan, asking, choice);
  }

  /** Part that the check-ins share of all devices that ask so and have not been decided for yet. */
  get undecided(): CheckInContext {
    return checkInContext(this.plan, this.asking, undefined);
  }

  /** Decides for a device; `excluded` has the meaning that it has for `decide`. */
  decide(device: Device, excluded?: ReadonlySet<string>): PlanDecision<Item> {
    if (this.common !== undefined && excluded === undefined) return this.common;
    const choice = choose(this.plan, device, excluded);
    return this.decisions?.get(choice) ?? this.remember(choice);
  }

  private remember(choice: Choice<Item>): PlanDecision<Item> {
    const decision = planDecision(this.plan, this.asking, choice);
    this.decisions ??= new Map();
    this.decisions.set(choice, decision);
    return decision;
  }
}

function planDecision<Item extends Candidate>(
  plan: Plan<Item>,
  asking: Asking,
  choice: Choice<Item>,
): PlanDecision<Item> {
  const { reason, candidate } = decisionOf(choice);
  const context = internContext(checkInContext(plan, asking, candidate));
  // Written out instead of spread, because every check reads such an object, and objects made by a spread
  // have no common shape.
  return { reason, candidate, plan, context } as PlanDecision<Item>;
}

/**
 * Returns the part that the check-ins share of all devices to which a plan offers this candidate, or no
 * release (undefined).
 */
function checkInContext(
  plan: Plan,
  { client, bundle }: Asking,
  candidate: Candidate | undefined,
): CheckInContext {
  const { appId, channel } = plan.catalog.snapshot;
  const { platform, arch } = plan.fields;
  return {
    appId,
    channel,
    platform,
    arch,
    source: 'pull',
    client,
    bundle,
    offeredReleaseId: candidate?.release.source.id,
  };
}

/**
 * Maximum number of plans of a process. Clients choose what they ask, hence a bound: at the maximum all plans
 * are forgotten, and made again when they are needed.
 */
const PLANS_MAX = 65_536;

/** Number of plans that all slots of a process hold, kept below the maximum. */
export class PlanBudget {
  private readonly holders = new Set<CatalogSlot>();
  private count = 0;

  /** Counts a plan that the slot is about to hold; makes all slots forget theirs when there are too many. */
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

// Query of an update check: everything that it asks, apart from the device that asks. Devices of a fleet
// report many versions on few platforms and arches, so that a query is a version in a scope, and all versions
// share the scope. Queries and scopes are cached by address (`http/device`), and remember indexes into the
// slot of their channel, so that a check finds its plan without looking anything up.

/** Question to one channel: everything that a check asks except the version. */
export type CheckScope<Item extends Candidate = Candidate> = PlanScope<Item> & {
  /** Ref or id of the app. */
  readonly app: string;
  readonly channel: string;
  /** Slot of the channel, once it was found. Saves a check the look-up by name; `CheckUpdate` sets it. */
  slot: CatalogSlot | undefined;
};

/** Query that all checks of one address have in common. */
export type CheckQuery<Item extends Candidate = Candidate> = PlanQuery<Item> & {
  readonly scope: CheckScope<Item>;
  /** Version in the form that check-ins carry. */
  readonly reported: InternedValue<string | undefined>;
};

/** Builds a query; `version` is undefined where a device reports none. */
export function checkQuery<Item extends Candidate>(
  scope: CheckScope<Item>,
  version: Version | undefined,
): CheckQuery<Item> {
  const reported = internVersion(version?.canonical);
  return { scope, version, reported, generation: 0, planIndex: 0 };
}

/** Builds a scope with `isKept` set; the cache of scopes clears it for a scope that it does not keep. */
export function checkScope<Item extends Candidate>(
  app: string,
  channel: string,
  question: Question<Item>,
): CheckScope<Item> {
  const { platform, arch, version, client, bundle, planKey, candidates } = question;
  const told = {
    ...(version === undefined ? {} : { version }),
    ...(bundle === undefined ? {} : { bundle }),
  };
  const memory = { isKept: true, slot: undefined, generation: 0, plansIndex: 0 };
  return { app, channel, platform, arch, ...told, client, planKey, candidates, ...memory };
}
