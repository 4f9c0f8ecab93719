// Tests the parts of the fleet: which one a device belongs to, what becomes of a fleet from before there were
// parts, and what is read while several writers commit side by side.

import { afterEach, describe, expect, inject, test } from 'vitest';
import { DEVICE_PARTS, devicePart } from '../../src/hashing/device-part.ts';
import { migrate } from '../../src/ledger/migrate.ts';
import { createSqlLedger } from '../../src/ledger/sql-ledger.ts';
import { HOSTILE_TEXTS } from '../engine/fleet-sample.ts';
import { applyEarlier, openEmptyPostgres, recordEarlier } from './earlier-schema.ts';
import { checkIn, HOUR_MS, iso, MINUTE_MS, randomFrom, recount, START } from './fleet-fixture.ts';
import { FleetModel } from './fleet-model.ts';
import { createTenant, expectValue } from './ledger-fixture.ts';
import { openTestPglite, type TestDatabase } from './test-database.ts';

/** Number of migrations before the parts. */
const EARLIER = 23;
const DEVICES = 500;
const postgresUrl = inject('postgresUrl');

describe('the parts of the fleet on PGlite', () => describeParts(openTestPglite));

if (postgresUrl === '') {
  // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
  describe.skip('the parts of the fleet on PostgreSQL (skipped: there is none)', () => undefined);
} else {
  describe('the parts of the fleet on PostgreSQL', () => {
    describeParts(() => openEmptyPostgres(postgresUrl));
  });
  describe('changes of labels on PostgreSQL', () => {
    describeLabelOrder(() => openEmptyPostgres(postgresUrl));
  });
}

function describeParts(open: () => Promise<TestDatabase>): void {
  let opened: TestDatabase | undefined;
  afterEach(async () => {
    await opened?.dispose();
  });

  test('a device is in the part that this process computes, and in that partition', async () => {
    opened = await open();
    const { database } = opened;
    await migrate(database);
    const ledger = createSqlLedger(database);
    const tenant = await createTenant(ledger);
    const storable = HOSTILE_TEXTS.filter((text) => text !== '' && text.isWellFormed());
    const ids = [...storable, ...Array.from({ length: 200 }, (_, n) => 'é'.repeat(n % 60) + n)];
    await ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id)));
    const rows = await database.query<{ id: string; part: number; table: string }>(
      `SELECT device_id AS id, device_part(app_id, device_id) AS part, tableoid::regclass::text AS table
       FROM devices`,
    );
    expect(rows).toHaveLength(ids.length);
    for (const { id, part, table } of rows) {
      expect([id, part, table]).toEqual([id, devicePart(tenant.appId, id), `devices_${part}`]);
    }
    expect(new Set(rows.map(({ part }) => part)).size).toBe(DEVICE_PARTS);
  });

  test('a fleet from before is there with its labels, counts, hours and days, and goes on', async () => {
    opened = await open();
    const { database } = opened;
    await applyEarlier(database, EARLIER);
    const ledger = createSqlLedger(database);
    const tenant = await createTenant(ledger);
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
    for (let turn = 0; turn < 4; turn++) {
      const batch = checkIns(turn);
      await recordEarlier(database, batch);
      for (const each of batch) model.add(each);
    }
    const labelled = checkIn(tenant, 'device 0', {
      at: START + 90 * MINUTE_MS,
      labels: new Map([['ring', 'inner']]),
    });
    await recordEarlier(database, [labelled]);
    model.add(labelled);
    await migrate(database);

    const expectModel = async () => {
      const counted = expectValue(await ledger.readFleet(tenant.app));
      expect(counted).toEqual(await recount(database, tenant));
      expect(counted).toEqual(model.fleet());
      expect(await ledger.readAdoption(tenant.app, iso(START))).toEqual(model.adoption());
    };
    await expectModel();
    const device = { appId: tenant.appId, deviceId: 'device 0' };
    const [stored] = await ledger.readLabels([device]);
    expect(stored?.labels).toEqual(new Map([['ring', 'inner']]));
    const batch = checkIns(8);
    await ledger.recordCheckIns(batch);
    for (const each of batch) model.add(each);
    await expectModel();
  });

  test('hours that are over become one row a cell, and count as before', async () => {
    opened = await open();
    const { database } = opened;
    await migrate(database);
    const ledger = createSqlLedger(database);
    const tenant = await createTenant(ledger);
    for (const hour of [0, 1, 2]) {
      const at = START + hour * HOUR_MS;
      const ids = Array.from({ length: 100 }, (_, index) => `device ${index}`);
      await ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id, { at })));
    }
    const series = () => ledger.readAdoption(tenant.app, iso(START));
    const rows = () => database.query('SELECT part FROM fleet_hour_parts');
    const before = await series();
    expect((await rows()).length).toBeGreaterThan(3);
    await ledger.sweepFleet(iso(0), iso(0), 100);
    expect(await rows()).toEqual([{ part: -1 }, { part: -1 }, { part: -1 }]);
    expect(await series()).toEqual(before);
  });
}

function describeLabelOrder(open: () => Promise<TestDatabase>): void {
  let opened: TestDatabase | undefined;
  afterEach(async () => {
    await opened?.dispose();
  });

  test('a change that is committed after a later one is read all the same', async () => {
    opened = await open();
    const { database } = opened;
    await migrate(database);
    const ledger = createSqlLedger(database);
    const tenant = await createTenant(ledger);
    const labelled = (id: string) => checkIn(tenant, id, { labels: new Map([['ring', id]]) });
    await ledger.recordCheckIns([labelled('first')]);
    const { newest } = await ledger.readLabelChanges(undefined, 10);
    const other = Array.from({ length: 99 }, (_, index) => `other ${index}`).find(
      (id) => devicePart(tenant.appId, id) !== devicePart(tenant.appId, 'slow'),
    ) as string;
    const read = async (after: number) => {
      const changes = await ledger.readLabelChanges(after, 10);
      return { ...changes, ids: changes.changed.map(({ deviceId }) => deviceId) };
    };

    await database.transaction(async (sql) => {
      await createSqlLedger({
        ...database,
        query: (text, values, timeoutMs) => sql.query(text, values, timeoutMs),
        runScript: (text) => sql.runScript(text),
        transaction: (work) => work(sql),
        close: async () => undefined,
      }).recordCheckIns([labelled('slow')]);
      // Another part, so it need not wait; its position is the higher one, and it is committed first.
      await ledger.recordCheckIns([labelled(other)]);
      expect(await read(newest)).toMatchObject({ newest, ids: [] });
    });
    expect((await read(newest)).ids).toEqual(['slow', other]);
  });
}
