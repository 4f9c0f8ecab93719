// Builders and generators that the domain tests share: short ways to write a release, a catalog or a device,
// so that a test shows only what its rule is about.

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { Artifact, Targeting } from '../../src/contract/resource.ts';
import { foldPlatform } from '../../src/domain/decision/artifact/artifact.ts';
import { foldArch } from '../../src/domain/decision/artifact/fold-arch.ts';
import {
  type ArtifactCandidate,
  type Catalog,
  candidatesFor,
  compileCatalog,
} from '../../src/domain/decision/catalog.ts';
import { hashText } from '../../src/domain/decision/cohort.ts';
import { type Plan, planUpdate } from '../../src/domain/decision/plan.ts';
import type { Device } from '../../src/domain/decision/rule/decision-rule.ts';
import type {
  ServingSnapshot,
  SnapshotRelease,
} from '../../src/domain/decision/serving-snapshot.ts';
import {
  type CompiledTargeting,
  type Labels,
  matchesFields,
  matchesLabels,
  type RequestFields,
} from '../../src/domain/decision/targeting.ts';
import { parseVersion, type Version } from '../../src/domain/decision/version.ts';
import type { AskingClient } from '../../src/updater/updater.ts';

/** An artifact that every device of every platform in these tests can take, unless told otherwise. */
export const ANY_ARCH: Artifact = { platform: 'linux', url: 'https://dl.example.com/app' };

/**
 * A release at 100 %, published and for every device; its id follows from its version, and its edition from
 * all that an edition covers.
 */
export function release(version: string, parts: Partial<SnapshotRelease> = {}): SnapshotRelease {
  const { offered: _, ...covered } = parts;
  const digest = createHash('sha256')
    .update(JSON.stringify([version, covered]))
    .digest('hex');
  return {
    id: `rel-${version}`,
    edition: digest.slice(0, 24),
    version,
    notes: '',
    status: 'published',
    rolloutPct: 100,
    targets: null,
    offered: true,
    followed: false,
    createdAt: '2026-01-02T03:04:05.678Z',
    artifacts: [ANY_ARCH],
    ...parts,
  };
}

/** The snapshot of a channel with these releases, in this order. */
export function snapshot(
  releases: readonly SnapshotRelease[],
  parts: Partial<ServingSnapshot> = {},
): ServingSnapshot {
  return {
    appId: 'app-1',
    appRef: 'acme',
    channelId: 'chn-1',
    channel: 'stable',
    epoch: 0,
    revision: 1,
    updateMode: 'optional',
    minimumSupportedVersion: null,
    requireSignature: false,
    follows: null,
    releases,
    ...parts,
  };
}

/** The compiled catalog of a channel with these releases. */
export function catalog(
  releases: readonly SnapshotRelease[],
  parts: Partial<ServingSnapshot> = {},
): Catalog {
  return compileCatalog(snapshot(releases, parts));
}

/** Parses a text that must be a version. */
export function version(text: string): Version {
  const parsed = parseVersion(text);
  if (parsed === undefined) throw new Error(`not a version: ${text}`);
  return parsed;
}

/** The reserved fields of a request, with platform and arch folded. */
export function fields(text: string, platform = 'linux', arch: string | undefined = 'x86_64') {
  const folded = foldPlatform(platform);
  return { version: version(text), platform: folded, arch: foldArch(arch, folded) };
}

/** The plan of an update check with these fields. */
export function planOf(served: Catalog, request: RequestFields): Plan<ArtifactCandidate> {
  return planUpdate(served, request, candidatesFor(served, request.platform, request.arch));
}

/** A device by its id (undefined: it did not identify itself) and labels. */
export function device(id: string | undefined, labels: Record<string, string> = {}): Device {
  return {
    hash: id === undefined ? undefined : hashText(id),
    labels: new Map(Object.entries(labels)),
  };
}

/** A targeting object of which only one part is of interest. */
export function targeting(parts: Partial<Targeting>): Targeting {
  return { matchLabels: {}, matchExpressions: [], ...parts };
}

/** A record with an own key, even when the key is `__proto__`, as JSON.parse makes it. */
export function ownRecord<Value>(entries: readonly (readonly [string, Value])[]) {
  const record: Record<string, Value> = {};
  for (const [key, value] of entries) {
    Object.defineProperty(record, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return record;
}

/** Few keys and values, so that random targeting often matches random labels. Two keys are hostile. */
const LABEL_KEYS = ['tier', 'region', '__proto__', 'constructor'] as const;
const LABEL_VALUES = ['a', 'b', 'c'] as const;

export const anyLabels = fc
  .array(fc.tuple(fc.constantFrom(...LABEL_KEYS), fc.constantFrom(...LABEL_VALUES)), {
    maxLength: 4,
  })
  .map((entries): ReadonlyMap<string, string> => new Map(entries));

const anyValues = fc.uniqueArray(fc.constantFrom(...LABEL_VALUES), { minLength: 1, maxLength: 3 });

const anyLabelExpression = fc.oneof(
  fc.record({
    key: fc.constantFrom(...LABEL_KEYS),
    operator: fc.constantFrom('In' as const, 'NotIn' as const),
    values: anyValues,
  }),
  fc.record({
    key: fc.constantFrom(...LABEL_KEYS),
    operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
    values: fc.constant<string[]>([]),
  }),
);

const anyFieldExpression = fc.oneof(
  fc.record({
    key: fc.constant('$version'),
    operator: fc.constantFrom('VersionGte' as const, 'VersionLt' as const),
    values: fc.constantFrom('1.0.0', '1.1', '2.0.0-beta.1', '2.0.0').map((value) => [value]),
  }),
  fc.record({
    key: fc.constant('$version'),
    operator: fc.constantFrom('In' as const, 'NotIn' as const),
    values: fc.constantFrom(['0.9'], ['1.0.1', 'v3'], ['1.0.0-rc', '2.0.0']),
  }),
  fc.record({
    key: fc.constant('$platform'),
    operator: fc.constantFrom('In' as const, 'NotIn' as const),
    values: fc.constantFrom(['macOS'], ['linux'], ['win32', 'linux']),
  }),
  fc.record({
    key: fc.constant('$arch'),
    operator: fc.constantFrom('In' as const, 'NotIn' as const),
    values: fc.constantFrom(['x64'], ['arm64'], ['x64', 'arm64']),
  }),
  fc.record({
    key: fc.constant('$arch'),
    operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
    values: fc.constant<string[]>([]),
  }),
);

const anyExpression = fc.oneof(anyLabelExpression, anyFieldExpression);

export const anyMatchLabels = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...LABEL_KEYS), anyValues), {
    maxLength: 2,
    selector: ([key]) => key,
  })
  .map(ownRecord);

/** Targeting that serving control accepts: `null`, or valid labels and expressions. */
export const anyTargeting: fc.Arbitrary<Targeting | null> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(null) },
  {
    weight: 3,
    arbitrary: fc.record({
      matchLabels: anyMatchLabels,
      matchExpressions: fc.array(anyExpression, { maxLength: 2 }),
    }),
  },
);

/** Whether a device of these fields and labels is targeted, all tests together. */
export function matchesBoth(
  compiled: CompiledTargeting,
  request: RequestFields,
  labels: Labels,
): boolean {
  return matchesFields(compiled.fieldTests, request) && matchesLabels(compiled.labelTests, labels);
}

/** What a client tells beside its path that tells nothing. */
export const SILENT_CLIENT: AskingClient = { parameters: new Map(), hasAgent: false };
