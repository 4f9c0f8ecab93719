// Dry run of a plan: the plan, and the state of its channel after its first raise.

import {
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import type { Serving } from '../../domain/release/serving-change.ts';
import type { PlanDefinition } from '../../domain/rollout/plan-state.ts';
import { newPlan } from '../../domain/rollout/steer-plan.ts';
import type { DryRunDefinition } from '../fleet-ledger.ts';
import type { Actor, DryRunResult, ReleaseName, TenantScope } from '../ledger-terms.ts';
import { type ActorSql, dryRun } from './atomically.ts';
import { countKnown } from './count-known.ts';
import type { Database } from './database.ts';
import { around, type Memory } from './dry-runs.ts';
import { noteRelease } from './exposure.ts';
import { placeOf, plannedOf, readPlanTime } from './plan-rows.ts';
import { decideOnBlind, lockUnplanned } from './rollout-plans.ts';
import { signalTaking } from './rollout-signals.ts';
import { controlOn } from './serving-control.ts';

/**
 * Does a dry run of `createPlan`, with its refusals. The state after it is that of the first step above the
 * present rollout, whenever that step begins.
 */
export function dryRunPlan(
  database: Database,
  scope: TenantScope,
  name: ReleaseName,
  definition: PlanDefinition,
  actor: Actor,
  { held, known }: Memory,
): Promise<Outcome<DryRunResult<DryRunDefinition>, UnknownRelease | 'planRefused' | LostRight>> {
  return dryRun<DryRunResult<DryRunDefinition>, UnknownRelease | 'planRefused'>(
    database,
    actor,
    async (sql) => {
      const locked = await lockUnplanned(sql, scope, name, known);
      if (isFailure(locked)) return locked;
      const { channel, release } = locked;
      const time = await readPlanTime(sql);
      const decided = await decideOnBlind(sql, release.id, definition);
      const state = newPlan(decided, release, time);
      if (isFailure(state)) return state;
      const rolloutPct = release.wasPublished ? release.rolloutPct : 0;
      const value: DryRunDefinition = {
        version: release.version,
        plan: plannedOf(state, placeOf(channel, release.version), time),
        known: await countKnown(sql, release.id, signalTaking(definition.guards)),
        rolloutPct,
      };
      const first = state.steps.find(({ rollout }) => rollout > rolloutPct);
      const place = { channel, canonicalVersion: name.canonicalVersion, held };
      return around<DryRunDefinition, 'unknownRelease'>(sql, place, async () => {
        await noteRelease(sql, channel, release, {
          before: release,
          after: release,
          isPlanned: true,
        });
        if (first === undefined) return { value, changed: [] };
        const raised = (serving: Serving) => ({
          ...{ ...serving, status: 'published' as const, rolloutPct: first.rollout },
          isStatusSet: true,
        });
        const { canonicalVersion } = name;
        const begun = await controlOn<never>(
          asPlan(sql),
          channel,
          canonicalVersion,
          raised,
          undefined,
        );
        return isFailure(begun) ? begun : { value, changed: begun.changed };
      });
    },
  );
}

/** Returns the transaction with a plan as its actor, so that the raise does not steer the plan. */
function asPlan(sql: ActorSql): ActorSql {
  return { ...sql, actor: { kind: 'plan', id: 'rehearsed' } };
}
