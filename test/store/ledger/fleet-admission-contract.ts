// Rules by which checks bring new devices to the record: at most so many a minute, by network and by app.

import { expect, test } from 'vitest';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import type { AdmissionBounds } from '../../../src/store/fleet-ledger.ts';
import { checkIn, HOUR_MS, labelsOf, MINUTE_MS, NO_BOUNDS, recount } from './fleet-fixture.ts';
import { createTenant, expectValue, type TestTenant, tenantOfEach } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

/** Beginning of a minute that stays within the last hour while these tests run. */
const MINUTE = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - 20 * MINUTE_MS;

/** Numbers each test's networks, because tests share the ledger and its counts. */
let lastNetwork = 0;

function newNetwork(): string {
  lastNetwork += 1;
  return `198.51.${lastNetwork >> 8}.${lastNetwork & 0xff}`;
}

export function describeFleetAdmission({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  type Asking = Partial<CheckIn> & { readonly network: string | undefined };

  const checksOf = (tenant: TestTenant, ids: readonly string[], parts: Asking): CheckIn[] =>
    ids.map((id, index) => checkIn(tenant, id, { at: MINUTE + index, ...parts }));

  /** Records checks of these devices; returns the devices that were not admitted, with their bound. */
  async function ask(
    tenant: TestTenant,
    ids: readonly string[],
    bounds: AdmissionBounds,
    parts: Asking,
  ): Promise<string[]> {
    const checks = checksOf(tenant, ids, parts);
    const { unadmitted } = await ledger.recordChecks(checks, 'queued', bounds);
    return unadmitted.map(({ deviceId, bound }) => `${deviceId}: ${bound}`).sort();
  }

  test('beyond the bound of a network new devices stay away, the first ones come', async () => {
    const [network, bounds] = [newNetwork(), { perNetwork: 3, perApp: 0 }];
    expect(await ask(tenant, ['e', 'd', 'c', 'b', 'a'], bounds, { network })).toEqual([
      'a: network',
      'b: network',
    ]);
    expect(await tenant.deviceIds()).toEqual(['c', 'd', 'e']);
    // A batch that comes again admits nobody twice.
    expect(await ask(tenant, ['c', 'd', 'e'], bounds, { network })).toEqual([]);
    expect(await ask(tenant, ['f'], bounds, { network })).toEqual(['f: network']);
    expect(await ask(tenant, ['f'], bounds, { network: newNetwork() })).toEqual([]);
    // Networks that are not known count as one.
    const unknown = { network: undefined, at: MINUTE + 5 * MINUTE_MS };
    expect(await ask(tenant, ['1', '2', '3', '4'], bounds, unknown)).toEqual(['4: network']);
    expect(await recount(database, tenant)).toEqual(
      expectValue(await ledger.readFleet(tenant.app)),
    );
  });

  test('a device that is on record is always recorded', async () => {
    const [network, bounds] = [newNetwork(), { perNetwork: 1, perApp: 1 }];
    await ledger.recordCheckIns(checksOf(tenant, ['a', 'b', 'c'], { network }));
    const parts = { network, version: '2.0.0', at: MINUTE + 1000 };
    expect(await ask(tenant, ['a', 'new', 'b', 'late', 'c'], bounds, parts)).toEqual([
      'late: network',
    ]);
    const fleetNow = expectValue(await ledger.readFleet(tenant.app));
    expect(fleetNow).toMatchObject([{ version: '2.0.0', devices: 4 }]);
  });

  test('a device is admitted when it asks again in a later minute', async () => {
    const [network, bounds] = [newNetwork(), { perNetwork: 2, perApp: 0 }];
    const at = (minute: number) => ({ network, at: MINUTE + minute * MINUTE_MS });
    const all = ['a', 'b', 'c', 'd', 'e'];
    expect(await ask(tenant, all, bounds, at(0))).toHaveLength(3);
    expect(await ask(tenant, all, bounds, at(1))).toEqual(['e: network']);
    expect(await ask(tenant, all, bounds, at(2))).toEqual([]);
    expect(await tenant.deviceIds()).toEqual(all);
  });

  test('a /64 of IPv6 is a network, and its /48 has ten times the bound', async () => {
    const bounds = { perNetwork: 2, perApp: 0 };
    const refused: string[] = [];
    for (let network = 0; network < 12; network++) {
      const ids = ['a', 'b', 'c'].map((id) => `${network}${id}`);
      refused.push(...(await ask(tenant, ids, bounds, { network: `2001:db8:7:${network}::/64` })));
    }
    const inEach = Array.from({ length: 12 }, (_, network) => `${network}c: network`);
    const inLast = ['10a', '10b', '11a', '11b'].map((id) => `${id}: wide network`);
    expect(refused.sort()).toEqual([...inEach, ...inLast].sort());
    expect(await ask(tenant, ['x'], bounds, { network: '2001:db8:8:1::/64' })).toEqual([]);
  });

  test('an app has a bound of its own, over all networks; a network has one, over all apps', async () => {
    const [one, other] = [await createTenant(ledger), await createTenant(ledger)];
    const bounds = { perNetwork: 3, perApp: 4 };
    const [first, second] = [newNetwork(), newNetwork()];
    expect(await ask(one, ['a', 'b', 'c'], bounds, { network: first })).toEqual([]);
    expect(await ask(one, ['d', 'e'], bounds, { network: second })).toEqual(['e: app']);
    expect(await ask(other, ['a'], bounds, { network: first })).toEqual(['a: network']);
    // The device that met the bound of its app took no place in its network.
    expect(await ask(other, ['b', 'c', 'd'], bounds, { network: second })).toEqual(['d: network']);
  });

  test('0 is no bound, and reports have none', async () => {
    const [network, ids] = [newNetwork(), Array.from({ length: 500 }, (_, index) => `d${index}`)];
    expect(await ask(tenant, ids.slice(0, 200), NO_BOUNDS, { network })).toEqual([]);
    expect(await ask(tenant, ['x', 'y'], { perNetwork: 1, perApp: 0 }, { network })).toEqual([
      'y: network',
    ]);
    await ledger.recordCheckIns(checksOf(tenant, ids, { network, source: 'push' }));
    expect(await tenant.deviceIds()).toHaveLength(501);
  });

  test('the minute is that of the check, from an hour ago until now', async () => {
    const [network, bounds] = [newNetwork(), { perNetwork: 1, perApp: 0 }];
    const at = (ms: number) => ({ network, at: Date.now() + ms });
    expect(await ask(tenant, ['a'], bounds, at(-30 * MINUTE_MS))).toEqual([]);
    expect(await ask(tenant, ['b'], bounds, at(-20 * MINUTE_MS))).toEqual([]);
    const early = [...(await ask(tenant, ['c'], bounds, at(-2 * HOUR_MS)))];
    early.push(...(await ask(tenant, ['d'], bounds, at(-9 * HOUR_MS))));
    const late = [...(await ask(tenant, ['e'], bounds, at(HOUR_MS)))];
    late.push(...(await ask(tenant, ['f'], bounds, at(9 * HOUR_MS))));
    // A minute may end between two of them.
    expect([[], ['d: network']]).toContainEqual(early);
    expect([[], ['f: network']]).toContainEqual(late);
  });

  test('labels come back of those that were recorded, and of nobody else', async () => {
    const [network, bounds] = [newNetwork(), { perNetwork: 2, perApp: 0 }];
    await ledger.recordCheckIns(checksOf(tenant, ['known'], { network }));
    const checks = ['a', 'known', 'b', 'c', 'plain'].map((id) =>
      checkIn(tenant, id, {
        at: MINUTE + 1,
        network,
        labels: id === 'plain' ? undefined : labelsOf({ id }),
      }),
    );
    const { labels, unadmitted } = await ledger.recordChecks(checks, 'queued', bounds);
    expect(unadmitted.map(({ deviceId }) => deviceId).sort()).toEqual(['c', 'plain']);
    const stored = labels.map(({ deviceId, labels: each }) => [deviceId, each.get('id')]);
    expect(stored.sort()).toEqual([
      ['a', 'a'],
      ['b', 'b'],
      ['known', 'known'],
    ]);
    expect(unadmitted[0]).toMatchObject({ appId: tenant.appId, network });
  });

  test('minutes more than an hour ago are forgotten', async () => {
    const count = async () => {
      const [row] = await database.query<{ count: number }>(
        `SELECT count(*)::integer AS count FROM admissions WHERE source LIKE 'old %'`,
      );
      return row?.count;
    };
    await database.query(
      `INSERT INTO admissions (minute, source, devices)
       SELECT date_trunc('minute', now()) - interval '2 minutes' * step, 'old ' || step, 1
       FROM unnest(ARRAY [1, 29, 40, 50, 60]) AS step`,
    );
    expect(await ledger.forgetAdmissions(2)).toBe(2);
    expect(await count()).toBe(3);
    expect(await ledger.forgetAdmissions(100)).toBeGreaterThan(0);
    expect(await count()).toBe(2);
  });
}
