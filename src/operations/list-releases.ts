// The release list of an organization, in pages.

import type { Release } from '../contract/resource.ts';
import type { Ledger, ReleaseFilter } from '../ports/ledger.ts';
import type { Caller } from './authenticate-key.ts';

export type ReleaseList = {
  readonly releases: readonly Release[];
  readonly page: number;
  readonly pageCount: number;
  readonly total: number;
};

/** Newest first. An empty list still has one page, and a page beyond the last is empty. */
export async function listReleases(
  ledger: Ledger,
  caller: Caller,
  filter: ReleaseFilter,
): Promise<ReleaseList> {
  const { releases, total } = await ledger.listReleases(caller.organizationId, filter);
  const pageCount = Math.max(1, Math.ceil(total / filter.perPage));
  return { releases, page: filter.page, pageCount, total };
}
