// Snapshots and first offers for edges: an edge gets a channel as this node serves it, in parts, and may
// offer a release only after this node has recorded the first offer.

import type {
  EdgeOfferAnswer,
  EdgeReleasesAnswer,
  EdgeSnapshotAnswer,
} from '../../contract/edge.ts';
import { type Failure, fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { Unavailable } from '../../contract/store-fault.ts';
import type { Catalog } from '../../domain/decision/catalog.ts';
import {
  compareServing,
  orderOf,
  type ServingOrder,
  type SnapshotRelease,
} from '../../domain/decision/serving-snapshot.ts';
import type { Catalogs } from '../../serving/catalogs.ts';
import type { FirstOffers } from '../../serving/first-offers.ts';
import type { EdgeScope } from '../../store/console-ledger.ts';
import { indexText, releaseText, writeIndex } from '../../store/snapshot/snapshot-index.ts';
import type { EdgeIndex } from './edge-index.ts';

export type EdgeSnapshotsDependencies = {
  readonly catalogs: Pick<Catalogs, 'findForCaller' | 'catchUp'>;
  readonly index: Pick<EdgeIndex, 'mayServe' | 'noteEpoch'>;
  readonly firstOffers: Pick<FirstOffers, 'record'>;
};

/**
 * Maximum length of the texts in an answer, so that writing, signing and reading it blocks no process for
 * long. An edge asks for the rest.
 */
const TEXTS_LENGTH_MAX = 1024 * 1024;

/** Channel that an edge asks for, by ref or id of the app, with the minimum state that it expects. */
export type WantedChannel = {
  readonly app: string;
  readonly channel: string;
  readonly atLeast: ServingOrder | undefined;
};

export class EdgeSnapshots {
  constructor(private readonly dependencies: EdgeSnapshotsDependencies) {}

  /**
   * Returns the present snapshot of a channel, without the releases whose editions the edge has, and without
   * those that do not fit. It is older than `atLeast` if no store has that state.
   */
  async read(
    scope: EdgeScope,
    wanted: WantedChannel,
    knownEditions: readonly string[],
  ): Promise<Outcome<EdgeSnapshotAnswer>> {
    const catalog = await this.find(scope, wanted);
    if (isFailure(catalog)) return catalog;
    const known = new Set(knownEditions);
    const missing = catalog.marked.releases.filter(({ edition }) => !known.has(edition));
    const index = indexText(writeIndex(catalog.marked));
    return { kind: 'snapshot', index, releases: textsOf(missing) };
  }

  /** Returns the texts of a channel's releases with these editions, if they exist and as many as fit. */
  async readReleases(
    scope: EdgeScope,
    wanted: WantedChannel,
    editions: readonly string[],
  ): Promise<Outcome<EdgeReleasesAnswer>> {
    const catalog = await this.find(scope, wanted);
    if (isFailure(catalog)) return catalog;
    const asked = new Set(editions);
    const found = catalog.marked.releases.filter(({ edition }) => asked.has(edition));
    return { kind: 'releases', releases: textsOf(found) };
  }

  /**
   * Records the first offer of a release, which an edge is about to make in a state of the channel. Refuses
   * if the channel has another state, or if no device can be offered the release in it.
   */
  async offer(
    scope: EdgeScope,
    wanted: WantedChannel & { readonly atLeast: ServingOrder },
    releaseId: string,
  ): Promise<Outcome<EdgeOfferAnswer>> {
    const catalog = await this.find(scope, wanted);
    if (isFailure(catalog)) return catalog;
    const answer = { kind: 'offer', releaseId } as const;
    const order = orderOf(catalog.snapshot);
    const release = catalog.published.find(({ source }) => source.id === releaseId);
    const isPossible =
      compareServing(catalog.snapshot, wanted.atLeast) === 0 &&
      release !== undefined &&
      release.source.rolloutPct > 0;
    if (!isPossible) return { ...answer, ...order, isRecorded: false };
    const outcome = await this.dependencies.firstOffers.record(catalog, release);
    if (outcome === 'unavailable') throw new Unavailable('ledger', 'the offer was not recorded');
    if (outcome === 'recorded') return { ...answer, ...order, isRecorded: true };
    // The channel has changed: the answer has its present state, so that the edge decides again.
    const next = { epoch: order.epoch, revision: order.revision + 1 };
    const present = await this.find(scope, { ...wanted, atLeast: next });
    if (isFailure(present)) return present;
    return { ...answer, ...orderOf(present.snapshot), isRecorded: false };
  }

  private async find(
    scope: EdgeScope,
    { app, channel, atLeast }: WantedChannel,
  ): Promise<Outcome<Catalog>> {
    const { catalogs, index } = this.dependencies;
    const slot = await catalogs.findForCaller(app, channel);
    if (isFailure(slot)) return toldTo(scope, slot);
    const before = slot.catalog;
    if (before === undefined) return fail('unavailable');
    if (!(await index.mayServe(scope, before.snapshot.appId))) return fail('unknownApp');
    if (atLeast !== undefined && compareServing(before.snapshot, atLeast) < 0) {
      await catalogs.catchUp(before.snapshot.channelId, atLeast);
    }
    if (slot.catalog === undefined) return fail('unavailable');
    // An edge accepts a channel only in the epoch of its index.
    index.noteEpoch(slot.catalog.snapshot.epoch);
    return slot.catalog;
  }
}

/** Hides from an edge of one organization that an app exists, because it may belong to another one. */
function toldTo(scope: EdgeScope, refusal: Failure): Failure {
  return scope !== null && refusal.failure === 'unknownChannel' ? fail('unknownApp') : refusal;
}

/** Returns the texts of releases by edition: as many as fit, and at least one. */
function textsOf(releases: readonly SnapshotRelease[]): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  let length = 0;
  for (const release of releases) {
    const text = releaseText(release);
    if (length > 0 && length + text.length > TEXTS_LENGTH_MAX) break;
    texts[release.edition] = text;
    length += text.length;
  }
  return texts;
}
