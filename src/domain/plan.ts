// Partial evaluation of a decision. Everything that depends only on (catalog, platform, arch, version) is
// settled here: which releases can come at all, in which order, on which terms. What is left for a
// device is a compare with its bucket and, where a release asks for labels, those tests.

import {
  type Candidate,
  type Catalog,
  type CompiledRelease,
  candidatesFor,
  countAbove,
  countAtOrAbove,
} from './catalog.ts';
import { COHORT_BUCKETS } from './cohort.ts';
import { matchesFields, type RequestFields } from './targeting.ts';
import { compareVersions, type Version } from './version.ts';

export type Plan = {
  readonly catalog: Catalog;
  /** Highest version first; the first that fits the device is its answer. */
  readonly candidates: readonly Candidate[];
  readonly isRequired: boolean;
  readonly allowDowngrade: boolean;
  /** Why a device gets nothing when there is no candidate to test it against. */
  readonly reasonWithout: NoOfferReason;
  /** Why the highest release in question can come for no such device, when that is so. */
  readonly headReason: NoOfferReason | undefined;
  /** The labels that any candidate asks for: a caller fetches them only when they matter. */
  readonly labelKeys: readonly string[];
};

export type NoOfferReason =
  | 'up-to-date'
  | 'no-artifact'
  | 'not-targeted'
  | 'outside-cohort'
  | 'rolled-back-without-fallback'
  | 'first-offer-unavailable';

/**
 * Behind the first release that fits everybody, others are kept only for the case that it cannot be
 * offered yet (its first offer needs the ledger); this many such releases in a row end the plan.
 */
const NEVER_OFFERED_FALLBACKS_MAX = 16;

/** The plan for devices that report this version, platform and arch (folded). */
export function planUpdate(catalog: Catalog, fields: RequestFields & { version: Version }): Plan {
  const current = catalog.byCanonical.get(fields.version.canonical);
  const isDowngrade = current?.source.status === 'rolled_back';
  const all = candidatesFor(catalog, fields.platform, fields.arch);
  const from = isDowngrade ? countAtOrAbove(all, fields.version) : 0;
  const to = isDowngrade ? all.length : countAbove(all, fields.version);
  const candidates = keepReachable(all, from, to, fields);
  const head = to > from ? all[from] : undefined;
  return {
    catalog,
    candidates,
    isRequired: isRequired(catalog, current, fields.version),
    allowDowngrade: isDowngrade,
    reasonWithout: reasonWithout(catalog, fields.version, isDowngrade, to > from),
    headReason: head === undefined ? undefined : obstacleForAll(head.release, fields),
    labelKeys: [...new Set(candidates.flatMap(({ release }) => release.targeting.labelKeys))],
  };
}

/** Drops what no such device can get, and everything behind the release that every such device gets. */
function keepReachable(
  all: readonly Candidate[],
  from: number,
  to: number,
  fields: RequestFields,
): Candidate[] {
  const kept: Candidate[] = [];
  let neverOffered = 0;
  for (let index = from; index < to; index++) {
    const candidate = all[index] as Candidate;
    const { release } = candidate;
    if (obstacleForAll(release, fields) !== undefined) continue;
    kept.push(candidate);
    if (!fitsEverybody(release)) continue;
    if (release.offered) break;
    neverOffered += 1;
    if (neverOffered === NEVER_OFFERED_FALLBACKS_MAX) break;
  }
  return kept;
}

/** What keeps a release from every device of these fields, whoever it is. */
function obstacleForAll(
  release: CompiledRelease,
  fields: RequestFields,
): NoOfferReason | undefined {
  if (!matchesFields(release.targeting, fields)) return 'not-targeted';
  return release.threshold === 0 ? 'outside-cohort' : undefined;
}

function fitsEverybody(release: CompiledRelease): boolean {
  return release.threshold === COHORT_BUCKETS && release.targeting.labelTests.length === 0;
}

function isRequired(
  catalog: Catalog,
  current: CompiledRelease | undefined,
  version: Version,
): boolean {
  if (current?.source.status === 'deprecated') return true;
  return catalog.minimum !== undefined && compareVersions(version, catalog.minimum) < 0;
}

function reasonWithout(
  catalog: Catalog,
  version: Version,
  isDowngrade: boolean,
  hasCandidates: boolean,
): NoOfferReason {
  if (hasCandidates) return 'not-targeted';
  if (isDowngrade) return 'rolled-back-without-fallback';
  const newest = catalog.published[0];
  const isNewer = newest !== undefined && compareVersions(newest.version, version) > 0;
  return isNewer ? 'no-artifact' : 'up-to-date';
}
