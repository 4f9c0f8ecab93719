// The compiled serving state of one channel at one revision. Everything a check would otherwise work out
// again is worked out here, once: versions parsed and sorted, targeting compiled, artifacts indexed.
// Immutable but for two monotonic things: `offered` turns true, and lazily built parts get filled in.

import type { Artifact } from '../contract/resource.ts';
import { type ArtifactIndex, indexArtifacts, NO_ARCH, selectArtifact } from './artifact.ts';
import { cohortThreshold, hashText } from './cohort.ts';
import { type FeedArtifact, feedArtifacts } from './feed-artifacts.ts';
import type { FeedKind } from './feed-kind.ts';
import { type ManifestTerms, manifestBytes } from './manifest.ts';
import type { ServingSnapshot, SnapshotRelease } from './serving-snapshot.ts';
import { collectLandmarks } from './standing.ts';
import { type CompiledTargeting, compileTargeting } from './targeting.ts';
import { compareVersions, isSemVer, parseVersion, type Version } from './version.ts';

export type Catalog = {
  readonly snapshot: ServingSnapshot;
  readonly minimum: Version | undefined;
  /** What devices' versions are compared with: see `standingOf`. */
  readonly landmarks: readonly Version[];
  /** Every release by canonical version, whatever its status. */
  readonly byCanonical: ReadonlyMap<string, CompiledRelease>;
  /** The published ones, highest version first. */
  readonly published: readonly CompiledRelease[];
  /** What each (platform, arch) of these releases can be offered; filled when first asked for. */
  readonly candidates: Map<string, readonly Candidate[]>;
  /** The same for each kind of update file, of which there are few. */
  readonly feedCandidates: Map<FeedKind, readonly FeedCandidate[]>;
  /** Folded platform → arches some published release has for it. Bounds `candidates`. */
  readonly arches: ReadonlyMap<string, ReadonlySet<string>>;
};

export type CompiledRelease = {
  readonly source: SnapshotRelease;
  readonly version: Version;
  /** `hashText` of the release id, for `cohortBucket`. */
  readonly seed: number;
  /** Devices with a bucket below this are in. */
  readonly threshold: number;
  readonly targeting: CompiledTargeting;
  readonly artifacts: ArtifactIndex;
  /** Whether the ledger knows that a device was offered it; turns true once, never back. */
  offered: boolean;
};

/** A published release with the artifact that devices of one platform and arch take. */
export type Candidate = {
  readonly release: CompiledRelease;
  readonly artifact: Artifact;
  /** Manifest bytes per terms, built when first offered: see `candidateBytes`. */
  readonly bytes: (Buffer | undefined)[];
};

/** A published release with what an update file lists of it: at least one artifact. */
export type FeedCandidate = {
  readonly release: CompiledRelease;
  readonly artifacts: readonly FeedArtifact[];
};

const NONE: readonly Candidate[] = [];

/** Compiles a snapshot. A release whose version no longer parses is left out rather than guessed at. */
export function compileCatalog(snapshot: ServingSnapshot): Catalog {
  const releases = snapshot.releases
    .map(compileRelease)
    .filter((release) => release !== undefined)
    .sort((left, right) => compareVersions(right.version, left.version));
  const published = releases.filter((release) => release.source.status === 'published');
  const minimum = parseVersion(snapshot.minimumSupportedVersion ?? '');
  return {
    snapshot,
    minimum,
    landmarks: collectLandmarks(releases, minimum),
    byCanonical: new Map(releases.map((release) => [release.version.canonical, release])),
    published,
    candidates: new Map(),
    feedCandidates: new Map(),
    arches: collectArches(published),
  };
}

/**
 * The published releases that have an artifact for this folded platform and arch, highest first. The
 * lists are kept, and strangers cannot grow them: an unknown platform has the empty list, and all
 * arches that no artifact names share one.
 */
export function candidatesFor(
  catalog: Catalog,
  platform: string,
  arch: string,
): readonly Candidate[] {
  const arches = catalog.arches.get(platform);
  if (arches === undefined) return NONE;
  // Names may hold any character: the length keeps two pairs from meeting in one key, and the first
  // character keeps the shared list apart from every named one.
  const isNamed = arch === NO_ARCH || arches.has(arch);
  const key = isNamed ? `=${platform.length}/${platform}${arch}` : `*${platform}`;
  const known = catalog.candidates.get(key);
  if (known !== undefined) return known;
  const list: Candidate[] = [];
  for (const release of catalog.published) {
    const artifact = selectArtifact(release.artifacts, platform, arch);
    if (artifact !== undefined) list.push({ release, artifact, bytes: [] });
  }
  catalog.candidates.set(key, list);
  return list;
}

/**
 * The published releases that the clients of a kind of update file can take, highest first. One whose version
 * has a fourth part is not among them: electron-updater reads SemVer, and would fail on it.
 */
export function feedCandidatesFor(catalog: Catalog, kind: FeedKind): readonly FeedCandidate[] {
  const known = catalog.feedCandidates.get(kind);
  if (known !== undefined) return known;
  const list = catalog.published
    .filter(({ version }) => isSemVer(version))
    .map((release) => ({ release, artifacts: feedArtifacts(release.source.artifacts, kind) }))
    .filter(({ artifacts }) => artifacts.length > 0);
  catalog.feedCandidates.set(kind, list);
  return list;
}

/** How many of these, highest version first, lie above the version: a binary search. */
export function countAbove(
  list: readonly { release: CompiledRelease }[],
  version: Version,
): number {
  return countWhile(list, (candidate) => compareVersions(candidate, version) > 0);
}

/** How many of these lie at or above the version. */
export function countAtOrAbove(
  list: readonly { release: CompiledRelease }[],
  version: Version,
): number {
  return countWhile(list, (candidate) => compareVersions(candidate, version) >= 0);
}

/** The manifest bytes of a candidate on given terms of its catalog, serialised once per combination. */
export function candidateBytes(
  catalog: Catalog,
  candidate: Candidate,
  isRequired: boolean,
  allowDowngrade: boolean,
): Buffer {
  const slot = (isRequired ? 2 : 0) + (allowDowngrade ? 1 : 0);
  const known = candidate.bytes[slot];
  if (known !== undefined) return known;
  const terms: ManifestTerms = {
    updateMode: isRequired ? 'required' : catalog.snapshot.updateMode,
    minimumSupportedVersion: catalog.snapshot.minimumSupportedVersion,
    allowDowngrade,
  };
  const bytes = manifestBytes(candidate.release.source, candidate.artifact, terms);
  candidate.bytes[slot] = bytes;
  return bytes;
}

function compileRelease(source: SnapshotRelease): CompiledRelease | undefined {
  const version = parseVersion(source.version);
  if (version === undefined) return undefined;
  return {
    source,
    version,
    seed: hashText(source.id),
    threshold: cohortThreshold(source.rolloutPct),
    targeting: compileTargeting(source.targets),
    artifacts: indexArtifacts(source.artifacts),
    offered: source.offered,
  };
}

function collectArches(releases: readonly CompiledRelease[]): Map<string, Set<string>> {
  const arches = new Map<string, Set<string>>();
  for (const release of releases) {
    for (const [platform, byArch] of release.artifacts) {
      const known = arches.get(platform) ?? new Set();
      arches.set(platform, known);
      for (const arch of byArch.keys()) known.add(arch);
    }
  }
  return arches;
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
