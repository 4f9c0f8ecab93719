// Routes of the console API for roll-out plans and the health of releases (docs/contract.md 27).

import { isFailure } from '../../contract/failure.ts';
import { createPlan } from '../../publishing/create-plan.ts';
import type { RehearseChange } from '../../publishing/dry-run.ts';
import type { SpreadChange } from '../../publishing/propagate-change.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { Route } from '../router.ts';
import { definitionOf, planQuery, putPlanBody, steerPlanBody } from '../shape/plan-body.ts';
import { releaseNameOf } from '../shape/release-body.ts';
import type { ConsoleRoutes } from './console-route.ts';

type PlanConsoleDependencies = {
  readonly ledger: Pick<
    Ledger,
    'createPlan' | 'steerPlan' | 'readPlan' | 'readHealth' | 'readTrouble' | 'readReleaseAdoption'
  >;
  readonly spread: SpreadChange;
  readonly rehearse: Pick<RehearseChange, 'plan'>;
  /** Seconds after which a device that asks again is written down again. */
  readonly freshnessSeconds: number;
};

/** Builds the routes by which people plan roll-outs. */
export function planConsoleRoutes(
  routes: ConsoleRoutes,
  { ledger, spread, rehearse, freshnessSeconds }: PlanConsoleDependencies,
): readonly Route[] {
  const path = 'releases/plan';
  return [
    routes.onApp(
      { method: 'GET', path, role: 'viewer', shape: planQuery },
      async ({ reach }, query) => {
        const name = releaseNameOf(query);
        const found = await ledger.readPlan(reach, name);
        // The page shows the health of every release, of one without a plan as well.
        if (!isFailure(found) || found.failure !== 'unknownPlan') return found;
        const health = await ledger.readHealth(reach, name);
        return isFailure(health) ? health : { plan: null, health };
      },
    ),
    routes.onApp(
      { method: 'GET', path: 'releases/trouble', role: 'viewer', shape: planQuery },
      ({ reach }, query) => ledger.readTrouble(reach, releaseNameOf(query)),
    ),
    routes.onApp(
      { method: 'GET', path: 'releases/adoption', role: 'viewer', shape: planQuery },
      async ({ reach }, query) => {
        const adoption = await ledger.readReleaseAdoption(reach, releaseNameOf(query));
        return isFailure(adoption) ? adoption : { adoption };
      },
    ),
    routes.onApp(
      { method: 'POST', path, role: 'publisher', shape: putPlanBody },
      async (context, body) => {
        const definition = definitionOf(body, freshnessSeconds, Date.now());
        if (isFailure(definition)) return definition;
        const name = releaseNameOf(body);
        const plan = await createPlan(ledger, spread, context, name, definition, body.reason);
        return isFailure(plan) ? plan : { plan };
      },
    ),
    routes.onApp(
      { method: 'POST', path: 'releases/rehearse-plan', role: 'publisher', shape: putPlanBody },
      async (context, body) => {
        const definition = definitionOf(body, freshnessSeconds, Date.now());
        if (isFailure(definition)) return definition;
        return rehearse.plan(context, releaseNameOf(body), definition);
      },
    ),
    routes.onApp(
      { method: 'PATCH', path, role: 'publisher', shape: steerPlanBody },
      async ({ reach, actor }, { action, reason, ...named }) => {
        const plan = await ledger.steerPlan(reach, releaseNameOf(named), action, actor, reason);
        return isFailure(plan) ? plan : { plan };
      },
    ),
  ];
}
