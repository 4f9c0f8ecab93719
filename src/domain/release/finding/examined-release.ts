// A release as the rules of findings see it: with the other releases of its channel.

import type { Finding } from '../../../contract/dry-run.ts';
import type { Artifact } from '../../../contract/resource.ts';
import { foldPlatform } from '../../decision/artifact/artifact.ts';
import { artifactFormat } from '../../decision/artifact/artifact-format.ts';
import { foldArch } from '../../decision/artifact/fold-arch.ts';
import type { ServingSnapshot, SnapshotRelease } from '../../decision/serving-snapshot.ts';
import { compareVersions, parseVersion, type Version } from '../../decision/version.ts';

export type ExaminedRelease = {
  readonly version: Version;
  readonly channel: string;
  readonly requireSignature: boolean;
  readonly artifacts: readonly ExaminedArtifact[];
  /** Other releases of the channel, of any status. */
  readonly others: readonly SnapshotRelease[];
  /** The highest published one of the others; undefined if none is published. */
  readonly newest: OtherRelease | undefined;
  /** Releases below this one, of the channel and of the one that it follows, highest first; of any status. */
  readonly earlier: readonly OtherRelease[];
};

type OtherRelease = { readonly release: SnapshotRelease; readonly version: Version };

export type ExaminedArtifact = {
  readonly artifact: Artifact;
  readonly platform: string;
  readonly arch: string;
  readonly format: string | undefined;
  readonly isSigned: boolean;
};

/** A rule: returns its findings in a release. */
export type FindingRule = (release: ExaminedRelease) => readonly Finding[];

/** Formats that people install by hand, which usually have no updater signature. */
const FOR_PEOPLE: ReadonlySet<string | undefined> = new Set(['dmg', 'pkg']);

export function examineRelease(
  version: Version,
  artifacts: readonly Artifact[],
  { channel, requireSignature, releases }: FindingPlace,
): ExaminedRelease {
  const others = releases.filter(
    (other) => !other.followed && parseVersion(other.version)?.canonical !== version.canonical,
  );
  return {
    version,
    channel,
    requireSignature,
    artifacts: artifacts.map(examineArtifact),
    others,
    newest: newestOf(others),
    earlier: earlierOf(version, releases),
  };
}

/** Channel that a release is on, or will be on. */
export type FindingPlace = Pick<
  ServingSnapshot,
  'channel' | 'ddi' | 'requireSignature' | 'minimumSupportedVersion' | 'releases'
>;

/** Returns whether people install this file by hand. */
export function isForPeople({ format }: ExaminedArtifact): boolean {
  return FOR_PEOPLE.has(format);
}

export function examineArtifact(artifact: Artifact): ExaminedArtifact {
  const platform = foldPlatform(artifact.platform);
  return {
    artifact,
    platform,
    arch: foldArch(artifact.arch, platform),
    format: artifactFormat(artifact),
    isSigned: artifact.signature !== undefined,
  };
}

function newestOf(releases: readonly SnapshotRelease[]): ExaminedRelease['newest'] {
  let newest: ExaminedRelease['newest'];
  for (const release of releases) {
    const version = release.status === 'published' ? parseVersion(release.version) : undefined;
    if (version === undefined) continue;
    if (newest === undefined || compareVersions(version, newest.version) > 0) {
      newest = { release, version };
    }
  }
  return newest;
}

function earlierOf(
  version: Version,
  releases: readonly SnapshotRelease[],
): readonly OtherRelease[] {
  return releases
    .flatMap((release): OtherRelease[] => {
      const other = parseVersion(release.version);
      return other === undefined || compareVersions(other, version) >= 0
        ? []
        : [{ release, version: other }];
    })
    .sort((left, right) => compareVersions(right.version, left.version));
}
