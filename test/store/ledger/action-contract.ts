// Rules by which the ledger keeps the actions of devices that speak DDI.

import { expect, test } from 'vitest';
import type { ActionWrite } from '../../../src/store/action-store.ts';
import { checkIn } from './fleet-fixture.ts';
import { createTenant, PUBLISHER, type TestTenant } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

function write(
  { appId }: TestTenant,
  deviceId: string,
  revision: number,
  more: Partial<ActionWrite> = {},
): ActionWrite {
  const text = `actions ${revision}`;
  const changedAt = Date.now();
  return { appId, deviceId, revision, text, changedAt, barred: [], expected: undefined, ...more };
}

export function describeActions({ ledger, database }: LedgerUnderTest): void {
  /** Returns the revision on record of each device; undefined without actions, null without a record. */
  async function revisions({ appId }: TestTenant, ...ids: readonly string[]) {
    const read = await ledger.readActions(ids.map((deviceId) => ({ appId, deviceId })));
    return read.map(({ isRecorded, actions }) => (isRecorded ? actions?.revision : null));
  }
  async function recorded(...ids: readonly string[]): Promise<TestTenant> {
    const tenant = await createTenant(ledger);
    await ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id)));
    return tenant;
  }

  test('actions are of devices on record alone, and the highest revision stays', async () => {
    const tenant = await recorded('a', 'b');
    const first = [write(tenant, 'a', 2), write(tenant, 'stranger', 1), write(tenant, 'b', 1)];
    expect(await ledger.writeActions(first)).toEqual([true, false, true]);
    const second = [write(tenant, 'a', 1), write(tenant, 'b', 2)];
    expect(await ledger.writeActions(second)).toEqual([false, true]);
    expect(await revisions(tenant, 'b', 'stranger', 'a')).toEqual([2, null, 2]);
  });

  test('of two writes that expect the same revision, one is stored', async () => {
    const tenant = await recorded('a');
    for (const expected of [0, 2, 4]) {
      const attempts = [1, 2].map((more) =>
        ledger.writeActions([write(tenant, 'a', expected + more, { expected })]),
      );
      expect((await Promise.all(attempts)).flat().sort()).toEqual([false, true]);
      await ledger.writeActions([write(tenant, 'a', expected + 2)]);
    }
    expect(await revisions(tenant, 'a')).toEqual([6]);
  });

  test('every change is listed once, at its latest, in the order of the commits', async () => {
    const tenant = await recorded('a', 'b');
    const { newest: start } = await ledger.readActionChanges(undefined, 10);
    await ledger.writeActions([write(tenant, 'a', 1), write(tenant, 'b', 1)]);
    await ledger.writeActions([write(tenant, 'a', 2)]);
    const listed = async (after: number, limit: number) => {
      const { changed } = await ledger.readActionChanges(after, limit);
      return changed.map(({ deviceId, revision, text }) => [deviceId, revision, text]);
    };
    const [b, a] = [
      ['b', 1, 'actions 1'],
      ['a', 2, 'actions 2'],
    ];
    expect(await listed(start, 10)).toEqual([b, a]);
    expect(await listed(start, 1)).toEqual([b]);
    const { newest, epoch, changed } = await ledger.readActionChanges(start, 10);
    expect(changed.at(-1)?.position).toBe(newest);
    // What is not stored is no change.
    expect(await ledger.writeActions([write(tenant, 'a', 1)])).toEqual([false]);
    expect(await ledger.readActionChanges(newest, 10)).toEqual({ epoch, newest, changed: [] });
  });

  test('what a device did before it was erased does not come back', async () => {
    const tenant = await recorded('a');
    await ledger.writeActions([write(tenant, 'a', 1)]);
    const late = write(tenant, 'a', 2);
    await ledger.eraseDevice(tenant.organizationId, tenant.app, 'a', 250, PUBLISHER);
    expect(await revisions(tenant, 'a')).toEqual([null]);
    await ledger.recordAwaited([checkIn(tenant, 'a')]);
    expect(await ledger.writeActions([late])).toEqual([false]);
    expect(await revisions(tenant, 'a')).toEqual([undefined]);
  });

  test('releases are numbered in their app in the order of publishing, and no number comes again', async () => {
    const tenant = await createTenant(ledger);
    const numbers = () =>
      database
        .query<{ number: number }>(
          `SELECT number FROM releases JOIN channels ON channels.id = channel_id
           WHERE app_id = $1 ORDER BY releases.created_at`,
          [tenant.appId],
        )
        .then((rows) => rows.map(({ number }) => number));
    for (const version of ['1.0.0', '2.0.0']) await tenant.publish(version);
    expect(await numbers()).toEqual([1, 2]);
  });
}
