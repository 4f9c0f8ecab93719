// Snapshots and first offers for edges: an edge gets a channel as this node serves it, in parts, and may
// offer a release only once this has put the first offer on record.

import type { EdgeOfferAnswer, EdgeSnapshotAnswer } from '../../contract/edge-answer.ts';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import type { Catalog } from '../../domain/decision/catalog.ts';
import { compareServing, orderOf, type ServingOrder } from '../../domain/decision/serving-order.ts';
import type { EdgeScope } from '../../ports/edge-ledger.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { releaseText } from '../../snapshot/release-text.ts';
import { indexText, writeIndex } from '../../snapshot/snapshot-index.ts';
import type { Catalogs } from './catalogs.ts';
import type { EdgeIndex } from './edge-index.ts';
import type { FirstOffers } from './first-offer.ts';
import type { NoCatalog } from './known-channels.ts';

export type EdgeSnapshotsDependencies = {
  readonly catalogs: Pick<Catalogs, 'findForCaller' | 'chase'>;
  readonly index: Pick<EdgeIndex, 'mayServe'>;
  readonly firstOffers: Pick<FirstOffers, 'record'>;
};

/** Channel that an edge asks about, given by ref or id of the app, with the least state that it expects. */
export type WantedChannel = {
  readonly app: string;
  readonly channel: string;
  readonly atLeast: ServingOrder | undefined;
};

export class EdgeSnapshots {
  private readonly dependencies: EdgeSnapshotsDependencies;

  constructor(dependencies: EdgeSnapshotsDependencies) {
    this.dependencies = dependencies;
  }

  /**
   * Returns the present snapshot of a channel, without the releases of these editions. It may be older than
   * the expected state when no store has that.
   */
  async read(
    scope: EdgeScope,
    wanted: WantedChannel,
    knownEditions: readonly string[],
  ): Promise<Outcome<EdgeSnapshotAnswer, NoCatalog>> {
    const catalog = await this.find(scope, wanted);
    if (isFailure(catalog)) return catalog;
    const known = new Set(knownEditions);
    const missing = catalog.marked.releases.filter(({ edition }) => !known.has(edition));
    return {
      kind: 'snapshot',
      index: indexText(writeIndex(catalog.marked)),
      releases: Object.fromEntries(missing.map((each) => [each.edition, releaseText(each)])),
    };
  }

  /**
   * Puts the first offer of a release on record, which an edge is about to make from a state of the channel.
   * Not where the channel is in another state, or no device can be offered the release in this one.
   */
  async offer(
    scope: EdgeScope,
    wanted: WantedChannel & { readonly atLeast: ServingOrder },
    releaseId: string,
  ): Promise<Outcome<EdgeOfferAnswer, NoCatalog>> {
    const catalog = await this.find(scope, wanted);
    if (isFailure(catalog)) return catalog;
    const answer = { kind: 'offer', releaseId, ...orderOf(catalog.snapshot) } as const;
    const release = catalog.published.find(({ source }) => source.id === releaseId);
    const isPossible =
      compareServing(catalog.snapshot, wanted.atLeast) === 0 &&
      release !== undefined &&
      release.source.rolloutPct > 0;
    if (!isPossible) return { ...answer, isRecorded: false };
    const outcome = await this.dependencies.firstOffers.record(catalog, release);
    if (outcome === 'unavailable') throw new Unavailable('ledger', 'the offer was not recorded');
    return { ...answer, isRecorded: outcome === 'recorded' };
  }

  private async find(
    scope: EdgeScope,
    { app, channel, atLeast }: WantedChannel,
  ): Promise<Outcome<Catalog, NoCatalog>> {
    const { catalogs, index } = this.dependencies;
    const slot = await catalogs.findForCaller(app, channel);
    if (isFailure(slot)) return slot;
    const before = slot.catalog;
    if (before === undefined) return fail('unavailable');
    if (!(await index.mayServe(scope, before.snapshot.appId))) return fail('unknownApp');
    if (atLeast !== undefined && compareServing(before.snapshot, atLeast) < 0) {
      await catalogs.chase(before.snapshot.channelId, atLeast);
    }
    return slot.catalog ?? fail('unavailable');
  }
}
