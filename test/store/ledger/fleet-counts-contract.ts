// Rules of the counts that follow from check-ins: where devices are now, and where they were hour by hour.

import { expect, test } from 'vitest';
import { type CheckIn, coalesceCheckIns } from '../../../src/domain/fleet/check-in.ts';
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
import { createTenant, expectValue, type TestTenant, tenantOfEach } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

export function describeFleetCounts({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  const record = (...checkIns: CheckIn[]) => ledger.recordCheckIns(checkIns);
  const seriesOf = async (tenant: TestTenant, since = START) =>
    expectValue(await ledger.readAdoption(tenant.app, iso(since)));

  test('a device counts where it is now', async () => {
    await record(checkIn(tenant, 'a'), checkIn(tenant, 'b', { version: undefined }));
    const cell = { channel: 'stable', platform: 'linux', devices: 1 };
    expect(await ledger.readFleet(tenant.app)).toEqual([
      { ...cell, version: '' },
      { ...cell, version: '1.0.0' },
    ]);
    const moves: Partial<CheckIn>[] = [
      { version: '2.0.0' },
      { version: '2.0.0', channel: 'beta' },
      { version: '2.0.0', channel: 'beta', platform: 'mac' },
    ];
    for (const [index, parts] of moves.entries()) {
      const at = START + index + 1;
      await record(checkIn(tenant, 'a', { ...parts, at }), checkIn(tenant, 'b', { ...parts, at }));
      expect(await ledger.readFleet(tenant.app)).toEqual([{ ...cell, ...parts, devices: 2 }]);
    }
  });

  test('in each hour a device counts once, where it last was', async () => {
    const cell = { channel: 'stable', platform: 'linux', devices: 1 };
    const [first, second] = [iso(START), iso(START + HOUR_MS)];
    await record(checkIn(tenant, 'a'));
    await record(checkIn(tenant, 'a', { at: START + 10 * MINUTE_MS }));
    await record(checkIn(tenant, 'a', { at: START + 20 * MINUTE_MS, version: '2.0.0' }));
    expect(await seriesOf(tenant)).toEqual([{ hour: first, version: '2.0.0', ...cell }]);
    await record(checkIn(tenant, 'a', { at: START + HOUR_MS, version: '2.0.0' }));
    await record(checkIn(tenant, 'a', { at: START + HOUR_MS + 1, version: '3.0.0' }));
    expect(await seriesOf(tenant)).toEqual([
      { hour: first, version: '2.0.0', ...cell },
      { hour: second, version: '3.0.0', ...cell },
    ]);
  });

  test('the series begins with the first hour that begins at `since` or later, oldest first', async () => {
    for (const hour of [0, 1, 2])
      await record(checkIn(tenant, 'a', { at: START + hour * HOUR_MS }));
    const hours = async (since: number) => (await seriesOf(tenant, since)).map(({ hour }) => hour);
    expect(await hours(START)).toEqual([0, 1, 2].map((hour) => iso(START + hour * HOUR_MS)));
    expect(await hours(START + 1)).toEqual([1, 2].map((hour) => iso(START + hour * HOUR_MS)));
    expect(await hours(START + 3 * HOUR_MS)).toEqual([]);
  });

  test('20,000 check-ins, reports and version changes, shuffled and redelivered, count as a recount and as the model do', async () => {
    const bystander = await createTenant(ledger);
    await record(checkIn(bystander, 'a'));
    const random = randomFrom(20_260_329);
    const checkIns = Array.from({ length: 20_000 }, () => anyCheckIn(tenant, random));
    const batches = chunksOf(shuffle(checkIns, random), 500);
    const repeated = shuffle([...batches, ...batches.slice(0, 20)], random);
    const model = new FleetModel();
    for (const batch of repeated) {
      await ledger.recordCheckIns(batch);
      for (const each of coalesceCheckIns(batch)) model.add(each);
    }
    const counted = expectValue(await ledger.readFleet(tenant.app));
    expect(counted).toEqual(await recount(database, tenant));
    expect(counted).toEqual(model.fleet());
    expect(await seriesOf(tenant)).toEqual(model.adoption());
    expect(await seriesOf(bystander)).toHaveLength(1);
  });
}

/** Random check-in of one of 1,000 devices in 4 hours: each is seen often, and often within minutes. */
export function anyCheckIn(tenant: TestTenant, random: () => number): CheckIn {
  const pick = <Item>(items: readonly [Item, ...Item[]]): Item =>
    items[Math.floor(random() * items.length)] ?? items[0];
  return checkIn(tenant, `device ${Math.floor(random() * 1000)}`, {
    channel: pick(['stable', 'stable', 'stable', 'beta']),
    version: pick(['1.0.0', '1.0.0', '2.0.0', undefined]),
    platform: pick(['linux', 'linux', 'linux', 'linux', 'mac']),
    source: pick(['pull', 'pull', 'pull', 'push']),
    at: START + Math.floor(random() * 480) * (MINUTE_MS / 2),
  });
}
