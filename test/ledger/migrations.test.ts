// Tests what migrations make of the fleet of an earlier version: counts by day and month, histories of any
// length, and parts. One database for all of them, whose schema each test makes anew.

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { AdoptionStep } from '../../src/contract/resource.ts';
import type { Database } from '../../src/store/ledger/database.ts';
import { migrate } from '../../src/store/ledger/migrate.ts';
import { createSqlLedger } from '../../src/store/ledger/sql-ledger.ts';
import { IS_WHOLE_MATRIX } from '../support/matrix.ts';
import { applyEarlier, recordEarlier } from './earlier-schema.ts';
import {
  checkIn,
  deviceOf,
  HOUR_MS,
  iso,
  MINUTE_MS,
  randomFrom,
  recount,
  START,
} from './fleet-fixture.ts';
import { FleetModel } from './fleet-model.ts';
import { createTenant, expectValue } from './ledger-fixture.ts';
import { openEmptyPostgres, openTestPglite, type TestDatabase } from './test-database.ts';

const DAY_MS = 24 * HOUR_MS;
const DEVICES = 100;
const KEPT = 10;
/** Rows that each device keeps of its changes under the earlier schema: at most a ring of 100. */
const STORED = { few: 3, many: 60, ring: 100 };
const CHANGES = { few: 3, many: 60, ring: 130 };
const postgresUrl = inject('postgresUrl');

if (postgresUrl !== '') describeMigrations('PostgreSQL', () => openEmptyPostgres(postgresUrl));
// PGlite runs the migrations in fill-from-template.test.ts.
if (postgresUrl === '' || IS_WHOLE_MATRIX) describeMigrations('PGlite', openTestPglite);

function describeMigrations(name: string, open: () => Promise<TestDatabase>): void {
  describe(`migrations of a fleet on ${name}`, () => {
    let opened: TestDatabase;
    let database: Database;
    beforeAll(async () => {
      opened = await open();
      database = opened.database;
    });
    afterAll(() => opened?.dispose());

    /** Makes the schema as it was after so many migrations, with an app. */
    async function furnish(migrations: number) {
      await applyEarlier(database, migrations);
      const ledger = createSqlLedger(database);
      return { ledger, tenant: await createTenant(ledger) };
    }

    test('the present day and month are counted, earlier ones have at least their largest hour', async () => {
      const { ledger, tenant } = await furnish(20);
      const now = Date.now();
      const today = Math.floor(now / DAY_MS) * DAY_MS;
      const before = today - 70 * DAY_MS;
      const [old, present] = ['1.0.0', '2.0.0'];
      const record = (at: number, version: string, ...ids: string[]) =>
        recordEarlier(
          database,
          ids.map((id) => checkIn(tenant, id, { at, version })),
        );
      await record(before + HOUR_MS, old, 'a', 'b', 'c');
      await record(before + 2 * HOUR_MS, old, 'b', 'gone');
      await record(before + 2 * HOUR_MS, present, 'a');
      await record(before + 3 * HOUR_MS, present, 'a', 'b', 'c', 'd');
      await record(before + 4 * HOUR_MS, present, 'a');
      await record(now - 1, old, 'a', 'b', 'e');
      await record(now, present, 'a');

      await migrate(database);
      const read = (step: AdoptionStep) =>
        ledger.readAdoptionSteps(tenant.appId, { since: iso(0), step, channel: undefined });
      const counted = [
        { version: old, devices: 2, isMinimum: false },
        { version: present, devices: 1, isMinimum: false },
      ];
      const minimum = { version: present, devices: 4, isMinimum: true };
      const monthOf = (at: number) => `${iso(at).slice(0, 7)}-01T00:00:00.000Z`;
      expect(await read('day')).toEqual([
        { at: iso(before), ...minimum },
        ...counted.map((count) => ({ at: iso(today), ...count })),
      ]);
      expect(await read('month')).toEqual([
        { at: monthOf(before), ...minimum },
        ...counted.map((count) => ({ at: monthOf(today), ...count })),
      ]);

      await record(now + 1, present, 'b', 'f');
      expect(await read('day')).toMatchObject([
        minimum,
        { version: old, devices: 1 },
        { version: present, devices: 3 },
      ]);
    });

    test('of long histories the newest are read at once, the others go bit by bit while changes come', async () => {
      const { ledger, tenant } = await furnish(22);
      const nth = (deviceId: string, number: number) =>
        checkIn(tenant, deviceId, { version: `1.0.${number}`, at: START + number * MINUTE_MS });
      for (let number = 0; number <= CHANGES.ring; number++) {
        const changed = Object.entries(CHANGES).filter(([, changes]) => number <= changes);
        await recordEarlier(
          database,
          changed.map(([id]) => nth(id, number)),
        );
      }
      const stored = async () => {
        const rows = await database.query<{ id: string; count: number }>(
          `SELECT device_id AS id, count(*)::integer AS count FROM device_versions
           GROUP BY device_id`,
        );
        return Object.fromEntries(rows.map(({ id, count }) => [id, count]));
      };
      const expectNewest = async (last: Record<string, number>) => {
        for (const [id, newest] of Object.entries(last)) {
          const { history } = await deviceOf(ledger, tenant, id);
          const numbers = Array.from({ length: Math.min(KEPT, newest + 1) }, (_, n) => newest - n);
          expect(history.map(({ at, from, to }) => [at, from, to])).toEqual(
            numbers.map((number) => [
              iso(START + number * MINUTE_MS),
              number === 0 ? null : `1.0.${number - 1}`,
              `1.0.${number}`,
            ]),
          );
        }
      };

      await migrate(database);
      expect(await stored()).toEqual(STORED);
      await expectNewest(CHANGES);
      // A change puts its own row, and takes the one that is no longer among the newest.
      await ledger.recordCheckIns([nth('many', 61), nth('ring', 131)]);
      expect(await stored()).toEqual({ few: 3, many: 60, ring: 99 });
      await expectNewest({ many: 61, ring: 131 });
      // A node of the earlier version is still there, and deletes none.
      await recordEarlier(database, [nth('many', 62)]);
      expect(await stored()).toEqual({ few: 3, many: 61, ring: 99 });
      const trimmed: number[] = [];
      for (let turn = 0; turn < 16; turn++) {
        await expectNewest({ few: 3, many: 62, ring: 131 });
        trimmed.push(await ledger.trimHistories(20));
      }
      await expectNewest({ few: 3, many: 62, ring: 131 });
      expect(Math.max(...trimmed)).toBe(20);
      expect(await stored()).toEqual({ few: 3, many: KEPT, ring: KEPT });
      await ledger.recordCheckIns([nth('many', 63), nth('few', 4)]);
      expect(await stored()).toEqual({ few: 4, many: KEPT, ring: KEPT });
      await expectNewest({ many: 63, few: 4 });
    });

    test('a fleet from before the parts has its labels, counts, hours and days, and goes on', async () => {
      const { ledger, tenant } = await furnish(23);
      const random = randomFrom(24);
      const model = new FleetModel();
      const checkIns = (turn: number) =>
        Array.from({ length: DEVICES }, (_, index) =>
          checkIn(tenant, `device ${index}`, {
            version: `1.0.${Math.floor(random() * 3)}`,
            channel: random() < 0.3 ? 'beta' : 'stable',
            at: START + turn * 20 * MINUTE_MS,
          }),
        );
      const labels = new Map([['ring', 'inner']]);
      const labelled = checkIn(tenant, 'device 0', { at: START + 90 * MINUTE_MS, labels });
      for (const batch of [...[0, 1, 2, 3].map(checkIns), [labelled]]) {
        await recordEarlier(database, batch);
        for (const each of batch) model.add(each);
      }
      await migrate(database);

      const expectModel = async () => {
        const counted = expectValue(await ledger.readFleet(tenant.app));
        expect(counted).toEqual(await recount(database, tenant));
        expect(counted).toEqual(model.fleet());
        expect(await ledger.readAdoption(tenant.app, iso(START))).toEqual(model.adoption());
      };
      await expectModel();
      const [stored] = await ledger.readLabels([{ appId: tenant.appId, deviceId: 'device 0' }]);
      expect(stored?.labels).toEqual(labels);
      const batch = checkIns(8);
      await ledger.recordCheckIns(batch);
      for (const each of batch) model.add(each);
      await expectModel();
    });
  });
}
