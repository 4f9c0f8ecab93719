// Rules of the signals that check-ins leave of a release (docs/contract.md
// 27.6).

import { describe, expect, test, vi } from 'vitest';
import type { Health } from '../../../src/contract/rollout-plan.ts';
import { type CheckIn, coalesceCheckIns } from '../../../src/domain/fleet/check-in.ts';
import { USUAL_GUARDS } from '../../../src/domain/rollout/judge-health.ts';
import { USUAL_KEEPING } from '../../../src/store/ledger/fleet/check-ins.ts';
import { readSignals } from '../../../src/store/ledger/rollout/rollout-signals.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
import { writeInBulk } from '../../support/write-in-bulk.ts';
import { chunksOf, HOUR_MS, iso, MINUTE_MS, randomFrom, shuffle } from './fleet-fixture.ts';
import { expectValue, OPERATOR, type TestTenant } from './ledger-fixture.ts';
import { BEGIN, checkIn, DAY_MS, furnish, publishAt } from './signal-fixture.ts';
import { type ModelRelease, SignalModel, VERSIONS } from './signal-model.ts';
import type { LedgerUnderTest } from './test-database.ts';

export function describeSignals({ database }: LedgerUnderTest): void {
  describe('signals of check-ins (§27.6)', () => {
    const ledger = createSqlLedger(database, undefined, {
      ...USUAL_KEEPING,
      freshnessMs: MINUTE_MS,
    });
    async function rollBack({ id }: ModelRelease): Promise<void> {
      await database.query(`UPDATE releases SET status = 'rolled_back' WHERE id = $1`, [id]);
    }

    async function health({ app, organizationId }: TestTenant, known = 0): Promise<Health> {
      const release = { app, channel: 'stable', canonicalVersion: '1.0.0' };
      return expectValue(await ledger.readHealth(organizationId, release, known));
    }

    async function kept({ appId }: TestTenant): Promise<Record<string, number>> {
      const rows = await database.query<{ cell: string; devices: number }>(
        `SELECT concat_ws(' ', release_id, kind, known, pushed,
           to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"')) AS cell,
           sum(devices)::integer AS devices
         FROM release_signals
         WHERE release_id IN (SELECT releases.id FROM releases
           JOIN channels ON channels.id = channel_id WHERE app_id = $1)
         GROUP BY cell`,
        [appId],
      );
      return Object.fromEntries(rows.map(({ cell, devices }) => [cell, devices]));
    }

    /** Counts anew from what is kept of each device. */
    async function recounted({ appId }: TestTenant): Promise<Record<string, number>> {
      const rows = await database.query<{ cell: string; devices: number }>(
        `SELECT concat_ws(' ', release_id, kind, known, pushed,
           to_char(date_trunc('hour', since, 'UTC') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"')
         ) AS cell, count(*)::integer AS devices
         FROM release_devices CROSS JOIN LATERAL (VALUES
           ('offered', offered_at), ('installed', installed_at), ('reverted', reverted_at),
           ('reached', 'epoch'::timestamptz)
         ) AS signal (kind, since)
         WHERE app_id = $1 AND since IS NOT NULL GROUP BY cell`,
        [appId],
      );
      return Object.fromEntries(rows.map(({ cell, devices }) => [cell, devices]));
    }

    test('of a release that is not watched, neither offer nor installation counts', async () => {
      const { tenant, release, offer } = await furnish({ ledger, database });
      await database.query('UPDATE releases SET is_watched = FALSE WHERE id = $1', [release.id]);
      const at = (minutes: number) => BEGIN + DAY_MS + minutes * MINUTE_MS;
      await ledger.recordCheckIns([checkIn(tenant, 'a', { version: '0.9.0' })]);
      await ledger.recordCheckIns([checkIn(tenant, 'a', { ...offer, at: at(1) })]);
      await ledger.recordCheckIns([checkIn(tenant, 'a', { version: '1.0.0', at: at(9) })]);
      expect(await kept(tenant)).toEqual({});
      expect(await recounted(tenant)).toEqual({});
    });

    function failures({ appId }: TestTenant, ids: readonly string[], network?: string) {
      return ledger.recordFailures(
        ids.map((deviceId) => ({
          ...{ appId, channel: 'stable', deviceId, runs: '0.9.0', network },
          ...{ canonicalVersion: '1.0.0', reason: 'disk full' },
        })),
      );
    }

    test('devices invented after the publishing, or an hour before it, move no rate', async () => {
      const { tenant, release, offer } = await furnish({ ledger, database });
      const { publishedAt } = release;
      const idsOf = (name: string, count: number) =>
        Array.from({ length: count }, (_, index) => `${name} ${index}`);
      const record = (ids: readonly string[], parts: Partial<CheckIn>) =>
        ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id, parts)));
      const real = idsOf('real', 50);
      await record(real, {});
      await record(real, { ...offer, at: publishedAt + MINUTE_MS });
      await record(real, { version: '1.0.0', at: publishedAt + HOUR_MS });
      const before = await health(tenant, 1440);
      for (const bornAt of [publishedAt - HOUR_MS, publishedAt + MINUTE_MS]) {
        const ids = idsOf(`from ${bornAt}`, 1000);
        await record(ids, { at: bornAt });
        await record(ids, { ...offer, at: publishedAt + 2 * MINUTE_MS });
        await record(ids.slice(0, 300), { version: '1.0.0', at: publishedAt + 3 * MINUTE_MS });
        await record(ids.slice(0, 100), { version: '0.9.0', at: publishedAt + 5 * MINUTE_MS });
        await failures(tenant, ids.slice(0, 100));
      }
      expect(before).toMatchObject({ offered: 50, installed: 50, failed: 0, reverted: 0 });
      expect(await health(tenant, 1440)).toEqual(before);
    });

    test('a failure that comes before its offer counts from the offer on (§27.9)', async () => {
      const { tenant, offer } = await furnish({ ledger, database });
      await ledger.recordCheckIns([checkIn(tenant, 'a', {})]);
      await failures(tenant, ['a'], '192.0.2.1');
      expect((await health(tenant)).failed).toBe(0);
      await ledger.recordCheckIns([checkIn(tenant, 'a', { ...offer, at: BEGIN + 2 * DAY_MS })]);
      expect((await health(tenant)).failed).toBe(1);
    });

    test('the share of silent ones among the other devices is taken off', async () => {
      const { tenant, offer } = await furnish({ ledger, database });
      const record = (prefix: string, count: number, parts: Partial<CheckIn>) =>
        ledger.recordCheckIns(
          Array.from({ length: count }, (_, index) =>
            checkIn(tenant, `${prefix} ${index}`, { version: '0.9.0', ...parts }),
          ),
        );
      for (const [prefix, count, channel] of [
        ['offered', 100, 'stable'],
        ['other', 60, 'stable'],
        ['follower', 40, 'beta'],
        ['gone', 100, 'stable'],
      ] as const) {
        await record(prefix, count, { channel });
      }
      const since = BEGIN + DAY_MS + MINUTE_MS;
      await record('offered', 100, { ...offer, at: since });
      await record('other', 60, { at: since });
      await record('follower', 40, { channel: 'beta', at: since });
      expect((await health(tenant)).rates.silent).toMatchObject({ percent: 0 });
      await record('other', 60, { at: Date.now() });
      expect(await health(tenant)).toMatchObject({
        silent: 100,
        rates: { silent: { percent: 60 } },
      });
    });

    test('devices that are swept or purged are not seen any more, and what they did stays', async () => {
      const { tenant, offer } = await furnish({ ledger, database });
      const ids = ['a', 'b', 'c'];
      await ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id, {})));
      const at = BEGIN + DAY_MS + MINUTE_MS;
      await ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id, { ...offer, at })));
      expect(await health(tenant)).toMatchObject({ offered: 3, silent: 3 });
      const { appId: id, app: ref, organizationId } = tenant;
      const purge = {
        app: { id, ref, organizationId },
        firstSeenAfter: iso(0),
        version: undefined,
      };
      const begin = { after: undefined, auditEntryId: undefined, devices: 0 };
      await ledger.recordCheckIns([checkIn(tenant, 'c', { at: at + HOUR_MS, channel: 'beta' })]);
      await ledger.sweepFleet(iso(at + 1), iso(0), 1000);
      expect(await health(tenant)).toMatchObject({ offered: 3, silent: 1 });
      expectValue(await ledger.purgeDevices(purge, begin, OPERATOR));
      expect(await health(tenant)).toMatchObject({ offered: 3, silent: 0 });
      expect(await recounted(tenant)).toEqual({});
    });

    test('90 days after a release was published, its signals go', async () => {
      const { tenant, release, offer } = await furnish({ ledger, database });
      await ledger.recordCheckIns([checkIn(tenant, 'a', {})]);
      await ledger.recordCheckIns([checkIn(tenant, 'a', { ...offer, at: BEGIN + 2 * DAY_MS })]);
      expect((await health(tenant)).offered).toBe(1);
      await database.query(
        `UPDATE releases SET published_at = fleet_time() - interval '91 days' WHERE id = $1`,
        [release.id],
      );
      await ledger.sweepFleet(iso(0), iso(0), 1000);
      expect((await health(tenant)).offered).toBe(0);
      for (const table of ['release_signals', 'release_devices', 'release_failures']) {
        const left = `SELECT FROM ${table} WHERE release_id = $1`;
        expect(await database.query(left, [release.id])).toEqual([]);
      }
    });

    test('random histories count as the model says, and as a recount, with check-ins that come late', async () => {
      const { tenant, release } = await furnish({ ledger, database });
      const releases = [
        release,
        await publishAt(database, tenant, 'stable', '1.10.0', BEGIN + 2 * HOUR_MS),
        await publishAt(database, tenant, 'stable', '1.0.0-rc.1', BEGIN + 5 * HOUR_MS),
        await publishAt(database, tenant, 'beta', '1.10.0', BEGIN + 3 * HOUR_MS),
      ];
      const random = randomFrom(20_261_124);
      const model = new SignalModel(releases, { beta: 'stable' }, MINUTE_MS);
      for (let batch = 0; batch < 150; batch++) {
        if (batch === 110) {
          await rollBack(release);
          release.isRolledBack = true;
        }
        const now = BEGIN + batch * 20 * MINUTE_MS;
        const checkIns = Array.from({ length: 40 }, () =>
          anyCheckIn(tenant, releases, now, random),
        );
        await ledger.recordCheckIns(checkIns);
        for (const each of coalesceCheckIns(checkIns)) model.add(each);
        if (batch % 30 === 29) {
          expect(await kept(tenant)).toEqual(model.cells());
          expect(await kept(tenant)).toEqual(await recounted(tenant));
          for (const { id } of releases) {
            const after = { stuckAfterMinutes: 180, silentAfterMinutes: 19 * 24 * 60 };
            const guards = { ...USUAL_GUARDS, ...after, knownForMinutes: 0 };
            // The database may read its clock some time before this process does.
            await vi.waitFor(async () =>
              expect(await readSignals(database, id, { guards, steps: [] })).toMatchObject(
                model.lookedAt(id, Date.now(), 180 * MINUTE_MS, 19 * DAY_MS),
              ),
            );
          }
        }
      }
      const kinds = new Set(Object.keys(model.cells()).map((cell) => cell.split(' ')[1]));
      expect([...kinds].sort()).toEqual([...['installed', 'offered', 'reached', 'reverted']]);
    });

    test('of more than 10,000 devices, about 10,000 say how many are stuck and silent', async () => {
      const { tenant, release } = await furnish({ ledger, database });
      const times = [tenant.appId, release.id, iso(BEGIN + 2 * DAY_MS), iso(BEGIN + 5 * DAY_MS)];
      await database.query(
        `INSERT INTO release_signals (release_id, kind, part, known, pushed, at, devices)
         VALUES ($1, 'reached', 0, 1440, -1, 'epoch', 20000)`,
        [release.id],
      );
      // One of 20 devices saw nothing after its offer, one of 10 still asks, the others have installed it.
      for (let first = 0; first < 20_000; first += 5000) {
        await writeInBulk(
          database,
          `WITH given AS MATERIALIZED (
             SELECT generate_series($5::int, $5::int + 4999) AS number
           ), reached AS (
             INSERT INTO release_devices
               (app_id, device_id, release_id, known, pushed, offered_at, installed_at)
             SELECT $1, 'device ' || number, $2, 1440, -1, $3::timestamptz,
               CASE WHEN number % 20 >= 3 THEN $4::timestamptz END
             FROM given
           )
           INSERT INTO devices (app_id, device_id, first_seen, last_seen, labels_revision, channel, version,
             platform, arch, source, client, bundle, labels, label_times)
           SELECT $1, 'device ' || number, $3, CASE WHEN number % 20 = 0 THEN $3::timestamptz
             WHEN number % 20 < 3 THEN $4::timestamptz ELSE now() END, 0, 'stable', '0.9.0',
             'linux', 'x86_64', 'pull', '', '', '{}', '{}'
           FROM given`,
          [...times, first],
        );
      }
      const counts = await readSignals(database, release.id, { guards: USUAL_GUARDS, steps: [] });
      expect(counts.scale).toBe(2);
      for (const [hits, base, rate] of [
        [counts.stuck, counts.stuckBase, 0.1],
        [counts.silent, counts.silentBase, 0.15],
      ] as const) {
        expect(base).toBeGreaterThan(9600);
        expect(base).toBeLessThan(10_400);
        // Four times the standard deviation.
        expect(Math.abs(hits / base - rate)).toBeLessThan(
          4 * Math.sqrt((rate * (1 - rate)) / base),
        );
      }
      const { stuck } = await health(tenant, 1440);
      expect(stuck).toBe(counts.stuck * 2);
    });

    test('four writers with shuffled, overlapping and repeated batches count as a recount', async () => {
      const { tenant, release } = await furnish({ ledger, database });
      const releases = [
        release,
        await publishAt(database, tenant, 'stable', '1.10.0', BEGIN + 2 * HOUR_MS),
        await publishAt(database, tenant, 'beta', '1.10.0', BEGIN + 3 * HOUR_MS),
      ];
      const random = randomFrom(24_112_026);
      const checkIns = Array.from({ length: 3000 }, () =>
        anyCheckIn(tenant, releases, BEGIN + Math.floor(random() * 50) * HOUR_MS, random),
      );
      const batches = chunksOf(checkIns, 100);
      const waiting = shuffle([...batches, ...batches], random);
      const write = async () => {
        for (let batch = waiting.pop(); batch !== undefined; batch = waiting.pop()) {
          await ledger.recordCheckIns(batch);
        }
      };
      const sweep = async () => {
        while (waiting.length > 0) await ledger.sweepFleet(iso(0), iso(0), 100);
      };
      await Promise.all([write(), write(), write(), write(), sweep()]);
      expect(await kept(tenant)).toEqual(await recounted(tenant));
      expect(Object.keys(await kept(tenant)).length).toBeGreaterThan(100);
    });
  });
}

/** Random check-in of one of 300 devices, some of them late, some with an offer, some without a version. */
function anyCheckIn(
  tenant: TestTenant,
  releases: readonly ModelRelease[],
  now: number,
  random: () => number,
): CheckIn {
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;
  const late = random() < 0.2 ? Math.floor(random() * 20 * HOUR_MS) : 0;
  return checkIn(tenant, `device ${Math.floor(random() ** 2 * 300)}`, {
    channel: pick(['stable', 'stable', 'stable', 'beta', 'none']),
    version: pick([...VERSIONS, ...VERSIONS, undefined]),
    source: pick(['pull', 'pull', 'pull', 'push']),
    offeredReleaseId: random() < 0.3 ? pick(releases).id : undefined,
    at: Math.max(now + Math.floor(random() * 20 * MINUTE_MS) - late, 0),
  });
}
