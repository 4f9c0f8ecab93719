// Rules of reading the fleet: lists of devices, one device, and which organization finds which app.

import { expect, test } from 'vitest';
import { fail } from '../../../src/contract/failure.ts';
import type { DeviceFilter } from '../../../src/store/fleet-ledger.ts';
import { checkIn, HOUR_MS, iso, labelsOf, START } from './fleet-fixture.ts';
import {
  createTenant,
  expectValue,
  type TestTenant,
  tenantOfEach,
  UNKNOWN_NAMES,
} from './ledger-fixture.ts';
import type { LedgerUnderTest } from './test-database.ts';

export function describeFleetReads({ ledger }: LedgerUnderTest): void {
  const tenant = tenantOfEach(ledger);
  async function idsOf(tenant: TestTenant, filter: Partial<DeviceFilter>): Promise<string[]> {
    const page = await ledger.listDevices(tenant.app, { limit: 100, ...filter });
    return expectValue(page).devices.map(({ deviceId }) => deviceId);
  }

  test('an unknown app is refused, and so is an unknown device', async () => {
    const other = await createTenant(ledger);
    await ledger.recordCheckIns([checkIn(other, 'a')]);
    for (const app of UNKNOWN_NAMES) {
      expect(await ledger.listDevices(app, { limit: 1 })).toEqual(fail('unknownApp'));
      expect(await ledger.readDevice(app, 'a')).toEqual(fail('unknownApp'));
      expect(await ledger.readFleet(app)).toEqual(fail('unknownApp'));
      expect(await ledger.readAdoption(app, iso(START))).toEqual(fail('unknownApp'));
    }
    for (const deviceId of ['a', ...UNKNOWN_NAMES]) {
      expect(await ledger.readDevice(tenant.app, deviceId)).toEqual(fail('unknownDevice'));
    }
  });

  test('an app is asked for by ref or by id; one without devices has none', async () => {
    const empty = await createTenant(ledger);
    await ledger.recordCheckIns([checkIn(tenant, 'a')]);
    for (const app of [tenant.app, tenant.appId]) {
      expect(expectValue(await ledger.listDevices(app, { limit: 2 })).devices).toHaveLength(1);
      expect(expectValue(await ledger.readDevice(app, 'a')).deviceId).toBe('a');
      expect(expectValue(await ledger.readFleet(app))).toHaveLength(1);
      expect(expectValue(await ledger.readAdoption(app, iso(START)))).toHaveLength(1);
    }
    expect(await ledger.listDevices(empty.app, { limit: 2 })).toEqual({ devices: [], next: null });
    expect(await ledger.readFleet(empty.app)).toEqual([]);
    expect(await ledger.readAdoption(empty.app, iso(START))).toEqual([]);
  });

  test("an organization's app is found by ref and by id, another's is unknown to it, not to operators", async () => {
    const mine = await createTenant(ledger);
    const other = await createTenant(ledger);
    for (const name of [mine.app, mine.appId]) {
      const found = { id: mine.appId, ref: mine.app };
      expect(await ledger.findApp(mine.organizationId, name)).toMatchObject(found);
      expect(await ledger.findAnyApp(name)).toMatchObject(found);
      expect(await ledger.findApp(other.organizationId, name)).toEqual(fail('unknownApp'));
    }
    for (const name of UNKNOWN_NAMES) {
      expect(await ledger.findApp(mine.organizationId, name)).toEqual(fail('unknownApp'));
      expect(await ledger.findAnyApp(name)).toEqual(fail('unknownApp'));
    }
  });

  test('paging yields every device once, by id, also while others come and go', async () => {
    const ids = Array.from({ length: 95 }, (_, index) => `${index % 7}-${index}`);
    ids.push('é', '\u{1f600}', '\uffff', "o'", 'A');
    await ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id)));
    const seen: string[] = [];
    let after: string | undefined;
    for (let pages = 1; ; pages++) {
      const filter = { limit: 20, after };
      const { devices, next } = expectValue(await ledger.listDevices(tenant.app, filter));
      seen.push(...devices.map(({ deviceId }) => deviceId));
      if (pages === 2) await ledger.recordCheckIns([checkIn(tenant, '!new')]);
      if (next === null) break;
      after = next;
      expect(devices).toHaveLength(20);
    }
    const byBytes = ids.toSorted((left, right) =>
      Buffer.compare(Buffer.from(left), Buffer.from(right)),
    );
    expect(seen).toEqual(byBytes);
  });

  test('a list has what each device has by itself, without its history', async () => {
    const labels = labelsOf({ ring: '1' });
    await ledger.recordCheckIns([checkIn(tenant, 'a', { labels, source: 'push' })]);
    const { history, ...device } = expectValue(await ledger.readDevice(tenant.app, 'a'));
    expect(history).toHaveLength(1);
    const page = await ledger.listDevices(tenant.app, { limit: 1 });
    expect(page).toEqual({ devices: [device], next: null });
  });

  test('filters by version, channel, platform, label and time, each alone and together', async () => {
    const labels = labelsOf({ ring: '1', "o'clock": '' });
    await ledger.recordCheckIns([
      checkIn(tenant, 'a', { labels }),
      checkIn(tenant, 'b', { version: '2.0.0', labels: labelsOf({ ring: '2' }) }),
      checkIn(tenant, 'c', { channel: 'beta', at: START + HOUR_MS }),
      checkIn(tenant, 'd', { platform: 'mac', labels, at: START - HOUR_MS }),
      checkIn(tenant, 'e', { version: undefined }),
    ]);
    const expected: [Partial<DeviceFilter>, string[]][] = [
      [{}, ['a', 'b', 'c', 'd', 'e']],
      [{ version: '1.0.0' }, ['a', 'c', 'd']],
      [{ version: '3.0.0' }, []],
      [{ channel: 'beta' }, ['c']],
      [{ platform: 'mac' }, ['d']],
      [{ label: { key: 'ring', value: '1' } }, ['a', 'd']],
      [{ label: { key: "o'clock", value: '' } }, ['a', 'd']],
      [{ label: { key: 'ring', value: '' } }, []],
      [{ label: { key: '{ring}', value: '1' } }, []],
      [{ seenSince: iso(START) }, ['a', 'b', 'c', 'e']],
      [{ seenSince: '2026-03-29T02:00:00.001+02:00' }, ['c']],
      [{ version: '1.0.0', after: 'a' }, ['c', 'd']],
      [{ version: '1.0.0', channel: 'stable', platform: 'linux', seenSince: iso(START) }, ['a']],
      [{ channel: "nul\u0000'; --" }, []],
    ];
    for (const [filter, ids] of expected) expect(await idsOf(tenant, filter)).toEqual(ids);
  });

  test('the series begins with the first hour that begins at `since` or later, oldest first', async () => {
    for (const hour of [0, 1, 2])
      await ledger.recordCheckIns([checkIn(tenant, 'a', { at: START + hour * HOUR_MS })]);
    const hours = async (since: number) =>
      expectValue(await ledger.readAdoption(tenant.app, iso(since))).map(({ hour }) => hour);
    expect(await hours(START)).toEqual([0, 1, 2].map((hour) => iso(START + hour * HOUR_MS)));
    expect(await hours(START + 1)).toEqual([1, 2].map((hour) => iso(START + hour * HOUR_MS)));
    expect(await hours(START + 3 * HOUR_MS)).toEqual([]);
  });
}
