// Rules of what edges need of the ledger (§29): their tokens, and the states of all channels.

import { expect, test } from 'vitest';
import { fail, isFailure } from '../../../src/contract/failure.ts';
import { createTenant, expectValue, OPERATOR } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const MANY = 10_000;

export function describeEdges({ ledger }: LedgerUnderTest): void {
  async function create(prefix: string, organizationId: string | null) {
    const token = { organizationId, name: 'edges', prefix, secretHash: `hash of ${prefix}` };
    return expectValue(await ledger.createEdgeToken(token, OPERATOR));
  }

  async function deedsIn(organizationId: string): Promise<readonly string[]> {
    const page = expectValue(await ledger.listAudit(organizationId, { limit: 100 }));
    return page.entries.map(({ action, subject }) => `${action} ${subject}`);
  }

  // First: it needs a database without content.
  test('a ledger without channels has an epoch', async () => {
    const states = await ledger.readChannelStates(MANY);
    const present = { epoch: 0, record: null, line: null };
    expect(states).toEqual({ ...present, channels: [], isComplete: true });
  });

  test('a token is found by its prefix, and is of one organization', async () => {
    const { organizationId } = await createTenant(ledger);
    const { id } = await create('edge-one', organizationId);
    expect(await ledger.findEdgeToken('edge-one')).toEqual({
      id,
      organizationId,
      secretHash: 'hash of edge-one',
      isRevoked: false,
    });
    expect(await ledger.findEdgeToken('edge-none')).toBeUndefined();
    expect(await ledger.findEdgeToken('nul\u0000')).toBeUndefined();
    expect(await deedsIn(organizationId)).toContain(`edge-token.create ${id}`);
  });

  test('a token of an organization that does not exist is refused', async () => {
    const token = { organizationId: 'nobody', name: 'x', prefix: 'edge-x', secretHash: 'x' };
    expect(await ledger.createEdgeToken(token, OPERATOR)).toEqual(fail('unknownOrganization'));
    expect(await ledger.findEdgeToken('edge-x')).toBeUndefined();
  });

  test('a token for all organizations is in the audit of each', async () => {
    const tenants = [await createTenant(ledger), await createTenant(ledger)];
    const { id } = await create('edge-all', null);
    for (const { organizationId } of tenants)
      expect(await deedsIn(organizationId)).toContain(`edge-token.create ${id}`);
  });

  test('revoking is audited once, and answers the first time of it', async () => {
    const { organizationId } = await createTenant(ledger);
    const { id } = await create('edge-revoked', organizationId);
    const first = expectValue(await ledger.revokeEdgeToken(id, OPERATOR));
    expect(await ledger.revokeEdgeToken(id, OPERATOR)).toEqual(first);
    expect(await ledger.findEdgeToken('edge-revoked')).toMatchObject({ isRevoked: true });
    const deeds = await deedsIn(organizationId);
    expect(deeds.filter((deed) => deed === `edge-token.revoke ${id}`)).toHaveLength(1);
    expect(isFailure(await ledger.revokeEdgeToken('edt_none', OPERATOR))).toBe(true);
    const [newest] = await ledger.listEdgeTokens();
    expect(newest).toMatchObject({ id, org: organizationId, revokedAt: first.revokedAt });
  });

  test('the states of channels are those that snapshots have', async () => {
    const tenant = await createTenant(ledger, ['stable', 'beta']);
    const { value: release } = await tenant.release('1.0.0');
    const apps = await ledger.findReleaseApps([release.id, 'rel_none']);
    expect(apps).toEqual(new Map([[release.id, tenant.appId]]));
    const stable = await tenant.stable();
    const { epoch, channels, isComplete } = await ledger.readChannelStates(MANY);
    expect([epoch, isComplete]).toEqual([stable.epoch, true]);
    const mine = channels.filter(({ appId }) => appId === tenant.appId);
    expect(mine.map(({ channel }) => channel).toSorted()).toEqual(['beta', 'stable']);
    expect(mine.find(({ channel }) => channel === 'stable')).toEqual({
      organizationId: tenant.organizationId,
      appId: tenant.appId,
      appRef: tenant.app,
      channelId: stable.channelId,
      channel: 'stable',
      revision: stable.revision,
    });
    // States beyond the bound are left out, and said to be.
    const bounded = await ledger.readChannelStates(1);
    expect([bounded.channels.length, bounded.isComplete]).toEqual([1, false]);
  });
}
