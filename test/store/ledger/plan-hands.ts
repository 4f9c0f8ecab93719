// Releases with rollout plans in a ledger, and what people and drivers do to them.

import type { PlanAction, RolloutPlan } from '../../../src/contract/rollout-plan.ts';
import type { PlanDefinition } from '../../../src/domain/rollout/plan-state.ts';
import type { Database } from '../../../src/store/ledger/database/database.ts';
import type { Ledger } from '../../../src/store/ledger.ts';
import type { Actor, NewRelease } from '../../../src/store/ledger-terms.ts';
import { definition } from '../../domain/rollout/plan-fixture.ts';
import { MINUTE_MS } from './fleet-fixture.ts';
import { createTenant, expectValue, PUBLISHER, type TestTenant } from './ledger-fixture.ts';

/** A release on a channel of its own. */
export type Place = {
  readonly tenant: TestTenant;
  readonly scope: string;
  readonly name: { app: string; channel: string; canonicalVersion: string };
  readonly id: string;
};
export type PlannedPlace = Place & { readonly plan: RolloutPlan };

/** Counted time of which all check-ins are recorded: a record that is always caught up. */
export const CAUGHT_UP = { seenUpToMs: Number.MAX_SAFE_INTEGER };

/** Returns how the ledger names 1.0.0 on the tenant's stable. */
export function nameOf({ app }: Pick<TestTenant, 'app'>): Place['name'] {
  return { app, channel: 'stable', canonicalVersion: '1.0.0' };
}

export function planHands({ ledger, database }: { ledger: Ledger; database: Database }) {
  /** Publishes 1.0.0, at 0 % unless the parts say otherwise. */
  async function published(parts: Partial<NewRelease> = {}): Promise<Place> {
    const tenant = await createTenant(ledger);
    const { value } = await tenant.release('1.0.0', { rolloutPct: 0, ...parts });
    return { tenant, id: value.id, name: nameOf(tenant), scope: tenant.organizationId };
  }

  function create(
    { scope, name }: Pick<Place, 'scope' | 'name'>,
    steps: string,
    parts: Partial<PlanDefinition> = {},
  ) {
    const input = { ...name, definition: definition(steps, parts) };
    return ledger.createPlan({ scope, input, actor: PUBLISHER });
  }

  return {
    published,
    create,

    async planned(
      steps: string,
      parts: Partial<PlanDefinition> = {},
      release: Partial<NewRelease> = {},
    ): Promise<PlannedPlace> {
      const place = await published(release);
      return { ...place, plan: expectValue(await create(place, steps, parts)).value };
    },

    steer({ scope, name }: Place, action: PlanAction, reason?: string, actor: Actor = PUBLISHER) {
      return ledger.steerPlan({ scope, input: { ...name, action }, actor, reason });
    },

    async drive(
      { name, plan: { id } }: Pick<PlannedPlace, 'name' | 'plan'>,
      seen: { seenUpToMs: number; region?: string } = CAUGHT_UP,
    ): Promise<RolloutPlan> {
      return expectValue(await ledger.drivePlan({ id, ...name }, seen)).value;
    },

    async read({ scope, name }: Pick<Place, 'scope' | 'name'>) {
      return expectValue(await ledger.readPlan(scope, name));
    },

    /** Lets the waits of all plans come nearer to their end. */
    async pass(minutes: number): Promise<void> {
      const ms = minutes * MINUTE_MS;
      await database.query('UPDATE plan_clock SET counted_ms = counted_ms + $1', [ms]);
    },

    /** Returns which of these plans are given out to be driven. */
    async take(...places: Pick<PlannedPlace, 'plan'>[]): Promise<readonly string[]> {
      const ids = places.map(({ plan }) => plan.id);
      const given = await ledger.listPlansToDrive(15_000, 1000);
      return given.map(({ id }) => id).filter((id) => ids.includes(id));
    },
  };
}
