// Rules of a ledger that went back: its epoch rises once, marks of offers come back, and a change of a
// channel that is known to be newer elsewhere is not accepted.

import { expect, test } from 'vitest';
import type { HostRelease } from '../../../src/domain/release/host/host-release.ts';
import type { Serving } from '../../../src/domain/release/serving-change.ts';
import { admitDatabase } from '../../../src/store/ledger/database/record-database.ts';
import {
  type KnownState,
  type KnownStates,
  LedgerBehind,
} from '../../../src/store/ledger-terms.ts';
import { KeptReport, TestMemory } from '../../support/ledger-options.ts';
import { createTenant, OPERATOR, PUBLISHER, type TestTenant } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const HOST: HostRelease = {
  ...{ provider: 'github', id: 1, tag: 'v1.0.0' },
  ...{ changedAt: null, publishedAt: null, filesFrom: null, filesTo: null },
};

/** Part of a known state in which these releases are offered. */
function offering(...offered: readonly string[]): Pick<KnownState, 'offeredAmong'> {
  return { offeredAmong: (releaseIds) => releaseIds.filter((id) => offered.includes(id)) };
}

export function describeRewinds({ database, ledger }: LedgerUnderTest): void {
  /** Channel with a release, and what is known of it: the present state, unless `parts` say otherwise. */
  async function furnish(parts: Partial<KnownState> = {}) {
    const tenant = await createTenant(ledger);
    const { value } = await tenant.release('1.0.0');
    const { channelId, epoch, revision } = await tenant.stable();
    const known = { channelId, channel: 'stable', epoch, revision, ...offering(), ...parts };
    return { tenant, channelId, releaseId: value.id, known };
  }

  /** Every change of a channel that takes what is known of it. */
  function changesOf(tenant: TestTenant, state: KnownState) {
    const { organizationId: scope, app } = tenant;
    const known: KnownStates = new Map([['stable', state]]);
    const named = { app, channel: 'stable', canonicalVersion: '1.0.0' };
    const by = { scope, actor: PUBLISHER, known };
    const serving = { status: 'published', rolloutPct: undefined, targets: null } as const;
    const source = { app, canonicalVersion: '1.0.0', from: 'stable', to: 'stable' };
    const files = { artifacts: [], isComplete: () => false, holdOf: () => undefined };
    const announced = { name: named, version: '1.0.0', notes: '', host: HOST, isEdit: false };
    const deleted = { way: 'deleted', isDraft: false, host: HOST, reason: 'deleted' } as const;
    const paused = (was: Serving) => ({ ...was, status: 'paused' as const });
    const change = { ddiAuth: 'token' } as const;
    const settings = { app, channel: 'stable', change: { defaultRollout: 5 } };
    return [
      () => tenant.publish('2.0.0', {}, { known }),
      () => ledger.promoteRelease({ ...by, input: { ...source, ...serving } }),
      () => ledger.announceRelease(scope, { ...announced, ...files }, PUBLISHER, known),
      () => ledger.retractRelease(scope, named, deleted, PUBLISHER, known),
      () => ledger.controlServing({ ...by, input: { ...named, transition: paused } }),
      () => ledger.withdrawRelease({ ...by, input: named }),
      () => ledger.updateChannel({ input: settings, actor: OPERATOR, known }),
      () => ledger.updateApp({ input: { app, change }, actor: OPERATOR, known }),
    ];
  }

  test('the epoch rises above what was seen, once for all who raise it at the same time', async () => {
    const { tenant } = await furnish();
    const { epoch } = await tenant.stable();
    const raised = await Promise.all(Array.from({ length: 8 }, () => ledger.raiseEpoch(epoch)));
    expect(raised.filter(({ isRaised }) => isRaised)).toHaveLength(1);
    expect(new Set(raised.map((each) => each.epoch))).toEqual(new Set([epoch + 1]));
    expect(await tenant.stable()).toMatchObject({ epoch: epoch + 1, revision: 2 });
    expect((await ledger.readRevisions([])).epoch).toBe(epoch + 1);
    expect(await ledger.raiseEpoch(epoch - 1)).toEqual({ epoch: epoch + 1, isRaised: false });
    expect(await ledger.raiseEpoch(epoch + 5)).toEqual({ epoch: epoch + 6, isRaised: true });
  });

  test('a rise on a database that moved is the one for the move', async () => {
    const report = new KeptReport();
    const admit = (highestEpoch: number) => {
      const memory = Object.assign(new TestMemory(), { highestEpoch });
      return admitDatabase(database, memory, report);
    };
    await admit(0);
    await database.query("UPDATE ledger_epoch SET identity = 'another server'");
    const { epoch } = await ledger.readRevisions([]);
    // One node compares states, another one finds that its connection leads elsewhere.
    expect(await ledger.raiseEpoch(epoch)).toEqual({ epoch: epoch + 1, isRaised: true });
    await admit(epoch + 1);
    expect(report.epochs).toEqual([]);
    expect((await ledger.readRevisions([])).epoch).toBe(epoch + 1);
  });

  test('the epoch never goes back, whoever writes it', async () => {
    await ledger.raiseEpoch(0);
    const back = database.query('UPDATE ledger_epoch SET epoch = 0');
    await expect(back).rejects.toMatchObject({ constraint: 'ledger_epoch_rises' });
  });

  test('marks of offers are written back where they are missing, and move no revision', async () => {
    const { tenant, channelId, releaseId } = await furnish();
    const other = await furnish();
    const ids = [releaseId, 'rel_lost', other.releaseId, 'nul\u0000'];
    expect(await ledger.restoreOffers(channelId, ids)).toBe(1);
    expect(await ledger.restoreOffers(channelId, ids)).toBe(0);
    expect(await ledger.restoreOffers(channelId, [])).toBe(0);
    expect(await tenant.stable()).toMatchObject({
      revision: 2,
      releases: [{ offered: true }],
    });
    expect((await other.tenant.stable()).releases[0]?.offered).toBe(false);
  });

  test('a change of a channel that is known as it is, or as it was, or of another database, is accepted', async () => {
    const { tenant, releaseId, known, channelId } = await furnish();
    await ledger.restoreOffers(channelId, [releaseId]);
    const older = { ...known, revision: 1, ...offering(releaseId, 'rel_lost') };
    const other = await furnish({ channelId: 'chn_other' });
    const foreign = { ...other.known, epoch: other.known.epoch + 1 };
    const changes = [...changesOf(tenant, older), ...changesOf(other.tenant, foreign)];
    for (const change of changes) await expect(change()).resolves.toBeDefined();
  });

  test('a change of a channel of which a later state is known, or an offer whose mark is missing, is not accepted', async () => {
    const { tenant, known, releaseId, channelId } = await furnish();
    const { revision, epoch } = known;
    const offered = { ...known, ...offering(releaseId) };
    for (const state of [
      { ...known, revision: revision + 1 },
      { ...known, epoch: epoch + 1, revision: 0 },
      offered,
    ]) {
      for (const change of changesOf(tenant, state)) {
        await expect(change()).rejects.toBeInstanceOf(LedgerBehind);
      }
    }
    expect(await tenant.stable()).toMatchObject({ revision: 2, releases: [{}] });
    await ledger.restoreOffers(channelId, [releaseId]);
    for (const change of changesOf(tenant, offered)) await expect(change()).resolves.toBeDefined();
  });
}
