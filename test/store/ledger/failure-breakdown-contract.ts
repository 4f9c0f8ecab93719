// Rules of what the console tells of a release's failures: where the devices
// are, why they failed, which they are, and how the release spreads beside the one before.

import { describe, expect, test } from 'vitest';
import type { Signal } from '../../../src/contract/rollout-plan.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import { USUAL_KEEPING } from '../../../src/store/ledger/fleet/check-ins.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
import { writeInBulk } from '../../support/write-in-bulk.ts';
import { HOUR_MS, iso, MINUTE_MS } from './fleet-fixture.ts';
import { expectValue, type TestTenant } from './ledger-fixture.ts';
import { BEGIN, checkIn, DAY_MS, furnish, publishAt } from './signal-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

export function describeFailureBreakdown({ database }: LedgerUnderTest): void {
  describe('failure breakdown of a release', () => {
    const ledger = createSqlLedger(database, undefined, {
      ...USUAL_KEEPING,
      freshnessMs: MINUTE_MS,
    });
    const nameOf = ({ app }: TestTenant, canonicalVersion = '1.0.0') => ({
      ...{ app, channel: 'stable', canonicalVersion },
    });

    async function readFailureBreakdown(tenant: TestTenant) {
      return expectValue(await ledger.readFailureBreakdown(tenant.organizationId, nameOf(tenant)));
    }

    function fail(tenant: TestTenant, ids: readonly string[], reason: string, network?: string) {
      return ledger.recordFailures(
        ids.map((deviceId) => ({
          ...{ appId: tenant.appId, channel: 'stable', deviceId, runs: '0.9.0', reason, network },
          canonicalVersion: '1.0.0',
        })),
      );
    }

    /** Ids of all devices that show a signal, page by page. */
    async function listAll(tenant: TestTenant, signal: Signal, limit = 2, platform?: string) {
      const ids: string[] = [];
      let after: string | undefined;
      for (let pages = 0; pages < 100; pages++) {
        const { devices, next } = expectValue(
          await ledger.listSignalDevices(tenant.organizationId, nameOf(tenant), signal, {
            ...{ limit, after, platform },
          }),
        );
        ids.push(...devices.map(({ deviceId }) => deviceId));
        if (next === null) return ids.sort();
        after = next;
      }
      throw new Error('The list does not end');
    }

    /**
     * Eight devices from two versions and two platforms: two are stuck, one silent, two left, one failed, two
     * are well.
     */
    async function liveThrough() {
      const { tenant, offer } = await furnish({ ledger, database });
      const at = BEGIN + DAY_MS + MINUTE_MS;
      const devices: readonly [string, Partial<CheckIn>][] = [
        ['stuck 1', { platform: 'windows', version: '0.9.0' }],
        ['stuck 2', { platform: 'windows', version: '0.8.0' }],
        ['silent', { platform: 'linux', version: '0.9.0' }],
        ['left 1', { platform: 'linux', version: '0.8.0' }],
        ['left 2', { platform: 'linux', version: '0.8.0' }],
        ['failed', { platform: 'windows', version: '0.9.0' }],
        ['well 1', { platform: 'linux', version: '0.9.0' }],
        ['well 2', { platform: 'windows', version: '0.9.0', channel: 'beta' }],
      ];
      const record = (ids: RegExp, parts: Partial<CheckIn>) =>
        ledger.recordCheckIns(
          devices
            .filter(([id]) => ids.test(id))
            .map(([id, was]) => checkIn(tenant, id, { ...was, ...parts })),
        );
      const { offeredReleaseId } = offer;
      await record(/./, {});
      await record(/./, { offeredReleaseId, at });
      await record(/left|well/, { version: '1.0.0', at: at + HOUR_MS });
      await record(/left/, { at: at + 2 * HOUR_MS });
      await fail(tenant, ['failed'], 'disk full');
      await record(/stuck|left/, { at: Date.now() });
      await record(/failed/, { at: at + 3 * HOUR_MS });
      await record(/well/, { version: '1.0.0', at: Date.now() });
      return tenant;
    }

    test('the page of a device tells what a release has done with it, from offer to failure', async () => {
      const { tenant, offer } = await furnish({ ledger, database });
      const at = BEGIN + DAY_MS + HOUR_MS;
      await ledger.recordCheckIns([checkIn(tenant, 'a', { version: '0.9.0' })]);
      await ledger.recordCheckIns([checkIn(tenant, 'a', { ...offer, at })]);
      await fail(tenant, ['a'], 'disk full');
      expect(await ledger.listDeviceReleases(tenant.appId, 'a')).toEqual([
        {
          ...{ version: '1.0.0', channel: 'stable', status: 'published' },
          ...{ offeredAt: iso(at), installedAt: null, revertedAt: null },
          ...{ failedAt: expect.any(String), failedReason: 'disk full' },
        },
      ]);
      expect(await ledger.listDeviceReleases(tenant.appId, 'nobody')).toEqual([]);
    });

    test('each signal is told by platform, and by the version that the devices had before', async () => {
      const tenant = await liveThrough();
      const { signals, scale } = await readFailureBreakdown(tenant);
      expect(scale).toBe(1);
      expect(signals.stuck).toEqual({
        ...{ devices: 2, base: 8 },
        platforms: {
          named: [
            { name: 'windows', devices: 2, base: 4 },
            { name: 'linux', devices: 0, base: 4 },
          ],
          others: null,
        },
        versions: {
          named: [
            { name: '0.9.0', devices: 1, base: 5 },
            { name: '0.8.0', devices: 1, base: 3 },
          ],
          others: null,
        },
      });
      expect(signals.reverted).toMatchObject({
        ...{ devices: 2, base: 4 },
        versions: {
          named: [
            { name: '0.8.0', devices: 2, base: 2 },
            { name: '0.9.0', devices: 0, base: 2 },
          ],
        },
      });
      expect(signals.failed.platforms.named[0]).toEqual({ name: 'windows', devices: 1, base: 4 });
      // The one that failed was not seen since then either.
      expect(signals.silent).toMatchObject({ devices: 2, base: 8 });
    });

    test('the most frequent reasons are told, at most 20, of the failures that count in the health: of an address three', async () => {
      const { tenant, offer } = await furnish({ ledger, database });
      const ids = Array.from({ length: 40 }, (_, index) => `device ${index}`);
      const at = BEGIN + DAY_MS + MINUTE_MS;
      await ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id, {})));
      await ledger.recordCheckIns(ids.slice(1).map((id) => checkIn(tenant, id, { ...offer, at })));
      await fail(tenant, ['device 0'], 'was offered nothing');
      await fail(tenant, ids.slice(1, 5), '<b>disk full</b>');
      await fail(tenant, ids.slice(5, 7), '');
      // Of the same moment, all are on record: those before them are counted when a failure is recorded.
      await fail(tenant, ids.slice(7, 13), 'invented', '192.0.2.1');
      for (const id of ids.slice(13)) await fail(tenant, [id], `of ${id}`);
      const { signals, reasons } = await readFailureBreakdown(tenant);
      expect(reasons).toHaveLength(20);
      expect(reasons.slice(0, 3)).toMatchObject([
        { reason: '<b>disk full</b>', devices: 4 },
        { reason: 'invented', devices: 3 },
        { reason: null, devices: 2 },
      ]);
      expect(reasons[3]?.reason).toBe('of device 39');
      expect(Date.parse(reasons[3]?.at ?? '')).toBeGreaterThan(Date.now() - HOUR_MS);
      expect(signals.failed.devices).toBe(36);
      const health = await ledger.readHealth(tenant.organizationId, nameOf(tenant));
      expect(expectValue(health).failed).toBe(36);
    });

    test('the devices of each signal are listed page by page, as many as the health counts', async () => {
      const tenant = await liveThrough();
      const lists = {
        stuck: ['stuck 1', 'stuck 2'],
        silent: ['failed', 'silent'],
        reverted: ['left 1', 'left 2'],
        failed: ['failed'],
      };
      for (const [signal, ids] of Object.entries(lists) as [Signal, string[]][]) {
        expect(await listAll(tenant, signal, 1)).toEqual(ids);
        expect(await listAll(tenant, signal, 100)).toEqual(ids);
        const { signals } = await readFailureBreakdown(tenant);
        expect(signals[signal].devices).toBe(ids.length);
      }
      expect(await listAll(tenant, 'silent', 2, 'linux')).toEqual(['silent']);
    });

    test('a page of rare devices ends at a bound, and the next one goes on', async () => {
      const { tenant, release } = await furnish({ ledger, database });
      await writeInBulk(
        database,
        `WITH reached AS (
           INSERT INTO release_devices
             (app_id, device_id, release_id, known, pushed, offered_at, installed_at, reverted_at)
           SELECT $1, 'device ' || number, $2, CASE WHEN number % 2 = 0 THEN 1440 ELSE 2880 END, -1, now(),
             now(), CASE WHEN number % 12500 = 0 THEN now() END
           FROM generate_series(1, 25000) AS number
         ), counted AS (
           INSERT INTO release_signals (release_id, kind, part, known, pushed, at, devices)
           VALUES ($2, 'reached', 0, 1440, -1, 'epoch', 25000)
         )
         INSERT INTO devices (app_id, device_id, first_seen, last_seen, labels_revision, channel, version,
           platform, arch, source, client, bundle, labels, label_times)
         SELECT $1, 'device ' || number, now(), now(), 0, 'stable', '0.9.0', 'linux', 'x86_64', 'pull', '',
           '', '{}', '{}'
         FROM generate_series(1, 25000) AS number`,
        [tenant.appId, release.id],
      );
      const list = (after?: string) =>
        ledger.listSignalDevices(tenant.organizationId, nameOf(tenant), 'reverted', {
          ...{ limit: 10, after },
        });
      const first = expectValue(await list());
      const second = expectValue(await list(first.next ?? ''));
      expect(second.next).toBeNull();
      expect(first.devices.length).toBeLessThan(2);
      const found = [first, second].flatMap(({ devices }) => devices);
      expect(found.map(({ deviceId }) => deviceId).sort()).toEqual([
        ...['device 12500', 'device 25000'],
      ]);
    });

    test('a release is laid beside the one before it at the same age', async () => {
      const { tenant } = await furnish({ ledger, database });
      await publishAt(database, tenant, 'stable', '1.1.0', BEGIN + 5 * DAY_MS);
      const ids = Array.from({ length: 10 }, (_, index) => `device ${index}`);
      const record = (count: number, version: string, at: number) =>
        ledger.recordCheckIns(
          ids.slice(0, count).map((id) => checkIn(tenant, id, { version, at })),
        );
      await record(10, '0.9.0', BEGIN - DAY_MS);
      await record(4, '1.0.0', BEGIN + DAY_MS + 30 * MINUTE_MS);
      await record(9, '1.0.0', BEGIN + 2 * DAY_MS + 30 * MINUTE_MS);
      await record(2, '1.1.0', BEGIN + 5 * DAY_MS + 30 * MINUTE_MS);
      const read = async (version: string) =>
        expectValue(
          await ledger.readReleaseAdoption(tenant.organizationId, nameOf(tenant, version)),
        );
      const hoursAtLeast = begunHours(BEGIN + 5 * DAY_MS);
      const adoption = await read('1.1.0');
      expect(adoption).toMatchObject({
        ...{ release: { version: '1.1.0' }, before: { version: '1.0.0' } },
      });
      const { release, before } = adoption ?? {};
      // 15 days and a begun hour or two, in steps of two hours.
      const devicesAt = (hours: number) =>
        [release, before].map((curve) => curve?.ages.find((each) => each.hours === hours)?.devices);
      expect(devicesAt(2)).toEqual([2, 4]);
      expect(devicesAt(24)).toEqual([2, 4]);
      expect(devicesAt(26)).toEqual([2, 9]);
      expect(release?.ages.length).toBeLessThanOrEqual(240);
      const latest = release?.ages.at(-1);
      expect(latest).toEqual({ hours: latest?.hours, devices: 2, offered: 0 });
      expect(latest?.hours).toBeGreaterThanOrEqual(hoursAtLeast);
      expect(latest?.hours).toBeLessThanOrEqual(begunHours(BEGIN + 5 * DAY_MS));
      expect((await read('1.0.0'))?.before).toBeNull();
    });

    test('of a release from before signals were counted, no installation is told', async () => {
      const { tenant, release } = await furnish({ ledger, database });
      await publishAt(database, tenant, 'stable', '1.1.0', BEGIN + 5 * DAY_MS);
      await database.query('UPDATE releases SET is_watched = FALSE WHERE id = $1', [release.id]);
      await ledger.recordCheckIns([checkIn(tenant, 'a', { version: '0.9.0' })]);
      await ledger.recordCheckIns([
        checkIn(tenant, 'a', { version: '1.1.0', at: BEGIN + 6 * DAY_MS }),
      ]);
      const read = await ledger.readReleaseAdoption(tenant.organizationId, nameOf(tenant, '1.1.0'));
      expect(expectValue(read)).toMatchObject({ before: { version: '1.0.0', ages: [] } });
    });
  });
}

/** Returns how many hours have begun since the begin of an hour, which is one more after the next turn. */
function begunHours(since: number): number {
  return Math.floor((Date.now() - since) / HOUR_MS) + 1;
}
