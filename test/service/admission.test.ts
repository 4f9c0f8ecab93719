// Tests that strangers cannot fill the record with devices that do not exist: how many new ones are recorded
// is bounded by client address and by app, in each minute. Every check is answered all the same. And that of
// those on record as much is kept as DEVICE_HISTORY says; what that means is tested in
// test/store/ledger/device-keeping-contract.ts.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import {
  admin,
  check,
  createTenant,
  devicesOf,
  publish,
  randomId,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

const PER_ADDRESS = 40;
const PER_APP = 100;
const PARALLEL = 50;
const MINUTE_MS = 60_000;
/** A busy machine takes its time to record check-ins; what is proved is how many, not when. */
const SETTLED_MS_MAX = 60_000;
const TEST_TIMEOUT_MS = 3 * SETTLED_MS_MAX;

describeOnBackends('admission of new devices', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start({
      NEW_DEVICES_PER_ADDRESS_PER_MINUTE: String(PER_ADDRESS),
      NEW_DEVICES_PER_APP_PER_MINUTE: String(PER_APP),
      DEVICE_HISTORY: '2',
    });
  });
  afterAll(() => node?.dispose());

  type Asking = { readonly query?: string; readonly status?: number };

  /** Checks of invented devices, each from the address that `addressOf` gives. */
  async function invent(
    tenant: Tenant,
    count: number,
    addressOf: (index: number) => string,
    asking: Asking = {},
  ): Promise<void> {
    const prefix = randomId();
    const devices = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
    await askAll(tenant, devices, addressOf, asking);
  }

  /** Checks of devices; all must be answered with the status. */
  async function askAll(
    { app }: Tenant,
    devices: readonly string[],
    addressOf: (index: number) => string,
    { query = '', status: expected = 204 }: Asking = {},
  ): Promise<void> {
    for (let from = 0; from < devices.length; from += PARALLEL) {
      const answers = await Promise.all(
        devices.slice(from, from + PARALLEL).map((device, at) =>
          send(node, 'GET', `/u/${app}/stable/linux/x86_64/1.0.0${query}`, {
            headers: { 'x-service-device': device, 'x-forwarded-for': addressOf(from + at) },
          }),
        ),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([expected]));
    }
  }

  /** Number of check-ins with an outcome since the node was started. */
  async function countOf(outcome: string): Promise<number> {
    const text = await metricsOf(node);
    const pattern = new RegExp(`^sluice_check_ins_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm');
    return Number(pattern.exec(text)?.[1] ?? 0);
  }

  /**
   * Waits until `count` check-ins more were recorded or refused than before `work`, and those of this tenant
   * up to a bound, because some of an earlier test may be settled meanwhile. `minutes` counts the minutes
   * that this touched, each of which has a bound of its own.
   */
  async function settled(
    tenant: Tenant,
    { count, bound }: { readonly count: number; readonly bound: number },
    work: () => Promise<unknown>,
  ) {
    const outcomes = ['stored', 'unadmitted', 'dropped'] as const;
    const read = async () => Promise.all(outcomes.map(countOf));
    const before = await read();
    const since = async () => (await read()).map((each, index) => each - (before[index] ?? 0));
    const beganIn = Math.floor(Date.now() / MINUTE_MS);
    await work();
    const areSettled = async () => {
      const rows = await rowsOf(tenant);
      const [stored = 0, unadmitted = 0, dropped = 0] = await since();
      const isBelow = rows < bound || rows + unadmitted + dropped < count;
      return !isBelow && stored + unadmitted + dropped >= count;
    };
    await eventually('all are settled', areSettled, SETTLED_MS_MAX);
    const [stored = 0, unadmitted = 0, dropped = 0] = await since();
    const rows = await rowsOf(tenant);
    const minutes = Math.floor(Date.now() / MINUTE_MS) - beganIn + 1;
    return { rows, stored, unadmitted, dropped, minutes };
  }

  /** Expects at least the rows that one minute has room for, and no more than all that were touched have. */
  function expectBounded(rows: number, bound: number, minutes: number): void {
    expect(rows).toBeGreaterThanOrEqual(bound);
    expect(rows).toBeLessThanOrEqual(bound * minutes);
  }

  const rowsOf = async (tenant: Tenant) => (await devicesOf(node, tenant)).length;

  /** Expects that each of so many invented devices is recorded: none was beyond a bound. */
  async function expectAll(tenant: Tenant, count: number): Promise<void> {
    const areRecorded = async () => (await rowsOf(tenant)) === count;
    await eventually('each device is recorded', areRecorded, SETTLED_MS_MAX);
  }

  it(
    'invented ids from one address leave so many rows a minute, and are answered',
    async () => {
      const tenant = await createTenant(node);
      const count = 5 * PER_ADDRESS;
      const { rows, stored, unadmitted, dropped, minutes } = await settled(
        tenant,
        { count, bound: PER_ADDRESS },
        () => invent(tenant, count, () => '203.0.113.7'),
      );
      // At least: a batch whose acceptance was not heard is sent, and settled, again.
      expect(stored + unadmitted).toBeGreaterThanOrEqual(count);
      expect(dropped).toBe(0);
      expect(stored).toBeGreaterThanOrEqual(rows);
      expectBounded(rows, PER_ADDRESS, minutes);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'devices on record are recorded from an address however full, and so are reports',
    async () => {
      const tenant = await createTenant(node);
      const known = Array.from({ length: 2 * PER_ADDRESS }, (_, index) => `known-${index}`);
      const reported = known.map((deviceId) => ({ deviceId, version: '0.9.0', platform: 'linux' }));
      expect((await report(node, tenant, reported)).status).toBe(200);
      expect(await rowsOf(tenant)).toBe(known.length);
      const address = () => '203.0.113.8';
      const count = PER_ADDRESS + 20;
      await settled(tenant, { count, bound: PER_ADDRESS }, () => invent(tenant, count, address));
      await askAll(tenant, known, address);
      const isRecorded = async () => {
        const rows = await devicesOf(node, tenant, 'version=1.0.0&limit=1000');
        const ids = new Set(rows.map(({ deviceId }) => deviceId));
        return known.every((id) => ids.has(id));
      };
      await eventually('each device on record is recorded', isRecorded, SETTLED_MS_MAX);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'an IPv6 client is its /64, and a /48 has ten times the bound',
    async () => {
      const [one, many] = [await createTenant(node), await createTenant(node)];
      const inOne = (index: number) => `2001:db8:1:1::${index.toString(16)}`;
      const count = PER_ADDRESS + 20;
      const first = await settled(one, { count, bound: PER_ADDRESS }, () =>
        invent(one, count, inOne),
      );
      expect(first.stored + first.unadmitted).toBeGreaterThanOrEqual(count);
      expectBounded(first.rows, PER_ADDRESS, first.minutes);
      // Devices of different /64: no network has too many, but for an app.
      const spread = (index: number) => `2001:db8:2:${index.toString(16)}::1`;
      await invent(many, 2 * PER_ADDRESS, spread);
      await expectAll(many, 2 * PER_ADDRESS);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'an app has a bound over all addresses; another app has its own',
    async () => {
      const [flooded, other] = [await createTenant(node), await createTenant(node)];
      const anywhere = (index: number) => `198.51.${index >> 8}.${index & 255}`;
      const count = PER_APP + 30;
      const { rows, stored, unadmitted, minutes } = await settled(
        flooded,
        { count, bound: PER_APP },
        () => invent(flooded, count, anywhere),
      );
      expect(stored + unadmitted).toBeGreaterThanOrEqual(count);
      expectBounded(rows, PER_APP, minutes);
      await invent(other, 20, (index) => anywhere(index + 1000));
      await expectAll(other, 20);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'labels of a check are no way around, and decide its answer all the same',
    async () => {
      const tenant = await createTenant(node);
      const targets = { matchLabels: { ring: ['beta'] } };
      expect((await publish(node, tenant, '2.0.0', { targets })).status).toBe(201);
      const address = () => '203.0.113.9';
      const count = PER_ADDRESS + 20;
      const { rows, unadmitted, minutes } = await settled(
        tenant,
        { count, bound: PER_ADDRESS },
        () => invent(tenant, count, address, { query: '?l.ring=beta', status: 200 }),
      );
      expect(rows + unadmitted).toBeGreaterThanOrEqual(count);
      expectBounded(rows, PER_ADDRESS, minutes);
      const devices = await devicesOf(node, tenant);
      expect(new Set(devices.map(({ labels }) => JSON.stringify(labels)))).toEqual(
        new Set(['{"ring":"beta"}']),
      );
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'a private address that meets the bound is named in a warning, with TRUST_PROXY',
    async () => {
      const tenant = await createTenant(node);
      const count = 3 * PER_ADDRESS;
      const many = { count, bound: PER_ADDRESS };
      await settled(tenant, many, () => invent(tenant, count, () => '10.1.2.3'));
      const warnings = () =>
        node
          .output()
          .split('\n')
          .filter((line) => line.includes('TRUST_PROXY may be wrong'));
      await eventually('the warning is there', () => warnings().length > 0);
      expect(warnings()).toHaveLength(1);
      expect(JSON.parse(warnings()[0] ?? '{}')).toMatchObject({
        level: 'warn',
        address: '10.1.2.3',
        TRUST_PROXY: 1,
      });
    },
    TEST_TIMEOUT_MS,
  );

  it('a device has as many changes of its version as DEVICE_HISTORY asks for', async () => {
    const { app } = await createTenant(node);
    const read = async () => (await admin(node, 'GET', `device?app=${app}&deviceId=d`)).body ?? {};
    for (const version of ['1.0.0', '1.1.0', '1.2.0', '1.3.0']) {
      await check(node, { app }, version, { device: 'd' });
      await eventually('it is recorded', async () => (await read()).version === version);
    }
    expect((await read()).history).toMatchObject([{ to: '1.3.0' }, { to: '1.2.0' }]);
    expect((await read()).history).toHaveLength(2);
  });
});
