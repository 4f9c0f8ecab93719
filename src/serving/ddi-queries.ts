// Questions of devices that speak DDI: what a device is, by its address, by what it told, or by the channel's
// settings; and the query for its decision, which devices that are alike share.

import { LRUCache } from 'lru-cache';
import type { DdiSettings } from '../contract/resource.ts';
import { foldPlatform } from '../domain/decision/artifact/artifact.ts';
import { foldArch } from '../domain/decision/artifact/fold-arch.ts';
import type { ArtifactCandidate } from '../domain/decision/catalog.ts';
import { parseVersion, type Version } from '../domain/decision/version.ts';
import type { DeviceActions } from '../domain/fleet/device-actions.ts';
import type { NetworkWords } from '../domain/fleet/network-words.ts';
import { ddiQuestion } from '../updater/ddi.ts';
import { type CheckQuery, type CheckScope, checkQuery, checkScope } from './catalog-slot.ts';

/** Device that asks, and what its request says of it. */
export type DdiAsker = {
  readonly deviceId: string;
  /** `hashText` of the id. */
  readonly hash: number;
  readonly network: NetworkWords;
  /** What the path says; undefined where it says nothing. */
  readonly platform: string | undefined;
  readonly arch: string | undefined;
  readonly version: Version | undefined;
  /** Whether it is rauc-hawkbit-updater, which installs bundles of RAUC. */
  readonly isRauc: boolean;
};

/** Names by which a request asks a channel, and what the channel says of devices that speak DDI. */
export type DdiPlace = {
  readonly app: string;
  readonly channel: string;
  readonly settings: DdiSettings;
};

/** Maximum number of cached questions, and of versions in each. */
const SCOPES_MAX = 5000;
const VERSIONS_MAX = 1000;

type Scope = {
  readonly scope: CheckScope<ArtifactCandidate>;
  readonly byVersion: LRUCache<string, CheckQuery<ArtifactCandidate>>;
};

export class DdiQueries {
  private readonly scopes = new LRUCache<string, Scope>({ max: SCOPES_MAX });

  /** Returns the query for a device of which this is known. */
  of(
    { app, channel, settings }: DdiPlace,
    asker: DdiAsker,
    known: DeviceActions | undefined,
  ): CheckQuery<ArtifactCandidate> {
    const told = known?.told ?? {};
    const platform = foldPlatform(asker.platform ?? told.platform ?? settings.platform);
    const arch = foldArch(asker.arch ?? told.arch ?? settings.arch ?? undefined, platform);
    const bundle = told.bundle ?? (asker.isRauc ? 'raucb' : undefined);
    const key = JSON.stringify([app, channel, platform, arch, bundle]);
    let found = this.scopes.get(key);
    if (found === undefined) {
      const scope = checkScope(app, channel, ddiQuestion({ platform, arch }, bundle));
      found = { scope, byVersion: new LRUCache({ max: VERSIONS_MAX }) };
      this.scopes.set(key, found);
    }
    return queryIn(found, asker.version?.canonical ?? known?.version);
  }
}

function queryIn({ scope, byVersion }: Scope, version = ''): CheckQuery<ArtifactCandidate> {
  const known = byVersion.get(version);
  if (known !== undefined) return known;
  const query = checkQuery(scope, parseVersion(version));
  byVersion.set(version, query);
  return query;
}
