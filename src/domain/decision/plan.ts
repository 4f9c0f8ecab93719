// The part of a decision that is the same for all devices with the same platform, arch and version: the
// candidate releases, their order and the terms of the offer. A device is offered the first candidate that
// fits, usually the very first.

import type { NoOfferReason } from '../../contract/explanation.ts';
import {
  type Candidate,
  type Catalog,
  type CompiledRelease,
  countAbove,
  countAtOrAbove,
} from './catalog.ts';
import { audienceOf, withLabelKeys } from './rule/requirement.ts';
import type { RequestFields } from './targeting.ts';
import { compareVersions, type Version } from './version.ts';

export type Plan<Item extends Candidate = Candidate> = {
  readonly catalog: Catalog;
  /** Candidates, highest version first. Plans of one updater for one platform and arch share the list. */
  readonly list: readonly Item[];
  /** Index of the plan's first candidate. */
  readonly from: number;
  /** Index after the plan's last candidate. */
  readonly to: number;
  /** Whether devices must install the offer. */
  readonly isRequired: boolean;
  /** Whether the offer is older than the version that devices run. */
  readonly allowDowngrade: boolean;
  /** Fields of the request. The plan holds for all versions at the same `versionPosition`. */
  readonly fields: RequestFields;
  /** Reason for no offer if there is no candidate. */
  readonly reasonWithout: NoOfferReason;
  /** Labels that a decision can depend on; if there are none, callers need not fetch stored labels. */
  readonly labelKeys: readonly string[];
};

const NO_KEYS: readonly string[] = [];

/**
 * Plans for devices with these fields; `list` has the releases that they can be offered. Clients that send no
 * version compare versions themselves: every release of the list is a candidate.
 */
export function planUpdate<Item extends Candidate>(
  catalog: Catalog,
  fields: RequestFields,
  list: readonly Item[],
): Plan<Item> {
  const { version } = fields;
  return version === undefined
    ? planAllVersions(catalog, fields, list)
    : planVersion(catalog, fields, version, list);
}

function planVersion<Item extends Candidate>(
  catalog: Catalog,
  fields: RequestFields,
  version: Version,
  list: readonly Item[],
): Plan<Item> {
  const current = catalog.byCanonical.get(version.canonical);
  const isDowngrade = current?.source.status === 'rolled_back';
  const from = isDowngrade ? countAtOrAbove(list, version) : 0;
  const to = isDowngrade ? list.length : countAbove(list, version);
  return {
    catalog,
    list,
    from,
    to,
    isRequired: isRequired(catalog, current, version),
    allowDowngrade: isDowngrade,
    fields,
    reasonWithout: reasonWithout(catalog, version, isDowngrade),
    labelKeys: labelKeysOf(list, from, to, fields),
  };
}

function planAllVersions<Item extends Candidate>(
  catalog: Catalog,
  fields: RequestFields,
  list: readonly Item[],
): Plan<Item> {
  return {
    catalog,
    list,
    from: 0,
    to: list.length,
    isRequired: false,
    allowDowngrade: false,
    fields,
    reasonWithout: 'no-artifact',
    labelKeys: labelKeysOf(list, 0, list.length, fields),
  };
}

/**
 * Returns the labels that a device's decision can depend on. No decision goes beyond a release for every
 * device, unless that release was never offered: its first offer can fail to be recorded.
 */
function labelKeysOf(
  list: readonly Candidate[],
  from: number,
  to: number,
  fields: RequestFields,
): readonly string[] {
  let keys: Set<string> | undefined;
  for (let index = from; index < to; index++) {
    const { release } = list[index] as Candidate;
    const audience = audienceOf(release.requirements, fields);
    if (audience === 'some') keys = withLabelKeys(keys, release.requirements);
    if (audience === 'all' && release.offered) break;
  }
  return keys === undefined ? NO_KEYS : [...keys];
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
