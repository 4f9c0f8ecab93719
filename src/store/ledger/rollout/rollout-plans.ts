// SQL of rollout plans: creates, steers, drives and lists them.

import type { ListedPlan } from '../../../contract/console.ts';
import { type Failure, fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { Health, RolloutPlan } from '../../../contract/rollout-plan.ts';
import type { Serving } from '../../../domain/release/serving-change.ts';
import {
  drivePlan as driven,
  type PlanAct,
  type PlanEvidence,
  type RecordedUpTo,
} from '../../../domain/rollout/drive-plan.ts';
import { judgeHealth } from '../../../domain/rollout/judge-health.ts';
import { isMoreUndecided, type TripFigures } from '../../../domain/rollout/plan-events.ts';
import type {
  PlanDefinition,
  PlannedRelease,
  PlanState,
} from '../../../domain/rollout/plan-state.ts';
import type { SignalCounts } from '../../../domain/rollout/signal-counts.ts';
import { newPlan, steerPlan as steered } from '../../../domain/rollout/steer-plan.ts';
import type {
  DrivenRollout,
  NewPlan,
  OpenPlanState,
  PlanSteering,
  PlanToDrive,
  PlanTurn,
  RegionMark,
} from '../../fleet-ledger.ts';
import type {
  ChangeCall,
  Changed,
  KnownStates,
  Ran,
  ReleaseName,
  TenantScope,
} from '../../ledger-terms.ts';
import { type ActorSql, atomically } from '../change/atomically.ts';
import { type Change, type LockedOne, lockOne, run } from '../change/change.ts';
import { type LockedChannel, lockChannel } from '../change/channels.ts';
import { recordReleaseExposure } from '../change/exposure.ts';
import {
  type FollowedRelease,
  type FoundPlannedRelease,
  findOpenPlans,
  findPlan,
  findPlannedRelease,
  findReleaseByName,
  insertPlan,
  lockOpenPlan,
  nextStepOf,
  type PlanRow,
  placeOf,
  readPlanTime,
  shownPlan,
  storePlan,
} from '../change/plan-rows.ts';
import { isoText } from '../database/columns.ts';
import { compileNothing, type Database, type Sql, withoutCompiling } from '../database/database.ts';
import { countKnown } from './count-known.ts';
import { readPlaces } from './release-failures.ts';
import { healthOf, type JudgedRelease } from './release-health.ts';
import { readSignals, signalTaking } from './rollout-signals.ts';
import { controlOn } from './serving-control.ts';

/** A locked channel, and the release on it that gets a plan. */
type PlanningPlace = LockedOne & { readonly release: FoundPlannedRelease };

/**
 * Creates a plan for a release that has no open one, with its audit entry, under the channel's lock. First
 * sets a release that was never published to 0 %, where its plan begins. A dry run continues to the first
 * raise.
 */
export const CREATE_PLAN: Change<NewPlan, RolloutPlan, PlanningPlace> = {
  async lock(sql, call) {
    const place = await lockOne(sql, call, call.input);
    if (isFailure(place)) return place;
    const { canonicalVersion } = call.input;
    const release = await findPlannedRelease(sql, place.channel.id, canonicalVersion, true);
    if (isFailure(release)) return release;
    const open = await lockOpenPlan(sql, release.id);
    return open === undefined ? { ...place, release } : fail('planRefused', refuseSecond(open));
  },
  async work(sql, { channel, release }, { input: { canonicalVersion, definition }, reason }) {
    const unchanged = { before: release, after: release };
    await recordReleaseExposure(sql, channel, release, { ...unchanged, isPlanned: true });
    const lowered = release.wasPublished
      ? { changed: [] }
      : await controlOn(sql, channel, canonicalVersion, toZero);
    if (isFailure(lowered)) return lowered;
    const row = await plan(sql, channel, release, release, definition, reason);
    if (isFailure(row)) return row;
    const value = shownPlan(row, placeOf(channel, release.version), await readPlanTime(sql));
    return { value, changed: lowered.changed };
  },
  answer: (made) => ({ plan: made }),
  preview: {
    canonicalVersion: ({ canonicalVersion }) => canonicalVersion,
    goOn: raiseFirst,
    tell: async (sql, { release }, { input: { definition } }) => ({
      start: {
        known: await countKnown(sql, release.id, signalTaking(definition.guards)),
        rolloutPct: startOf(release),
      },
    }),
  },
};

/** Returns the rollout at which the plan of a release begins. */
function startOf({ wasPublished, rolloutPct }: FoundPlannedRelease): number {
  return wasPublished ? rolloutPct : 0;
}

const toZero = (serving: Serving) => ({ ...serving, rolloutPct: 0 });

/** Makes the plan's first raise at once, so that a dry run shows what it would bring. */
async function raiseFirst(
  sql: ActorSql,
  { channel, release }: PlanningPlace,
  { input: { canonicalVersion, definition } }: ChangeCall<NewPlan>,
): Promise<Failure | undefined> {
  const present = startOf(release);
  const first = definition.steps.find(({ rollout }) => rollout > present);
  if (first === undefined) return undefined;
  const raised = (serving: Serving) => ({
    ...{ ...serving, status: 'published' as const, rolloutPct: first.rollout },
    isStatusSet: true,
  });
  // As the plan, whose raise leaves the plan's state as it is; that of another actor would change it.
  const asPlan: ActorSql = { ...sql, actor: { kind: 'plan', id: 'rehearsed' } };
  const begun = await controlOn(asPlan, channel, canonicalVersion, raised);
  return isFailure(begun) ? begun : undefined;
}

/** Creates the plan of a release without an open one, in the actor's transaction. */
export async function plan(
  sql: ActorSql,
  channel: LockedChannel,
  release: FollowedRelease,
  planned: PlannedRelease,
  definition: PlanDefinition,
  reason?: string,
): Promise<Outcome<PlanRow>> {
  const decided = await decideOnBlind(sql, release.id, definition);
  const state = newPlan(decided, planned, await readPlanTime(sql));
  if (isFailure(state)) return state;
  const place = placeOf(channel, release.version);
  return insertPlan(sql, { releaseId: release.id, channelId: channel.id }, place, state, reason);
}

/** Number of known devices below which a preset advances although its guards cannot judge. */
const JUDGED_DEVICES_MIN = 1000;

/** Decides by the size of the fleet what a preset does when its guards cannot judge. */
async function decideOnBlind(
  sql: Sql,
  releaseId: string,
  definition: PlanDefinition,
): Promise<PlanDefinition> {
  if (definition.preset === null || definition.onBlind !== undefined) return definition;
  const known = await countKnown(sql, releaseId, signalTaking(definition.guards));
  return { ...definition, onBlind: known < JUDGED_DEVICES_MIN ? 'advance' : 'hold' };
}

function refuseSecond({ state }: PlanRow): string {
  return `The release has a plan that is ${state.status}: cancel it first`;
}

/**
 * Drives a plan once and changes its release, in one transaction. Concurrent callers wait, and find it done.
 * `recorded` says up to which plan time all check-ins are recorded; undefined if unknown. Reads the signals
 * before it locks the channel, so that no first offer waits for them. Under the lock it reads the plan again
 * and decides by the ledger's time, so a step that another node has begun is no longer due. Runs without JIT
 * (`withoutCompiling`).
 */
export async function drivePlan(
  database: Database,
  { id, ...name }: PlanToDrive,
  recorded: RecordedUpTo | undefined,
  known?: KnownStates,
): Promise<Outcome<DrivenRollout>> {
  const evidence = await readEvidence(database, id, recorded);
  return atomically(database, { kind: 'plan', id }, async (sql) => {
    await compileNothing(sql);
    const channel = await lockChannel(sql, undefined, name.app, name.channel, known);
    if (isFailure(channel)) return channel;
    const release = await findPlannedRelease(sql, channel.id, name.canonicalVersion, true);
    if (isFailure(release)) return release;
    const row = await lockOpenPlan(sql, release.id);
    if (row?.id !== id) return fail('unknownPlan');
    const time = await readPlanTime(sql);
    const { state, act } = driven(row.state, release, time, evidence);
    const place = placeOf(channel, release.version);
    const trip = tripOf(row.state, state, release, evidence);
    const stored = await storePlan(sql, row, place, state, { trip });
    const changed = await perform(sql, channel, name.canonicalVersion, act);
    if (isFailure(changed)) return changed;
    const tripped = state.tripped.filter((signal) => !row.state.tripped.includes(signal));
    return { value: shownPlan(stored, place, time), changed, tripped };
  });
}

/** Returns the figures for which guards newly hold a plan; undefined if none does. */
function tripOf(
  before: PlanState,
  after: PlanState,
  { status }: PlannedRelease,
  evidence: PlanEvidence | undefined,
): TripFigures | undefined {
  const { guards, tripped } = after;
  const isFound = tripped.length > before.tripped.length || isMoreUndecided(before, after);
  if (evidence === undefined || !isFound) return undefined;
  const context = { guards, tripped, silentOthers: before.silentOthers };
  const { counts, places } = evidence;
  const judged = judgeHealth(counts, { ...context, isOffered: status === 'published' });
  return { judged, places };
}

async function readEvidence(
  database: Database,
  id: string,
  recorded: RecordedUpTo | undefined,
): Promise<PlanEvidence | undefined> {
  if (recorded === undefined) return undefined;
  const [found] = await database.query<{ releaseId: string }>(
    `SELECT release_id AS "releaseId" FROM rollout_plans WHERE id = $1 AND is_guarded`,
    [id],
  );
  if (found === undefined) return undefined;
  return withoutCompiling(database, async (sql) => {
    const row = await findPlan(sql, found.releaseId);
    if (row?.id !== id) return undefined;
    const { releaseId, state } = row;
    const counts = await readSignals(sql, releaseId, state);
    const { exceeded, undecided } = judgeHealth(counts, { ...state, isOffered: true });
    const known = [...state.tripped, ...(state.undecided ?? [])];
    const mayHold = [...exceeded, ...undecided].some(({ signal }) => !known.includes(signal));
    const places = mayHold ? await readPlaces(sql, releaseId, state.guards) : undefined;
    return { counts, places, ...recorded };
  });
}

/** Applies the plan's decision to its release. */
async function perform(
  sql: ActorSql,
  channel: LockedChannel,
  canonicalVersion: string,
  act: PlanAct | undefined,
): Promise<Outcome<Changed<unknown>['changed']>> {
  if (act === undefined) return [];
  const transition = (serving: Serving) =>
    act.kind === 'raise'
      ? { ...serving, rolloutPct: act.rollout }
      : { ...serving, status: 'paused' as const, isStatusSet: true };
  const controlled = await controlOn(sql, channel, canonicalVersion, transition, act.reason);
  return isFailure(controlled) ? controlled : controlled.changed;
}

/**
 * Applies an operator's action to a release's newest plan: stores its new state, and the audit entry. Locks
 * the channel, as every change of a plan does, which orders it against the plan's own steps. Reads the
 * signals before the lock, so that no first offer waits for them.
 */
export async function steerPlan(
  database: Database,
  call: ChangeCall<PlanSteering>,
): Promise<Outcome<Ran<RolloutPlan>>> {
  const counts =
    call.input.action === 'advance'
      ? await withoutCompiling(database, (sql) => readCounts(sql, call))
      : undefined;
  return run(database, steering(counts), call);
}

function steering(counts: SignalCounts | undefined): Change<PlanSteering, RolloutPlan, LockedOne> {
  return {
    // Steering raises no revision, so the channel's known state need not be compared.
    lock: (sql, { scope, input }) => lockOne(sql, { scope }, input),
    async work(sql, { channel }, { input: { canonicalVersion, action }, reason }) {
      const release = await findPlannedRelease(sql, channel.id, canonicalVersion, true);
      if (isFailure(release)) return release;
      const row = await findPlan(sql, release.id);
      if (row === undefined) return fail('unknownPlan');
      const time = await readPlanTime(sql);
      const state = steered(row.state, action, release, time, judged(row, release, counts));
      if (isFailure(state)) return state;
      const unchanged = { before: release, after: release };
      await recordReleaseExposure(sql, channel, release, { ...unchanged, steered: action });
      const place = placeOf(channel, release.version);
      const asked = { action: `plan.${action}`, reason } as const;
      const stored = await storePlan(sql, row, place, state, { asked });
      return { value: shownPlan(stored, place, time), changed: [] };
    },
    answer: (plan) => ({ plan }),
  };
}

async function readCounts(
  sql: Sql,
  { scope, input }: ChangeCall<PlanSteering>,
): Promise<SignalCounts | undefined> {
  const found = await findReleaseByName(sql, scope, input);
  if (isFailure(found)) return undefined;
  const row = await findPlan(sql, found.release.id);
  const isGuarded = row !== undefined && row.state.guards !== null;
  return isGuarded ? readSignals(sql, found.release.id, row.state) : undefined;
}

function judged(
  { state: { guards, tripped, silentOthers } }: PlanRow,
  { status }: PlannedRelease,
  counts: SignalCounts | undefined,
) {
  if (counts === undefined) return undefined;
  const isOffered = status === 'published';
  return judgeHealth(counts, { guards, tripped, silentOthers, isOffered });
}

/** Counted milliseconds for which a plan is reserved for the node that took it, which may have died. */
const TAKEN_FOR_MS = 3000;

/**
 * Returns at most `countMax` plans to drive now: plans with a due step first, then plans whose guards were
 * not checked for `checkMs`, longest first. Other callers get none of them for 3 counted seconds, unless they
 * are driven before.
 */
export function plansToDrive(
  sql: Sql,
  checkMs: number,
  countMax: number,
): Promise<readonly PlanToDrive[]> {
  return sql.query<PlanToDrive>(
    `SELECT plan_id AS id, app, channel, canonical_version AS "canonicalVersion"
     FROM plans_to_drive($1::bigint, $2::bigint, $3::integer)`,
    [checkMs, TAKEN_FOR_MS, countMax],
  );
}

/**
 * Begins a node's turn of driving plans: advances the counted time, which all nodes share, unless no plan is
 * running or held. Returns the present and the counted time, and whether the node should record now, with
 * `noteRegion`, up to which counted time its region's check-ins are in the ledger. `region` is undefined if
 * the node has none or does not know it.
 */
export async function beginPlanTurn(sql: Sql, region: string | undefined): Promise<PlanTurn> {
  const [time] = await sql.query<PlanTurn>(
    `SELECT now_ms::float8 AS "nowMs", counted_ms::float8 AS "countedMs", is_mark_wanted AS "isMarkWanted"
     FROM begin_plan_turn($1)`,
    [region ?? null],
  );
  if (time === undefined) throw new Error('The ledger has no clock of plans');
  return time;
}

/** Sets the mark of a region: the counted time up to which it has recorded all its check-ins. */
export async function noteRegion(sql: Sql, region: string, recordedMs: number): Promise<void> {
  await sql.query('SELECT note_region_mark($1, $2::bigint)', [region, Math.floor(recordedMs)]);
}

/**
 * Reads the marks that regions set within the last day, lowest first: how far each has recorded its
 * check-ins, when it set the mark, and whether it has been silent for too long since.
 */
export function listRegions(sql: Sql): Promise<readonly RegionMark[]> {
  return sql.query<RegionMark>(
    `SELECT region, recorded_ms::float8 AS "recordedMs", ${isoText('noted_at')} AS "notedAt",
       noted_at < clock_timestamp() - $1::integer * interval '1 minute' AS "isSilent"
     FROM region_marks ORDER BY recorded_ms, region`,
    [LIMIT.regionSilentMinutes],
  );
}

/**
 * Counts the open plans by state; a step or start that is due for `lateMs` and has not begun is late. Reads
 * the partial index of open plans, which are few.
 */
export async function countPlans(
  sql: Sql,
  lateMs: number,
): Promise<Readonly<Record<OpenPlanState, number>>> {
  const counts = { scheduled: 0, running: 0, waiting: 0, late: 0, held: 0, tripped: 0 };
  const rows = await sql.query<{ state: OpenPlanState; plans: number }>(
    `SELECT CASE
         WHEN plan.status = 'held' THEN
           CASE WHEN json_array_length(plan.state -> 'tripped') > 0 THEN 'tripped' ELSE 'held' END
         WHEN plan.state -> 'waitingFor' ->> 'guard' IS NOT NULL THEN 'waiting'
         WHEN plan.status = 'running' AND CASE WHEN plan.state -> 'waitingFor' ->> 'region' IS NULL
             THEN plan.due_ms ELSE (plan.state ->> 'dueMs')::bigint END <= present.counted_ms - $1::bigint
           OR releases.status = 'published' AND plan.start_at_ms <= present.now_ms - $1::bigint THEN 'late'
         ELSE plan.status
       END AS state, count(*)::integer AS plans
     FROM rollout_plans AS plan
     JOIN releases ON releases.id = plan.release_id
     CROSS JOIN plan_time() AS present
     WHERE plan.status IN ('scheduled', 'running', 'held') GROUP BY 1`,
    [lateMs],
  );
  for (const { state, plans } of rows) counts[state] = plans;
  return counts;
}

/** Maximum number of plans of a list that get a verdict: each needs sums, and a channel has one or two. */
const JUDGED_MAX = 5;

/** Reads the open plans of these releases, by release id. */
export async function listOpenPlans(
  sql: Sql,
  releases: readonly JudgedRelease[],
): Promise<ReadonlyMap<string, ListedPlan>> {
  const plans = new Map<string, ListedPlan>();
  const byId = new Map(releases.map((release) => [release.id, release]));
  const rows = await findOpenPlans(sql, [...byId.keys()]);
  if (rows.length === 0) return plans;
  const time = await readPlanTime(sql);
  for (const row of rows) {
    const { releaseId, state } = row;
    const release = plans.size < JUDGED_MAX ? byId.get(releaseId) : undefined;
    const health = release === undefined ? undefined : await healthOf(sql, release, row);
    const verdict = health?.verdict ?? null;
    plans.set(releaseId, { status: state.status, verdict, next: nextStepOf(state, time) });
  }
  return plans;
}

/** Reads the newest plan of a release, and the release's health by the guards of that plan. */
export async function readPlan(
  sql: Sql,
  scope: TenantScope,
  name: ReleaseName,
): Promise<Outcome<{ readonly plan: RolloutPlan; readonly health: Health }>> {
  const found = await findReleaseByName(sql, scope, name);
  if (isFailure(found)) return found;
  const { release, ...place } = found;
  const row = await findPlan(sql, release.id);
  if (row === undefined) return fail('unknownPlan');
  const plan = shownPlan(row, { ...place, version: release.version }, await readPlanTime(sql));
  return { plan, health: await healthOf(sql, release, row) };
}
