// Partial evaluation of a decision. Everything that depends only on (catalog, platform, arch, version) is
// settled here: which releases come into question, in which order, on which terms. What is left for a
// device is to walk them until one fits, which is mostly the first.

import {
  type Candidate,
  type Catalog,
  type CompiledRelease,
  candidatesFor,
  countAbove,
  countAtOrAbove,
  type FeedCandidate,
  feedCandidatesFor,
} from './catalog.ts';
import { COHORT_BUCKETS } from './cohort.ts';
import { FEED_KINDS, type FeedKind } from './feed-kind.ts';
import { matchesFields, type RequestFields } from './targeting.ts';
import { compareVersions, type Version } from './version.ts';

/** What a device may be offered: a release with whatever of it the device takes. */
export type Contender = { readonly release: CompiledRelease };

export type Plan<Item extends Contender = Contender> = {
  readonly catalog: Catalog;
  /** Shared by all plans over the same kind of contender: highest version first. */
  readonly list: readonly Item[];
  /** The part of the list in question; the first in it that fits a device is its answer. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
  /** The version is one of those that the plan is for: they all stand at its place, see `standingOf`. */
  readonly fields: RequestFields;
  /** Why a device gets nothing when no release comes into question. */
  readonly reasonWithout: NoOfferReason;
  /** The labels that any of these releases asks for: a caller fetches them only when they matter. */
  readonly labelKeys: readonly string[];
};

/** The plan of an update check, with the terms that all its offers share. */
export type UpdatePlan = Plan<Candidate> & {
  readonly isRequired: boolean;
  readonly allowDowngrade: boolean;
};

/** The plan of an updater's feed file, which shows the same to every version. */
export type FeedPlan = Plan<FeedCandidate>;

export type NoOfferReason = (typeof NO_OFFER_REASONS)[number];

const NO_KEYS: readonly string[] = [];

/** The plan for devices that report this version, platform and arch (folded). */
export function planUpdate(
  catalog: Catalog,
  fields: RequestFields & { version: Version },
): UpdatePlan {
  const current = catalog.byCanonical.get(fields.version.canonical);
  const isDowngrade = current?.source.status === 'rolled_back';
  const list = candidatesFor(catalog, fields.platform, fields.arch);
  const from = isDowngrade ? countAtOrAbove(list, fields.version) : 0;
  const to = isDowngrade ? list.length : countAbove(list, fields.version);
  return {
    catalog,
    list,
    from,
    to,
    fields,
    isRequired: isRequired(catalog, current, fields.version),
    allowDowngrade: isDowngrade,
    reasonWithout: reasonWithout(catalog, fields.version, isDowngrade),
    labelKeys: collectLabelKeys(list, from, to, fields),
  };
}

/** The plan for everybody who asks for this file: the client compares versions, so all come into question. */
export function planFeed(catalog: Catalog, kind: FeedKind): FeedPlan {
  const { platform, arch } = FEED_KINDS[kind];
  const fields = { version: undefined, platform, arch };
  const list = feedCandidatesFor(catalog, kind);
  return {
    catalog,
    list,
    from: 0,
    to: list.length,
    fields,
    reasonWithout: 'no-artifact',
    labelKeys: collectLabelKeys(list, 0, list.length, fields),
  };
}

export const NO_OFFER_REASONS = [
  'up-to-date',
  'no-artifact',
  'not-targeted',
  'outside-cohort',
  'rolled-back-without-fallback',
  'first-offer-unavailable',
] as const;

/** Only as far as a device can get: behind an offered release that fits everybody nothing is asked. */
function collectLabelKeys(
  list: readonly Contender[],
  from: number,
  to: number,
  fields: RequestFields,
): readonly string[] {
  let keys: Set<string> | undefined;
  for (let index = from; index < to; index++) {
    const { release } = list[index] as Contender;
    if (!matchesFields(release.targeting, fields) || release.threshold === 0) continue;
    for (const key of release.targeting.labelKeys) {
      keys ??= new Set();
      keys.add(key);
    }
    if (release.offered && fitsEverybody(release)) break;
  }
  return keys === undefined ? NO_KEYS : [...keys];
}

/** Whether it fits each device whose version, platform and arch it is for. */
export function fitsEverybody(release: CompiledRelease): boolean {
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

function reasonWithout(catalog: Catalog, version: Version, isDowngrade: boolean): NoOfferReason {
  if (isDowngrade) return 'rolled-back-without-fallback';
  const newest = catalog.published[0];
  const isNewer = newest !== undefined && compareVersions(newest.version, version) > 0;
  return isNewer ? 'no-artifact' : 'up-to-date';
}
