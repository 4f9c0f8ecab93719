// Rows of rollout plans: reads, inserts and updates them, always with an audit entry for what changed.

import type { NextStep } from '../../../contract/console.ts';
import { type Failure, fail, isFailure } from '../../../contract/failure.ts';
import type { NewEvent } from '../../../contract/notification.ts';
import type { Targeting } from '../../../contract/resource.ts';
import {
  isOpenEnded,
  type RolloutPlan,
  type UnstoredPlan,
} from '../../../contract/rollout-plan.ts';
import { isoTime, isStorable } from '../../../contract/text.ts';
import {
  firstRollout,
  followRelease,
  followWithdrawal,
} from '../../../domain/rollout/follow-release.ts';
import {
  isMoreUndecided,
  planEvents,
  type TripFigures,
} from '../../../domain/rollout/plan-events.ts';
import {
  nextAtMs,
  openingAt,
  type PlannedRelease,
  type PlanState,
  type PlanTime,
} from '../../../domain/rollout/plan-state.ts';
import {
  actorText,
  type OwnedApp,
  type ReleaseName,
  type TenantScope,
} from '../../ledger-terms.ts';
import { columns, isoText, newId } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import type { ActorSql } from './atomically.ts';
import { type AuditAction, insertAudit } from './audit.ts';
import type { LockedChannel } from './channels.ts';
import { findApp, findChannel } from './channels.ts';

export type PlanRow = {
  readonly id: string;
  readonly releaseId: string;
  readonly state: PlanState;
  readonly createdAt: string;
  readonly createdBy: string;
};

const COLUMNS = columns<PlanRow>({
  id: 'id',
  releaseId: 'release_id',
  state: 'state',
  createdAt: isoText('created_at'),
  createdBy: 'created_by',
});

/** Names of a plan's release. */
type PlanPlace = {
  readonly app: OwnedApp;
  readonly channel: string;
  readonly version: string;
};

/** Condition on rows `AS plan`: waits for something whose end is not known, by the rule of `isOpenEnded`. */
export const IS_WAITING = `coalesce(
  plan.state -> 'waitingFor' ->> 'guard', plan.state -> 'waitingFor' ->> 'region'
) IS NOT NULL`;

/** Reads the present time and the counted time of plans. */
export async function readPlanTime(sql: Sql): Promise<PlanTime> {
  const [time] = await sql.query<PlanTime>(
    'SELECT now_ms::float8 AS "nowMs", counted_ms::float8 AS "countedMs" FROM plan_time()',
  );
  if (time === undefined) throw new Error('The ledger has no clock of plans');
  return time;
}

/** Reads the newest plan of a release; undefined if it has none. */
export async function findPlan(sql: Sql, releaseId: string): Promise<PlanRow | undefined> {
  const rows = await sql.query<PlanRow>(
    `SELECT ${COLUMNS} FROM rollout_plans WHERE release_id = $1
     ORDER BY rollout_plans.created_at DESC, id DESC LIMIT 1`,
    [releaseId],
  );
  return rows[0];
}

/**
 * Reads and locks the open plan of a release; undefined if it has none. Call it under `lockChannel`, which
 * orders all changes of plans.
 */
export async function lockOpenPlan(sql: Sql, releaseId: string): Promise<PlanRow | undefined> {
  const rows = await sql.query<PlanRow>(
    `SELECT ${COLUMNS} FROM rollout_plans
     WHERE release_id = $1 AND status IN ('scheduled', 'running', 'held') FOR UPDATE`,
    [releaseId],
  );
  return rows[0];
}

/** Reads the open plans of these releases, newest first. */
export async function findOpenPlans(
  sql: Sql,
  releaseIds: readonly string[],
): Promise<readonly PlanRow[]> {
  return sql.query<PlanRow>(
    `SELECT ${COLUMNS} FROM rollout_plans
     WHERE release_id = ANY ($1::text[]) AND status IN ('scheduled', 'running', 'held')
     ORDER BY rollout_plans.created_at DESC, id DESC`,
    [releaseIds],
  );
}

/** Stores a new plan and its audit entry. */
export async function insertPlan(
  sql: ActorSql,
  { releaseId, channelId }: { readonly releaseId: string; readonly channelId: string },
  place: PlanPlace,
  state: PlanState,
  reason?: string,
): Promise<PlanRow> {
  const rows = await sql.query<PlanRow>(
    `INSERT INTO rollout_plans
       (id, release_id, channel_id, created_by, status, state, start_at_ms, due_ms, is_guarded, checked_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING ${COLUMNS}`,
    [newId('pln'), releaseId, channelId, actorText(sql.actor), ...valuesOf(state)],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`Release ${releaseId} got no plan`);
  const { steps, guards, onTrip, onBlind, patienceMinutes, raiseBetween, preset } = state;
  const planned = steps.map(({ rollout, holdMinutes }) => ({ rollout, holdMinutes }));
  const after = {
    ...{ plan: row.id, status: state.status, steps: planned, guards, onTrip },
    ...{ onBlind, patienceMinutes, raiseBetween, preset },
  };
  await insertAudit(sql, { ...entryOf(place, 'plan.create'), before: null, after, reason });
  tellPlan(sql, place, planEvents(row.id, undefined, state), reason);
  return row;
}

/** Why a plan changes: the action of an operator, or the figures for which its guards hold it. */
type PlanCause = {
  readonly asked?: { readonly action: AuditAction; readonly reason: string | undefined };
  readonly trip?: TripFigures | undefined;
};

/**
 * Stores the new state of a plan. Audits a change of its status, and every action of an operator with its
 * `reason`; adds the events of the change (`planEvents`).
 */
export async function storePlan(
  sql: ActorSql,
  row: PlanRow,
  place: PlanPlace,
  state: PlanState,
  { asked, trip }: PlanCause = {},
): Promise<PlanRow> {
  if (state === row.state) return row;
  await sql.query(
    `UPDATE rollout_plans SET status = $2, state = $3, start_at_ms = $4, due_ms = $5, is_guarded = $6,
       checked_ms = $7, taken_ms = NULL
     WHERE id = $1`,
    [row.id, ...valuesOf(state)],
  );
  const action = asked?.action ?? actionOf(row.state, state);
  if (action !== undefined) {
    await insertAudit(sql, {
      ...entryOf(place, action),
      before: { plan: row.id, status: row.state.status },
      after: { plan: row.id, status: state.status, why: state.reason },
      reason: asked?.reason,
    });
  }
  tellPlan(sql, place, planEvents(row.id, row.state, state, trip), asked?.reason);
  return { ...row, state };
}

/** Adds the events of a plan, which its audit entries do not make: most of these lack steps and guards. */
function tellPlan(
  sql: ActorSql,
  place: PlanPlace,
  events: readonly NewEvent[],
  reason: string | undefined,
): void {
  sql.addEvents({ organizationId: place.app.organizationId, place, reason }, events);
}

/** Returns a plan as the contract shows it. */
export function shownPlan(
  row: PlanRow,
  { app, channel, version }: PlanPlace,
  time: PlanTime,
): RolloutPlan {
  const { id, state, createdAt, createdBy } = row;
  return { id, ...plannedOf(state, { app, channel, version }, time), createdAt, createdBy };
}

/** Returns a plan in the contract's form, without what only a stored plan has. */
function plannedOf(
  state: PlanState,
  { app, channel, version }: PlanPlace,
  time: PlanTime,
): UnstoredPlan {
  const { status, reason, steps, step, waitingFor, guards, onTrip } = state;
  const { onBlind, patienceMinutes, raiseBetween, preset } = state;
  const nextMs = nextAtMs(state, time);
  return {
    ...{ app: app.ref, channel, version, status, reason, steps, step },
    ...{ nextAt: nextMs === null ? null : isoTime(nextMs), waitingFor },
    ...{ guards, onTrip, onBlind, patienceMinutes, raiseBetween, preset },
  };
}

/** Returns the step that a plan begins next by itself; null if there is none. */
export function nextStepOf(state: PlanState, time: PlanTime): NextStep | null {
  const step = state.steps[(state.step ?? -1) + 1];
  if (step === undefined || state.status === 'held') return null;
  const atMs = nextAtMs(state, time);
  return { rollout: step.rollout, at: atMs === null ? null : isoTime(atMs) };
}

/** Returns the columns of a state. A waiting plan is due when its hours open or its guards are checked. */
function valuesOf(state: PlanState): readonly unknown[] {
  const { status, startAtMs, dueMs, guards, checkedMs, waitingFor } = state;
  const isClosed = waitingFor !== null && !isOpenEnded(waitingFor);
  const opensMs = isClosed ? openingAt(state, Date.parse(waitingFor.since)) : startAtMs;
  const wantedMs = waitingFor === null ? dueMs : null;
  return [status, JSON.stringify(state), opensMs, wantedMs, guards !== null, checkedMs];
}

function entryOf({ app, channel, version }: PlanPlace, action: AuditAction) {
  const { ref, organizationId } = app;
  return { organizationId, action, subject: `${ref}/${channel}@${version}` };
}

/** Returns the audit action of a change that no operator asked for; undefined for one that is not audited. */
function actionOf(before: PlanState, after: PlanState): AuditAction | undefined {
  // A guard may trip, or be found undecided, while the plan is already held.
  const isFound = after.tripped.length > before.tripped.length || isMoreUndecided(before, after);
  if (before.status === after.status && !isFound) return undefined;
  switch (after.status) {
    case 'running':
      return 'plan.start';
    case 'held':
      return 'plan.hold';
    case 'completed':
      return 'plan.complete';
    case 'cancelled':
      return 'plan.cancel';
    case 'scheduled':
      return 'plan.resume';
  }
}

/** Release on a locked channel. */
export type FollowedRelease = { readonly id: string; readonly version: string };

/**
 * Updates the release's plan after a change of the release in the same transaction; returns the rollout that
 * the release gets (`firstRollout`). Ignores changes that a plan itself makes.
 */
export async function followPlan(
  sql: ActorSql,
  channel: LockedChannel,
  release: FollowedRelease,
  before: PlannedRelease,
  after: PlannedRelease,
): Promise<number> {
  if (sql.actor.kind === 'plan') return after.rolloutPct;
  const plan = await lockOpenPlan(sql, release.id);
  if (plan === undefined) return after.rolloutPct;
  const rolloutPct = firstRollout(plan.state, before, after);
  const time = await readPlanTime(sql);
  const state = followRelease(plan.state, before, { ...after, rolloutPct }, time);
  await storePlan(sql, plan, placeOf(channel, release.version), state);
  return rolloutPct;
}

/** Cancels the plan of a withdrawn release. */
export async function endPlan(
  sql: ActorSql,
  channel: LockedChannel,
  release: FollowedRelease,
): Promise<void> {
  const plan = await lockOpenPlan(sql, release.id);
  if (plan === undefined) return;
  await storePlan(sql, plan, placeOf(channel, release.version), followWithdrawal(plan.state));
}

export function placeOf({ app, name }: LockedChannel, version: string): PlanPlace {
  return { app, channel: name, version };
}

export type FoundPlannedRelease = PlannedRelease & {
  readonly id: string;
  readonly version: string;
  readonly targets: Targeting | null;
};

/** Reads a release of a channel; with `isLocked`, locks it until the transaction ends. */
export async function findPlannedRelease(
  sql: Sql,
  channelId: string,
  canonicalVersion: string,
  isLocked: boolean,
): Promise<FoundPlannedRelease | Failure> {
  if (!isStorable(canonicalVersion)) return fail('unknownRelease');
  const rows = await sql.query<FoundPlannedRelease>(
    `SELECT id, version, status, rollout_pct AS "rolloutPct", targets,
       published_at IS NOT NULL AS "wasPublished"
     FROM releases WHERE channel_id = $1 AND canonical_version = $2 ${isLocked ? 'FOR UPDATE' : ''}`,
    [channelId, canonicalVersion],
  );
  return rows[0] ?? fail('unknownRelease');
}

/** Reads a release by name within the caller's scope, with its app and its channel's name. */
export async function findReleaseByName(
  sql: Sql,
  scope: TenantScope | undefined,
  name: ReleaseName,
): Promise<
  | {
      readonly app: OwnedApp;
      readonly channel: string;
      readonly release: FoundPlannedRelease;
    }
  | Failure
> {
  const app = await findApp(sql, scope, name.app);
  if (isFailure(app)) return app;
  const channel = await findChannel(sql, app.id, name.channel);
  if (isFailure(channel)) return channel;
  const release = await findPlannedRelease(sql, channel.id, name.canonicalVersion, false);
  return isFailure(release) ? release : { app, channel: channel.name, release };
}
