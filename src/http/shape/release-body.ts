// Bodies of the release endpoints (docs/contract.md 4.1 and 4.3). Unknown keys are refused, because a typo
// must not ship to a fleet.

import { z } from 'zod';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Artifact } from '../../contract/resource.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import type { ServingChange } from '../../domain/release/serving-change.ts';
import type { NewPromotion, NewRelease } from '../../store/ledger.ts';
import type { ReleaseName } from '../../store/release-name.ts';
import {
  formatField,
  hexField,
  nameField,
  plainTextField,
  reasonField,
  rolloutField,
  statusField,
  systemVersionField,
  textField,
  urlField,
  versionField,
} from './field.ts';
import { definitionOf, planField } from './plan-body.ts';
import { targetingField } from './targeting.ts';

const SHA256_DIGITS = 64;
const SHA1_DIGITS = 40;

const artifactField = z
  .strictObject({
    platform: plainTextField(LIMIT.artifactNameLengthMax),
    arch: plainTextField(LIMIT.artifactNameLengthMax).optional(),
    url: urlField.optional(),
    sha512: plainTextField(LIMIT.artifactPassThroughLengthMax).optional(),
    size: z.int().min(0).optional(),
    // The text of a signature's file may have lines.
    signature: plainTextField(LIMIT.artifactPassThroughLengthMax, '\t\n\r').optional(),
    format: formatField.optional(),
    sha256: hexField(SHA256_DIGITS).optional(),
    sha1: hexField(SHA1_DIGITS).optional(),
    minimumSystemVersion: systemVersionField.optional(),
    buildVersion: plainTextField(LIMIT.buildVersionLengthMax).optional(),
  })
  // The parser types optional keys as possibly undefined. JSON has no undefined, so that a key without a
  // value is absent.
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

/** Serving control of a person, who may say which state it is meant for. */
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

/** Converts a checked body to the release to be published. */
export function newReleaseOf(
  body: z.output<typeof publishReleaseBody>,
  freshnessSeconds: number,
): Outcome<NewRelease, 'invalid'> {
  const { rollout, plan: given, ...release } = body;
  const plan = given && definitionOf(given, freshnessSeconds, Date.now(), 'plan.');
  if (isFailure(plan)) return plan;
  return { ...release, plan, rolloutPct: rollout, canonicalVersion: canonicalOf(body.version) };
}

/** Converts a checked body to the promotion. */
export function promotionOf(
  body: z.output<typeof promoteReleaseBody>,
  freshnessSeconds: number,
): Outcome<NewPromotion, 'invalid'> {
  const { rollout, version, reason, plan: given, ...promotion } = body;
  const plan = given && definitionOf(given, freshnessSeconds, Date.now(), 'plan.');
  if (isFailure(plan)) return plan;
  return {
    ...promotion,
    plan,
    reason,
    rolloutPct: rollout,
    canonicalVersion: canonicalOf(version),
  };
}

/** Returns the name of the release that a checked body names. */
export function releaseNameOf(body: {
  readonly app: string;
  readonly channel: string;
  readonly version: string;
}): ReleaseName {
  const { app, channel, version } = body;
  return { app, channel, canonicalVersion: canonicalOf(version) };
}

/** Converts a checked body to the name of the release, the change of its serving and the reason for it. */
export function servingCallOf(body: z.output<typeof servingControlBody>): {
  readonly name: ReleaseName;
  readonly change: ServingChange;
  readonly reason: string | undefined;
} {
  const { rollout, status, targets, reason } = body;
  return {
    name: releaseNameOf(body),
    reason,
    change: {
      ...(targets === undefined ? {} : { targets }),
      ...(rollout === undefined ? {} : { rollout }),
      ...(status === undefined ? {} : { status }),
    },
  };
}

/** Returns the canonical form of a version that the shape has checked. */
export function canonicalOf(version: string): string {
  return parseVersion(version)?.canonical ?? version;
}
