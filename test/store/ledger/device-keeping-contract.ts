// Rules of how closely the ledger keeps devices: how far behind they may be, and how long their history is.

import { expect, test } from 'vitest';
import type { VersionChange } from '../../../src/contract/console-fleet.ts';
import { USUAL_KEEPING } from '../../../src/store/ledger/fleet/check-ins.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
import type { Ledger } from '../../../src/store/ledger.ts';
import { checkIn, HOUR_MS, iso, labelsOf, MINUTE_MS, placeOf, START } from './fleet-fixture.ts';
import { type TestTenant, tenantOfEach } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

/** Length of the longest history that the database has room for. */
const RING = 100;

export function describeDeviceKeeping({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  const keeping = (parts: Partial<typeof USUAL_KEEPING>) =>
    createSqlLedger(database, undefined, { ...USUAL_KEEPING, ...parts });
  const withHistory = (history: number) => keeping({ history });
  const slotsOf = ({ appId }: TestTenant) =>
    database.query<{ slot: number }>(
      'SELECT slot FROM device_versions WHERE app_id = $1 ORDER BY at DESC',
      [appId],
    );
  const storedOf = async (tenant: TestTenant) => (await slotsOf(tenant)).length;
  const historyOf = async (ledger: Ledger) => (await tenant.at(ledger).device('a')).history;

  test('a lastSeen is as far behind as the freshness, and a new hour is news', async () => {
    const ledger = keeping({ freshnessMs: 20 * MINUTE_MS });
    const labels = labelsOf({ ring: '1' });
    const record = (by: Ledger, at: number) =>
      by.recordCheckIns([checkIn(tenant, 'a', { labels, at })]);
    const lastSeen = async () => (await tenant.at(ledger).device('a')).lastSeen;
    await record(ledger, START);
    const place = await placeOf(database, tenant, 'a');
    await record(ledger, START + 20 * MINUTE_MS - 1);
    expect(await placeOf(database, tenant, 'a')).toBe(place);
    await record(ledger, START + 20 * MINUTE_MS);
    expect(await lastSeen()).toBe(iso(START + 20 * MINUTE_MS));
    await record(keeping({ freshnessMs: 10_000 }), START + 20 * MINUTE_MS + 10_000);
    expect(await lastSeen()).toBe(iso(START + 20 * MINUTE_MS + 10_000));
    await record(keeping({ freshnessMs: 86_400_000 }), START + HOUR_MS - 1);
    expect(await lastSeen()).toBe(iso(START + 20 * MINUTE_MS + 10_000));
    await record(keeping({ freshnessMs: 86_400_000 }), START + HOUR_MS);
    expect(await lastSeen()).toBe(iso(START + HOUR_MS));
  });

  test('a longer or shorter history never loses the newest, and makes no first version up', async () => {
    const [three, ten, all] = [withHistory(3), withHistory(10), withHistory(RING)];
    const last = { number: -1 };
    const changes = async (ledger: Ledger, count: number) => {
      for (let times = 0; times < count; times++) await change(ledger, tenant, ++last.number);
    };
    await changes(ten, 16);
    expect(await historyOf(three)).toEqual(newest(15, 3));
    expect(await historyOf(all)).toEqual(newest(15, 10));
    await changes(three, 1);
    expect(await historyOf(three)).toEqual(newest(16, 3));
    await sweepAll(three);
    expect(await storedOf(tenant)).toBe(3);
    // The first of them was not the device's first version.
    expect(await historyOf(all)).toEqual(newest(16, 3));
    await changes(ten, 4);
    expect(await historyOf(ten)).toEqual(newest(20, 7));
    await changes(all, 190);
    await changes(ten, 1);
    expect(await historyOf(ten)).toEqual(newest(211, 10));
    await changes(three, 1);
    expect(await historyOf(three)).toEqual(newest(212, 3));
    // The shorter history deleted one change, and did not come to those before it: nothing has a gap.
    expect(await historyOf(ten)).toEqual(newest(212, 3));
    await changes(ten, 10);
    expect(await historyOf(ten)).toEqual(newest(222, 10));
    await sweepAll(ten);
    expect(await historyOf(ten)).toEqual(newest(222, 10));
    expect(await storedOf(tenant)).toBe(10);
  });

  test('what is older goes in small parts, of each device, and no more', async () => {
    const [all, ten] = [withHistory(RING), withHistory(10)];
    const lasts = Object.entries({ a: 60, b: 105, c: 10, d: 11 });
    for (let number = 0; number <= 105; number++) {
      const changed = lasts.filter(([, last]) => number <= last);
      await all.recordCheckIns(changed.map(([id]) => ({ ...nth(tenant, number), deviceId: id })));
    }
    expect((await sweepAll(ten, 60)).length).toBeGreaterThan(2);
    expect(await storedOf(tenant)).toBe(40);
    for (const [id, last] of lasts) {
      expect((await tenant.at(ten).device(id)).history).toEqual(newest(last, 10));
    }
    await all.recordCheckIns([{ ...nth(tenant, 106), deviceId: 'b' }]);
    expect(await storedOf(tenant)).toBe(41);
    expect(await sweepAll(all)).toEqual([]);
    await sweepAll(withHistory(9));
    expect(await sweepAll(withHistory(9))).toEqual([]);
    expect(await storedOf(tenant)).toBe(36);
  });

  /** Sweeps until every change was looked at; returns how many each call deleted that deleted any. */
  async function sweepAll(ledger: Ledger, rowsMax = 50): Promise<number[]> {
    const counts: number[] = [];
    const [row] = await database.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM device_versions',
    );
    const turns = 2 + (2 * (row?.count ?? 0)) / rowsMax;
    for (let turn = 0; turn < turns; turn++) {
      const count = await ledger.trimHistories(rowsMax);
      expect(count).toBeLessThanOrEqual(rowsMax);
      if (count > 0) counts.push(count);
    }
    return counts;
  }
}

function nth(tenant: TestTenant, number: number) {
  return checkIn(tenant, 'a', { version: `1.0.${number}`, at: START + number });
}

async function change(ledger: Ledger, tenant: TestTenant, number: number): Promise<void> {
  await ledger.recordCheckIns([nth(tenant, number)]);
}

/** Returns the newest entries of the history of a device that has come to a version, newest first. */
function newest(last: number, count: number): readonly VersionChange[] {
  const numbers = Array.from({ length: last + 1 }, (_, index) => last - index);
  return numbers.slice(0, count).map((number) => ({
    at: iso(START + number),
    from: number === 0 ? null : `1.0.${number - 1}`,
    to: `1.0.${number}`,
  }));
}
