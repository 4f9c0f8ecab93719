// Tests the process behind ADMIN_LISTEN under faults (docs/operating/processes.md): its end touches no
// device, other processes do not hold it up, and all workers serve what the console has changed.

import { randomUUID } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { ADMIN_APART, adminAddress } from '../support/admin-address.ts';
import { realStores } from '../support/backend.ts';
import { eventually, sleep } from '../support/eventually.ts';
import type { FreshDatabase } from '../support/fresh-database.ts';
import { metricsOf } from '../support/metrics.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { endWithSuite } from '../support/own.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { repeatCalls } from '../support/repeated-calls.ts';
import { admin, createTenant, send, type Tenant } from '../support/tenant.ts';
import {
  Connections,
  describeOnWorkers,
  isAlive,
  startWorkerNode,
  type WorkerNode,
} from '../support/worker-node.ts';

/** Time after a signal in which another one counts as the same (src/main.ts), with room. */
const ONE_SIGNAL_MS = 1200;

describeOnWorkers('the admin process', () => {
  let redis: RedisServer;
  let database: FreshDatabase;
  let node: WorkerNode;
  let people: { readonly url: string };
  let tenant: Tenant;
  let connections: Connections;

  beforeAll(async () => {
    database = await migratedDatabase(realStores()?.postgresUrl ?? '');
    redis = await startRedis();
    const settings = { DATABASE_URL: database.url, REDIS_URL: redis.url };
    // It drains for longer than any test takes: the last one ends it by a signal.
    const more = { WORKERS: '2', DRAIN_SECONDS: '3600', ...ADMIN_APART };
    node = await startWorkerNode({ settings, drop: database.drop }, more);
    people = adminAddress(node.log());
    tenant = await createTenant(people);
    expect((await tenant.at(node).publish('1.1.0')).status).toBe(201);
    connections = new Connections(32);
  });
  endWithSuite(() => [connections, node, redis, database]);

  /** Returns the distinct statuses of a check over each of the connections, which reach every worker. */
  async function statuses(): Promise<readonly number[]> {
    const address = `${node.url}/u/${tenant.app}/stable/linux/x86_64/1.0.0`;
    const answers = await Promise.all(
      Array.from({ length: connections.count }, (_, connection) =>
        connections.ask(connection, address, { 'x-service-device': randomUUID() }),
      ),
    );
    return [...new Set(answers.map(({ status }) => status))];
  }

  /** Asks over a connection of its own; tells whether the answer was its last. */
  async function askAnew(path: string): Promise<{ status: number; isLast: boolean }> {
    const once = new Connections(1);
    const { status, headers } = await once.ask(0, node.url + path);
    once.close();
    return { status, isLast: headers.connection === 'close' };
  }

  it('and a worker change what every worker serves from their answer on, with Redis and without (§15.1)', async () => {
    for (const isRedisThere of [true, false]) {
      if (!isRedisThere) await redis.kill();
      for (let round = 0; round < 2; round++) {
        const paused = { app: tenant.app, channel: 'stable', version: '1.1.0', status: 'paused' };
        expect((await admin(people, 'PATCH', 'releases', paused)).status).toBe(200);
        expect(await statuses()).toEqual([204]);
        const resumed = await tenant.at(node).control('1.1.0', { status: 'published' });
        expect(resumed.status).toBe(200);
        expect(await statuses()).toEqual([200]);
      }
    }
    await redis.restart();
  });

  it('is started again on its address when it ends, and no check fails meanwhile', async () => {
    let answered = 0;
    const checking = repeatCalls(0, async () => {
      expect(await statuses()).toEqual([200]);
      answered += 1;
    });
    await node.killPart('admin');
    await eventually('it is ready again', () => node.processIds('admin').length === 2);
    await eventually(
      'it answers',
      async () => (await send(people, 'GET', '/readyz')).status === 200,
    );
    await checking.end();
    expect(answered).toBeGreaterThan(0);
    const text = await metricsOf(people);
    // The supervisor, two workers, the admin process and the background process.
    expect(text).toContain('sluice_processes 5\n');
    expect(text).toContain('sluice_process_events_total{event="restarted"} 1\n');
  });

  it('says that the node drains, while every worker answers, one that was started meanwhile too', async () => {
    node.main.kill('SIGTERM');
    const state = async (at: { readonly url: string }) => (await send(at, 'GET', '/readyz')).body;
    await eventually('the node drains', async () => (await state(people))?.error !== undefined);
    expect(await state(people)).toEqual({ error: 'draining' });
    const died = node.processIds('worker 1').length;
    await node.killPart('worker 1');
    await eventually('it is started again', () => node.processIds('worker 1').length > died);
    await eventually('it drains as well', async () => {
      const seen = await Promise.all(Array.from({ length: 16 }, () => askAnew('/readyz')));
      return seen.every(({ status, isLast }) => status === 503 && isLast);
    });
    expect(await statuses()).toEqual([200]);
    expect((await send(people, 'GET', '/console')).headers.get('connection')).not.toBe('close');
  });

  it('ends with the others at a second signal, and says that the node stops as long as it answers', async () => {
    const processes = ['worker 1', 'worker 2', 'admin', 'background'].flatMap((part) =>
      node.processIds(part),
    );
    // Signals of one second count as one, and the test before this one may have taken less.
    await sleep(ONE_SIGNAL_MS);
    node.main.kill('SIGTERM');
    const seen = new Set<number>();
    for (let isUp = true; isUp; ) {
      await send(people, 'GET', '/readyz').then(
        ({ status }) => seen.add(status),
        () => {
          isUp = false;
        },
      );
    }
    expect(await node.exitCode).toBe(0);
    // By itself: one that does not end in time does not say so.
    expect(node.log().filter(({ msg }) => msg === 'stopped')).toHaveLength(1);
    expect([...seen].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    expect(processes.filter(isAlive)).toEqual([]);
  });
});
