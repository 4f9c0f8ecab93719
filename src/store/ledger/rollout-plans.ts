// Transaction that makes a roll-out plan.

import {
  fail,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import type { RolloutPlan } from '../../contract/rollout-plan.ts';
import type { PlanDefinition, PlannedRelease } from '../../domain/rollout/plan-state.ts';
import { newPlan } from '../../domain/rollout/steer-plan.ts';
import type { Changed } from '../changed.ts';
import type { KnownStates } from '../known-state.ts';
import type { Actor } from '../ledger-terms.ts';
import type { Reach } from '../reach.ts';
import type { ReleaseName } from '../release-name.ts';
import { type ActorSql, atomically } from './atomically.ts';
import { countKnown } from './count-known.ts';
import type { Database, Sql } from './database.ts';
import { type FollowedRelease, placeOf } from './follow-plan.ts';
import { type LockedChannel, lockChannel } from './lock-channel.ts';
import { insertPlan, lockOpenPlan, type PlanRow, readPlanTime, shownPlan } from './plan-rows.ts';
import { findPlannedRelease } from './planned-release.ts';
import { controlOn } from './serving-control.ts';
import { signalTaking } from './signal-taking.ts';

/**
 * Stores the plan with its audit entry under the channel's lock. A release that was never published is set to
 * 0 % before, so that its plan begins there.
 */
export function createPlan(
  database: Database,
  reach: Reach,
  name: ReleaseName,
  definition: PlanDefinition,
  actor: Actor,
  reason?: string,
  known?: KnownStates,
): Promise<Outcome<Changed<RolloutPlan>, UnknownRelease | 'planRefused' | LostRight>> {
  return atomically<Changed<RolloutPlan>, UnknownRelease | 'planRefused'>(
    database,
    actor,
    async (sql) => {
      const channel = await lockChannel(sql, reach, name.app, name.channel, known);
      if (isFailure(channel)) return channel;
      const release = await findPlannedRelease(sql, channel.id, name.canonicalVersion, true);
      if (isFailure(release)) return release;
      const open = await lockOpenPlan(sql, release.id);
      if (open !== undefined) return fail('planRefused', refuseSecond(open));
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
  );
}

/** Makes the plan of a release that has no open one, in the transaction of its actor. */
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

/** Number of known devices below which a preset goes on where its guards cannot judge. */
const JUDGED_DEVICES_MIN = 1000;

/** Decides what a preset does with guards that cannot judge: by the size of the fleet. */
export async function decideOnBlind(
  sql: Sql,
  releaseId: string,
  definition: PlanDefinition,
): Promise<PlanDefinition> {
  if (definition.preset === null || definition.onBlind !== undefined) return definition;
  const known = await countKnown(sql, releaseId, signalTaking(definition.guards));
  return { ...definition, onBlind: known < JUDGED_DEVICES_MIN ? 'advance' : 'hold' };
}

/** Says why a release gets no second open plan. */
export function refuseSecond({ state }: PlanRow): string {
  return `The release has a plan that is ${state.status}: cancel it first`;
}
