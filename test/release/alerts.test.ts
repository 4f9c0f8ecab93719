// Tests that alerts fire on a fresh node by their real cause, and are silent before: two scrapes of /metrics,
// and promtool. Not here, and why:
//
// - SluiceErrorsSlow, SluiceStoreSlow, SluicePropagationSlow, SluiceBacklog, SluicePoolExhausted: hours of
//   small errors, or minutes of load; rules.test.yml plays them.
// - SluiceCheckInsHeld, SluiceCheckInsDropped, SluiceCheckInsNotRecorded, SluiceEdgeCheckInsNotHandedOver,
//   SluiceEdgeJournalFilling: 10,000 to 200,000 check-ins, or minutes of them; test/faults fills the queues.
// - SluiceForeignDatabase, SluiceLedgerWentBack, SluiceEdgeRefusesService, SluiceClockWrong, SluiceLimited,
//   SluiceConnectionsRefused, SluiceDevicesUnadmitted, SluiceProcessSilent: other tests make the causes
//   and read the figures.
// - SluiceDiskFilling: only a file system of the test's own can be filled; store-words.test.ts does it where
//   the account may mount one.
// - SluicePlanLate, SluicePlanHeld: minutes, and a day.

import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { repositoryPath } from '../docs/document.ts';
import { judgeAlert } from '../support/alert-rules.ts';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { findPromtool, promtool } from '../support/promtool.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import {
  ARTIFACT,
  admin,
  check,
  createTenant,
  manage,
  publish,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';
import { describeOnWorkers, startWorkerNode, type WorkerNode } from '../support/worker-node.ts';

const HAS_PROMTOOL = findPromtool() !== undefined;
const SKIPPED = HAS_PROMTOOL ? '' : ' (skipped: no promtool on this machine)';

const DEVICES = Array.from({ length: 12 }, (_, index) => `f${index}`);

describeOnWorkers('alerts', () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  let node: WorkerNode;
  let edge: ServingNode;
  let tenant: Tenant;
  /** What the fresh node and the fresh edge told. */
  let fresh: string;
  let freshEdge: string;
  let freshAt: number;

  const scrape = async (of: { readonly url: string } = node) =>
    (await send(of, 'GET', '/metrics')).text;

  beforeAll(async () => {
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    const settings = {
      ...{ DATABASE_URL: postgres.url, REDIS_URL: redis.url, SECRET_KEY: 'a key of the tests' },
      ...{ WORKERS: '2', ADMIN_TOKEN },
    };
    node = await startWorkerNode({ settings, drop: async () => undefined });
    tenant = await createTenant(node);
    edge = await startEdge(node.url, (await makeEdgeToken(node)).secret);
    await eventually('all processes tell their figures', async () => {
      fresh = await scrape();
      return fresh.includes('process="background"') && fresh.includes('process="worker-2"');
    });
    freshEdge = await scrape(edge);
    freshAt = performance.now();
  });
  afterAll(async () => {
    await edge?.dispose();
    await node?.dispose();
    await Promise.all([postgres?.stop(), redis?.stop()]);
  });

  /** Waits until an alert fires on what is told now; it must have been silent on what was told before. */
  async function expectAlert(
    alert: string,
    { of = node as { readonly url: string }, goesOn = true } = {},
  ): Promise<void> {
    const before = of === edge ? freshEdge : fresh;
    await eventually(`${alert} fires`, async () => {
      const after = await scrape(of).catch(() => '');
      const seconds = (performance.now() - freshAt) / 1000;
      const scrapes = { before, after, seconds, goesOn };
      const { isSilentBefore, firesAfter } = await judgeAlert(alert, scrapes);
      expect(isSilentBefore, alert).toBe(true);
      return firesAfter;
    });
  }

  /** Every device checks once. */
  async function checkAll(version: string): Promise<void> {
    for (const device of DEVICES) await check(node, tenant, version, { device });
  }

  /** Every device tells that it could not install a release. */
  async function failAll(version: string, failed: string): Promise<void> {
    const path = `/u/${tenant.app}/stable/darwin/aarch64/${version}/failure`;
    for (const device of DEVICES) {
      const headers = { 'x-service-device': device };
      const answer = await send(node, 'POST', path, { headers, body: { version: failed } });
      expect(answer.status, answer.text).toBe(204);
    }
  }

  async function sql(...texts: string[]): Promise<void> {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    for (const text of texts) await client.query(text);
    await client.end();
  }

  it.skipIf(!HAS_PROMTOOL)(`a bug: a column is missing${SKIPPED}`, async () => {
    await sql('ALTER TABLE releases RENAME COLUMN notes TO lost');
    // Not by `manage`, which refuses an answer that the OpenAPI document does not have.
    const headers = { authorization: `Bearer ${tenant.secret}` };
    const { status } = await fetch(`${node.url}/api/v1/releases?app=${tenant.app}`, { headers });
    await sql('ALTER TABLE releases RENAME COLUMN lost TO notes');
    expect(status).toBe(500);
    await expectAlert('SluiceBug', { goesOn: false });
  });

  it.skipIf(!HAS_PROMTOOL)(`devices cannot install a release${SKIPPED}`, async () => {
    await publish(node, tenant, '1.0.0');
    await checkAll('0.9.0');
    await failAll('0.9.0', '1.0.0');
    await expectAlert('SluiceInstallsFail', { goesOn: false });
  });

  it.skipIf(!HAS_PROMTOOL)(
    `a plan waits for a guard, and a guard stops one${SKIPPED}`,
    async () => {
      const guards = { minimumDevices: 1, failedPercent: 1, knownForMinutes: 0, confirmMinutes: 0 };
      const named = { app: tenant.app, channel: 'stable', version: '2.0.0' };
      const steps = [
        { rollout: 50, holdMinutes: 0 },
        { rollout: 100, holdMinutes: 0 },
      ];
      const blind = { ...guards, minimumDevices: 1000 };
      const planned = await manage(node, tenant, 'POST', 'releases', {
        ...{ ...named, notes: '', artifacts: [ARTIFACT], plan: { steps, guards: blind } },
      });
      expect(planned.status, planned.text).toBe(201);
      await expectAlert('SluicePlanWaiting');
      await manage(node, tenant, 'PATCH', 'releases/plan', { ...named, action: 'cancel' });

      // Of devices that come after the release, none is known: no guard counts them. Those that are reported
      // belong to no network; those of one address alone stop nothing.
      await report(
        node,
        tenant,
        DEVICES.map((deviceId) => ({ deviceId, version: '1.0.0', platform: 'darwin' })),
      );
      await checkAll('1.0.0');
      const bad = { ...named, version: '3.0.0' };
      await manage(node, tenant, 'POST', 'releases', {
        ...{ ...bad, notes: '', artifacts: [ARTIFACT] },
      });
      const long = [{ rollout: 100, holdMinutes: 60 }];
      const put = await manage(node, tenant, 'PUT', 'releases/plan', {
        ...bad,
        steps: long,
        guards,
      });
      expect(put.status, put.text).toBe(200);
      await checkAll('1.0.0');
      await failAll('1.0.0', '3.0.0');
      await expectAlert('SluicePlanTripped');
      const line = node.log().find(({ msg }) => msg === 'a guard has stopped a rollout');
      expect(line).toMatchObject({ app: tenant.app, version: '3.0.0', guards: ['failed'] });
    },
  );

  it.skipIf(!HAS_PROMTOOL)(`processes end again and again${SKIPPED}`, async () => {
    for (let turn = 0; turn < 3; turn++) {
      const count = node.processIds('worker 2').length;
      await node.killPart('worker 2');
      await eventually('it is back', () => node.processIds('worker 2').length > count);
    }
    await expectAlert('SluiceRestartLoop', { goesOn: false });
  });

  it.skipIf(!HAS_PROMTOOL)(`an edge is refused: its token was revoked${SKIPPED}`, async () => {
    const { body } = await admin(node, 'GET', 'edge-tokens');
    const { edgeTokens } = body as { edgeTokens: { id: string }[] };
    for (const { id } of edgeTokens) await admin(node, 'POST', 'edge-tokens/revoke', { id });
    await expectAlert('SluiceEdgeRefusesAnswers', { of: edge });
  });

  it.skipIf(!HAS_PROMTOOL)(`Redis is full, then of another record${SKIPPED}`, async () => {
    const client = new Redis(redis.url);
    await client.config('SET', 'maxmemory', '1mb');
    await eventually('something is refused', async () => {
      await check(node, tenant, '0.9.0', { device: `${performance.now()}` });
      await publish(node, tenant, `1.0.${Math.round(performance.now())}`);
      return node
        .log()
        .some(({ msg, store }) => msg === 'store refuses writes' && store === 'engine');
    });
    await expectAlert('SluiceStoreFull');
    await client.config('SET', 'maxmemory', '0');
    const [key = ''] = await client.keys('*:record');
    await client.hset(key, 'name', 'rec_another');
    await expectAlert('SluiceForeignRedis');
    await client.flushall();
    await client.quit();
  });

  it.skipIf(!HAS_PROMTOOL)(`PostgreSQL is away, then Redis too${SKIPPED}`, async () => {
    await publish(node, tenant, '9.0.0');
    await check(node, tenant, '8.0.0', { device: 'offered-before' });
    await publish(node, tenant, '9.1.0');
    await postgres.kill();
    for (let turn = 0; turn < 20; turn++) {
      await check(node, tenant, '9.0.0', { device: `d${turn}` });
      await publish(node, tenant, `10.0.${turn}`);
    }
    await expectAlert('SluiceStoreDown');
    await expectAlert('SluiceFirstOffersUnavailable');
    await expectAlert('SluiceStoreFaults');
    await expectAlert('SluiceErrorsFast');
    await redis.kill();
    await expectAlert('SluiceUnconfirmed');
    await expectAlert('SluiceStoreDown');
  });
});

it.skipIf(!HAS_PROMTOOL)(`the cases of rules.test.yml, played over hours${SKIPPED}`, async () => {
  const cases = join(repositoryPath, 'deploy/prometheus/rules.test.yml');
  const { code, output } = await promtool(['test', 'rules', cases]);
  expect([code, output]).toEqual([0, expect.stringContaining('SUCCESS')]);
});
