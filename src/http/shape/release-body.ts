// Bodies of the release endpoints (docs/contract.md 4.1 and 4.3). Unknown keys are refused, because a typo
// must not ship to a fleet.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import type { Artifact } from '../../contract/resource.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import type { ServingChange } from '../../domain/release/serving-change.ts';
import type { NewRelease } from '../../ports/ledger.ts';
import type { ReleaseName } from '../../ports/release-name.ts';
import {
  formatField,
  hexField,
  nameField,
  rolloutField,
  statusField,
  systemVersionField,
  textField,
  urlField,
  versionField,
} from './field.ts';
import { targetingField } from './targeting.ts';

const SHA256_DIGITS = 64;
const SHA1_DIGITS = 40;

const artifactField = z
  .strictObject({
    platform: textField(LIMIT.artifactNameLengthMax),
    arch: textField(LIMIT.artifactNameLengthMax).optional(),
    url: urlField.optional(),
    sha512: textField(LIMIT.artifactPassThroughLengthMax).optional(),
    size: z.int().min(0).optional(),
    signature: textField(LIMIT.artifactPassThroughLengthMax).optional(),
    format: formatField.optional(),
    sha256: hexField(SHA256_DIGITS).optional(),
    sha1: hexField(SHA1_DIGITS).optional(),
    minimumSystemVersion: systemVersionField.optional(),
    buildVersion: textField(LIMIT.buildVersionLengthMax).optional(),
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
});

export const servingControlBody = z
  .strictObject({
    app: nameField,
    channel: nameField,
    version: versionField,
    rollout: rolloutField.optional(),
    status: statusField.optional(),
    targets: targetingField.nullable().optional(),
  })
  .refine(
    ({ rollout, status, targets }) => [rollout, status, targets].some((part) => part !== undefined),
    'One of rollout, status or targets is required',
  );

/** Converts a checked body to the release to be published. */
export function newReleaseOf(body: z.output<typeof publishReleaseBody>): NewRelease {
  const { rollout, ...release } = body;
  return { ...release, rolloutPct: rollout, canonicalVersion: canonicalOf(body.version) };
}

/** Converts a checked body to the name of the release and the change of its serving. */
export function servingCallOf(body: z.output<typeof servingControlBody>): {
  readonly name: ReleaseName;
  readonly change: ServingChange;
} {
  const { app, channel, version, rollout, status, targets } = body;
  return {
    name: { app, channel, canonicalVersion: canonicalOf(version) },
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
