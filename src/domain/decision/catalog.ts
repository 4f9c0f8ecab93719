// Compiled serving state of one channel at one revision. Building a catalog does the work that each check
// would otherwise repeat: it parses and sorts versions, compiles decision rules and indexes artifacts. A
// catalog changes in two ways only, never back: `offered` turns true (also in `marked`), and lists are added
// when they are first needed.

import type { Artifact } from '../../contract/resource.ts';
import {
  ANYTHING,
  type ArtifactIndex,
  canInstall,
  type IndexedArtifact,
  type Installable,
  indexArtifacts,
  selectArtifact,
} from './artifact/artifact.ts';
import { ANY_KIND } from './artifact/artifact-format.ts';
import { EditionFinder } from './artifact/edition-finder.ts';
import { NO_ARCH } from './artifact/fold-arch.ts';
import type { DecisionRule } from './rule/decision-rule.ts';
import { DECISION_RULES } from './rule/decision-rules.ts';
import { compileRequirements, type Requirement, withLabelKeys } from './rule/requirement.ts';
import type { ServingSnapshot, SnapshotRelease } from './serving-snapshot.ts';
import { compareVersions, parseVersion, type Version } from './version.ts';
import { collectLandmarks } from './version-position.ts';

export type Catalog = {
  readonly snapshot: ServingSnapshot;
  /** The snapshot with the `offered` marks set since it was read: see `markOffered`. */
  marked: ServingSnapshot;
  readonly minimum: Version | undefined;
  /** Versions that a device's version is compared with: see `versionPosition`. */
  readonly landmarks: readonly Version[];
  /** Releases of any status by canonical version. */
  readonly byCanonical: ReadonlyMap<string, CompiledRelease>;
  /**
   * Releases in the order of the snapshot; undefined if a version does not parse. The next catalog reuses the
   * unchanged ones.
   */
  readonly compiled: readonly (CompiledRelease | undefined)[];
  /** Published releases, highest version first. */
  readonly published: readonly CompiledRelease[];
  /** Whether a published release has a condition on labels, so that decisions can depend on labels. */
  readonly asksForLabels: boolean;
  /** Lists of candidates, each under the key of what it depends on; built on first use: `candidatesBy`. */
  readonly candidates: Map<string, readonly Candidate[]>;
  /** Arches and kinds that published releases support, by folded platform: see `candidatesFor`. */
  readonly supportByPlatform: ReadonlyMap<string, PlatformSupport>;
};

export type CompiledRelease = {
  readonly source: SnapshotRelease;
  readonly version: Version;
  /** Conditions of the decision rules that a device must meet to be offered the release. */
  readonly requirements: readonly Requirement[];
  readonly artifacts: ArtifactIndex;
  /** Text that is equal for releases whose artifacts have the same platforms, arches and kinds. */
  readonly support: string;
  /** Whether the ledger records that the release was offered to a device; turns true once, never back. */
  offered: boolean;
};

/** Arches and kinds of the artifacts for one platform. */
type PlatformSupport = {
  readonly arches: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
};

/** Published release that a client can be offered. An updater adds the fields that its clients need. */
export type Candidate = { readonly release: CompiledRelease };

/** Published release with the artifact for devices of one platform and arch. */
export type ArtifactCandidate = Candidate & {
  readonly artifact: Artifact;
  /** Cached response documents that offer it; an updater keeps one for each way to offer a release. */
  readonly documents: (Buffer | undefined)[];
  /** Version as documents write it, if that differs from the publisher's text. */
  readonly version?: string;
};

/** How clients of one kind see candidates; `of` returns undefined for a candidate that they cannot read. */
export type CandidateForm = {
  /** Unique among all forms; contains no `=` and no `*`. */
  readonly name: string;
  readonly of: (candidate: ArtifactCandidate) => ArtifactCandidate | undefined;
};

const AS_PUBLISHED: CandidateForm = { name: '', of: (candidate) => candidate };

/** Maximum number of lists that a catalog keeps; beyond it, a list is rebuilt each time it is needed. */
const LISTS_MAX = 1000;
const NONE: readonly ArtifactCandidate[] = [];

/** Compiles a snapshot. A release whose version does not parse is left out. */
export function compileCatalog(
  snapshot: ServingSnapshot,
  rules: readonly DecisionRule[] = DECISION_RULES,
): Catalog {
  const compiled = snapshot.releases.map((source) => compileRelease(source, undefined, rules));
  return catalogOf(snapshot, compiled);
}

/** Number of releases per step: reading a clock takes as long as a few of them. */
const STEP = 32;

/**
 * Compiles a snapshot in steps of less than a millisecond, because a channel may have thousands of releases.
 * Reuses the compiled releases of `before` that have the same edition.
 */
export function* compileSteps(
  snapshot: ServingSnapshot,
  before: Catalog | undefined,
): Generator<undefined, Catalog> {
  const compiled: (CompiledRelease | undefined)[] = [];
  const finder = new EditionFinder(before?.compiled ?? [], (release) => release?.source.edition);
  for (const source of snapshot.releases) {
    compiled.push(compileRelease(source, finder.find(source.edition, compiled.length)));
    if (compiled.length % STEP === 0) yield;
  }
  return catalogOf(snapshot, compiled);
}

/** Builds a catalog from a snapshot and its compiled releases, which are in the order of the snapshot. */
function catalogOf(
  snapshot: ServingSnapshot,
  compiled: readonly (CompiledRelease | undefined)[],
): Catalog {
  const releases = compiled
    .filter((release) => release !== undefined)
    .sort((left, right) => compareVersions(right.version, left.version));
  const published = releases.filter((release) => release.source.status === 'published');
  const minimum = parseVersion(snapshot.minimumSupportedVersion ?? '');
  return {
    snapshot,
    marked: snapshot,
    minimum,
    landmarks: collectLandmarks(releases, minimum),
    byCanonical: new Map(releases.map((release) => [release.version.canonical, release])),
    compiled,
    published,
    asksForLabels: published.some(
      ({ requirements }) => withLabelKeys(undefined, requirements) !== undefined,
    ),
    candidates: new Map(),
    supportByPlatform: collectSupport(published),
  };
}

/**
 * Compiles a release; undefined if its version does not parse. `same` is a compiled release of the same
 * edition, if there is one: its parts are reused, which takes a fraction of the time.
 */
function compileRelease(
  source: SnapshotRelease,
  same: CompiledRelease | undefined,
  rules: readonly DecisionRule[] = DECISION_RULES,
): CompiledRelease | undefined {
  const { offered } = source;
  if (same !== undefined) {
    const { version, requirements, artifacts, support } = same;
    return { source, version, requirements, artifacts, support, offered };
  }
  const version = parseVersion(source.version);
  if (version === undefined) return undefined;
  const requirements = compileRequirements(source, rules);
  const artifacts = indexArtifacts(source.artifacts);
  return { source, version, requirements, artifacts, support: supportOf(artifacts), offered };
}

/**
 * Returns the published releases with an artifact for this folded platform and arch that the client can
 * install, highest first. Clients cannot multiply the kept lists: an unknown platform or kind gets the empty
 * list, and all arches that no artifact names share one list.
 */
export function candidatesFor(
  catalog: Catalog,
  platform: string,
  arch: string,
  installable: Installable = ANYTHING,
  form = AS_PUBLISHED,
): readonly ArtifactCandidate[] {
  const { kind, mustBeSigned } = installable;
  if (kind !== ANY_KIND && !catalog.supportByPlatform.get(platform)?.kinds.has(kind)) return NONE;
  // A publisher may name a format as an updater is named: the space tells the two apart.
  const name = `kind ${form.name}${mustBeSigned ? '!' : ''}${kind}`;
  const fits = (artifact: IndexedArtifact) => canInstall(installable, artifact);
  return candidatesWhere(catalog, name, platform, arch, fits, form);
}

/**
 * Returns the published releases with an artifact for this folded platform and arch that `fits`, highest
 * first. `name` identifies `fits`: an updater's own, or what `candidatesFor` makes of a kind. It has no `=`
 * and no `*`.
 */
export function candidatesWhere(
  catalog: Catalog,
  name: string,
  platform: string,
  arch: string,
  fits: (artifact: IndexedArtifact) => boolean,
  form = AS_PUBLISHED,
): readonly ArtifactCandidate[] {
  const support = catalog.supportByPlatform.get(platform);
  if (support === undefined) return NONE;
  // Names may contain any character: the length separates platform and arch, and the first character
  // separates the shared list from those of named arches.
  const isNamed = arch === NO_ARCH || support.arches.has(arch);
  const place = isNamed ? `=${platform.length}/${platform}${arch}` : `*${platform}`;
  return candidatesBy(catalog, `${name}${place}`, (release) => {
    const artifact = selectArtifact(release.artifacts, platform, arch, fits);
    return artifact === undefined ? undefined : form.of({ release, artifact, documents: [] });
  });
}

/**
 * Returns the candidates that `build` makes of the published releases, highest first; releases for which it
 * returns undefined are left out. The key must name all that the list depends on: the updater, and what its
 * clients asked for. Keys should come from a small set, because a catalog keeps at most `LISTS_MAX` lists.
 */
export function candidatesBy<Item extends Candidate>(
  catalog: Catalog,
  key: string,
  build: (release: CompiledRelease) => Item | undefined,
): readonly Item[] {
  const known = catalog.candidates.get(key);
  // The list was built by the same `build`, because the key names all that a list depends on.
  if (known !== undefined) return known as readonly Item[];
  const list = catalog.published.map(build).filter((item) => item !== undefined);
  if (catalog.candidates.size < LISTS_MAX) catalog.candidates.set(key, list);
  return list;
}

/** Counts the releases above the version in a list with the highest version first, by binary search. */
export function countAbove(
  list: readonly { release: CompiledRelease }[],
  version: Version,
): number {
  return countWhile(list, (candidate) => compareVersions(candidate, version) > 0);
}

/** Counts the releases at or above the version in a list with the highest version first. */
export function countAtOrAbove(
  list: readonly { release: CompiledRelease }[],
  version: Version,
): number {
  return countWhile(list, (candidate) => compareVersions(candidate, version) >= 0);
}

function supportOf(artifacts: ArtifactIndex): string {
  return JSON.stringify(
    [...artifacts].map(([platform, byArch]) => [
      platform,
      [...byArch].map(([arch, known]) => [arch, ...known.map(({ kind }) => kind)]),
    ]),
  );
}

function collectSupport(releases: readonly CompiledRelease[]): Map<string, PlatformSupport> {
  const supportByPlatform = new Map<string, { arches: Set<string>; kinds: Set<string> }>();
  // Most releases of a channel have artifacts for the same platforms and arches.
  const collected = new Set<string>();
  for (const { support, artifacts } of releases) {
    if (collected.has(support)) continue;
    collected.add(support);
    for (const [platform, byArch] of artifacts) {
      const known = supportByPlatform.get(platform) ?? { arches: new Set(), kinds: new Set() };
      supportByPlatform.set(platform, known);
      for (const [arch, indexed] of byArch) {
        known.arches.add(arch);
        for (const { kind } of indexed) if (kind !== undefined) known.kinds.add(kind);
      }
    }
  }
  return supportByPlatform;
}

function countWhile(
  list: readonly { release: CompiledRelease }[],
  holds: (version: Version) => boolean,
): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = list[middle];
    if (entry !== undefined && holds(entry.release.version)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Marks releases as offered, in `catalog.marked` too; returns whether one of them was not marked before. */
export function markOffered(catalog: Catalog, releaseIds: ReadonlySet<string>): boolean {
  const places = new Set<number>();
  for (const [place, release] of catalog.compiled.entries()) {
    if (release === undefined || release.offered || !releaseIds.has(release.source.id)) continue;
    release.offered = true;
    places.add(place);
  }
  if (places.size === 0) return false;
  const releases = catalog.marked.releases.map((release, place) =>
    places.has(place) ? { ...release, offered: true } : release,
  );
  catalog.marked = { ...catalog.marked, releases };
  return true;
}
