// Findings in build numbers. Sparkle's client compares the build number of its own app with that of the
// appcast, and installs only a higher one.

import { type Finding, warning } from '../../../contract/dry-run.ts';
import { NO_ARCH, UNIVERSAL } from '../../decision/artifact/fold-arch.ts';
import {
  type ExaminedArtifact,
  type ExaminedRelease,
  examineArtifact,
  type FindingRule,
} from './examined-release.ts';
import { compareBuildNumbers, isSparkleFormat } from './sparkle-format.ts';

export const BUILD_NUMBER_RULES: readonly FindingRule[] = [notAbove];

function notAbove({ version, artifacts, earlier }: ExaminedRelease): readonly Finding[] {
  const before = earlier.flatMap(({ release }) => buildsOf(release));
  if (before.length === 0) return [];
  return artifacts.flatMap((artifact, index): Finding[] => {
    const { buildVersion } = artifact.artifact;
    if (!isForSparkle(artifact)) return [];
    const isBesideOne = artifacts.some(
      (other) => other.artifact.buildVersion !== undefined && isForSame(artifact, other),
    );
    // The one with a build number is for the appcast; a disk image beside an archive is for people.
    if (buildVersion === undefined && isBesideOne) return [];
    const own = buildVersion ?? version.canonical;
    const other = before.find(
      ({ artifact: each, build }) =>
        isForSame(artifact, each) && compareBuildNumbers(build, own) >= 0,
    );
    if (other === undefined) return [];
    const what =
      buildVersion === undefined ? 'Is missing, so that the version counts' : `Is ${own}`;
    const message = `${what}, and ${other.version} has ${other.build}: Sparkle installs only what is above`;
    return [warning(`artifacts.${index}.buildVersion`, message)];
  });
}

type Build = {
  readonly version: string;
  readonly build: string;
  readonly artifact: ExaminedArtifact;
};

/** Returns the artifacts of an earlier release that have a build number. */
function buildsOf({
  version,
  artifacts,
}: ExaminedRelease['earlier'][number]['release']): readonly Build[] {
  return artifacts.flatMap((artifact): Build[] => {
    const { buildVersion } = artifact;
    if (buildVersion === undefined) return [];
    return [{ version, build: buildVersion, artifact: examineArtifact(artifact) }];
  });
}

function isForSparkle({ platform, format }: ExaminedArtifact): boolean {
  return isSparkleFormat(platform, format);
}

/** Returns whether the other one is for Sparkle too, and some machine can run both. */
function isForSame(artifact: ExaminedArtifact, other: ExaminedArtifact): boolean {
  if (artifact.platform !== other.platform || !isForSparkle(other)) return false;
  const arches = [artifact.arch, other.arch];
  return artifact.arch === other.arch || arches.includes(UNIVERSAL) || arches.includes(NO_ARCH);
}
