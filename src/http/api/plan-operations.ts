// Operations on rollout plans, and the health of releases (docs/contract.md 27).

import { z } from 'zod';
import { ANSWER_SHAPES } from '../../contract/answer-shape.ts';
import { PLAN_PRESET_NAMES } from '../../contract/choice.ts';
import { reachedBy } from '../../contract/dry-run.ts';
import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { NamedPreset, RolloutPlan } from '../../contract/rollout-plan.ts';
import { planFindings } from '../../domain/rollout/plan-findings.ts';
import { PLAN_PRESETS } from '../../domain/rollout/plan-presets.ts';
import type { Tried } from '../../publishing/changes.ts';
import { change, type KeyOperation, read } from '../endpoint/key-operation.ts';
import { jsonAnswer } from '../endpoint/operation.ts';
import {
  definitionOf,
  putPlanBody,
  releaseNameOf,
  releaseQuery,
  steerPlanBody,
} from '../endpoint/release-body.ts';

const PATH = '/api/v1/releases/plan';
const PRESETS: readonly NamedPreset[] = PLAN_PRESET_NAMES.map((name) => ({
  name,
  ...PLAN_PRESETS[name],
}));

const minutes = z.coerce.number().int().min(0).max(LIMIT.planMinutesMax);
const healthQuery = releaseQuery.extend({
  knownForMinutes: minutes
    .optional()
    .describe(`Minutes for which devices must have been known, 0 to ${LIMIT.planMinutesMax}.`),
});

/** Operations below `/api/v1/releases/plan`, and of `/api/v1/releases/health`. */
export const PLAN_OPERATIONS: readonly KeyOperation[] = [
  change({
    ...{ method: 'PUT', path: PATH, id: 'planRollout', right: 'control' },
    summary: 'Plan the rollout of a release',
    description:
      'The plan raises the rollout step by step, and stops by itself when a guard finds the release bad.',
    input: putPlanBody,
    answers: {
      200: jsonAnswer(
        'The plan, or what it would be.',
        z.union([ANSWER_SHAPES.RehearsedPlan, ANSWER_SHAPES.PlanAnswer]),
      ),
    },
    refusals: [404, 409],
    asks: 'planRollout',
    session: { endpoint: 'POST releases/plan' },
    by: ({ createPlan }) => createPlan,
    prepare(body, { freshnessSeconds }) {
      const definition = definitionOf(body, freshnessSeconds, Date.now());
      return isFailure(definition) ? definition : { ...releaseNameOf(body), definition };
    },
    answer: (plan) => ({ plan }),
    dryRun: {
      endpoint: 'POST releases/rehearse-plan',
      tells: 'findings, and the effect of the first raise',
      answer: rehearsedPlan,
    },
  }),
  change({
    ...{ method: 'PATCH', path: PATH, id: 'steerPlan', right: 'control' },
    summary: 'Hold, resume, advance or cancel a plan',
    input: steerPlanBody,
    answers: { 200: jsonAnswer('The plan.', ANSWER_SHAPES.PlanAnswer) },
    refusals: [404, 409],
    asks: 'steerPlan',
    session: { endpoint: 'PATCH releases/plan' },
    by: ({ steerPlan }) => steerPlan,
    prepare: ({ action, ...named }) => ({ ...releaseNameOf(named), action }),
    answer: (plan) => ({ plan }),
  }),
  read({
    ...{ path: PATH, id: 'readPlan', tag: 'Releases' },
    summary: 'Read the newest plan of a release, and its health',
    input: releaseQuery,
    answer: ['The plan.', ANSWER_SHAPES.PlanWithHealth],
    refusals: [404],
    run: ({ ledger }, { scope }, query) => ledger.readPlan(scope, releaseNameOf(query)),
  }),
  read({
    ...{ path: `${PATH}/presets`, id: 'listPlanPresets', tag: 'Releases' },
    summary: 'List the ready-made plans',
    input: z.object({}),
    answer: ['The presets, the slowest first.', ANSWER_SHAPES.PlanPresets],
    refusals: [],
    run: async () => ({ presets: PRESETS }),
  }),
  read({
    ...{ path: '/api/v1/releases/health', id: 'readHealth', tag: 'Releases' },
    summary: 'Read the health of a release, with a plan or without',
    input: healthQuery,
    answer: ['The health.', ANSWER_SHAPES.HealthAnswer],
    refusals: [404],
    async run({ ledger }, { scope }, { knownForMinutes, ...named }) {
      const health = await ledger.readHealth(scope, releaseNameOf(named), knownForMinutes);
      return isFailure(health) ? health : { health };
    },
  }),
];

/** Builds the answer to a dry run of a plan, with the effect of its first step. */
function rehearsedPlan({ value, seen: { start }, findings, effect }: Tried<RolloutPlan>) {
  if (start === undefined) throw new Error('A dry run of a plan tells what the plan begins with');
  const { id: _, createdAt: __, createdBy: ___, ...plan } = value;
  const gain = reachedBy({ release: plan, effect });
  return { plan, findings: [...findings, ...planFindings(plan, { ...start, gain })], effect };
}
