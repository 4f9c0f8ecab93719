// Rules by which devices are deleted that should never have come to the record.

import { expect, test } from 'vitest';
import { fail } from '../../../src/contract/failure.ts';
import type { AdoptionStep } from '../../../src/contract/resource.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import type { DevicePurge, PurgePlace } from '../../../src/store/fleet-ledger.ts';
import type { Actor } from '../../../src/store/ledger-terms.ts';
import { checkIn, HOUR_MS, iso, labelsOf, recount, START } from './fleet-fixture.ts';
import {
  createTenant,
  expectValue,
  OPERATOR,
  type TestTenant,
  tenantOfEach,
} from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const BEGIN: PurgePlace = { after: undefined, auditEntryId: undefined, devices: 0 };

export function describeFleetPurge({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  const record = (...checkIns: CheckIn[]) => ledger.recordCheckIns(checkIns);

  function purgeOf(tenant: TestTenant, more: Partial<DevicePurge> = {}): DevicePurge {
    const { appId: id, app: ref, organizationId } = tenant;
    return {
      app: { id, ref, organizationId },
      firstSeenAfter: iso(START),
      version: undefined,
      ...more,
    };
  }

  /** Purges to the end; returns the ids that were deleted. */
  async function purgeAll(purge: DevicePurge): Promise<string[]> {
    const purged: string[] = [];
    let place = BEGIN;
    do {
      const done = expectValue(await ledger.purgeDevices(purge, place, OPERATOR));
      purged.push(...done.purged);
      place = done.place;
    } while (place.after !== undefined);
    expect(place.devices).toBe(purged.length);
    return purged.sort();
  }

  const rowsOf = (table: string, { appId }: TestTenant) =>
    database.query(`SELECT 1 AS one FROM ${table} WHERE app_id = $1`, [appId]);

  test('devices first seen after a time go, with their history and their part in the counts', async () => {
    const [tenant, other] = [await createTenant(ledger), await createTenant(ledger)];
    const late = { at: START + 1 };
    const a = checkIn(tenant, 'a', { ...late, labels: labelsOf({ ring: 'inner' }) });
    await record(checkIn(tenant, 'old'), a, checkIn(tenant, 'b', late));
    await record(
      checkIn(tenant, 'b', { at: START + 2, version: '2.0.0' }),
      checkIn(other, 'a', late),
    );
    expect(await purgeAll(purgeOf(tenant))).toEqual(['a', 'b']);
    expect(await tenant.deviceIds()).toEqual(['old']);
    expect(await other.deviceIds()).toEqual(['a']);
    expect(await rowsOf('device_versions', tenant)).toEqual([]);
    expect(expectValue(await ledger.readFleet(tenant.app))).toEqual(
      await recount(database, tenant),
    );
    const hours = expectValue(await ledger.readAdoption(tenant.app, iso(START)));
    expect(hours).toMatchObject([{ hour: iso(START), version: '1.0.0', devices: 1 }]);
    // A device that comes back begins a new record.
    expect(await ledger.readLabels([a])).toMatchObject([{ revision: 0, isRecorded: false }]);
    const labels = labelsOf({ site: 'outer' });
    await record(checkIn(tenant, 'a', { at: START + 3, labels }));
    expect(await ledger.readLabels([a])).toMatchObject([{ revision: 1, labels }]);
  });

  test('of a version, only the devices that run it go', async () => {
    const at = START + 1;
    await record(
      checkIn(tenant, 'a', { at, version: '6.6.6' }),
      checkIn(tenant, 'b', { at, version: '1.0.0' }),
      checkIn(tenant, 'c', { at, version: undefined }),
      checkIn(tenant, 'd', { at: START, version: '6.6.6' }),
    );
    expect(await purgeAll(purgeOf(tenant, { version: '6.6.6' }))).toEqual(['a']);
    expect(await purgeAll(purgeOf(tenant, { version: '' }))).toEqual(['c']);
    expect(await tenant.deviceIds()).toEqual(['b', 'd']);
  });

  test('the hour, day and month in which a device was last seen lose it, earlier ones keep it', async () => {
    const read = async (step: AdoptionStep) => {
      const wanted = { since: iso(START), step, channel: undefined };
      const points = await ledger.readAdoptionSteps(tenant.appId, wanted);
      return points.map(({ at, version, devices }) => [at, version, devices]);
    };
    const day = 24 * HOUR_MS;
    await record(checkIn(tenant, 'a', { at: START + 1 }), checkIn(tenant, 'b', { at: START }));
    for (const hour of [1, 25, 26]) {
      const at = START + hour * HOUR_MS;
      await record(checkIn(tenant, 'a', { at, version: `2.${hour}.0` }));
    }
    await record(checkIn(tenant, 'b', { at: START + day }));
    expect(await read('month')).toEqual([
      ['2026-03-01T00:00:00.000Z', '1.0.0', 1],
      ['2026-03-01T00:00:00.000Z', '2.26.0', 1],
    ]);
    await purgeAll(purgeOf(tenant));
    expect(await read('hour')).toEqual([
      [iso(START), '1.0.0', 2],
      [iso(START + HOUR_MS), '2.1.0', 1],
      [iso(START + day), '1.0.0', 1],
      [iso(START + 25 * HOUR_MS), '2.25.0', 1],
    ]);
    expect(await read('day')).toEqual([
      [iso(START), '1.0.0', 1],
      [iso(START), '2.1.0', 1],
      [iso(START + day), '1.0.0', 1],
    ]);
    expect(await read('month')).toEqual([['2026-03-01T00:00:00.000Z', '1.0.0', 1]]);
    await record(checkIn(tenant, 'a', { at: START + day, version: '3.0.0' }));
    expect((await read('day')).slice(2)).toEqual([
      [iso(START + day), '1.0.0', 1],
      [iso(START + day), '3.0.0', 1],
    ]);
  });

  test('a purge works in parts, and has one entry in the audit; a count deletes nothing and tells as much', async () => {
    const ids = Array.from({ length: 2500 }, (_, index) => `d${String(index).padStart(4, '0')}`);
    await record(...ids.map((id, index) => checkIn(tenant, id, { at: START + (index % 2) })));
    const places: unknown[] = [];
    let devices = 0;
    for (let after: string | undefined; ; ) {
      const counted = await ledger.countPurgeable(purgeOf(tenant), after);
      devices += counted.devices;
      places.push(counted.after);
      after = counted.after;
      if (after === undefined) break;
    }
    expect([devices, places]).toEqual([1250, ['d0999', 'd1999', undefined]]);
    expect(await rowsOf('devices', tenant)).toHaveLength(2500);
    expect(await purgeAll(purgeOf(tenant))).toHaveLength(1250);
    expect(await purgeAll(purgeOf(tenant))).toEqual([]);
    expect(expectValue(await ledger.readFleet(tenant.app))).toMatchObject([{ devices: 1250 }]);
    // One entry of the audit, with all that was deleted; a purge that deletes nothing has none.
    const page = expectValue(
      await ledger.listAudit(tenant.organizationId, { action: 'device', limit: 10 }),
    );
    expect(page.entries).toMatchObject([
      {
        action: 'device.purge',
        subject: tenant.app,
        before: null,
        after: { firstSeenAfter: iso(START), version: null, devices: 1250 },
      },
    ]);
  });

  test('who lost the right deletes nothing', async () => {
    await record(checkIn(tenant, 'a', { at: START + 1 }));
    const gone: Actor = {
      kind: 'account',
      email: 'gone@example.com',
      accountId: 'acc_gone',
      tokenHash: 'none',
      needs: { organizationId: tenant.organizationId, role: 'owner', unknown: 'unknownApp' },
    };
    const done = await ledger.purgeDevices(purgeOf(tenant), BEGIN, gone);
    expect(done).toEqual(fail('signedOut'));
    expect(await tenant.deviceIds()).toEqual(['a']);
  });

  test('while devices ask, the counts are those of the rows', async () => {
    const batchOf = (turn: number) =>
      Array.from({ length: 200 }, (_, index) =>
        checkIn(tenant, `d${(index * 7 + turn * 13) % 300}`, {
          at: START + 1 + turn,
          version: `${1 + (turn % 2)}.0.0`,
          channel: turn % 3 === 0 ? 'beta' : 'stable',
        }),
      );
    // As many at once as each find a connection.
    for (const first of [0, 8, 16]) {
      const turns = Array.from({ length: 8 }, (_, index) => first + index);
      await Promise.all(
        turns.map(
          async (turn): Promise<unknown> =>
            turn % 4 === 3 ? purgeAll(purgeOf(tenant)) : record(...batchOf(turn)),
        ),
      );
    }
    expect(expectValue(await ledger.readFleet(tenant.app))).toEqual(
      await recount(database, tenant),
    );
    const hours = expectValue(await ledger.readAdoption(tenant.app, iso(START)));
    const sum = hours.reduce((total, { devices }) => total + devices, 0);
    expect(sum).toBe((await rowsOf('devices', tenant)).length);
    const wanted = { since: iso(START), step: 'day', channel: undefined } as const;
    const days = await ledger.readAdoptionSteps(tenant.appId, wanted);
    expect(days.reduce((total, { devices }) => total + devices, 0)).toBe(sum);
  });
}
