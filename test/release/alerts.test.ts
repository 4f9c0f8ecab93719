// Tests that alerts fire on a fresh node by their real cause, and are silent before: two scrapes of /metrics,
// and promtool. Here are causes of which a scrape tells by several figures, or by figures that a fresh node
// does not have yet. Of the others, tests of the cause read the figure, test/service/monitoring.test.ts finds
// it in the rule, and rules.test.yml plays the rule.

import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { repositoryPath } from '../docs/document.ts';
import { judgeAlert } from '../support/alert-rules.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { endWithSuite } from '../support/own.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { findPromtool, promtool } from '../support/promtool.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { createTenant, send, type Tenant } from '../support/tenant.ts';
import { describeOnWorkers, startWorkerNode, type WorkerNode } from '../support/worker-node.ts';

const HAS_PROMTOOL = findPromtool() !== undefined;
const SKIPPED = HAS_PROMTOOL ? '' : ' (skipped: no promtool on this machine)';

const DEVICES = Array.from({ length: 12 }, (_, index) => `f${index}`);

/** Runs a suite of several workers that asks promtool, or skips it and says why. */
const describeAlerts = HAS_PROMTOOL ? describeOnWorkers : describe.skip;

describeAlerts(`alerts${SKIPPED}`, () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  let node: WorkerNode;
  let tenant: Tenant;
  /** What the fresh node told. */
  let fresh: string;
  let freshAt: number;

  const scrape = async () => (await send(node, 'GET', '/metrics')).text;

  beforeAll(async () => {
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    const settings = {
      ...{ DATABASE_URL: postgres.url, REDIS_URL: redis.url, SECRET_KEY: 'a key of the tests' },
      ...{ WORKERS: '2', ADMIN_TOKEN },
    };
    node = await startWorkerNode({ settings, drop: async () => undefined });
    tenant = await createTenant(node);
    await eventually('all processes tell their figures', async () => {
      fresh = await scrape();
      return fresh.includes('process="background"') && fresh.includes('process="worker-2"');
    });
    freshAt = performance.now();
  });
  endWithSuite(() => [node, postgres, redis]);

  /** Waits until an alert fires on what is told now; it must have been silent on what was told before. */
  async function expectAlert(alert: string, goesOn = true): Promise<void> {
    await eventually(`${alert} fires`, async () => {
      const after = await scrape().catch(() => '');
      const seconds = (performance.now() - freshAt) / 1000;
      const scrapes = { before: fresh, after, seconds, goesOn };
      const { isSilentBefore, firesAfter } = await judgeAlert(alert, scrapes);
      expect(isSilentBefore, alert).toBe(true);
      return firesAfter;
    });
  }

  /** Every device checks, and tells that it could not install a release. */
  async function failAll(version: string, failed: string): Promise<void> {
    const path = `/u/${tenant.app}/stable/darwin/aarch64/${version}/failure`;
    for (const device of DEVICES) {
      await tenant.check(version, { device });
      const headers = { 'x-service-device': device };
      const answer = await send(node, 'POST', path, { headers, body: { version: failed } });
      expect(answer.status, answer.text).toBe(204);
    }
  }

  it('devices cannot install a release', async () => {
    await tenant.publish('1.0.0');
    await failAll('0.9.0', '1.0.0');
    await expectAlert('SluiceInstallsFail', false);
  });

  it('PostgreSQL is away, then Redis too', async () => {
    await tenant.publish('9.0.0');
    await tenant.check('8.0.0', { device: 'offered-before' });
    await tenant.publish('9.1.0');
    await postgres.kill();
    for (let turn = 0; turn < 20; turn++) {
      await tenant.check('9.0.0', { device: `d${turn}` });
      await tenant.publish(`10.0.${turn}`);
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
