// Tests what becomes of long histories when their length becomes a setting.

import { afterEach, describe, expect, inject, test } from 'vitest';
import { migrate } from '../../src/ledger/migrate.ts';
import { createSqlLedger } from '../../src/ledger/sql-ledger.ts';
import { applyEarlier, openEmptyPostgres, recordEarlier } from './earlier-schema.ts';
import { checkIn, deviceOf, iso, MINUTE_MS, START } from './fleet-fixture.ts';
import { createTenant } from './ledger-fixture.ts';
import { openTestPglite, type TestDatabase } from './test-database.ts';

/** Number of migrations before it. */
const EARLIER = 22;
const KEPT = 10;
/** Rows that each device keeps of its changes under the earlier schema: at most a ring of 100. */
const STORED = { few: 3, many: 60, ring: 100 };
const CHANGES = { few: 3, many: 60, ring: 130 };
const postgresUrl = inject('postgresUrl');

describe('the migration to histories of any length on PGlite', () =>
  describeMigration(openTestPglite));

if (postgresUrl === '') {
  // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
  describe.skip('the migration to histories of any length on PostgreSQL (skipped: there is none)', () =>
    undefined);
} else {
  describe('the migration to histories of any length on PostgreSQL', () =>
    describeMigration(() => openEmptyPostgres(postgresUrl)));
}

function describeMigration(open: () => Promise<TestDatabase>): void {
  let opened: TestDatabase | undefined;
  afterEach(async () => {
    await opened?.dispose();
  });

  test('the newest are read at once, the others go bit by bit while changes come', async () => {
    opened = await open();
    const { database } = opened;
    await applyEarlier(database, EARLIER);
    const ledger = createSqlLedger(database);
    const tenant = await createTenant(ledger);
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
    const expectNewest = async (id: string, last: number) => {
      const { history } = await deviceOf(ledger, tenant, id);
      const numbers = Array.from({ length: KEPT }, (_, index) => last - index);
      expect(history.map(({ at, from, to }) => [at, from, to])).toEqual(
        numbers
          .filter((number) => number >= 0)
          .map((number) => [
            iso(START + number * MINUTE_MS),
            number === 0 ? null : `1.0.${number - 1}`,
            `1.0.${number}`,
          ]),
      );
    };

    await migrate(database);
    expect(await stored()).toEqual(STORED);
    for (const [id, changes] of Object.entries(CHANGES)) await expectNewest(id, changes);

    // A change puts its own row, and takes the one that is no longer among the newest.
    await ledger.recordCheckIns([nth('many', 61), nth('ring', 131)]);
    expect(await stored()).toEqual({ few: 3, many: 60, ring: 99 });
    await expectNewest('many', 61);
    await expectNewest('ring', 131);
    // A node of the earlier version is still there, and deletes none.
    await recordEarlier(database, [nth('many', 62)]);
    expect(await stored()).toEqual({ few: 3, many: 61, ring: 99 });
    await expectNewest('many', 62);

    const trimmed: number[] = [];
    for (let turn = 0; turn < 16; turn++) {
      trimmed.push(await ledger.trimHistories(20));
      await expectNewest('few', 3);
      await expectNewest('many', 62);
      await expectNewest('ring', 131);
    }
    expect(Math.max(...trimmed)).toBe(20);
    expect(await stored()).toEqual({ few: 3, many: KEPT, ring: KEPT });
    await ledger.recordCheckIns([nth('many', 63), nth('few', 4)]);
    expect(await stored()).toEqual({ few: 4, many: KEPT, ring: KEPT });
    await expectNewest('many', 63);
    await expectNewest('few', 4);
  });
}
