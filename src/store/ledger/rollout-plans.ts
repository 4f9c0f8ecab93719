// SQL of rollout plans: creates, steers, drives and lists them.

import type { ListedPlan } from '../../contract/console.ts';
import {
  type ApprovalObstacle,
  fail,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Health, PlanAction, RolloutPlan } from '../../contract/rollout-plan.ts';
import type { Serving } from '../../domain/release/serving-change.ts';
import {
  drivePlan as driven,
  type PlanAct,
  type PlanEvidence,
  type RecordedUpTo,
} from '../../domain/rollout/drive-plan.ts';
import { judgeHealth } from '../../domain/rollout/judge-health.ts';
import { isMoreUndecided, type TripFigures } from '../../domain/rollout/plan-events.ts';
import {
  isOpen,
  type PlanDefinition,
  type PlannedRelease,
  type PlanState,
} from '../../domain/rollout/plan-state.ts';
import type { SignalCounts } from '../../domain/rollout/signal-counts.ts';
import { newPlan, steerPlan as steered } from '../../domain/rollout/steer-plan.ts';
import type {
  DrivenRollout,
  OpenPlanState,
  PlanToDrive,
  PlanTurn,
  RegionMark,
} from '../fleet-ledger.ts';
import type { Actor, Changed, KnownStates, ReleaseName, TenantScope } from '../ledger-terms.ts';
import { asking } from './asking-calls.ts';
import { type ActorSql, atomically } from './atomically.ts';
import { type LockedChannel, lockChannel } from './channels.ts';
import { isoText } from './columns.ts';
import { countKnown } from './count-known.ts';
import type { Database, Sql } from './database.ts';
import { noteRelease } from './exposure.ts';
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
} from './plan-rows.ts';
import { readPlaces } from './release-failures.ts';
import { readSignals, signalTaking } from './rollout-signals.ts';
import { controlOn } from './serving-control.ts';
import { compileNothing, withoutCompiling } from './without-compiling.ts';

/**
 * Stores the plan with its audit entry under the channel's lock. First sets a release that was never
 * published to 0 %, where its plan begins.
 */
export function createPlan(
  database: Database,
  scope: TenantScope,
  name: ReleaseName,
  definition: PlanDefinition,
  actor: Actor,
  reason?: string,
  known?: KnownStates,
): Promise<
  Outcome<Changed<RolloutPlan>, UnknownRelease | 'planRefused' | ApprovalObstacle | LostRight>
> {
  return asking<Changed<RolloutPlan>, UnknownRelease | 'planRefused'>(database, actor, {
    async work(sql, begin) {
      const locked = await lockUnplanned(sql, scope, name, known);
      if (isFailure(locked)) return locked;
      const { channel, release } = locked;
      await begin([channel]);
      await noteRelease(sql, channel, release, {
        before: release,
        after: release,
        isPlanned: true,
      });
      const lowered = release.wasPublished
        ? { changed: [] }
        : await controlOn<never>(
            sql,
            channel,
            name.canonicalVersion,
            (serving) => ({ ...serving, rolloutPct: 0 }),
            undefined,
          );
      if (isFailure(lowered)) return lowered;
      const row = await plan(sql, channel, release, release, definition, reason);
      if (isFailure(row)) return row;
      const time = await readPlanTime(sql);
      const value = shownPlan(row, placeOf(channel, release.version), time);
      return { value, changed: lowered.changed };
    },
    answer: ({ value }) => ({ plan: value }),
  });
}

/** Locks a channel and a release that gets a plan; refuses a release with an open plan. */
export async function lockUnplanned(
  sql: Sql,
  scope: TenantScope,
  name: ReleaseName,
  known: KnownStates | undefined,
): Promise<
  Outcome<
    { readonly channel: LockedChannel; readonly release: FoundPlannedRelease },
    UnknownRelease | 'planRefused'
  >
> {
  const channel = await lockChannel(sql, scope, name.app, name.channel, known);
  if (isFailure(channel)) return channel;
  const release = await findPlannedRelease(sql, channel.id, name.canonicalVersion, true);
  if (isFailure(release)) return release;
  const open = await lockOpenPlan(sql, release.id);
  return open === undefined ? { channel, release } : fail('planRefused', refuseSecond(open));
}

/** Creates the plan of a release without an open one, in the actor's transaction. */
export async function plan(
  sql: ActorSql,
  channel: LockedChannel,
  release: FollowedRelease,
  planned: PlannedRelease,
  definition: PlanDefinition,
  reason?: string,
): Promise<Outcome<PlanRow, 'planRefused'>> {
  const decided = await decideOnBlind(sql, release.id, definition);
  const state = newPlan(decided, planned, await readPlanTime(sql));
  if (isFailure(state)) return state;
  const place = placeOf(channel, release.version);
  return insertPlan(sql, { releaseId: release.id, channelId: channel.id }, place, state, reason);
}

/** Number of known devices below which a preset advances although its guards cannot judge. */
const JUDGED_DEVICES_MIN = 1000;

/** Decides by the size of the fleet what a preset does when its guards cannot judge. */
export async function decideOnBlind(
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
 * Drives a plan once. Reads the signals before it locks the channel, so that no first offer waits for them.
 * Under the lock it reads the plan again and decides by the ledger's time, so a step that another node has
 * begun is no longer due. Stores the plan together with the change of its release. Runs without JIT
 * (`withoutCompiling`).
 */
export async function drivePlan(
  database: Database,
  { id, ...name }: PlanToDrive,
  recorded: RecordedUpTo | undefined,
  known?: KnownStates,
): Promise<Outcome<DrivenRollout, UnknownRelease | 'unknownPlan'>> {
  const evidence = await readEvidence(database, id, recorded);
  return atomically<
    DrivenRollout,
    UnknownRelease | 'unknownPlan',
    { readonly kind: 'plan'; readonly id: string }
  >(database, { kind: 'plan', id }, async (sql) => {
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

/** Returns the figures by which guards now hold a plan; undefined if none newly does. */
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
): Promise<Outcome<Changed<unknown>['changed'], 'unknownRelease'>> {
  if (act === undefined) return [];
  const transition = (serving: Serving) =>
    act.kind === 'raise'
      ? { ...serving, rolloutPct: act.rollout }
      : { ...serving, status: 'paused' as const, isStatusSet: true };
  const controlled = await controlOn<never>(sql, channel, canonicalVersion, transition, act.reason);
  return isFailure(controlled) ? controlled : controlled.changed;
}

/**
 * Stores the new state of a release's newest plan, and the audit entry. Locks the channel, as every change of
 * a plan does, which orders it against the plan's own steps. Reads the signals before the lock, so that no
 * first offer waits for them.
 */
export async function steerPlan(
  database: Database,
  scope: TenantScope,
  name: ReleaseName,
  action: PlanAction,
  actor: Actor,
  reason?: string,
): Promise<
  Outcome<
    RolloutPlan,
    UnknownRelease | 'unknownPlan' | 'planRefused' | ApprovalObstacle | LostRight
  >
> {
  const counts =
    action === 'advance'
      ? await withoutCompiling(database, (sql) => readCounts(sql, scope, name))
      : undefined;
  return asking<RolloutPlan, UnknownRelease | 'unknownPlan' | 'planRefused'>(database, actor, {
    async work(sql, begin) {
      const channel = await lockChannel(sql, scope, name.app, name.channel);
      if (isFailure(channel)) return channel;
      const release = await findPlannedRelease(sql, channel.id, name.canonicalVersion, true);
      if (isFailure(release)) return release;
      const row = await findPlan(sql, release.id);
      if (row === undefined) return fail('unknownPlan');
      const time = await readPlanTime(sql);
      const state = steered(row.state, action, release, time, judged(row, release, counts));
      if (isFailure(state)) return state;
      await begin([channel]);
      await noteRelease(sql, channel, release, {
        before: release,
        after: release,
        steered: action,
      });
      const place = placeOf(channel, release.version);
      const asked = { action: `plan.${action}`, reason } as const;
      return shownPlan(await storePlan(sql, row, place, state, { asked }), place, time);
    },
    answer: (plan) => ({ plan }),
  });
}

async function readCounts(
  sql: Sql,
  scope: TenantScope,
  name: ReleaseName,
): Promise<SignalCounts | undefined> {
  const found = await findReleaseByName(sql, scope, name);
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

/** Returns plans with a due step, then those whose guards were not checked for longest. */
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

/** Advances the counted time, for all nodes; tells whether a region's mark is wanted. */
export async function beginPlanTurn(sql: Sql, region: string | undefined): Promise<PlanTurn> {
  const [time] = await sql.query<PlanTurn>(
    `SELECT now_ms::float8 AS "nowMs", counted_ms::float8 AS "countedMs", is_mark_wanted AS "isMarkWanted"
     FROM begin_plan_turn($1)`,
    [region ?? null],
  );
  if (time === undefined) throw new Error('The ledger has no clock of plans');
  return time;
}

/** Notes the counted time up to which a region has recorded its check-ins. */
export async function noteRegion(sql: Sql, region: string, recordedMs: number): Promise<void> {
  await sql.query('SELECT note_region_mark($1, $2::bigint)', [region, Math.floor(recordedMs)]);
}

/** Reads how far each region has recorded its check-ins, and since when those are silent that are. */
export function listRegions(sql: Sql): Promise<readonly RegionMark[]> {
  return sql.query<RegionMark>(
    `SELECT region, recorded_ms::float8 AS "recordedMs", ${isoText('noted_at')} AS "notedAt",
       noted_at < clock_timestamp() - $1::integer * interval '1 minute' AS "isSilent"
     FROM region_marks ORDER BY recorded_ms, region`,
    [LIMIT.regionSilentMinutes],
  );
}

/** Counts the open plans by state. Reads the partial index of open plans, which are few. */
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

/** Maximum number of plans in a list with a verdict: each needs sums, and a channel has one or two. */
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

/** Fields of a release that its health depends on. */
export type JudgedRelease = Pick<FoundPlannedRelease, 'id' | 'status' | 'rolloutPct'>;

/** Reads the newest plan of a release, with the health by its guards. */
export async function readPlan(
  sql: Sql,
  scope: TenantScope,
  name: ReleaseName,
): Promise<
  Outcome<{ readonly plan: RolloutPlan; readonly health: Health }, UnknownRelease | 'unknownPlan'>
> {
  const found = await findReleaseByName(sql, scope, name);
  if (isFailure(found)) return found;
  const { release, ...place } = found;
  const row = await findPlan(sql, release.id);
  if (row === undefined) return fail('unknownPlan');
  const plan = shownPlan(row, { ...place, version: release.version }, await readPlanTime(sql));
  return { plan, health: await healthOf(sql, release, row) };
}

/** Reads the health of a release, with or without a plan. */
export async function readHealth(
  sql: Sql,
  scope: TenantScope,
  name: ReleaseName,
  knownForMinutes?: number,
): Promise<Outcome<Health, UnknownRelease>> {
  const found = await findReleaseByName(sql, scope, name);
  if (isFailure(found)) return found;
  const { release } = found;
  return healthOf(sql, release, await findPlan(sql, release.id), knownForMinutes);
}

/**
 * Judges the health of a release, with or without a plan. The limits of a closed plan still count, but not
 * its tripped guards.
 */
export async function healthOf(
  sql: Sql,
  { id, status, rolloutPct }: JudgedRelease,
  row: PlanRow | undefined,
  knownForMinutes?: number,
): Promise<Health> {
  const state = row?.state;
  const guards = state?.guards ?? null;
  const counts = await readSignals(sql, id, state, knownForMinutes);
  const tripped = state !== undefined && isOpen(state) ? state.tripped : [];
  const silentOthers = state?.silentOthers ?? null;
  const isOffered = status === 'published' && rolloutPct > 0;
  return judgeHealth(counts, { guards, tripped, silentOthers, isOffered }).health;
}
