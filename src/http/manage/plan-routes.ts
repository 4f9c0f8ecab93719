// Routes of the management API for roll-out plans and the health of releases (docs/contract.md 27).

import type { z } from 'zod';
import type { Caller } from '../../access/api-keys.ts';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import { type NamedPreset, PLAN_PRESET_NAMES } from '../../contract/rollout-plan.ts';
import { PLAN_PRESETS } from '../../domain/rollout/plan-presets.ts';
import { createPlan } from '../../publishing/create-plan.ts';
import type { RehearseChange } from '../../publishing/dry-run.ts';
import type { SpreadChange } from '../../publishing/propagate-change.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { Exchange } from '../exchange.ts';
import { failureReply, jsonReply, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import { noteApp, parseBody, parseShape } from '../shape/parse-shape.ts';
import {
  definitionOf,
  healthQuery,
  planQuery,
  putPlanBody,
  steerPlanBody,
} from '../shape/plan-body.ts';
import { readDryRun } from '../shape/read-dry-run.ts';
import { releaseNameOf } from '../shape/release-body.ts';
import { effectFor } from './effect-for.ts';
import { createGuard, type GuardDependencies } from './guard.ts';

export type PlanDependencies = GuardDependencies & {
  readonly ledger: Pick<Ledger, 'createPlan' | 'steerPlan' | 'readPlan' | 'readHealth'>;
  readonly spread: SpreadChange;
  readonly rehearse: Pick<RehearseChange, 'plan'>;
  /** Seconds after which a device that asks again is written down again. */
  readonly freshnessSeconds: number;
};

const PRESETS: readonly NamedPreset[] = PLAN_PRESET_NAMES.map((name) => ({
  name,
  ...PLAN_PRESETS[name],
}));

/** Builds the routes `/api/v1/releases/plan` and `/api/v1/releases/health`. */
export function planRoutes(dependencies: PlanDependencies): readonly Route[] {
  const { ledger } = dependencies;
  const guard = createGuard(dependencies);
  const path = '/api/v1/releases/plan';
  return [
    {
      method: 'PUT',
      path,
      handler: guard('control', (caller, exchange) => put(dependencies, caller, exchange)),
    },
    {
      method: 'PATCH',
      path,
      handler: guard('control', (caller, exchange) => steer(ledger, caller, exchange)),
    },
    {
      method: 'GET',
      path,
      handler: guard('read', async ({ reach }, exchange) => {
        const query = readQuery(exchange, planQuery);
        if (isFailure(query)) return failureReply(query);
        const found = await ledger.readPlan(reach, releaseNameOf(query));
        return isFailure(found) ? failureReply(found) : jsonReply(200, found);
      }),
    },
    {
      method: 'GET',
      path: `${path}/presets`,
      handler: guard('read', async () => jsonReply(200, { presets: PRESETS })),
    },
    {
      method: 'GET',
      path: '/api/v1/releases/health',
      handler: guard('read', async ({ reach }, exchange) => {
        const query = readQuery(exchange, healthQuery);
        if (isFailure(query)) return failureReply(query);
        const name = releaseNameOf(query);
        const health = await ledger.readHealth(reach, name, query.knownForMinutes);
        return isFailure(health) ? failureReply(health) : jsonReply(200, { health });
      }),
    },
  ];
}

async function put(
  { ledger, spread, rehearse, freshnessSeconds }: PlanDependencies,
  caller: Caller,
  exchange: Exchange,
): Promise<Reply> {
  const body = await parseBody(exchange, putPlanBody);
  if (isFailure(body)) return failureReply(body);
  const definition = definitionOf(body, freshnessSeconds, Date.now());
  if (isFailure(definition)) return failureReply(definition);
  const isDryRun = readDryRun(exchange.queryText);
  if (isFailure(isDryRun)) return failureReply(isDryRun);
  const name = releaseNameOf(body);
  if (isDryRun) {
    const rehearsed = await rehearse.plan(caller, name, definition);
    if (isFailure(rehearsed)) return failureReply(rehearsed);
    return jsonReply(200, { ...rehearsed, effect: effectFor(caller, rehearsed.effect) });
  }
  const plan = await createPlan(ledger, spread, caller, name, definition, body.reason);
  return isFailure(plan) ? failureReply(plan) : jsonReply(200, { plan });
}

async function steer(
  ledger: PlanDependencies['ledger'],
  caller: Caller,
  exchange: Exchange,
): Promise<Reply> {
  const body = await parseBody(exchange, steerPlanBody);
  if (isFailure(body)) return failureReply(body);
  const { action, reason } = body;
  const plan = await ledger.steerPlan(
    caller.reach,
    releaseNameOf(body),
    action,
    caller.actor,
    reason,
  );
  return isFailure(plan) ? failureReply(plan) : jsonReply(200, { plan });
}

function readQuery<Shape extends z.ZodType>(
  exchange: Exchange,
  shape: Shape,
): Outcome<z.output<Shape>, 'invalid'> {
  const query = Object.fromEntries(new URLSearchParams(exchange.queryText));
  noteApp(exchange, query);
  return parseShape(shape, query);
}
