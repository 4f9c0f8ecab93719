// Tests the fleet on PostgreSQL only: several writers at once, and how rows are updated.

import { expect, test } from 'vitest';
import { devicePart } from '../../../src/domain/decision/hashes.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
import { eventually } from '../../support/eventually.ts';
import {
  checkIn,
  chunksOf,
  HOUR_MS,
  iso,
  MINUTE_MS,
  randomFrom,
  recount,
  START,
  shuffle,
} from './fleet-fixture.ts';
import { FleetModel } from './fleet-model.ts';
import { createTenant, expectValue, type TestTenant } from './ledger-fixture.ts';
import { describeOnPostgres } from './test-database.ts';

const WRITERS = 4;

describeOnPostgres('the fleet on PostgreSQL', ({ database, ledger }) => {
  /** Records batches by several writers at once; each takes one batch after the other. */
  function recordAtOnce(batches: readonly (readonly CheckIn[])[]): Promise<unknown> {
    const waiting = [...batches];
    const write = async () => {
      for (let batch = waiting.pop(); batch !== undefined; batch = waiting.pop()) {
        await ledger.recordCheckIns(batch);
      }
    };
    return Promise.all(Array.from({ length: WRITERS }, write));
  }

  // This test must be the first: the server's counts are for the whole table, so no other test may have
  // written yet.
  test('an update that moves only lastSeen touches no index (HOT)', async () => {
    // Room for every version of a row on its page: a transaction of another database, however short its own
    // work, can keep PostgreSQL from making room.
    for (const { part } of await readParts()) {
      await database.query(`ALTER TABLE ${part} SET (fillfactor = 10)`);
    }
    const tenant = await createTenant(ledger);
    const ids = Array.from({ length: 3000 }, (_, index) => `device ${index}`);
    await ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id)));
    // Each round records a part of the fleet, wherever its rows lie, as batches do.
    const random = randomFrom(13);
    const rounds = 30;
    const perRound = 300;
    for (let round = 1; round <= rounds; round++) {
      const at = START + round * 6 * MINUTE_MS;
      const some = shuffle(ids, random).slice(0, perRound);
      await ledger.recordCheckIns(some.map((id) => checkIn(tenant, id, { at })));
    }
    const expected = rounds * perRound;
    await eventually('the server counted', async () => (await readUpdates()).all === expected);
    expect((await readUpdates()).hot / expected).toBeGreaterThanOrEqual(0.95);
  });

  test('4 writers with shuffled, overlapping and repeated batches count exactly, with sweeps between', async () => {
    const tenant = await createTenant(ledger);
    const random = randomFrom(7);
    const model = new FleetModel();
    for (let hour = 0; hour < 3; hour++) {
      const checkIns = hourOfCheckIns(tenant, START + hour * HOUR_MS, random);
      const batches = chunksOf(shuffle(checkIns, random), 100);
      const repeated = shuffle([...batches, ...batches], random);
      const sweeping = ledger.sweepFleet(iso(0), iso(0), 100);
      await recordAtOnce(repeated);
      await sweeping;
      for (const each of checkIns.toSorted((left, right) => left.at - right.at)) model.add(each);
    }
    const counted = expectValue(await ledger.readFleet(tenant.app));
    expect(counted).toEqual(await recount(database, tenant));
    expect(counted).toEqual(model.fleet());
    expect(await ledger.readAdoption(tenant.app, iso(START))).toEqual(model.adoption());
  });

  test('callers that bring new devices of different parts at once admit no more than the bound', async () => {
    const tenant = await createTenant(ledger);
    const bounds = { perNetwork: 0, perApp: 3 };
    const ids = Array.from({ length: 64 }, (_, index) => `new ${index}`);
    const at = await ledger.readTime();
    const answers = await Promise.all(
      ids.map((id) =>
        ledger.recordChecks([checkIn(tenant, id, { at, network: '' })], 'queued', bounds),
      ),
    );
    expect(answers.flatMap(({ unadmitted }) => unadmitted)).toHaveLength(ids.length - 3);
    expect(await recount(database, tenant)).toMatchObject([{ devices: 3 }]);
  });

  test('devices that are swept while they check in are counted as they end up', async () => {
    const tenant = await createTenant(ledger);
    const ids = Array.from({ length: 200 }, (_, index) => `device ${index}`);
    const longAgo = Date.UTC(2001, 0, 1);
    await ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id, { at: longAgo })));
    const random = randomFrom(11);
    const batches = chunksOf(
      shuffle(ids, random).map((id) => checkIn(tenant, id, { version: '2.0.0' })),
      10,
    );
    const sweeps = Array.from({ length: 20 }, () =>
      ledger.sweepFleet(iso(longAgo + 1), iso(0), 10),
    );
    await Promise.all([recordAtOnce(batches), ...sweeps]);
    expect(await ledger.readFleet(tenant.app)).toEqual([
      { channel: 'stable', version: '2.0.0', platform: 'linux', devices: 200 },
    ]);
    expect(await recount(database, tenant)).toMatchObject([{ devices: 200 }]);
  });

  test('a change that is committed after a later one is read all the same', async () => {
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

  function readParts(): Promise<{ part: string }[]> {
    return database.query(
      "SELECT inhrelid::regclass::text AS part FROM pg_inherits WHERE inhparent = 'devices'::regclass",
    );
  }

  async function readUpdates(): Promise<{ all: number; hot: number }> {
    const [row] = await database.query<{ all: number; hot: number }>(
      `SELECT sum(n_tup_upd)::integer AS all, sum(n_tup_hot_upd)::integer AS hot
       FROM pg_stat_user_tables JOIN pg_inherits ON inhrelid = relid
       WHERE inhparent = 'devices'::regclass`,
    );
    return row ?? { all: 0, hot: 0 };
  }
});

/**
 * Check-ins of an hour, far enough apart that each is news, and never with an unknown version: so the outcome
 * does not depend on their order.
 */
function hourOfCheckIns(tenant: TestTenant, hour: number, random: () => number): CheckIn[] {
  return Array.from({ length: 1600 }, (_, index) =>
    checkIn(tenant, `device ${index % 400}`, {
      channel: random() < 0.2 ? 'beta' : 'stable',
      version: `1.0.${Math.floor(random() * 3)}`,
      platform: random() < 0.1 ? 'mac' : 'linux',
      at: hour + Math.floor(index / 400) * 6 * MINUTE_MS,
    }),
  );
}
