// Findings in an existing release: the same that a dry run would have reported before it was published.

import type { Finding } from '../contract/dry-run.ts';
import { isFailure, type Outcome } from '../contract/failure.ts';
import type { Release } from '../contract/resource.ts';
import { servedFindings } from '../domain/release/finding/findings.ts';
import type { CatalogSlot } from '../serving/catalog-slot.ts';

/** Finds a channel of an app, and loads it if this node does not serve it yet. */
export type LoadedChannels = {
  findForCaller(app: string, channel: string): Promise<Outcome<Pick<CatalogSlot, 'catalog'>>>;
};

/**
 * Returns the findings in a release, by itself and beside the other releases of its channel; only by itself
 * if this node cannot read the channel.
 */
export async function standingFindings(
  catalogs: LoadedChannels,
  release: Release,
): Promise<readonly Finding[]> {
  const { app, channel, version } = release;
  const slot = await catalogs.findForCaller(app, channel);
  const snapshot = isFailure(slot) ? undefined : slot.catalog?.snapshot;
  // The snapshot has the checksums that a code host sent; `release`, from an answer, lacks them.
  const served = snapshot?.releases.find((each) => !each.followed && each.version === version);
  if (snapshot !== undefined && served !== undefined) return servedFindings(served, snapshot);
  return servedFindings(release, {
    ...{ channel, ddi: null, requireSignature: false, minimumSupportedVersion: null, releases: [] },
  });
}
