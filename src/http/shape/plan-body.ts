// Bodies and queries of roll-out plans (docs/contract.md 27).

import { z } from 'zod';
import { invalidField, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import {
  BLIND_EFFECTS,
  PLAN_ACTIONS,
  PLAN_PRESET_NAMES,
  type PlanGuards,
  TRIP_EFFECTS,
  WEEK_DAYS,
} from '../../contract/rollout-plan.ts';
import { USUAL_GUARDS } from '../../domain/rollout/judge-health.ts';
import { isTimeZone } from '../../domain/rollout/next-opening.ts';
import { PLAN_PRESETS } from '../../domain/rollout/plan-presets.ts';
import type { PlanDefinition } from '../../domain/rollout/plan-state.ts';
import {
  nameField,
  reasonField,
  textField,
  timeField,
  versionField,
  versionParameter,
} from './field.ts';

const MINUTE_SECONDS = 60;
/** Minutes for which a plan waits for a guard that cannot judge, where it says nothing else. */
const PATIENCE_MINUTES = 1440;
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

const clockField = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'Must be HH:MM, 00:00 to 23:59');

const raiseHoursField = z
  .strictObject({
    days: z
      .array(z.enum(WEEK_DAYS))
      .min(1)
      .max(WEEK_DAYS.length)
      .refine((days) => new Set(days).size === days.length, 'Must name each day once'),
    from: clockField,
    to: clockField,
    timeZone: textField(LIMIT.timeZoneLengthMax).refine(isTimeZone, 'Must be an IANA time zone'),
  })
  .refine(({ from, to }) => from !== to, { path: ['to'], error: 'Must be another time than from' });

const planFields = {
  steps: stepsField.optional(),
  preset: z.enum(PLAN_PRESET_NAMES).optional(),
  startAt: timeField.optional(),
  guards: guardsField.nullable().optional(),
  onTrip: z.enum(TRIP_EFFECTS).default('pause'),
  onBlind: z.enum(BLIND_EFFECTS).optional(),
  patienceMinutes: minutesField.default(PATIENCE_MINUTES),
  raiseBetween: raiseHoursField.nullable().default(null),
};

type PlanFields = z.output<z.ZodObject<typeof planFields>>;

/** Refuses a plan with a preset and what the preset stands for, or with neither. */
function refuseMixture(plan: PlanFields, context: z.RefinementCtx): void {
  const { preset, steps, guards, onBlind } = plan;
  const isOwn = [steps, guards, onBlind].some((part) => part !== undefined);
  const issue =
    preset !== undefined && isOwn
      ? { path: ['preset'], message: 'Stands for steps, guards and onBlind: give it or those' }
      : { path: ['steps'], message: 'Is required, or a preset' };
  if (preset === undefined ? steps === undefined : isOwn) {
    context.addIssue({ code: 'custom', ...issue });
  }
}

const releaseFields = { app: nameField, channel: nameField, version: versionField };

export const putPlanBody = z
  .strictObject({ ...releaseFields, ...planFields, reason: reasonField.optional() })
  .superRefine(refuseMixture);

/** Plan under which a release is born. */
export const planField = z.strictObject(planFields).superRefine(refuseMixture);

export const steerPlanBody = z.strictObject({
  ...releaseFields,
  action: z.enum(PLAN_ACTIONS),
  reason: reasonField.optional(),
});

const releaseParameters = { ...releaseFields, version: versionParameter };

export const planQuery = z.object(releaseParameters);

export const healthQuery = z.object({
  ...releaseParameters,
  knownForMinutes: z.coerce.number().int().min(0).max(LIMIT.planMinutesMax).optional(),
});

/**
 * Converts a checked plan to its definition. A device that keeps asking is written down only every
 * `freshnessSeconds`, so that within less than three times that it may look stuck or silent without being so:
 * such guards are refused. `path` is where the plan stands in the body, with a dot at its end.
 */
export function definitionOf(
  plan: PlanFields,
  freshnessSeconds: number,
  nowMs: number,
  path = '',
): Outcome<PlanDefinition, 'invalid'> {
  const { startAt, preset, onTrip, onBlind, patienceMinutes, raiseBetween } = plan;
  const { steps, guards } = preset === undefined ? ownParts(plan) : PLAN_PRESETS[preset];
  const startAtMs = startAt === undefined ? undefined : Date.parse(startAt);
  if (startAtMs !== undefined && startAtMs > nowMs + LIMIT.planStartAheadMsMax) {
    return invalidField(`${path}startAt`, 'Must be at most 90 days ahead');
  }
  const minutesMin = Math.ceil((freshnessSeconds * FRESHNESS_FACTOR) / MINUTE_SECONDS);
  for (const field of ['stuckAfterMinutes', 'silentAfterMinutes'] as const) {
    if (guards !== null && guards[field] < minutesMin) {
      const at = preset === undefined ? `guards.${field}` : 'preset';
      return invalidField(`${path}${at}`, `Must be at least ${minutesMin}`);
    }
  }
  const parts = { onTrip, onBlind, patienceMinutes, raiseBetween };
  return { steps, startAtMs, guards, ...parts, preset: preset ?? null };
}

function ownParts({ steps = [], guards = null }: PlanFields) {
  return { steps, guards };
}
