// Bodies and queries of roll-out plans (docs/contract.md 27).

import { z } from 'zod';
import { invalidField, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { PLAN_ACTIONS, type PlanGuards, TRIP_EFFECTS } from '../../contract/rollout-plan.ts';
import { USUAL_GUARDS } from '../../domain/rollout/judge-health.ts';
import type { PlanDefinition } from '../../domain/rollout/plan-state.ts';
import { nameField, reasonField, timeField, versionField } from './field.ts';

const MINUTE_SECONDS = 60;
/** Times that a device is written down within the time after which it counts as stuck or silent. */
const FRESHNESS_FACTOR = 3;

const minutesField = z.int().min(0).max(LIMIT.planMinutesMax);
const percentField = z.number().min(0).max(100);

const stepsField = z
  .array(
    z.strictObject({
      rollout: z.int().min(1).max(LIMIT.rolloutPctMax),
      holdMinutes: minutesField,
    }),
  )
  .min(1)
  .max(LIMIT.planStepsMax)
  .superRefine((steps, context) => {
    const index = steps.findIndex(
      ({ rollout }, place) => rollout <= (steps[place - 1]?.rollout ?? 0),
    );
    if (index === -1) return;
    const message = 'Must be above the step before it';
    context.addIssue({ code: 'custom', path: [index, 'rollout'], message });
  });

const guardsField = z
  .strictObject({
    minimumDevices: z.int().min(1).max(LIMIT.planDevicesMax).default(USUAL_GUARDS.minimumDevices),
    failedPercent: percentField.optional(),
    revertedPercent: percentField.optional(),
    stuckPercent: percentField.optional(),
    silentPercent: percentField.optional(),
    stuckAfterMinutes: minutesField.default(USUAL_GUARDS.stuckAfterMinutes),
    silentAfterMinutes: minutesField.default(USUAL_GUARDS.silentAfterMinutes),
    knownForMinutes: minutesField.default(USUAL_GUARDS.knownForMinutes),
    confirmMinutes: z
      .int()
      .min(0)
      .max(LIMIT.planConfirmMinutesMax)
      .default(USUAL_GUARDS.confirmMinutes),
    source: z.literal('push').optional(),
  })
  // JSON has no undefined, so that a key without a value is absent.
  .transform((guards) => guards as PlanGuards);

const planFields = {
  steps: stepsField,
  startAt: timeField.optional(),
  guards: guardsField.nullable().default(null),
  onTrip: z.enum(TRIP_EFFECTS).default('pause'),
};

const releaseFields = { app: nameField, channel: nameField, version: versionField };

export const putPlanBody = z.strictObject({
  ...releaseFields,
  ...planFields,
  reason: reasonField.optional(),
});

/** Plan under which a release is born. */
export const planField = z.strictObject(planFields);

export const steerPlanBody = z.strictObject({
  ...releaseFields,
  action: z.enum(PLAN_ACTIONS),
  reason: reasonField.optional(),
});

export const planQuery = z.object(releaseFields);

export const healthQuery = z.object({
  ...releaseFields,
  knownForMinutes: z.coerce.number().int().min(0).max(LIMIT.planMinutesMax).optional(),
});

/**
 * Converts a checked plan to its definition. A device that keeps asking is written down only every
 * `freshnessSeconds`, so that within less than three times that it may look stuck or silent without being so:
 * such guards are refused. `path` is where the plan stands in the body, with a dot at its end.
 */
export function definitionOf(
  { steps, startAt, guards, onTrip }: z.output<typeof planField>,
  freshnessSeconds: number,
  nowMs: number,
  path = '',
): Outcome<PlanDefinition, 'invalid'> {
  const startAtMs = startAt === undefined ? undefined : Date.parse(startAt);
  if (startAtMs !== undefined && startAtMs > nowMs + LIMIT.planStartAheadMsMax) {
    return invalidField(`${path}startAt`, 'Must be at most 90 days ahead');
  }
  const minutesMin = Math.ceil((freshnessSeconds * FRESHNESS_FACTOR) / MINUTE_SECONDS);
  for (const field of ['stuckAfterMinutes', 'silentAfterMinutes'] as const) {
    if (guards !== null && guards[field] < minutesMin) {
      return invalidField(`${path}guards.${field}`, `Must be at least ${minutesMin}`);
    }
  }
  return { steps, startAtMs, guards, onTrip };
}
