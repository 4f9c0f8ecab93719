// Making of a roll-out plan.

import type { Principal } from '../access/api-keys.ts';
import {
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../contract/failure.ts';
import type { RolloutPlan } from '../contract/rollout-plan.ts';
import type { PlanDefinition } from '../domain/rollout/plan-state.ts';
import type { Ledger } from '../store/ledger.ts';
import type { ReleaseName } from '../store/release-name.ts';
import type { SpreadChange } from './propagate-change.ts';

/** Makes a plan of a release. Its first step begins a moment later, by whichever node drives it. */
export async function createPlan(
  ledger: Pick<Ledger, 'createPlan'>,
  spread: SpreadChange,
  { reach, actor }: Principal,
  name: ReleaseName,
  definition: PlanDefinition,
  reason?: string,
): Promise<Outcome<RolloutPlan, UnknownRelease | 'planRefused' | LostRight>> {
  const made = await ledger.createPlan(reach, name, definition, actor, reason);
  if (isFailure(made)) return made;
  await spread(made.changed, actor.requestId);
  return made.value;
}
