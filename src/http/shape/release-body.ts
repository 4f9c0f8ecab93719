// Bodies of the release endpoints (contract 4.1 and 4.3). Strict: a key nobody knows is refused, because a
// typo must not ship to a fleet.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import type { Artifact } from '../../contract/resource.ts';
import {
  nameField,
  rolloutField,
  statusField,
  textField,
  urlField,
  versionField,
} from './field.ts';
import { targetingField } from './targeting.ts';

const artifactField = z
  .strictObject({
    platform: textField(LIMIT.artifactNameLengthMax),
    arch: textField(LIMIT.artifactNameLengthMax).optional(),
    url: urlField.optional(),
    sha512: textField(LIMIT.artifactPassThroughLengthMax).optional(),
    size: z.int().min(0).optional(),
    signature: textField(LIMIT.artifactPassThroughLengthMax).optional(),
  })
  // The parser marks optional keys as possibly undefined; JSON has no undefined, so they are absent.
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
