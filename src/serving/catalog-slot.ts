// The catalog that serves a channel, with the plans made from it: one per question that clients ask and per
// position of a version among the catalog's landmarks. Plans are dropped with their catalog, because a query
// that never comes again must not keep an old catalog in memory.

import type { Reason } from '../contract/explanation.ts';
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
import type { AppCells, AppCounts, Cell } from '../observe/app-counts.ts';
import type { Question } from '../updater/updater.ts';

/** Question with the index of its plans in a slot, which saves each check a look-up by key. */
type PlanScope<Item extends Candidate = Candidate> = Question<Item> & {
  /** Whether the cache keeps the scope, so that its plans are worth keeping. Set by the cache. */
  isKept: boolean;
  /** Generation of the slot's plans in which `plansIndex` is valid; 0 at first. */
  generation: number;
  /** Index of the scope's plans in the slot. Set by the slot. */
  plansIndex: number;
};

/** Version in a scope, with the index of its plan in a slot, which saves each check two look-ups. */
type PlanQuery<Item extends Candidate = Candidate> = {
  readonly scope: PlanScope<Item>;
  readonly version: Version | undefined;
  /** Generation of the slot's plans in which `planIndex` is valid; 0 at first. */
  generation: number;
  /** Index of the version's plan in the slot. Set by the slot. */
  planIndex: number;
};

/** Decision with its plan and with the check-in context that all devices with this decision share. */
export type PlanDecision<Item extends Candidate = Candidate> = Decision<Item> & {
  readonly plan: Plan<Item>;
  readonly context: InternedValue<CheckInContext>;
  /** Counter of the checks of this app with this reason. */
  readonly counted: Cell;
};

/** Client and bundle of a plan's devices, for their check-ins. */
type Asking = Pick<CheckInContext, 'client' | 'bundle'>;

/** Indexes of the plans of one scope by version position. */
type PlanIndexes = Map<number, number>;

let lastGeneration = 0;

export class CatalogSlot {
  private present: Catalog | undefined;
  /** Plans by index, so that a check need not make one. */
  private plans: PreparedPlan[] = [];
  private plansOfScopes: PlanIndexes[] = [];
  /** Indexes in `plansOfScopes` by the scope's `planKey`. */
  private readonly plansIndexes = new Map<string, number>();
  /**
   * Number of the present plans, unique among all slots. It changes when plans are dropped, which invalidates
   * the indexes in queries and scopes.
   */
  private generation = nextGeneration();

  /** `counts` has the counters of checks, by app. */
  constructor(
    private readonly budget: PlanBudget,
    private readonly counts: AppCounts<Reason>,
  ) {}

  /** Present catalog; undefined after the channel's eviction, because nothing updates the catalog then. */
  get catalog(): Catalog | undefined {
    return this.present;
  }

  /** Serves another catalog from now on, or none. */
  replace(catalog: Catalog | undefined): void {
    this.present = catalog;
    this.forgetPlans();
  }

  /** Returns the plan of a query on the present catalog; undefined if there is no catalog. */
  planFor<Item extends Candidate>(query: PlanQuery<Item>): PreparedPlan<Item> | undefined {
    if (query.generation !== this.generation) {
      const catalog = this.present;
      if (catalog === undefined) return undefined;
      const { scope, version } = query;
      if (!scope.isKept) return this.prepare(scope, version, catalog);
      query.planIndex = this.planIndexOf(scope, version, catalog);
      query.generation = this.generation;
    }
    // A scope with the same `planKey` made this plan, so it has the query's type.
    return this.plans[query.planIndex] as PreparedPlan<Item>;
  }

  /** Drops all plans. They are made again on demand. */
  forgetPlans(): void {
    this.plans = [];
    this.plansOfScopes = [];
    this.plansIndexes.clear();
    this.generation = nextGeneration();
  }

  /** Returns the index of the plan that all versions at the same position share. */
  private planIndexOf(scope: PlanScope, version: Version | undefined, catalog: Catalog): number {
    const position = versionPosition(catalog.landmarks, version);
    const known = this.plansOf(scope).get(position);
    if (known !== undefined) return known;
    // Called before the plan is added, because the budget may make this slot drop its plans.
    this.budget.take(this);
    const index = this.plans.push(this.prepare(scope, version, catalog)) - 1;
    this.plansOf(scope).set(position, index);
    return index;
  }

  private prepare<Item extends Candidate>(
    { client, bundle, platform, arch, candidates }: PlanScope<Item>,
    version: Version | undefined,
    catalog: Catalog,
  ): PreparedPlan<Item> {
    const plan = planUpdate(catalog, { version, platform, arch }, candidates(catalog));
    const cells = this.counts.of(catalog.snapshot.appRef);
    return new PreparedPlan(plan, { client, bundle }, cells);
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

function nextGeneration(): number {
  lastGeneration += 1;
  return lastGeneration;
}

/** Plan with the decisions made from it so far. */
export class PreparedPlan<Item extends Candidate = Candidate> {
  readonly asksForLabels: boolean;
  /** Decision for all devices; undefined if it depends on the device. Most checks need no other. */
  private readonly common: PlanDecision<Item> | undefined;
  /** Decisions that depend on the device, one per choice, so that a check allocates no objects. */
  private decisions: Map<Choice<Item>, PlanDecision<Item>> | undefined;

  constructor(
    readonly plan: Plan<Item>,
    private readonly asking: Asking,
    /** Counters of the checks of the plan's app, by reason. */
    private readonly cells: AppCells<Reason>,
  ) {
    this.asksForLabels = plan.labelKeys.length > 0;
    const choice = commonChoice(plan);
    this.common = choice === undefined ? undefined : planDecision(plan, asking, choice, cells);
  }

  /** Check-in context of the plan's devices before their decision: it has no offered release. */
  get undecided(): CheckInContext {
    return checkInContext(this.plan, this.asking, undefined);
  }

  /** Decides for a device; `excluded` as for `decide`. */
  decide(device: Device, excluded?: ReadonlySet<string>): PlanDecision<Item> {
    if (this.common !== undefined && excluded === undefined) return this.common;
    const choice = choose(this.plan, device, excluded);
    return this.decisions?.get(choice) ?? this.remember(choice);
  }

  private remember(choice: Choice<Item>): PlanDecision<Item> {
    const decision = planDecision(this.plan, this.asking, choice, this.cells);
    this.decisions ??= new Map();
    this.decisions.set(choice, decision);
    return decision;
  }
}

function planDecision<Item extends Candidate>(
  plan: Plan<Item>,
  asking: Asking,
  choice: Choice<Item>,
  cells: AppCells<Reason>,
): PlanDecision<Item> {
  const { reason, candidate } = decisionOf(choice);
  const context = internContext(checkInContext(plan, asking, candidate));
  // Written out instead of spread: every check reads such an object, and spreads yield no common shape.
  const counted = cells[reason];
  return { reason, candidate, plan, context, counted } as PlanDecision<Item>;
}

/** Returns the check-in context of all devices that a plan offers this candidate, or nothing (undefined). */
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
 * Maximum number of plans of a process. Clients choose their questions, hence a bound: at the maximum all
 * plans are dropped, and made again on demand.
 */
const PLANS_MAX = 65_536;

/** Number of plans in all slots of a process, kept below the maximum. */
export class PlanBudget {
  private readonly holders = new Set<CatalogSlot>();
  private count = 0;

  /** Counts a plan that the slot is about to hold; at the maximum makes all slots drop their plans. */
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

// Query of an update check: all of its question but the device. Devices of a fleet report many versions on
// few platforms and arches, so a query is a version in a scope that all versions share. Queries and scopes
// are cached by URL (`http/device`) and keep indexes into their channel's slot, so that a check finds its
// plan without a look-up.

/** Question to one channel: all of a check but the version. */
export type CheckScope<Item extends Candidate = Candidate> = PlanScope<Item> & {
  /** Ref or id of the app. */
  readonly app: string;
  readonly channel: string;
  /** Slot of the channel once found, which saves each check a look-up by name. Set by `CheckUpdate`. */
  slot: CatalogSlot | undefined;
};

/** Query that all checks of one URL share. */
export type CheckQuery<Item extends Candidate = Candidate> = PlanQuery<Item> & {
  readonly scope: CheckScope<Item>;
  /** Version in the form that check-ins carry. */
  readonly reported: InternedValue<string | undefined>;
};

/** Builds a query; `version` is undefined if a device reports none. */
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
