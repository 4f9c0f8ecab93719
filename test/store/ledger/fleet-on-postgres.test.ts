// Tests the fleet on PostgreSQL only: several writers at once.

import { expect, test } from 'vitest';
import { devicePart } from '../../../src/domain/decision/hashes.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
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

  test('labels that callers bring at once for one device are all kept', async () => {
    const tenant = await createTenant(ledger);
    const keys = Array.from({ length: 12 }, (_, index) => `k${10 + index}`);
    await Promise.all(
      keys.map((key, index) => {
        const sent = [checkIn(tenant, 'd', { labels: new Map([[key, '1']]), at: START + index })];
        return index % 2 === 0 ? ledger.recordCheckIns(sent) : ledger.recordAwaited(sent);
      }),
    );
    const [found] = await ledger.readLabels([{ appId: tenant.appId, deviceId: 'd' }]);
    expect([...(found?.labels.keys() ?? [])].sort()).toEqual(keys);
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
    const counted = expectValue(await ledger.readFleet(tenant.app));
    expect(counted).toMatchObject([{ devices: 3 }]);
    expect(counted).toEqual(await recount(database, tenant));
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
