// Rules by which a device is erased on request: what goes, what stays, and what does not bring it back.

import { expect, test } from 'vitest';
import { fail } from '../../../src/contract/failure.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import { checkIn, iso, labelsOf, NO_BOUNDS, recount, START } from './fleet-fixture.ts';
import { createTenant, expectValue, PUBLISHER, type TestTenant } from './ledger-fixture.ts';
import { BEGIN, DAY_MS, furnish } from './signal-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const SLACK_MS = 250;

export function describeFleetErasure({ database, ledger }: LedgerUnderTest): void {
  const record = (...checkIns: CheckIn[]) => ledger.recordCheckIns(checkIns);
  const erase = ({ organizationId, app }: TestTenant, deviceId: string) =>
    ledger.eraseDevice(organizationId, app, deviceId, SLACK_MS, PUBLISHER);

  /** Number of rows, of all tables that have a column of device ids, that name the device. */
  async function rowsNaming(deviceId: string): Promise<Record<string, number>> {
    const tables = await database.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.columns
       WHERE column_name = 'device_id' AND table_schema = current_schema()`,
    );
    const counts: Record<string, number> = {};
    for (const { name } of tables) {
      const found = await database.query(`SELECT FROM ${name} WHERE device_id = $1`, [deviceId]);
      if (found.length > 0) counts[name] = found.length;
    }
    return counts;
  }

  test('no table names it any more; counts of hours stay, those of the present lose it', async () => {
    const tenant = await createTenant(ledger);
    const labels = labelsOf({ ring: 'a' });
    const at = START + 1;
    await record(checkIn(tenant, 'erased-1', { labels }), checkIn(tenant, 'other'));
    await record(checkIn(tenant, 'erased-1', { at, version: '2.0.0' }));
    await ledger.recordAwaited([checkIn(tenant, 'erased-1', { version: '3.0.0' })]);
    expect(Object.keys(await rowsNaming('erased-1')).length).toBeGreaterThan(2);
    const hours = expectValue(await ledger.readAdoption(tenant.app, iso(START)));
    expect(await erase(tenant, 'erased-1')).toBeUndefined();
    expect(await rowsNaming('erased-1')).toEqual({});
    expect(await tenant.deviceIds()).toEqual(['other']);
    expect(expectValue(await ledger.readAdoption(tenant.app, iso(START)))).toEqual(hours);
    expect(expectValue(await ledger.readFleet(tenant.app))).toEqual(
      await recount(database, tenant),
    );
    const [stored] = await ledger.readLabels([{ appId: tenant.appId, deviceId: 'erased-1' }]);
    expect(stored).toMatchObject({ revision: 0, isRecorded: false });
  });

  test('the health of releases loses its offer, installation, way back and failure', async () => {
    const { tenant, name } = await furnished();
    const { organizationId: scope } = tenant;
    const before = expectValue(await ledger.readHealth(scope, name));
    expect(before).toMatchObject({ offered: 2, installed: 2, reverted: 2, failed: 2 });
    await erase(tenant, 'one');
    const after = expectValue(await ledger.readHealth(scope, name));
    expect(after).toMatchObject({ offered: 1, installed: 1, reverted: 1, failed: 1 });
  });

  /** Two devices that were offered 1.0.0, could not install it, did so in the end, and went back. */
  async function furnished() {
    const { tenant, release } = await furnish({ ledger, database });
    for (const deviceId of ['one', 'two']) {
      const device = { at: BEGIN, version: '0.9.0' };
      const at = BEGIN + DAY_MS;
      await record(checkIn(tenant, deviceId, device));
      await record(
        checkIn(tenant, deviceId, { at: at + 1, version: '0.9.0', offeredReleaseId: release.id }),
      );
      await ledger.recordFailures([
        {
          ...{ appId: tenant.appId, channel: 'stable', deviceId, runs: '0.9.0' },
          ...{ canonicalVersion: '1.0.0', reason: 'disk', network: undefined },
        },
      ]);
      await record(checkIn(tenant, deviceId, { at: at + 2, version: '1.0.0' }));
      await record(checkIn(tenant, deviceId, { at: at + 3, version: '0.9.0' }));
    }
    return { tenant, name: { app: tenant.app, channel: 'stable', canonicalVersion: '1.0.0' } };
  }

  test('check-ins received before do not bring it back, later ones make a new device', async () => {
    const tenant = await createTenant(ledger);
    const before = await ledger.readTime();
    const labels = labelsOf({ ring: 'a' });
    await record(checkIn(tenant, 'a', { at: before - 2000, version: '1.0.0' }));
    await erase(tenant, 'a');
    const late = checkIn(tenant, 'a', { at: before, version: '2.0.0', labels });
    await record(late, checkIn(tenant, 'b', { at: before }));
    const recorded = await ledger.recordChecks([late], 'queued', NO_BOUNDS, undefined, 'a writer');
    expect(recorded.labels).toEqual([]);
    // Whoever remembers what is on record is told that this is not what it sent.
    expect(recorded.left).toMatchObject([{ deviceId: 'a' }]);
    expect(recorded.left[0]?.seenAt).toBeGreaterThan(before);
    expect(await tenant.deviceIds()).toEqual(['b']);
    await ledger.recordAwaited([checkIn(tenant, 'a', { version: '3.0.0' })]);
    await record(late);
    const device = await tenant.device('a');
    expect(device).toMatchObject({ version: '3.0.0', labels: {}, history: [{ to: '3.0.0' }] });
    expect(Date.parse(device.firstSeen)).toBeGreaterThanOrEqual(Math.floor(before));
    expect(expectValue(await ledger.readFleet(tenant.app))).toEqual(
      await recount(database, tenant),
    );
  });

  test('labels sent before do not come back with a later check-in that they were merged into', async () => {
    const tenant = await createTenant(ledger);
    const before = await ledger.readTime();
    await record(checkIn(tenant, 'a', { at: before - 2000 }));
    await erase(tenant, 'a');
    const old = checkIn(tenant, 'a', { at: before, labels: labelsOf({ ring: 'a' }) });
    const after = before + 10_000;
    const later = checkIn(tenant, 'a', { at: after, labels: labelsOf({ site: 'b' }) });
    await record(old, later);
    expect(await tenant.device('a')).toMatchObject({ labels: { site: 'b' } });
    // Also of a device that is on record again, and where nothing else was sent.
    await record(old, checkIn(tenant, 'a', { at: after + 1000 }));
    const { labels } = await tenant.device('a');
    expect(labels).toEqual({ site: 'b' });
  });

  test('what waited in a queue is recorded again from the time on that counts as later', async () => {
    const tenant = await createTenant(ledger);
    await record(checkIn(tenant, 'a'));
    await erase(tenant, 'a');
    const rows = await database.query<{ ms: number }>(
      `UPDATE erased_devices SET erased_at = erased_at - interval '1 hour' WHERE app_id = $1
       RETURNING (extract(epoch FROM erased_at) * 1000)::float8 AS ms`,
      [tenant.appId],
    );
    const ms = rows[0]?.ms ?? 0;
    await record(checkIn(tenant, 'a', { at: ms }));
    expect(await tenant.deviceIds()).toEqual([]);
    await record(checkIn(tenant, 'a', { at: ms + 1 }));
    expect(await tenant.deviceIds()).toEqual(['a']);
    await record(checkIn(tenant, 'a', { at: ms - 1, version: '0.1.0' }));
    expect(Date.parse((await tenant.device('a')).firstSeen)).toBe(ms + 1);
  });

  test('the audit has a hash of the id, the same each time, and never the id', async () => {
    const [tenant, other] = [await createTenant(ledger), await createTenant(ledger)];
    for (const each of [tenant, other]) {
      await ledger.recordAwaited([checkIn(each, 'a')]);
      await erase(each, 'a');
    }
    await ledger.recordAwaited([checkIn(tenant, 'a')]);
    await erase(tenant, 'a');
    const hash = { device: expect.stringMatching(/^[0-9a-f]{64}$/) };
    const [second, first] = await tenant.audit();
    expect(first).toMatchObject({ action: 'device.erase', subject: tenant.app, before: hash });
    expect(second?.before).toEqual(first?.before);
    expect((await other.audit())[0]?.before).not.toEqual(first?.before);
  });

  test('one that is not on record, or of another organization, is unknown', async () => {
    const [tenant, stranger] = [await createTenant(ledger), await createTenant(ledger)];
    await record(checkIn(tenant, 'a'));
    expect(await erase(tenant, 'b')).toEqual(fail('unknownDevice'));
    expect(await erase(stranger.with({ app: tenant.app }), 'a')).toEqual(fail('unknownApp'));
    expect(await tenant.deviceIds()).toEqual(['a']);
    expect((await tenant.audit())[0]?.action).not.toBe('device.erase');
  });

  test('erasures among writers: the counts are those of a recount, and no erased device is back', async () => {
    const tenant = await createTenant(ledger);
    const at = await ledger.readTime();
    const ids = Array.from({ length: 40 }, (_, index) => `d${index}`);
    await record(...ids.map((id) => checkIn(tenant, id, { at: at - 5000 })));
    const gone = ids.filter((_, index) => index % 2 === 0);
    const writes = Array.from({ length: 8 }, (_, turn) =>
      record(...ids.map((id) => checkIn(tenant, id, { at: at - turn, version: `2.${turn}.0` }))),
    );
    await Promise.all([...writes, ...gone.map((id) => erase(tenant, id))]);
    await record(...ids.map((id) => checkIn(tenant, id, { at })));
    expect((await tenant.deviceIds()).sort()).toEqual(
      ids.filter((id) => !gone.includes(id)).sort(),
    );
    expect(expectValue(await ledger.readFleet(tenant.app))).toEqual(
      await recount(database, tenant),
    );
  });
}
