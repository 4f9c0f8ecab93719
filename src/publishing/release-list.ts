// Paginated list of an organization's releases.

import type { Caller } from '../access/api-keys.ts';
import type { Release } from '../contract/resource.ts';
import type { Ledger } from '../store/ledger.ts';
import type { ReleaseFilter } from '../store/ledger-terms.ts';

type ReleaseList = {
  readonly releases: readonly Release[];
  readonly page: number;
  readonly pageCount: number;
  readonly total: number;
};

/** Reads a page of releases, newest first. An empty list has one page; a page beyond the last is empty. */
export async function listReleases(
  ledger: Pick<Ledger, 'listReleases'>,
  caller: Pick<Caller, 'scope'>,
  filter: ReleaseFilter,
): Promise<ReleaseList> {
  const { releases, total } = await ledger.listReleases(caller.scope, filter);
  const pageCount = Math.max(1, Math.ceil(total / filter.perPage));
  return { releases, page: filter.page, pageCount, total };
}
