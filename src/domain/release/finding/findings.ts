// Findings in a release before it is published. An error means that devices which are offered it would fail,
// a warning that it may not be what the publisher meant. Findings never refuse a release.

import type { Finding } from '../../../contract/dry-run.ts';
import type { Artifact } from '../../../contract/resource.ts';
import type { SnapshotRelease } from '../../decision/serving-snapshot.ts';
import { parseVersion, type Version } from '../../decision/version.ts';
import { ARTIFACT_RULES } from './artifact-rules.ts';
import { BUILD_NUMBER_RULES } from './build-number-rules.ts';
import { ddiFindings } from './ddi-findings.ts';
import { examineRelease, type FindingPlace, type FindingRule } from './examined-release.ts';
import { FILE_RULES } from './file-rules.ts';
import { minimumFindings } from './minimum-reach.ts';
import { COVERAGE_RULES, VERSION_RULES } from './release-rules.ts';

const RULES: readonly FindingRule[] = [
  ...VERSION_RULES,
  ...ARTIFACT_RULES,
  ...FILE_RULES,
  ...BUILD_NUMBER_RULES,
  ...COVERAGE_RULES,
];

/** Returns the findings for this version and these artifacts on a channel: errors first. */
export function findingsOf(
  version: Version,
  artifacts: readonly Artifact[],
  place: FindingPlace,
): readonly Finding[] {
  const examined = examineRelease(version, artifacts, place);
  const findings = [
    ...RULES.flatMap((rule) => rule(examined)),
    ...ddiFindings(place.ddi !== null, examined.artifacts),
  ];
  return [
    ...findings.filter(({ severity }) => severity === 'error'),
    ...findings.filter(({ severity }) => severity === 'warning'),
  ];
}

/**
 * Returns the findings in a release of a channel. A deprecated or rolled-back one has only those about the
 * minimum version, because devices are not offered its files.
 */
export function servedFindings(
  { version: text, status, artifacts }: Pick<SnapshotRelease, 'version' | 'status' | 'artifacts'>,
  place: FindingPlace,
): readonly Finding[] {
  const version = parseVersion(text);
  if (version === undefined) return [];
  const isServed = status === 'published' || status === 'paused';
  const own = isServed ? findingsOf(version, artifacts, place) : [];
  return [...own, ...minimumFindings(place, version)];
}
