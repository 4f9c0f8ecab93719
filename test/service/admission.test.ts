// Tests that strangers cannot fill the record with devices that do not exist: how many new ones are recorded
// is bounded by client address and by app, in each minute (docs/contract.md 19.8; the rules of the bounds are
// tested in test/store/ledger/fleet-admission-contract.ts). Every check is answered all the same. And that of
// those on record as much is kept as DEVICE_HISTORY says, as up to date as DEVICE_FRESHNESS_SECONDS says
// (test/store/ledger/device-keeping-contract.ts).

import { expect, it } from 'vitest';
import { describeOnBackends, suiteNode } from '../support/backend.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import { admin, createTenant, randomId, send, Tenant } from '../support/tenant.ts';

const PER_ADDRESS = 40;
const PER_APP = 60;
const PARALLEL = 50;
const MINUTE_MS = 60_000;
const FRESHNESS_MS = 10_000;
/** A busy machine takes its time to record check-ins; what is proved is how many, not when. */
const SETTLED_MS_MAX = 60_000;
const TEST_TIMEOUT_MS = 3 * SETTLED_MS_MAX;

describeOnBackends('admission of new devices', (backend) => {
  const node = suiteNode(() =>
    backend.start({
      NEW_DEVICES_PER_ADDRESS_PER_MINUTE: String(PER_ADDRESS),
      NEW_DEVICES_PER_APP_PER_MINUTE: String(PER_APP),
      DEVICE_HISTORY: '2',
      DEVICE_FRESHNESS_SECONDS: String(FRESHNESS_MS / 1000),
    }),
  );

  /** Checks of devices, each from the address that `addressOf` gives; all must have this status. */
  async function askAll(
    { app }: Tenant,
    devices: readonly string[],
    addressOf: (index: number) => string,
    { query = '', status: expected = 204 } = {},
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

  const invented = (count: number) => {
    const prefix = randomId();
    return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  };
  const rowsOf = async (tenant: Tenant) => (await tenant.devices()).length;

  /** Number of check-ins that were refused since the node was started. */
  async function countUnadmitted(): Promise<number> {
    const pattern = /^sluice_check_ins_total\{outcome="unadmitted"\} (\d+)$/m;
    return Number(pattern.exec(await metricsOf(node))?.[1] ?? 0);
  }

  /**
   * Has invented devices ask, and waits until each is recorded or refused. Expects at least the rows that one
   * minute has room for, and no more than all minutes that were touched have.
   */
  async function expectBounded(
    tenant: Tenant,
    bound: number,
    addressOf: (index: number) => string,
    asking?: { readonly query: string; readonly status: number },
  ): Promise<void> {
    const count = bound + 20;
    const [refusedBefore, beganIn] = [await countUnadmitted(), Math.floor(Date.now() / MINUTE_MS)];
    await askAll(tenant, invented(count), addressOf, asking);
    const areSettled = async () => {
      const [rows, refused] = [await rowsOf(tenant), (await countUnadmitted()) - refusedBefore];
      return rows >= bound && rows + refused >= count;
    };
    await eventually('each is recorded or refused', areSettled, SETTLED_MS_MAX);
    const minutes = Math.floor(Date.now() / MINUTE_MS) - beganIn + 1;
    expect(await rowsOf(tenant)).toBeLessThanOrEqual(bound * minutes);
  }

  it('a device has as many changes as DEVICE_HISTORY asks for, and is as far behind as DEVICE_FRESHNESS_SECONDS allows', async () => {
    const { app } = await createTenant(node);
    const read = async () => (await admin(node, 'GET', `device?app=${app}&deviceId=d`)).body ?? {};
    for (const version of ['1.0.0', '1.1.0', '1.2.0', '1.3.0']) {
      await new Tenant(node, { app }).check(version, { device: 'd' });
      await eventually('it is recorded', async () => (await read()).version === version);
    }
    const { history, lastSeen } = await read();
    expect(history).toMatchObject([{ to: '1.3.0' }, { to: '1.2.0' }]);
    expect(history).toHaveLength(2);
    // The service goes by a stopwatch, so no clock that a test moves shortens the ten seconds.
    await sleep(FRESHNESS_MS + 100);
    await new Tenant(node, { app }).check('1.3.0', { device: 'd' });
    await eventually('it is written again', async () => {
      return String((await read()).lastSeen) > String(lastSeen);
    });
  });

  it(
    'an address has a bound, but for devices on record; labels are no way around, and decide',
    async () => {
      const tenant = await createTenant(node);
      const targets = { matchLabels: { ring: ['beta'] } };
      expect((await tenant.publish('2.0.0', { targets })).status).toBe(201);
      const known = invented(2 * PER_ADDRESS);
      const reported = known.map((deviceId) => ({ deviceId, version: '0.9.0', platform: 'linux' }));
      expect((await tenant.report(reported)).status).toBe(200);
      expect(await rowsOf(tenant)).toBe(known.length);
      const other = await createTenant(node, ['2.0.0', { targets }]);
      const asking = { query: '?l.ring=beta', status: 200 };
      await expectBounded(other, PER_ADDRESS, () => '10.1.2.3', asking);
      const labels = (await other.devices()).map((each) => each.labels);
      expect(labels).toEqual(labels.map(() => ({ ring: 'beta' })));
      await askAll(tenant, known, () => '10.1.2.3');
      const areRecorded = async () =>
        (await tenant.devices('version=1.0.0&limit=1000')).length === known.length;
      await eventually('each device on record is recorded', areRecorded, SETTLED_MS_MAX);
      // A private address that meets the bound is named in a warning.
      const warning = node
        .output()
        .split('\n')
        .find((each) => each.includes('TRUST_PROXY may be'));
      expect(JSON.parse(warning ?? '{}')).toMatchObject({
        level: 'warn',
        address: '10.1.2.3',
        TRUST_PROXY: 1,
      });
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'an IPv6 client is its /64, and an app has a bound over all addresses',
    async () => {
      const [one, many] = [await createTenant(node), await createTenant(node)];
      await expectBounded(one, PER_ADDRESS, (index) => `2001:db8:1:1::${index.toString(16)}`);
      // Devices of different /64: no network has too many, but the app has.
      await expectBounded(many, PER_APP, (index) => `2001:db8:2:${index.toString(16)}::1`);
    },
    TEST_TIMEOUT_MS,
  );
});
