// Bodies and queries of the endpoints for releases (docs/contract.md 4.1 and 4.3), plans and stops. Unknown
// keys are refused, because a typo must not ship to a fleet.

import { z } from 'zod';
import {
  BLIND_EFFECTS,
  PLAN_PRESET_NAMES,
  TRIP_EFFECTS,
  WEEK_DAYS,
} from '../../contract/choice.ts';
import { invalidField, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Artifact } from '../../contract/resource.ts';
import { PLAN_ACTIONS, type PlanGuards } from '../../contract/rollout-plan.ts';
import { isStorable } from '../../contract/text.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import { transitionBy } from '../../domain/release/serving-change.ts';
import { USUAL_GUARDS } from '../../domain/rollout/judge-health.ts';
import { isTimeZone } from '../../domain/rollout/next-opening.ts';
import { PLAN_PRESETS } from '../../domain/rollout/plan-presets.ts';
import type { PlanDefinition } from '../../domain/rollout/plan-state.ts';
import type {
  NewPromotion,
  NewRelease,
  ReleaseFilter,
  ReleaseName,
  ServingCall,
} from '../../store/ledger-terms.ts';
import {
  appQuery,
  deviceIdField,
  formatField,
  hexField,
  nameField,
  plainTextField,
  reasonField,
  rolloutField,
  statusField,
  sumField,
  systemVersionField,
  targetingField,
  textField,
  timeField,
  urlField,
  versionField,
  versionParameter,
  withPlus,
} from './field.ts';

// Bodies and queries of rollout plans (docs/contract.md 27).

const MINUTE_SECONDS = 60;
/** Default of the minutes for which a plan waits for a guard that cannot judge. */
const PATIENCE_MINUTES = 1440;
/** Minimum number of freshness intervals after which a device may count as stuck or silent. */
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
  // The parser types optional keys as possibly undefined, but JSON has no undefined: such a key is absent.
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

/** Refuses a plan with a preset and fields that the preset defines, or with neither preset nor steps. */
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

/** Plan of a release from its publication on. */
const planField = z.strictObject(planFields).superRefine(refuseMixture);

export const steerPlanBody = z.strictObject({
  ...releaseFields,
  action: z.enum(PLAN_ACTIONS),
  reason: reasonField.optional(),
});

export const stopBody = z.strictObject({
  app: nameField,
  channel: nameField.optional(),
  reason: reasonField.optional(),
});

export const resumeBody = z.strictObject({ stop: nameField });

/** Resumption by a person: it also names the app, for which the role is checked. */
export const appResumeBody = resumeBody.extend({ app: nameField });

/** Query that names a release. */
export const releaseQuery = appQuery.extend({
  channel: nameField.describe('Name of the channel.'),
  version: versionParameter.describe('Found by its canonical form.'),
});

/**
 * Converts a valid plan to its definition. Check-ins of a device are recorded only every `freshnessSeconds`,
 * so a device could seem stuck or silent within less than three times that: guards with shorter times are
 * refused. `path` is the path of the plan in the body, with a trailing dot.
 */
export function definitionOf(
  plan: PlanFields,
  freshnessSeconds: number,
  nowMs: number,
  path = '',
): Outcome<PlanDefinition> {
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

const SHA256_DIGITS = 64;
const SHA1_DIGITS = 40;

const artifactField = z
  .strictObject({
    platform: plainTextField(LIMIT.artifactNameLengthMax),
    arch: plainTextField(LIMIT.artifactNameLengthMax).optional(),
    url: urlField.optional(),
    sha512: sumField.optional(),
    size: z.int().min(0).optional(),
    // Signature files may have several lines.
    signature: plainTextField(LIMIT.artifactPassThroughLengthMax, '\t\n\r').optional(),
    format: formatField.optional(),
    sha256: hexField(SHA256_DIGITS).optional(),
    sha1: hexField(SHA1_DIGITS).optional(),
    minimumSystemVersion: systemVersionField.optional(),
    buildVersion: plainTextField(LIMIT.buildVersionLengthMax).optional(),
  })
  // The parser types optional keys as possibly undefined, but JSON has no undefined: such a key is absent.
  .transform((artifact) => artifact as Artifact);

export const publishReleaseBody = z.strictObject({
  app: nameField,
  channel: nameField,
  version: versionField,
  notes: textField(Number.POSITIVE_INFINITY, 0)
    .refine((text) => Buffer.byteLength(text) <= LIMIT.notesBytesMax, 'Must have at most 256 KiB')
    .default(''),
  artifacts: z.array(artifactField).max(LIMIT.artifactCountMax).default([]),
  rollout: rolloutField.optional(),
  targets: targetingField.nullable().default(null),
  status: z.enum(['published', 'paused']).default('published'),
  plan: planField.optional(),
});

export const servingControlBody = z
  .strictObject({
    app: nameField,
    channel: nameField,
    version: versionField,
    rollout: rolloutField.optional(),
    status: statusField.optional(),
    targets: targetingField.nullable().optional(),
    reason: reasonField.optional(),
  })
  .refine(
    ({ rollout, status, targets }) => [rollout, status, targets].some((part) => part !== undefined),
    'One of rollout, status or targets is required',
  );

/** Serving control by a person; `seen` is the state that the person saw, and that the change is meant for. */
export const seenServingBody = servingControlBody.safeExtend({
  seen: z.strictObject({ status: statusField, rolloutPct: rolloutField }).optional(),
});

export const promoteReleaseBody = z
  .strictObject({
    app: nameField,
    version: versionField,
    from: nameField,
    to: nameField,
    rollout: rolloutField.optional(),
    targets: targetingField.nullable().default(null),
    status: z.enum(['published', 'paused']).default('published'),
    plan: planField.optional(),
    reason: reasonField.optional(),
  })
  .refine(({ from, to }) => from !== to, {
    path: ['to'],
    error: 'Must be another channel than from',
  });

export const withdrawReleaseBody = z.strictObject({
  app: nameField,
  channel: nameField,
  version: versionField,
  reason: reasonField.optional(),
});

export const retryReleaseBody = withdrawReleaseBody.extend({
  deviceIds: z.array(deviceIdField).min(1).max(LIMIT.devicesPerCallMax).optional(),
});

/** Converts a valid body to the release to be published. */
export function newReleaseOf(
  body: z.output<typeof publishReleaseBody>,
  freshnessSeconds: number,
): Outcome<NewRelease> {
  const { rollout, plan: given, ...release } = body;
  const plan = given && definitionOf(given, freshnessSeconds, Date.now(), 'plan.');
  if (isFailure(plan)) return plan;
  return { ...release, plan, rolloutPct: rollout, canonicalVersion: canonicalOf(body.version) };
}

/** Converts a valid body to the promotion. */
export function promotionOf(
  body: z.output<typeof promoteReleaseBody>,
  freshnessSeconds: number,
): Outcome<NewPromotion> {
  const { rollout, version, reason: _, plan: given, ...promotion } = body;
  const plan = given && definitionOf(given, freshnessSeconds, Date.now(), 'plan.');
  if (isFailure(plan)) return plan;
  return {
    ...promotion,
    plan,
    rolloutPct: rollout,
    canonicalVersion: canonicalOf(version),
  };
}

/** Returns the release that a valid body names, with its version in canonical form. */
export function releaseNameOf(body: {
  readonly app: string;
  readonly channel: string;
  readonly version: string;
}): ReleaseName {
  const { app, channel, version } = body;
  return { app, channel, canonicalVersion: canonicalOf(version) };
}

/** Converts a valid body to the change of its release's serving. */
export function servingCallOf({
  rollout,
  status,
  targets,
  seen,
  ...named
}: z.output<typeof seenServingBody>): ServingCall {
  const change = { targets, rollout, status };
  return { ...releaseNameOf(named), transition: transitionBy(change, seen) };
}

/** Returns the canonical form of a version that its shape has validated. */
export function canonicalOf(version: string): string {
  return parseVersion(version)?.canonical ?? version;
}

// Query of the list of releases. No value is refused: the default replaces an invalid one.

/**
 * Maximum page number. Pages beyond it would be empty, and the bound keeps the database's offset an integer.
 */
const PAGE_MAX = 1_000_000_000;

/** Reads `app`, `channel`, `version`, `status`, `page`, `per_page` and `standing`. */
export function readListQuery(queryText: string): ReleaseFilter & { readonly standing: boolean } {
  const query = new URLSearchParams(queryText);
  return {
    app: readFilter(query.get('app')),
    channel: readFilter(query.get('channel')),
    version: listQueryCanonicalOf(readFilter(query.get('version'))),
    status: readFilter(query.get('status')),
    page: readNumber(query.get('page'), 1, PAGE_MAX),
    perPage: readNumber(query.get('per_page'), LIMIT.perPageDefault, LIMIT.perPageMax),
    standing: query.get('standing') === 'true',
  };
}

function readFilter(value: string | null): string | undefined {
  if (value === null || value === '') return undefined;
  // No name contains U+FFFD: a value that cannot be stored matches nothing instead of being ignored.
  return isStorable(value) ? value : '\ufffd';
}

/** Returns the canonical form; a text that is no version stays as it is, and matches no release. */
function listQueryCanonicalOf(version: string | undefined): string | undefined {
  return version && (parseVersion(withPlus(version))?.canonical ?? version);
}

function readNumber(value: string | null, fallback: number, max: number): number {
  if (value === null || value.trim() === '') return fallback;
  const number = Math.trunc(Number(value));
  if (Number.isNaN(number)) return fallback;
  return Math.min(Math.max(number, 1), max);
}
