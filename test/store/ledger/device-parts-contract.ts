// Rules of the parts of the fleet: which one a device belongs to, and what becomes of hours that are over.

import { expect, test } from 'vitest';
import { DEVICE_PARTS, devicePart } from '../../../src/domain/decision/hashes.ts';
import { HOSTILE_TEXTS } from '../engine/fleet-sample.ts';
import { checkIn, HOUR_MS, iso, START } from './fleet-fixture.ts';
import { createTenant } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

export function describeDeviceParts({ database, ledger }: LedgerUnderTest): void {
  test('a device is in the part that this process computes, and in that partition', async () => {
    const tenant = await createTenant(ledger);
    const storable = HOSTILE_TEXTS.filter((text) => text !== '' && text.isWellFormed());
    const ids = [...storable, ...Array.from({ length: 200 }, (_, n) => 'é'.repeat(n % 60) + n)];
    await ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id)));
    const rows = await database.query<{ id: string; part: number; table: string }>(
      `SELECT device_id AS id, device_part(app_id, device_id) AS part, tableoid::regclass::text AS table
       FROM devices WHERE app_id = $1`,
      [tenant.appId],
    );
    expect(rows).toHaveLength(ids.length);
    for (const { id, part, table } of rows) {
      expect([id, part, table]).toEqual([id, devicePart(tenant.appId, id), `devices_${part}`]);
    }
    expect(new Set(rows.map(({ part }) => part)).size).toBe(DEVICE_PARTS);
  });

  test('hours that are over become one row a cell, and count as before', async () => {
    const tenant = await createTenant(ledger);
    for (const hour of [0, 1, 2]) {
      const at = START + hour * HOUR_MS;
      const ids = Array.from({ length: 100 }, (_, index) => `device ${index}`);
      await ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id, { at })));
    }
    const series = () => ledger.readAdoption(tenant.app, iso(START));
    const rows = () =>
      database.query('SELECT part FROM fleet_hour_parts WHERE app_id = $1', [tenant.appId]);
    const before = await series();
    expect((await rows()).length).toBeGreaterThan(3);
    await ledger.sweepFleet(iso(0), iso(0), 1000);
    expect(await rows()).toEqual([{ part: -1 }, { part: -1 }, { part: -1 }]);
    expect(await series()).toEqual(before);
  });
}
