// Tests how many live feeds a process keeps open for an account, an organization and in all.

import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { LIMIT } from '../../src/contract/limit.ts';
import { LivePlaces, type LiveViewer } from '../../src/fleet/live-activity.ts';

const PLACES_MAX = 1000;
const { liveFeedsOfAccountMax: ofAccount, liveFeedsOfOrganizationMax: ofOrganization } = LIMIT;

function viewer(account: number | undefined, organization: number): LiveViewer {
  const accountId = account === undefined ? undefined : `acc_${account}`;
  return { accountId, organizationId: `org_${organization}` };
}

/** Takes as many places as there are, at most `wanted`; returns the functions that give them back. */
function takeAll(places: LivePlaces, wanted: number, viewerAt: (index: number) => LiveViewer) {
  const all = Array.from({ length: wanted }, (_, index) => places.take(viewerAt(index)));
  return all.filter((leave) => leave !== undefined);
}

describe('live feeds', () => {
  it('an account has ten, in whatever organizations; another has its own', () => {
    const places = new LivePlaces();
    const taken = takeAll(places, 50, (index) => viewer(1, index));
    expect(taken).toHaveLength(ofAccount);
    expect(places.refusal(viewer(1, 7))?.failure).toBe('tooManyFeeds');
    expect(places.refusal(viewer(2, 7))).toBeUndefined();
    taken[0]?.();
    expect(places.refusal(viewer(1, 7))).toBeUndefined();
  });

  it('an organization has a tenth of all; another has its own', () => {
    const places = new LivePlaces();
    const taken = takeAll(places, 500, (index) => viewer(index, 1));
    expect(taken).toHaveLength(ofOrganization);
    const refusal = places.refusal(viewer(999, 1));
    expect([isFailure(refusal), refusal?.retryAfterSeconds]).toEqual([true, 5]);
    expect(places.refusal(viewer(999, 2))).toBeUndefined();
    for (const leave of taken) leave();
    expect(takeAll(places, 500, (index) => viewer(index, 1))).toHaveLength(ofOrganization);
  });

  it('the operator has no bound of an account, but those of the organization and of all', () => {
    const places = new LivePlaces();
    expect(takeAll(places, 500, () => viewer(undefined, 1))).toHaveLength(ofOrganization);
    const rest = takeAll(places, 2000, (index) => viewer(undefined, index));
    expect(rest).toHaveLength(PLACES_MAX - ofOrganization);
    expect(places.refusal(viewer(1, 5000))?.failure).toBe('unavailable');
    rest[0]?.();
    expect(places.refusal(viewer(1, 5000))).toBeUndefined();
  });
});
