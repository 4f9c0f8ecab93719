// Rules by which the fleet's record forgets. The sweep is for all apps, so these tests use years of their
// own.

import { expect, test } from 'vitest';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import { checkIn, HOUR_MS, iso, recount, START } from './fleet-fixture.ts';
import { expectValue, tenantOfEach } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const LONG_AGO = Date.UTC(2001, 0, 1);
const NEVER = iso(0);

export function describeFleetSweep({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  const record = (...checkIns: CheckIn[]) => ledger.recordCheckIns(checkIns);

  test('devices silent since before go with their history, the counts follow, the others stay', async () => {
    const old = { at: LONG_AGO };
    await record(checkIn(tenant, 'a', old), checkIn(tenant, 'b', old), checkIn(tenant, 'c', old));
    await record(checkIn(tenant, 'a', { at: LONG_AGO + 1, version: '2.0.0' }));
    await record(checkIn(tenant, 'c', { at: LONG_AGO + HOUR_MS, version: '2.0.0' }));
    await record(checkIn(tenant, 'd', { version: '2.0.0' }));
    // At most so many go at a time, until none is left.
    for (const [devices, limit] of [
      [1, 1],
      [1, 1],
      [0, 1000],
    ] as const) {
      const swept = await ledger.sweepFleet(iso(LONG_AGO + HOUR_MS), NEVER, limit);
      expect(swept).toEqual({ devices, hours: 0 });
    }
    expect(await tenant.deviceIds()).toEqual(['c', 'd']);
    const counted = expectValue(await ledger.readFleet(tenant.app));
    expect(counted).toEqual(await recount(database, tenant));
    const of = (table: string) =>
      database.query(`SELECT 1 AS one FROM ${table} WHERE app_id = $1`, [tenant.appId]);
    // One version of `c` and the cell of 2.0.0 are left; rows that became empty are gone.
    expect(await of('device_versions')).toHaveLength(1);
    expect(await of('fleet_counts')).toHaveLength(1);
    // A device that comes back begins a new record.
    await record(checkIn(tenant, 'a'));
    expect(expectValue(await ledger.readDevice(tenant.app, 'a'))).toMatchObject({
      firstSeen: iso(START),
      history: [{ at: iso(START), from: null, to: '1.0.0' }],
    });
    expect(await ledger.sweepFleet(iso(LONG_AGO + 2 * HOUR_MS), NEVER, 100)).toMatchObject({
      devices: 1,
    });
  });

  test('hours before go, oldest first; later ones and the devices stay', async () => {
    // Removes the rows that other tests left of these years.
    await ledger.sweepFleet(iso(LONG_AGO + 9 * HOUR_MS), iso(LONG_AGO + 9 * HOUR_MS), 1000);
    for (const hour of [2, 0, 1, 3]) {
      await record(checkIn(tenant, `device ${hour}`, { at: LONG_AGO + hour * HOUR_MS }));
    }
    const before = iso(LONG_AGO + 3 * HOUR_MS);
    const hoursLeft = async () => {
      const series = expectValue(await ledger.readAdoption(tenant.app, NEVER));
      return series.map(({ hour }) => (Date.parse(hour) - LONG_AGO) / HOUR_MS);
    };
    expect(await ledger.sweepFleet(NEVER, before, 2)).toEqual({ devices: 0, hours: 2 });
    expect(await hoursLeft()).toEqual([2, 3]);
    expect(await ledger.sweepFleet(NEVER, before, 2)).toEqual({ devices: 0, hours: 1 });
    expect(await hoursLeft()).toEqual([3]);
    expect(await tenant.deviceIds()).toHaveLength(4);
  });

  test('days and months go that were over before, those that had begun stay', async () => {
    const days = [0, 1, 35, 36].map((day) => LONG_AGO + day * 24 * HOUR_MS);
    for (const [index, at] of days.entries())
      await record(checkIn(tenant, `device ${index}`, { at }));
    const left = async (step: 'day' | 'month') => {
      const wanted = { since: NEVER, step, channel: undefined };
      const points = await ledger.readAdoptionSteps(tenant.appId, wanted);
      return points.map(({ at }) => at.slice(0, 10));
    };
    expect(await left('day')).toEqual(['2001-01-01', '2001-01-02', '2001-02-05', '2001-02-06']);
    expect(await left('month')).toEqual(['2001-01-01', '2001-02-01']);
    await ledger.sweepFleet(NEVER, iso(LONG_AGO + 30 * HOUR_MS), 1000);
    expect(await left('day')).toEqual(['2001-01-02', '2001-02-05', '2001-02-06']);
    expect(await left('month')).toEqual(['2001-01-01', '2001-02-01']);
    await ledger.sweepFleet(NEVER, iso(LONG_AGO + 36 * 24 * HOUR_MS), 1000);
    expect(await left('day')).toEqual(['2001-02-06']);
    expect(await left('month')).toEqual(['2001-02-01']);
  });
}
