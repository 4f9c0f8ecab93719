// How the signals of a release are taken.

import type { PlanGuards } from '../../contract/rollout-plan.ts';
import { USUAL_GUARDS } from '../../domain/rollout/judge-health.ts';
import type { Sql } from './database.ts';
import { findPlan } from './plan-rows.ts';

/** How the signals of a release are taken; times in minutes. */
export type SignalTaking = {
  readonly known: number;
  /** Whether only devices count that were reported with a key. */
  readonly isPushed: boolean;
  readonly stuckAfterMinutes: number;
  readonly silentAfterMinutes: number;
};

/** Returns how guards take signals; those of a release without guards are taken as usual. */
export function signalTaking(guards: PlanGuards | null): SignalTaking {
  const given: PlanGuards = guards ?? USUAL_GUARDS;
  const { knownForMinutes: known, stuckAfterMinutes, silentAfterMinutes } = given;
  return { known, isPushed: given.source === 'push', stuckAfterMinutes, silentAfterMinutes };
}

/** Reads how the signals of a release are taken: as the guards of its newest plan say. */
export async function readSignalTaking(sql: Sql, releaseId: string): Promise<SignalTaking> {
  return signalTaking((await findPlan(sql, releaseId))?.state.guards ?? null);
}
