// Routes of the management API for releases, apps and rollout plans (docs/contract.md 4.1 to 4.4).

import type { z } from 'zod';
import type { Caller } from '../../access/api-keys.ts';
import type { DryRunAnswer } from '../../contract/dry-run.ts';
import { type FailureKind, isFailure, type Outcome } from '../../contract/failure.ts';
import type { KeyRight } from '../../contract/resource.ts';
import { type NamedPreset, PLAN_PRESET_NAMES } from '../../contract/rollout-plan.ts';
import { PLAN_PRESETS } from '../../domain/rollout/plan-presets.ts';
import type { DryRun } from '../../publishing/dry-run.ts';
import type { PropagateChange } from '../../publishing/propagate-change.ts';
import {
  controlServing,
  createPlan,
  listReleases,
  type PublishedRelease,
  promoteRelease,
  publishRelease,
  withdrawRelease,
} from '../../publishing/releases.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { Exchange } from '../exchange.ts';
import { failureReply, jsonReply, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import { noteApp, parseBody, parseShape } from '../shape/parse-shape.ts';
import {
  definitionOf,
  healthQuery,
  newReleaseOf,
  planQuery,
  promoteReleaseBody,
  promotionOf,
  publishReleaseBody,
  putPlanBody,
  readDryRun,
  readListQuery,
  releaseNameOf,
  servingCallOf,
  servingControlBody,
  steerPlanBody,
  withdrawReleaseBody,
} from '../shape/release-body.ts';
import { effectFor } from './effect-for.ts';
import { createGuard, type GuardDependencies, readRepeatableCall } from './guard.ts';

type ManageDependencies = GuardDependencies & {
  readonly ledger: Ledger;
  readonly propagate: PropagateChange;
  readonly dryRun: DryRun;
  /** Seconds after which a device that asks again is written down again. */
  readonly freshnessSeconds: number;
};

/** Builds the routes `/api/v1/releases` and `/api/v1/apps`. */
export function manageRoutes(dependencies: ManageDependencies): readonly Route[] {
  const { ledger, propagate } = dependencies;
  const guard = createGuard(dependencies);
  const releases = '/api/v1/releases';
  return [
    {
      method: 'POST',
      path: releases,
      hasDryRun: true,
      handler: guard('publish', (caller, exchange) => publish(dependencies, caller, exchange)),
    },
    {
      method: 'POST',
      path: `${releases}/promote`,
      hasDryRun: true,
      handler: guard('publish', (caller, exchange) => promote(dependencies, caller, exchange)),
    },
    {
      method: 'PATCH',
      path: releases,
      hasDryRun: true,
      handler: guard('control', (caller, exchange) => control(dependencies, caller, exchange)),
    },
    {
      method: 'DELETE',
      path: releases,
      handler: guard('publish', (caller, exchange) =>
        withdraw(ledger, propagate, caller, exchange),
      ),
    },
    {
      method: 'GET',
      path: releases,
      handler: guard(neededToList, async (caller, exchange) => {
        const query = readListQuery(exchange.queryText);
        noteApp(exchange, query);
        return jsonReply(200, await listReleases(ledger, caller, query));
      }),
    },
    {
      method: 'GET',
      path: '/api/v1/apps',
      handler: guard('read', async ({ scope }) =>
        jsonReply(200, { apps: await ledger.listApps(scope) }),
      ),
    },
  ];
}

/**
 * Rights that suffice: publishers may read one release by its name, to find out whether it is there already.
 */
function neededToList({ queryText }: Exchange): readonly KeyRight[] {
  const { app, channel, version } = readListQuery(queryText);
  const isOne = [app, channel, version].every((name) => name !== undefined);
  return isOne ? ['read', 'publish'] : ['read'];
}

async function publish(
  { ledger, propagate, dryRun, freshnessSeconds }: ManageDependencies,
  caller: Caller,
  exchange: Exchange,
): Promise<Reply> {
  const body = await parseBody(exchange, publishReleaseBody);
  if (isFailure(body)) return failureReply(body);
  const release = newReleaseOf(body, freshnessSeconds);
  if (isFailure(release)) return failureReply(release);
  const isDryRun = readDryRun(exchange.queryText);
  if (isFailure(isDryRun)) return failureReply(isDryRun);
  if (isDryRun) return dryRunReply(await dryRun.publish(caller, release), caller);
  const call = await readRepeatableCall(caller, exchange);
  if (isFailure(call)) return failureReply(call);
  return publishedReply(await publishRelease(ledger, propagate, caller, release, call));
}

async function promote(
  { ledger, propagate, dryRun, freshnessSeconds }: ManageDependencies,
  caller: Caller,
  exchange: Exchange,
): Promise<Reply> {
  const body = await parseBody(exchange, promoteReleaseBody);
  if (isFailure(body)) return failureReply(body);
  const promotion = promotionOf(body, freshnessSeconds);
  if (isFailure(promotion)) return failureReply(promotion);
  const isDryRun = readDryRun(exchange.queryText);
  if (isFailure(isDryRun)) return failureReply(isDryRun);
  if (isDryRun) return dryRunReply(await dryRun.promote(caller, promotion), caller);
  const call = await readRepeatableCall(caller, exchange);
  if (isFailure(call)) return failureReply(call);
  return publishedReply(await promoteRelease(ledger, propagate, caller, promotion, call));
}

function publishedReply(published: Outcome<PublishedRelease, FailureKind>): Reply {
  if (isFailure(published)) return failureReply(published);
  const { release, isRepeated } = published;
  const reply = jsonReply(201, { release });
  return isRepeated ? { ...reply, headers: [['Idempotent-Replayed', 'true']] } : reply;
}

async function control(
  { ledger, propagate, dryRun }: ManageDependencies,
  caller: Caller,
  exchange: Exchange,
): Promise<Reply> {
  const body = await parseBody(exchange, servingControlBody);
  if (isFailure(body)) return failureReply(body);
  const isDryRun = readDryRun(exchange.queryText);
  if (isFailure(isDryRun)) return failureReply(isDryRun);
  const { name, change, reason } = servingCallOf(body);
  if (isDryRun) return dryRunReply(await dryRun.control(caller, name, change), caller);
  const controlled = await controlServing(ledger, propagate, caller, name, change, reason);
  return isFailure(controlled) ? failureReply(controlled) : jsonReply(200, { release: controlled });
}

function dryRunReply(answer: Outcome<DryRunAnswer<unknown>, FailureKind>, caller: Caller): Reply {
  if (isFailure(answer)) return failureReply(answer);
  const { release, findings, effect } = answer;
  return jsonReply(200, { release, findings, effect: effectFor(caller, effect) });
}

async function withdraw(
  ledger: Ledger,
  propagate: PropagateChange,
  caller: Caller,
  exchange: Exchange,
): Promise<Reply> {
  const body = await parseBody(exchange, withdrawReleaseBody);
  if (isFailure(body)) return failureReply(body);
  const name = releaseNameOf(body);
  const withdrawn = await withdrawRelease(ledger, propagate, caller, name, body.reason);
  return isFailure(withdrawn) ? failureReply(withdrawn) : jsonReply(200, { release: withdrawn });
}

// Routes of the management API for rollout plans and the health of releases (docs/contract.md 27).

type PlanDependencies = GuardDependencies & {
  readonly ledger: Pick<Ledger, 'createPlan' | 'steerPlan' | 'readPlan' | 'readHealth'>;
  readonly propagate: PropagateChange;
  readonly dryRun: Pick<DryRun, 'plan'>;
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
      hasDryRun: true,
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
      handler: guard('read', async ({ scope }, exchange) => {
        const query = readQuery(exchange, planQuery);
        if (isFailure(query)) return failureReply(query);
        const found = await ledger.readPlan(scope, releaseNameOf(query));
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
      handler: guard('read', async ({ scope }, exchange) => {
        const query = readQuery(exchange, healthQuery);
        if (isFailure(query)) return failureReply(query);
        const name = releaseNameOf(query);
        const health = await ledger.readHealth(scope, name, query.knownForMinutes);
        return isFailure(health) ? failureReply(health) : jsonReply(200, { health });
      }),
    },
  ];
}

async function put(
  { ledger, propagate, dryRun, freshnessSeconds }: PlanDependencies,
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
    const answer = await dryRun.plan(caller, name, definition);
    if (isFailure(answer)) return failureReply(answer);
    return jsonReply(200, { ...answer, effect: effectFor(caller, answer.effect) });
  }
  const plan = await createPlan(ledger, propagate, caller, name, definition, body.reason);
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
    caller.scope,
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
