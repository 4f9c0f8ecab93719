// Rules of a ledger that went back: its epoch rises once, marks of offers come back, and a change of a
// channel that is known to be newer elsewhere is not accepted.

import { expect, test } from 'vitest';
import type { HostRelease } from '../../../src/domain/release/host/host-release.ts';
import { admitDatabase } from '../../../src/store/ledger/database/record-database.ts';
import {
  type KnownState,
  type KnownStates,
  LedgerBehind,
} from '../../../src/store/ledger-terms.ts';
import { KeptReport, TestMemory } from '../../support/ledger-options.ts';
import {
  createTenant,
  newRelease,
  OPERATOR,
  PUBLISHER,
  publish,
  readStable,
  type TestTenant,
} from './ledger-fixture.ts';
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
    const { value } = await publish(ledger, tenant, '1.0.0');
    const { channelId, epoch, revision } = await readStable(ledger, tenant);
    const known = { channelId, channel: 'stable', epoch, revision, ...offering(), ...parts };
    return { tenant, channelId, releaseId: value.id, known };
  }

  /** Every change of a channel that takes what is known of it. */
  function changesOf({ organizationId, app }: TestTenant, state: KnownState) {
    const known: KnownStates = new Map([['stable', state]]);
    const named = { app, channel: 'stable', canonicalVersion: '1.0.0' };
    const tenant = { organizationId, app, appId: '' };
    return [
      () => {
        const release = newRelease(tenant, '2.0.0');
        return ledger.publishRelease({
          scope: organizationId,
          input: release,
          actor: PUBLISHER,
          known,
        });
      },
      () => {
        const serving = { status: 'published', rolloutPct: undefined, targets: null } as const;
        const source = { app, canonicalVersion: '1.0.0', from: 'stable', to: 'stable' };
        const promotion = { ...source, ...serving };
        return ledger.promoteRelease({
          scope: organizationId,
          input: promotion,
          actor: PUBLISHER,
          known,
        });
      },
      () => {
        const files = { artifacts: [], isComplete: () => false, holdOf: () => undefined };
        const announced = { name: named, version: '1.0.0', notes: '', host: HOST, isEdit: false };
        const announcement = { ...announced, ...files };
        return ledger.announceRelease(organizationId, announcement, PUBLISHER, known);
      },
      () => {
        const way = { way: 'deleted', isDraft: false } as const;
        const call = { ...way, host: HOST, reason: 'deleted' };
        return ledger.retractRelease(organizationId, named, call, PUBLISHER, known);
      },
      () =>
        ledger.controlServing({
          scope: organizationId,
          input: { ...named, transition: (serving) => ({ ...serving, status: 'paused' }) },
          actor: PUBLISHER,
          known,
        }),
      () =>
        ledger.withdrawRelease({ scope: organizationId, input: named, actor: PUBLISHER, known }),
      () =>
        ledger.updateChannel({
          input: { app, channel: 'stable', change: { defaultRollout: 5 } },
          actor: OPERATOR,
          known,
        }),
    ];
  }

  test('the epoch rises above what was seen, once for all who raise it at the same time', async () => {
    const { tenant } = await furnish();
    const { epoch } = await readStable(ledger, tenant);
    const raised = await Promise.all(Array.from({ length: 8 }, () => ledger.raiseEpoch(epoch)));
    expect(raised.filter(({ isRaised }) => isRaised)).toHaveLength(1);
    expect(new Set(raised.map((each) => each.epoch))).toEqual(new Set([epoch + 1]));
    expect(await readStable(ledger, tenant)).toMatchObject({ epoch: epoch + 1, revision: 2 });
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
    expect(await readStable(ledger, tenant)).toMatchObject({
      revision: 2,
      releases: [{ offered: true }],
    });
    expect((await readStable(ledger, other.tenant)).releases[0]?.offered).toBe(false);
  });

  test('a change of a channel that is known as it is, or as it was, is accepted', async () => {
    const { tenant, releaseId, known, channelId } = await furnish();
    await ledger.restoreOffers(channelId, [releaseId]);
    const older = { ...known, revision: 1, ...offering(releaseId, 'rel_lost') };
    for (const change of changesOf(tenant, older)) await expect(change()).resolves.toBeDefined();
  });

  test.each<[string, (known: KnownState) => KnownState]>([
    ['a later revision', (known) => ({ ...known, revision: known.revision + 1 })],
    ['a later epoch', (known) => ({ ...known, epoch: known.epoch + 1, revision: 0 })],
  ])('a change of a channel of which %s is known is not accepted', async (_what, later) => {
    const { tenant, known } = await furnish();
    for (const change of changesOf(tenant, later(known))) {
      await expect(change()).rejects.toBeInstanceOf(LedgerBehind);
    }
    expect(await readStable(ledger, tenant)).toMatchObject({ revision: 2, releases: [{}] });
  });

  test('a change of a channel with a release that is known to be offered needs the mark', async () => {
    const { tenant, known, releaseId, channelId } = await furnish();
    const offered = { ...known, ...offering(releaseId) };
    for (const change of changesOf(tenant, offered)) {
      await expect(change()).rejects.toBeInstanceOf(LedgerBehind);
    }
    await ledger.restoreOffers(channelId, [releaseId]);
    for (const change of changesOf(tenant, offered)) {
      await expect(change()).resolves.toBeDefined();
    }
  });

  test('what another database left under the same name is no reason', async () => {
    const { tenant, known } = await furnish({ channelId: 'chn_other' });
    const later = { ...known, epoch: known.epoch + 1 };
    for (const change of changesOf(tenant, later)) await expect(change()).resolves.toBeDefined();
  });
}
