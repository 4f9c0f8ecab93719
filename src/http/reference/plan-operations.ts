// Endpoints of rollout plans and of the health of releases.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import { ANSWER_SHAPES } from '../shape/answer-shape.ts';
import { BODY_SHAPES, jsonAnswer, type Operation, type Parameters } from '../shape/operation.ts';
import { healthQuery, planQuery } from '../shape/release-body.ts';

const { app, channel, version } = planQuery.shape;
const RELEASE: Parameters = {
  app: { shape: app, description: 'Ref or id of the app.' },
  channel: { shape: channel, description: 'Name of the channel.' },
  version: { shape: version, description: 'Found by its canonical form.' },
};
const PATH = '/api/v1/releases/plan';
const SHARED = { tag: 'Releases', isGuarded: true } as const;

/** Endpoints of plans. */
export const PLAN_OPERATIONS: readonly Operation[] = [
  {
    ...{ method: 'put', path: PATH, id: 'planRollout', ...SHARED },
    summary: 'Plan the roll-out of a release',
    description:
      'The plan raises the roll-out step by step, and stops by itself when a guard finds the release bad.',
    inQuery: {
      dryRun: {
        shape: z.enum(['true', 'false']).optional(),
        description:
          'With `true` nothing is written: the answer tells findings, and the effect of the first raise.',
      },
    },
    body: BODY_SHAPES.NewPlan,
    answers: {
      200: jsonAnswer(
        'The plan, or what it would be.',
        z.union([ANSWER_SHAPES.RehearsedPlan, ANSWER_SHAPES.PlanAnswer]),
      ),
    },
    refusals: [404, 408, 409, 413],
  },
  {
    ...{ method: 'patch', path: PATH, id: 'steerPlan', ...SHARED },
    summary: 'Hold, resume, advance or cancel a plan',
    body: BODY_SHAPES.PlanControl,
    answers: { 200: jsonAnswer('The plan.', ANSWER_SHAPES.PlanAnswer) },
    refusals: [404, 408, 409, 413],
  },
  {
    ...{ method: 'get', path: PATH, id: 'readPlan', ...SHARED },
    summary: 'Read the newest plan of a release, and its health',
    inQuery: RELEASE,
    answers: { 200: jsonAnswer('The plan.', ANSWER_SHAPES.PlanWithHealth) },
    refusals: [404],
  },
  {
    ...{ method: 'get', path: `${PATH}/presets`, id: 'listPlanPresets', ...SHARED },
    summary: 'List the ready-made plans',
    answers: { 200: jsonAnswer('The presets, the slowest first.', ANSWER_SHAPES.PlanPresets) },
    refusals: [],
  },
  {
    ...{ method: 'get', path: '/api/v1/releases/health', id: 'readHealth', ...SHARED },
    summary: 'Read the health of a release, with a plan or without',
    inQuery: {
      ...RELEASE,
      knownForMinutes: {
        shape: healthQuery.shape.knownForMinutes,
        description: `Minutes for which devices must have been known, 0 to ${LIMIT.planMinutesMax}.`,
      },
    },
    answers: { 200: jsonAnswer('The health.', ANSWER_SHAPES.HealthAnswer) },
    refusals: [404],
  },
];
