// Rules of the parts of the fleet: which one a device belongs to, who wrote it last, and what becomes of
// hours that are over.

import { expect, test } from 'vitest';
import { DEVICE_PARTS, devicePart } from '../../../src/domain/decision/hashes.ts';
import type { CheckKind } from '../../../src/store/fleet-ledger.ts';
import { HOSTILE_TEXTS } from '../engine/fleet-sample.ts';
import { checkIn, HOUR_MS, iso, NO_BOUNDS, START } from './fleet-fixture.ts';
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

  test('the last writer of a part is on record, and the turns of all parts count by themselves', async () => {
    const { appId } = await createTenant(ledger);
    const ids = Array.from({ length: 200 }, (_, index) => `device ${index}`);
    const [here = '', there = ''] = [0, 1].map((part) =>
      ids.find((id) => devicePart(appId, id) === part),
    );
    const record = (id: string, kind: CheckKind, writer?: string) =>
      ledger.recordChecks([checkIn({ appId }, id)], kind, NO_BOUNDS, undefined, writer);
    const read = async () => (await ledger.readWriters([0, 1])).toSorted((a, b) => a.part - b.part);
    const before = await read();
    await record(there, 'queued', 'another');
    const turns: [writer: string | undefined, more: number][] = [
      ['one', 1],
      ['one', 0],
      ['two', 1],
      // Who does not cache what it wrote has no name, and ends the turn of the one that does.
      [undefined, 1],
      [undefined, 0],
      ['one', 1],
    ];
    let count = before[0]?.turns ?? 0;
    for (const [writer, more] of turns) {
      await record(here, 'queued', writer);
      count += more;
      expect((await read())[0]).toMatchObject({ writer: writer ?? '', turns: count });
    }
    // What a waiting caller writes is read by its number: it ends no turn.
    await record(here, 'awaited', 'three');
    const [now, other] = await read();
    expect(now).toMatchObject({
      writer: 'one',
      turns: count,
      awaited: (before[0]?.awaited ?? 0) + 1,
    });
    expect(other).toEqual({
      ...before[1],
      ...{ writer: 'another', turns: (before[1]?.turns ?? 0) + 1 },
    });
    const since = [before[0]?.awaited ?? 0];
    expect(await ledger.readAwaited([0], since, 1)).toEqual([{ appId, deviceId: here }]);
    expect(await ledger.readAwaited([0], since, 0)).toBeUndefined();
    expect(await ledger.readAwaited([0], [now?.awaited ?? 0], 1)).toEqual([]);
  });
}
