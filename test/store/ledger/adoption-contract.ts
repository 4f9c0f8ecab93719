// Rules of the adoption series: devices per version in each hour, day and month.

import { expect, test } from 'vitest';
import { ADOPTION_STEPS, type AdoptionStep } from '../../../src/contract/resource.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import { writeInBulk } from '../../support/write-in-bulk.ts';
import { checkIn, HOUR_MS, iso, MINUTE_MS, randomFrom, START } from './fleet-fixture.ts';
import { type TestTenant, tenantOfEach } from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

const DAY_MS = 24 * HOUR_MS;
const MARCH = '2026-03-01T00:00:00.000Z';

export function describeAdoption({ database, ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  const record = (...checkIns: CheckIn[]) => ledger.recordCheckIns(checkIns);

  async function read(
    { appId }: TestTenant,
    step: AdoptionStep,
    { channel, since = START }: { channel?: string; since?: number } = {},
  ): Promise<unknown[]> {
    const wanted = { since: iso(since), step, channel };
    const points = await ledger.readAdoptionSteps(appId, wanted);
    expect(points.filter(({ isMinimum }) => isMinimum)).toEqual([]);
    return points.map(({ at, version, devices }) => [at, version, devices]);
  }

  test('a day and a month count the devices that were seen in them, each once', async () => {
    const ten = (name: string, hour: number) =>
      Array.from({ length: 10 }, (_, index) =>
        checkIn(tenant, `${name} ${index}`, { at: START + hour * HOUR_MS }),
      );
    await record(...ten('a', 1));
    await record(...ten('b', 2));
    await record(...ten('a', 3), ...ten('b', 3));
    await record(...ten('b', 24));
    await record(...ten('c', 25));
    expect(await read(tenant, 'day')).toEqual([
      [iso(START), '1.0.0', 20],
      [iso(START + DAY_MS), '1.0.0', 20],
    ]);
    expect(await read(tenant, 'month')).toEqual([[MARCH, '1.0.0', 30]]);
  });

  test('a step of which only the hours were known says that it had at least so many', async () => {
    await record(checkIn(tenant, 'a'));
    await database.query(
      `UPDATE fleet_step_parts SET is_minimum = TRUE WHERE app_id = $1 AND step = 'month'`,
      [tenant.appId],
    );
    for (const step of ADOPTION_STEPS) {
      const wanted = { since: MARCH, step, channel: undefined };
      const points = await ledger.readAdoptionSteps(tenant.appId, wanted);
      expect(points.map(({ isMinimum }) => isMinimum)).toEqual([step === 'month']);
    }
  });

  test('a device counts where it last was in the day and in the month', async () => {
    const steps: Partial<CheckIn>[] = [
      { version: '1.0.0' },
      { version: '2.0.0' },
      { version: '2.0.0', channel: 'beta' },
      { version: '3.0.0', channel: 'beta', at: START + DAY_MS },
      // Comes after a later one: it changes nothing.
      { version: '0.1.0', channel: 'nightly', at: START + 9 * HOUR_MS },
    ];
    for (const [index, parts] of steps.entries()) {
      await record(checkIn(tenant, 'a', { at: START + index * HOUR_MS, ...parts }));
    }
    expect(await read(tenant, 'day')).toEqual([
      [iso(START), '2.0.0', 1],
      [iso(START + DAY_MS), '3.0.0', 1],
    ]);
    expect(await read(tenant, 'month')).toEqual([[MARCH, '3.0.0', 1]]);
    expect(await read(tenant, 'day', { channel: 'stable' })).toEqual([]);
    expect(await read(tenant, 'month', { channel: 'beta' })).toEqual([[MARCH, '3.0.0', 1]]);
  });

  test('the series has the whole day or month in which `since` falls', async () => {
    for (const day of [-29, -1, 0, 1]) {
      await record(checkIn(tenant, 'a', { at: START + day * DAY_MS }));
    }
    const since = START + DAY_MS - 1;
    expect(await read(tenant, 'day', { since })).toHaveLength(2);
    expect(await read(tenant, 'month', { since })).toEqual([[MARCH, '1.0.0', 1]]);
  });

  test('check-ins of any order over days and months count as a recount of them', async () => {
    const random = randomFrom(20_260_331);
    const any = (count: number) => Math.floor(random() * count);
    const delivered: CheckIn[] = [];
    for (let round = 0; round < 32; round++) {
      // More than five minutes apart: within them, what tells nothing new is not recorded.
      const batch = Array.from({ length: 40 }, (_, device) =>
        checkIn(tenant, `device ${device}`, {
          at: START + (round + any(160)) * 24 * MINUTE_MS,
          version: `${1 + any(3)}.0.0`,
          channel: any(4) === 0 ? 'beta' : 'stable',
          platform: any(4) === 0 ? 'mac' : 'linux',
        }),
      );
      await record(...batch);
      delivered.push(...batch);
      if (round % 8 !== 7) continue;
      for (const step of ADOPTION_STEPS) {
        expect(await read(tenant, step)).toEqual(recountSteps(delivered, step));
      }
    }
  });

  test('of many versions, those with the most devices have points of their own', async () => {
    // Two devices of each of the first 20 versions, and one of five more.
    const versions = Array.from({ length: 45 }, (_, index) => index % 25);
    await record(
      ...versions.map((version, index) =>
        checkIn(tenant, `${index}`, { version: `2.0.${version}` }),
      ),
    );
    for (const step of ADOPTION_STEPS) {
      const wanted = { since: iso(START), step, channel: undefined };
      const points = await ledger.readAdoptionSteps(tenant.appId, wanted);
      expect(points).toHaveLength(21);
      expect(points.filter(({ version }) => version === null)).toMatchObject([{ devices: 5 }]);
    }
  });

  test('of more hours than may be read some are, at equal distances', async () => {
    await writeInBulk(
      database,
      `INSERT INTO fleet_hour_parts (app_id, hour, channel, version, platform, part, devices)
       SELECT $1, $2::timestamptz + h * interval '1 hour', 'stable', '1.0.' || n, 'linux', -1, 1
       FROM generate_series(0, 99) AS h, generate_series(1, 1000) AS n`,
      [tenant.appId, iso(START)],
    );
    const filter = { since: iso(START), step: 'hour', channel: undefined } as const;
    const points = await ledger.readAdoptionSteps(tenant.appId, filter);
    const hours = [...new Set(points.map(({ at }) => Date.parse(at)))];
    expect(hours.length).toBeGreaterThan(40);
    expect(hours.length).toBeLessThan(60);
    expect(hours.at(-1)).toBe(START + 98 * HOUR_MS);
    const steps = new Set(hours.slice(1).map((hour, index) => hour - (hours[index] ?? 0)));
    expect([...steps]).toEqual([2 * HOUR_MS]);
  });

  test('of more days than may be read, the newest are', async () => {
    // A statement for each day: one for all would take the time that a statement may take.
    for (let day = 0; day < 6; day++) {
      await writeInBulk(
        database,
        `INSERT INTO fleet_step_parts (app_id, step, at, channel, version, platform, part, devices)
         SELECT $1, 'day', $2::timestamptz, 'stable', '1.0.' || n, 'linux', -1, 1
         FROM generate_series(1, 40000) AS n`,
        [tenant.appId, iso(START + day * DAY_MS)],
      );
    }
    const filter = { since: iso(START), step: 'day', channel: undefined } as const;
    const points = await ledger.readAdoptionSteps(tenant.appId, filter);
    const days = [...new Set(points.map(({ at }) => (Date.parse(at) - START) / DAY_MS))];
    expect(days).toEqual([1, 2, 3, 4, 5]);
    const counts = points.filter(({ version }) => version === null);
    expect(new Set(counts.map(({ devices }) => devices))).toEqual(new Set([40_000 - 20]));
  });
}

/** Counts check-ins in the order of delivery: one that is not the newest of its device counts nothing. */
function recountSteps(delivered: readonly CheckIn[], step: AdoptionStep): unknown[] {
  const newest = new Map<string, number>();
  const versions = new Map<string, string>();
  for (const { deviceId, at, version = '' } of delivered) {
    if (at <= (newest.get(deviceId) ?? 0)) continue;
    newest.set(deviceId, at);
    versions.set(`${beginOf(step, at)} ${deviceId}`, version);
  }
  const counts = new Map<string, number>();
  for (const [key, version] of versions) {
    const cell = `${key.slice(0, iso(0).length)} ${version}`;
    counts.set(cell, (counts.get(cell) ?? 0) + 1);
  }
  return [...counts.keys()].sort().map((cell) => [...cell.split(' '), counts.get(cell)]);
}

function beginOf(step: AdoptionStep, at: number): string {
  const text = iso(at);
  if (step === 'hour') return `${text.slice(0, 13)}:00:00.000Z`;
  return `${text.slice(0, step === 'day' ? 10 : 7)}${step === 'day' ? '' : '-01'}T00:00:00.000Z`;
}
