// Builders and generators that the domain tests share: short ways to write a release, a catalog or a device,
// so that a test shows only what its rule is about.

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { RELEASE_STATUSES } from '../../src/contract/choice.ts';
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
    number: 1,
    retriedAt: null,
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
    ddi: null,
    ddiAuth: null,
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

/** Few keys and values, so that random targeting often matches random labels. Two keys are hostile. */
const LABEL_KEYS = ['tier', 'region', '__proto__', 'constructor'] as const;
const LABEL_VALUES = ['a', 'b', 'c'] as const;

export const anyLabels = fc
  .array(fc.tuple(fc.constantFrom(...LABEL_KEYS), fc.constantFrom(...LABEL_VALUES)), {
    maxLength: 4,
  })
  .map((entries): ReadonlyMap<string, string> => new Map(entries));

const anyValues = fc.uniqueArray(fc.constantFrom(...LABEL_VALUES), { minLength: 1, maxLength: 3 });

type Expression = Targeting['matchExpressions'][number];

function anyExpressions(
  keys: readonly string[],
  operators: readonly Expression['operator'][],
  values: fc.Arbitrary<readonly string[]>,
): fc.Arbitrary<Expression> {
  const [key, operator] = [fc.constantFrom(...keys), fc.constantFrom(...operators)];
  return fc.record({ key, operator, values: values.map((each) => [...each]) });
}

const LISTING = ['In', 'NotIn'] as const;
const EXISTENCE = ['Exists', 'DoesNotExist'] as const;
const NO_VALUES = fc.constant<string[]>([]);
const ANY_BOUND = fc.constantFrom(['1.0.0'], ['1.1'], ['2.0.0-beta.1'], ['2.0.0']);
const SOME_VERSIONS = fc.constantFrom(['0.9'], ['1.0.1', 'v3'], ['1.0.0-rc', '2.0.0']);
const anyExpression = fc.oneof(
  fc.oneof(
    anyExpressions(LABEL_KEYS, LISTING, anyValues),
    anyExpressions(LABEL_KEYS, EXISTENCE, NO_VALUES),
  ),
  fc.oneof(
    anyExpressions(['$version'], ['VersionGte', 'VersionLt'], ANY_BOUND),
    anyExpressions(['$version'], LISTING, SOME_VERSIONS),
    anyExpressions(
      ['$platform'],
      LISTING,
      fc.constantFrom(['macOS'], ['linux'], ['win32', 'linux']),
    ),
    anyExpressions(['$arch'], LISTING, fc.constantFrom(['x64'], ['arm64'], ['x64', 'arm64'])),
    anyExpressions(['$arch'], EXISTENCE, NO_VALUES),
  ),
);

export const anyMatchLabels = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...LABEL_KEYS), anyValues), {
    maxLength: 2,
    selector: ([key]) => key,
  })
  // A key that is `__proto__` is an own one, as JSON.parse makes it.
  .map((entries) => Object.fromEntries(entries));

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

/** Versions of random releases. */
export const LADDER = [
  ...['1.0.0-rc', '1.0.0', '1.0.0+1', '1.0.1', '1.1.0', '1.1.0.1', '2.0.0-beta', '2.0.0', '3.0.0'],
];

/** Every status occurs; published and rolled back, which decide between up and down, more often. */
const OFTEN = ['published', 'published', 'rolled_back'] as const;
const ANY_PARTS = {
  version: fc.constantFrom(...LADDER),
  status: fc.constantFrom(...RELEASE_STATUSES, ...OFTEN, ...OFTEN),
  rolloutPct: fc.constantFrom(0, 1, 30, 50, 99, ...[100, 100, 100, 100, 100]),
  targets: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, anyTargeting),
  offered: fc.boolean(),
};

/** Releases of different versions, some parts of them as a test wants. */
export function anyReleases(
  own: { readonly [Name in keyof SnapshotRelease]?: fc.Arbitrary<SnapshotRelease[Name]> },
  lengths = { minLength: 3, maxLength: 7 },
): fc.Arbitrary<SnapshotRelease[]> {
  const parts: typeof ANY_PARTS = { ...ANY_PARTS, ...(own as object) };
  const each = fc.record(parts).map(({ version: text, ...rest }) => release(text, rest));
  return fc.uniqueArray(each, { ...lengths, selector: ({ version: text }) => text });
}

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
