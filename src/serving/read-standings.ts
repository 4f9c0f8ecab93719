// Reads the standing of a channel and of its releases: compiles the ledger's present state of the channel,
// and decides on it as update checks do.

import { fail, isFailure, type Outcome } from '../contract/failure.ts';
import type { Release } from '../contract/resource.ts';
import type { ReleaseStanding, StatusChange } from '../contract/standing.ts';
import { type Standings, standingSteps } from '../domain/decision/standing.ts';
import { inSlices } from '../flow/time-slice.ts';
import type { Ledger } from '../store/ledger.ts';
import { scopeValues, type TenantScope } from '../store/ledger-terms.ts';
import type { Catalogs } from './catalogs.ts';
import { compileInSlices } from './cold-loads.ts';

/** Release, and the last change of its status if the audit log has it. */
type ChangedRelease = { readonly id: string; readonly change: StatusChange | null };

type ReadLedger = Pick<Ledger, 'readSnapshot' | 'readStatusChanges'>;

export class StandingReader {
  constructor(
    private readonly ledger: ReadLedger,
    private readonly catalogs: Pick<Catalogs, 'peek'>,
  ) {}

  /** Returns the standings of a channel; `releases` are those whose change of status is known. */
  async read(
    app: { readonly ref: string },
    channel: string,
    releases: readonly ChangedRelease[] = [],
  ): Promise<Outcome<Standings>> {
    const held = this.catalogs.peek(app.ref, channel)?.catalog;
    const snapshot = await this.ledger.readSnapshot(app.ref, channel, held?.snapshot);
    if (snapshot === 'unknown-app') return fail('unknownApp');
    if (snapshot === 'unknown-channel') return fail('unknownChannel');
    const changes = new Map<string, StatusChange>();
    for (const { id, change } of releases) if (change !== null) changes.set(id, change);
    return inSlices(standingSteps(await compileInSlices(snapshot, held), changes));
  }

  async readRelease(
    app: { readonly ref: string },
    channel: string,
    release: ChangedRelease,
  ): Promise<Outcome<ReleaseStanding>> {
    const standings = await this.read(app, channel, [release]);
    if (isFailure(standings)) return standings;
    // It is gone if it was withdrawn meanwhile.
    return standings.releases.get(release.id) ?? fail('unknownRelease');
  }

  /**
   * Returns the releases of a list with their standings, without those that were withdrawn meanwhile. Reads
   * one channel at a time, so that a list of many channels costs no more at once than one does.
   */
  async readList(
    scope: TenantScope,
    releases: readonly Release[],
  ): Promise<readonly (Release & { readonly standing: ReleaseStanding })[]> {
    const [organizationId] = scopeValues(scope);
    const stopped = releases.filter(({ status }) => status !== 'published');
    const changes = await this.ledger.readStatusChanges(organizationId, stopped);
    const changed = stopped.map(({ id }) => ({ id, change: changes.get(id) ?? null }));
    // By channel, because a release has another standing on a channel that follows its own.
    const found = new Map<string, ReadonlyMap<string, ReleaseStanding>>();
    const places = new Map(releases.map((each) => [placeOf(each), each]));
    for (const [place, { app, channel }] of places) {
      const standings = await this.read({ ref: app }, channel, changed);
      if (!isFailure(standings)) found.set(place, standings.releases);
    }
    return releases.flatMap((release) => {
      const standing = found.get(placeOf(release))?.get(release.id);
      return standing === undefined ? [] : [{ ...release, standing }];
    });
  }
}

/** Returns a key of the release's channel: no name of a channel has a slash. */
function placeOf({ app, channel }: Release): string {
  return `${app}/${channel}`;
}
