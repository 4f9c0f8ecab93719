// Transaction in which a roll-out plan does by itself what is due.

import { fail, isFailure, type Outcome, type UnknownRelease } from '../../contract/failure.ts';
import type { RolloutPlan } from '../../contract/rollout-plan.ts';
import type { Serving } from '../../domain/release/serving-change.ts';
import {
  drivePlan as driven,
  type PlanAct,
  type PlanEvidence,
} from '../../domain/rollout/drive-plan.ts';
import type { Changed } from '../changed.ts';
import type { KnownStates } from '../known-state.ts';
import type { PlanToDrive } from '../plan-ledger.ts';
import { type ActorSql, atomically } from './atomically.ts';
import type { Database } from './database.ts';
import { placeOf } from './follow-plan.ts';
import { type LockedChannel, lockChannel } from './lock-channel.ts';
import { findPlan, lockOpenPlan, readPlanTime, shownPlan, storePlan } from './plan-rows.ts';
import { findPlannedRelease } from './planned-release.ts';
import { readSignals } from './read-signals.ts';
import { controlOn } from './serving-control.ts';
import { compileNothing, withoutCompiling } from './without-compiling.ts';

/**
 * Drives a plan once. The figures are read before the channel is locked, so that no first offer waits for
 * them. Under the lock the plan is read again and decides by the time of the ledger: a step that another node
 * has begun meanwhile is not due any more. The plan and what it does to its release are stored together.
 * None of it is compiled: see `withoutCompiling`.
 */
export async function drivePlan(
  database: Database,
  { id, ...name }: PlanToDrive,
  seenUpToMs: number | undefined,
  known?: KnownStates,
): Promise<Outcome<Changed<RolloutPlan>, UnknownRelease | 'unknownPlan'>> {
  const evidence = await readEvidence(database, id, seenUpToMs);
  return atomically<
    Changed<RolloutPlan>,
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
    const stored = await storePlan(sql, row, place, state);
    const changed = await perform(sql, channel, name.canonicalVersion, act);
    if (isFailure(changed)) return changed;
    return { value: shownPlan(stored, place, time), changed };
  });
}

async function readEvidence(
  database: Database,
  id: string,
  seenUpToMs: number | undefined,
): Promise<PlanEvidence | undefined> {
  if (seenUpToMs === undefined) return undefined;
  return withoutCompiling(database, async (sql) => {
    const [found] = await sql.query<{ releaseId: string }>(
      `SELECT release_id AS "releaseId" FROM rollout_plans WHERE id = $1 AND is_guarded`,
      [id],
    );
    if (found === undefined) return undefined;
    const row = await findPlan(sql, found.releaseId);
    if (row?.id !== id) return undefined;
    return { counts: await readSignals(sql, row.releaseId, row.state), seenUpToMs };
  });
}

/** Does to the release what the plan decided, as a person would. */
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
