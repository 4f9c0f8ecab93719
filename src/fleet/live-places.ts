// Places of the live feed: how many feeds this process keeps open, for an account, for an organization and in
// all. Without the first two bounds one viewer could take every place, and all other organizations would have
// none.

import { type Failure, failUntil } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';

/** Reader of a feed. The operator, who has the admin token, has no account. */
export type LiveViewer = {
  readonly accountId: string | undefined;
  readonly organizationId: string;
};

const PLACES_MAX = 1000;
const RETRY_MS = 5000;

export class LivePlaces {
  private readonly byAccount = new Map<string, number>();
  private readonly byOrganization = new Map<string, number>();
  private taken = 0;

  /** Returns why the viewer gets no place at present; undefined when there is one. */
  refusal({
    accountId,
    organizationId,
  }: LiveViewer): Failure<'tooManyFeeds' | 'unavailable'> | undefined {
    const ofAccount = accountId === undefined ? 0 : (this.byAccount.get(accountId) ?? 0);
    const ofOrganization = this.byOrganization.get(organizationId) ?? 0;
    const isAtLimit =
      ofAccount >= LIMIT.liveFeedsOfAccountMax ||
      ofOrganization >= LIMIT.liveFeedsOfOrganizationMax;
    if (isAtLimit) return failUntil('tooManyFeeds', RETRY_MS);
    return this.taken < PLACES_MAX ? undefined : failUntil('unavailable', RETRY_MS);
  }

  /**
   * Takes a place. Returns the function that gives it back, to be called once; undefined when there is none.
   */
  take(viewer: LiveViewer): (() => void) | undefined {
    if (this.refusal(viewer) !== undefined) return undefined;
    const { accountId, organizationId } = viewer;
    this.add(1, accountId, organizationId);
    return () => this.add(-1, accountId, organizationId);
  }

  private add(step: 1 | -1, accountId: string | undefined, organizationId: string): void {
    this.taken += step;
    addTo(this.byOrganization, organizationId, step);
    if (accountId !== undefined) addTo(this.byAccount, accountId, step);
  }
}

/** Changes a count, and forgets one that is zero. */
function addTo(counts: Map<string, number>, name: string, step: number): void {
  const count = (counts.get(name) ?? 0) + step;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
