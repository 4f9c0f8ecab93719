// Rules of channels that follow another one, in the ledger port. What
// devices get is tested over HTTP (test/service/following.test.ts).

import { expect, test } from 'vitest';
import { fail, isFailure } from '../../../src/contract/failure.ts';
import type { ServingSnapshot } from '../../../src/domain/decision/serving-snapshot.ts';
import {
  FollowersNotAsked,
  type KnownState,
  LedgerBehind,
} from '../../../src/store/ledger-terms.ts';
import { checkIn } from './fleet-fixture.ts';
import { createTenant, expectValue, OPERATOR, type TestTenant } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

export function describeFollowing({ ledger }: LedgerUnderTest): void {
  function follow({ app }: TestTenant, channel: string, follows: string | null) {
    return ledger.updateChannel({ input: { app, channel, change: { follows } }, actor: OPERATOR });
  }

  async function snapshotOf({ app }: TestTenant, channel: string): Promise<ServingSnapshot> {
    const snapshot = await ledger.readSnapshot(app, channel);
    if (typeof snapshot === 'string') throw new Error(snapshot);
    return snapshot;
  }

  /** A tenant whose beta follows stable; each has a release, and both have 1.1.0. */
  async function furnish(): Promise<TestTenant> {
    const tenant = await createTenant(ledger, ['stable', 'beta']);
    await tenant.release('1.1.0');
    await tenant.release('1.1.0', { channel: 'beta' });
    await tenant.release('1.2.0', { channel: 'beta' });
    await tenant.release('1.3.0');
    expectValue(await follow(tenant, 'beta', 'stable'));
    return tenant;
  }

  function knownOf(
    { channelId, channel, epoch, revision }: ServingSnapshot,
    ...offered: readonly string[]
  ): KnownState {
    const offeredAmong = (ids: readonly string[]) => ids.filter((id) => offered.includes(id));
    return { channelId, channel, epoch, revision, offeredAmong };
  }

  test('a follower serves its own releases and those that it has no version of itself', async () => {
    const tenant = await furnish();
    const { releases, follows } = await snapshotOf(tenant, 'beta');
    expect(follows).toBe('stable');
    expect(releases.map(({ version, followed }) => [version, followed])).toEqual([
      ['1.1.0', false],
      ['1.2.0', false],
      ['1.3.0', true],
    ]);
    const followed = await snapshotOf(tenant, 'stable');
    expect(followed).toMatchObject({ follows: null, releases: [{}, { followed: false }] });
  });

  test('the page of a release counts the devices of followers that have no version of it', async () => {
    const tenant = await furnish();
    await ledger.recordCheckIns([
      checkIn(tenant, 'on stable', { version: '1.1.0' }),
      checkIn(tenant, 'on beta', { channel: 'beta', version: '1.3.0' }),
    ]);
    const app = { id: tenant.appId, ref: tenant.app, organizationId: tenant.organizationId };
    const devices = async (version: string) =>
      expectValue(await ledger.readReleaseDetail(app, 'stable', version)).devices;
    expect(await devices('1.3.0')).toMatchObject({ on: 1, below: 1, fleet: 2 });
    expect(await devices('1.1.0')).toMatchObject({ on: 1, below: 0, fleet: 1 });
  });

  test('a change of a release moves its channel and the followers, one of the policy moves only it', async () => {
    const tenant = await furnish();
    const before = await snapshotOf(tenant, 'beta');
    const { changed } = await tenant.release('2.0.0');
    expect(changed.map(({ channel }) => channel).sort()).toEqual(['beta', 'stable']);
    const after = await snapshotOf(tenant, 'beta');
    expect(after.revision).toBe(before.revision + 1);
    expect(changed.find(({ channel }) => channel === 'beta')).toMatchObject({
      channelId: after.channelId,
      revision: after.revision,
    });
    const updated = await tenant.setChannel({ defaultRollout: 5 });
    expect(updated.changed.map(({ channel }) => channel)).toEqual(['stable']);
    const own = await tenant.release('2.1.0', { channel: 'beta' });
    expect(own.changed.map(({ channel }) => channel)).toEqual(['beta']);
  });

  test('a first offer to a follower is recorded at its state only, and only of what it follows', async () => {
    const tenant = await furnish();
    const stranger = await furnish();
    const at = await snapshotOf(tenant, 'beta');
    const id = at.releases[2]?.id ?? '';
    const elsewhere = await snapshotOf(stranger, 'stable');
    expect(await ledger.recordFirstOffer(elsewhere.channelId, id, elsewhere)).toBe(false);
    expect(await ledger.recordFirstOffer(at.channelId, id, { ...at, revision: 1 })).toBe(false);
    expect(await ledger.recordFirstOffer(at.channelId, id, at)).toBe(true);
    const stable = await snapshotOf(tenant, 'stable');
    expect(stable.releases[1]).toMatchObject({ id, offered: true });
    expectValue(await follow(tenant, 'beta', null));
    const alone = await snapshotOf(tenant, 'beta');
    expect(await ledger.recordFirstOffer(alone.channelId, id, alone)).toBe(false);
  });

  test('marks of offers that a follower knows are written back', async () => {
    const tenant = await furnish();
    const { channelId, releases } = await snapshotOf(tenant, 'beta');
    const ids = releases.map(({ id }) => id);
    expect(await ledger.restoreOffers(channelId, ids)).toBe(3);
    expect((await snapshotOf(tenant, 'stable')).releases.map(({ offered }) => offered)).toEqual([
      false,
      true,
    ]);
  });

  test('a channel cannot follow itself, one that follows it, or one that is not of its app', async () => {
    const tenant = await furnish();
    const { app } = tenant;
    expectValue(await ledger.createChannel(app, 'nightly', OPERATOR));
    expect(await follow(tenant, 'beta', 'beta')).toEqual(fail('followsInCircle'));
    expect(await follow(tenant, 'stable', 'beta')).toEqual(fail('followsInCircle'));
    expectValue(await follow(tenant, 'nightly', 'beta'));
    expect(await follow(tenant, 'stable', 'nightly')).toEqual(fail('followsInCircle'));
    // Only the own releases of what is followed count (§11.21).
    const { releases } = await snapshotOf(tenant, 'nightly');
    expect(releases.map(({ version }) => version)).toEqual(['1.1.0', '1.2.0']);
    for (const unknown of ['nowhere', 'nul\u0000']) {
      expect(await follow(tenant, 'nightly', unknown)).toEqual(fail('unknownChannel'));
    }
    const again = expectValue(await follow(tenant, 'nightly', 'beta'));
    expect(again.changed).toEqual([]);
  });

  test('of two channels that begin to follow each other at once, one does', async () => {
    for (let round = 0; round < 3; round++) {
      const tenant = await createTenant(ledger, ['stable', 'beta']);
      const outcomes = await Promise.all([
        follow(tenant, 'beta', 'stable'),
        follow(tenant, 'stable', 'beta'),
      ]);
      expect(outcomes.filter((outcome) => isFailure(outcome))).toEqual([fail('followsInCircle')]);
    }
  });

  test('changes of both channels and of who follows whom wait for each other, and all end', async () => {
    const tenant = await furnish();
    const work = Array.from({ length: 6 }, (_, index) => [
      tenant.release(`3.0.${index}`),
      tenant.publish(`4.0.${index}`, { channel: 'beta' }),
      follow(tenant, 'beta', index % 2 === 0 ? null : 'stable'),
    ]);
    await Promise.all(work.flat());
    for (const follows of [null, 'stable']) expectValue(await follow(tenant, 'beta', follows));
    expect((await snapshotOf(tenant, 'beta')).releases).toHaveLength(15);
  });

  test('a change whose followers nobody asked about is not made', async () => {
    const tenant = await furnish();
    const stable = await snapshotOf(tenant, 'stable');
    const known = new Map([['stable', knownOf(stable)]]);
    const change = () =>
      ledger.updateChannel({
        input: { app: tenant.app, channel: 'stable', change: { defaultRollout: 7 } },
        actor: OPERATOR,
        known,
      });
    const refusal = await change().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(FollowersNotAsked);
    expect(refusal).toMatchObject({ channels: ['beta'] });
    known.set('beta', knownOf(await snapshotOf(tenant, 'beta')));
    expectValue(await change());
  });

  test('a change is not made when the ledger is behind what is known of a follower', async () => {
    const tenant = await furnish();
    const [stable, beta] = [await snapshotOf(tenant, 'stable'), await snapshotOf(tenant, 'beta')];
    const newest = beta.releases[2]?.id ?? '';
    for (const state of [
      { ...knownOf(beta), revision: beta.revision + 1 },
      knownOf(beta, newest),
    ]) {
      const known = new Map([
        ['stable', knownOf(stable)],
        ['beta', state],
      ]);
      const call = tenant.publish('5.0.0', {}, { known });
      const refusal = await call.catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(LedgerBehind);
      expect(refusal).toMatchObject({ channel: 'beta' });
    }
  });
}
