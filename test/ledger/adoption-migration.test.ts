// Tests what the migration that brought counts by day and month makes of a fleet that had only those by hour.

import { afterEach, describe, expect, inject, test } from 'vitest';
import type { AdoptionStep } from '../../src/contract/resource.ts';
import { migrate } from '../../src/ledger/migrate.ts';
import { createSqlLedger } from '../../src/ledger/sql-ledger.ts';
import { applyEarlier, openEmptyPostgres, recordEarlier } from './earlier-schema.ts';
import { checkIn, HOUR_MS, iso } from './fleet-fixture.ts';
import { createTenant } from './ledger-fixture.ts';
import { openTestPglite, type TestDatabase } from './test-database.ts';

/** Number of migrations before it. */
const EARLIER = 20;
const DAY_MS = 24 * HOUR_MS;
const postgresUrl = inject('postgresUrl');

describe('the migration to days and months on PGlite', () => describeMigration(openTestPglite));

if (postgresUrl === '') {
  // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
  describe.skip('the migration to days and months on PostgreSQL (skipped: there is none)', () =>
    undefined);
} else {
  describe('the migration to days and months on PostgreSQL', () =>
    describeMigration(() => openEmptyPostgres(postgresUrl)));
}

function describeMigration(open: () => Promise<TestDatabase>): void {
  let opened: TestDatabase | undefined;
  afterEach(async () => {
    await opened?.dispose();
  });

  test('the present day and month are counted, earlier ones have at least their largest hour', async () => {
    opened = await open();
    const { database } = opened;
    await applyEarlier(database, EARLIER);
    const ledger = createSqlLedger(database);
    const tenant = await createTenant(ledger);
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
}
