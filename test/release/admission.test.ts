// Tests that two nodes share the bounds of new devices: both record check-ins of both, and what is admitted
// is decided where it is recorded.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import { admin, createTenant, randomId, send, type Tenant } from '../support/tenant.ts';

const PER_ADDRESS = 100;
const PER_APP = 250;
const PARALLEL = 50;

describeOnRealStores('admission of new devices by two nodes', () => {
  let cluster: Cluster;
  let nodes: readonly ClusterNode[];
  beforeAll(async () => {
    cluster = await startCluster();
    const settings = {
      NEW_DEVICES_PER_ADDRESS_PER_MINUTE: String(PER_ADDRESS),
      NEW_DEVICES_PER_APP_PER_MINUTE: String(PER_APP),
    };
    nodes = await Promise.all([cluster.addNode(settings), cluster.addNode(settings)]);
  });
  afterAll(() => cluster?.dispose());

  /** Checks of invented devices by both nodes in turn; all must be answered. */
  async function invent(
    { app }: Tenant,
    count: number,
    addressOf: (index: number) => string,
    prefix = randomId(),
  ) {
    for (let from = 0; from < count; from += PARALLEL) {
      const answers = await Promise.all(
        Array.from({ length: PARALLEL }, (_, at) => {
          const node = nodes[at % nodes.length] as ClusterNode;
          return send(node, 'GET', `/u/${app}/stable/linux/x86_64/1.0.0`, {
            headers: {
              'x-service-device': `${prefix}-${from + at}`,
              'x-forwarded-for': addressOf(from + at),
            },
          });
        }),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
    }
  }

  /** Sum over the nodes of the check-ins with this outcome. */
  async function countOf(outcome: string): Promise<number> {
    const pattern = new RegExp(`^sluice_check_ins_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm');
    const texts = await Promise.all(nodes.map(metricsOf));
    return texts.reduce((sum, text) => sum + Number(pattern.exec(text)?.[1] ?? 0), 0);
  }

  /** Numbers of the tenant's devices by the minute in which they were first seen. */
  async function rowsByMinute({ appId }: Tenant): Promise<number[]> {
    const { rows } = await cluster.query<{ devices: number }>(
      `SELECT count(*)::integer AS devices FROM devices
       WHERE app_id = '${appId}' GROUP BY date_trunc('minute', first_seen)`,
    );
    return rows.map(({ devices }) => devices);
  }

  async function rowsOf(tenant: Tenant): Promise<number> {
    return (await rowsByMinute(tenant)).reduce((sum, devices) => sum + devices, 0);
  }

  it.each([
    ['one address', PER_ADDRESS, () => '203.0.113.7'],
    ['many addresses', PER_APP, (index: number) => `198.51.${index >> 8}.${index & 255}`],
  ] as const)(
    'invented ids from %s bring at most %i rows a minute',
    async (name, bound, addressOf) => {
      const tenant = await createTenant(nodes[0] as ClusterNode);
      const refusedBefore = await countOf('unadmitted');
      const unadmitted = async () => (await countOf('unadmitted')) - refusedBefore;
      await invent(tenant, 1000, addressOf);
      // At least: a batch whose acceptance was not heard is sent, and counted, again.
      await eventually(
        'each is recorded or refused',
        async () => {
          const rows = await rowsOf(tenant);
          return rows >= bound && rows + (await unadmitted()) >= 1000;
        },
        20_000,
      );
      const minutes = await rowsByMinute(tenant);
      console.log(
        `1,000 invented ids from ${name}, two nodes: ${minutes.join(' + ')} rows, ` +
          `${await unadmitted()} unadmitted`,
      );
      expect(Math.max(...minutes)).toBeLessThanOrEqual(bound);
      await eventually('the counts are those of the rows', async () => {
        return (await countsOf(tenant)) === (await rowsOf(tenant));
      });
    },
  );

  /** Number of the tenant's devices by the counts that the console shows. */
  async function countsOf({ appId }: Tenant): Promise<number> {
    const { rows } = await cluster.query<{ devices: number }>(
      `SELECT sum(devices)::integer AS devices FROM fleet_counts WHERE app_id = '${appId}'`,
    );
    return rows[0]?.devices ?? 0;
  }

  it('devices that were deleted are new again, to both nodes', async () => {
    const [node] = nodes as [ClusterNode];
    const tenant = await createTenant(node);
    const settled = async () => (await countOf('stored')) + (await countOf('unadmitted'));
    const ask = async () => {
      const before = await settled();
      await invent(tenant, 150, () => '203.0.113.8', 'same');
      await eventually('all are settled', async () => (await settled()) >= before + 150);
    };
    await ask();
    const [first = 0] = await rowsByMinute(tenant);
    expect(first).toBeGreaterThanOrEqual(PER_ADDRESS / 2);
    const purged = await admin(node, 'POST', 'devices/purge', {
      app: tenant.app,
      firstSeenAfter: '2000-01-01T00:00:00Z',
    });
    expect(purged.body).toMatchObject({ next: null });
    await ask();
    // In the same minute there is no room left; in another one there is as much again.
    const rows = await rowsOf(tenant);
    expect(rows).toBeLessThanOrEqual(PER_ADDRESS);
    expect(await countsOf(tenant)).toBe(rows);
  });
});
