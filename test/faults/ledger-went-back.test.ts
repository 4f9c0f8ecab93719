// Tests nodes on a database that went back: a standby that lacked the last commits took over, or a backup was
// restored. The record is served by every node within seconds, without hands, and nothing that the record
// lost decides anything. How soon: test/timed/propagation.test.ts.

import { expect, it } from 'vitest';
import { logLines } from '../support/admin-address.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { figureOf } from '../support/metrics.ts';
import { type NodeSettings, type ServingNode, startNode } from '../support/node.ts';
import { nodeClock } from '../support/node-clock.ts';
import { own } from '../support/own.ts';
import {
  type PostgresServer,
  type StandbyServer,
  startPostgres,
} from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { type NetworkProxy, startProxy } from '../support/tcp-proxy.ts';
import { type Answer, createTenant, type Tenant } from '../support/tenant.ts';

/** Pause between two checks of a device that waits: it may ask 120 times in a minute. */
const ASK_INTERVAL_MS = 100;

describeOnRealStores('a fail-over to a standby that lacked the last commits', () => {
  it('leaves every node at the record, with the offers that only nodes remember', async () => {
    const { primary, redis, proxy, start } = await startPair();
    const [n1, n2] = await Promise.all([start(), start()]);
    const tenant = await createTenant(n1, ['1.0.0'], ['1.1.0', { rollout: 50 }]);
    const standby = await lagging(primary);
    // The standby has none of this: the offers, three commits, and the release that is served by then.
    const lucky = await deviceOffered(tenant, '1.1.0');
    await tenant.publish('1.2.0');
    await tenant.publish('1.3.0');
    await tenant.control('1.2.0', { status: 'paused' });
    for (const node of [n1, n2]) await tenant.at(node).untilOffered('1.3.0');
    const sinceMove = await failOver(primary, standby, proxy);

    // What is changed right after the fail-over is served at once, by the node that answered.
    const paused = await untilAnswered(() => tenant.control('1.0.0', { status: 'paused' }));
    const acceptedMs = sinceMove();
    expect(paused.status).toBe(200);
    expect(await offered(tenant, lucky)).toBe('1.1.0');
    await untilAllOffer([n1, n2], tenant, lucky, '1.1.0');
    const rightMs = sinceMove();
    console.info(`fail-over: first change after ${acceptedMs} ms, all right after ${rightMs} ms`);

    // The release was offered, which only nodes and Redis knew.
    expect((await tenant.at(n2).control('1.1.0', { rollout: 10 })).status).toBe(422);
    expect((await tenant.at(n2).control('1.3.0', { status: 'paused' })).status).toBe(404);
    expect((await tenant.at(n2).publish('1.4.0')).status).toBe(201);
    await untilAllOffer([n1, n2], tenant, lucky, '1.4.0');
    const raised = [n1, n2].flatMap((node) =>
      logLines(node.output(), 'the ledger went back or moved'),
    );
    expect(raised).toHaveLength(1);
    expect(raised[0]).toMatchObject({ level: 'error', epoch: 1 });
    const restored = 'sluice_ledger_rewinds_total{event="offer-restored"}';
    const counts = await Promise.all([n1, n2].map((node) => figureOf(node, restored)));
    expect(Math.max(...counts)).toBeGreaterThan(0);

    // Neither Redis nor the disk brings the old time line back.
    await n2.stop();
    const again = own(await n2.restart());
    expect(await offered(tenant.at(again), lucky)).toBe('1.4.0');
    await again.stop();
    const alone = own(
      await again.restart({ DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none' }),
    );
    expect(await offered(tenant.at(alone), lucky)).toBe('1.4.0');
    await redis.stop();
  });
});

describeOnRealStores('a fail-over together with another fault', () => {
  it('leaves every node at the record: without Redis, and with a clock that is an hour ahead', async () => {
    const { primary, redis, proxy, start } = await startPair();
    const clock = nodeClock(0);
    const [n1, n2] = await Promise.all([start(), start(clock.settings)]);
    const tenant = await createTenant(n1);
    /** Each time another device asks: one has a limit, and a wait of seconds asks many times. */
    let number = 0;
    const untilServed = (version: string) =>
      untilAllOffer([n1, n2], tenant, `waiting-${++number}`, version);
    await tenant.publish('1.0.0');
    await untilServed('1.0.0');

    const standby = await lagging(primary);
    await tenant.publish('1.1.0');
    await untilServed('1.1.0');
    await redis.kill();
    const withoutRedis = await failOver(primary, standby, proxy);
    await untilServed('1.0.0');
    const rightMs = withoutRedis();
    const published = await untilAnswered(() => tenant.at(n2).publish('1.2.0'));
    expect(published.status).toBe(201);
    expect(await offered(tenant.at(n2))).toBe('1.2.0');
    await untilServed('1.2.0');
    await redis.restart();

    clock.set(3_600_000);
    const next = await lagging(standby);
    await tenant.at(n2).publish('1.3.0');
    await untilServed('1.3.0');
    await reportVersion(tenant.at(n2), '1.3.0');
    const withWrongClock = await failOver(standby, next, proxy);
    await untilServed('1.2.0');
    const rightToo = withWrongClock();
    // The report of the node that is ahead is lost, or earlier: it makes none void that comes after it.
    await untilAnswered(() => reportVersion(tenant, '1.2.0'));
    const devices = await tenant.devices();
    const device = devices.find(({ deviceId }) => deviceId === 'reported');
    expect(device).toMatchObject({ version: '1.2.0' });
    expect(Date.parse(String(device?.lastSeen))).toBeLessThan(Date.now() + 1000);
    console.info(
      `fail-over without Redis: all right after ${rightMs} ms; with a wrong clock: ${rightToo} ms`,
    );
  });
});

/** Starts a standby that has all commits so far, and none that follow. */
async function lagging(primary: PostgresServer): Promise<StandbyServer> {
  const standby = own(await primary.startStandby());
  await standby.catchUp();
  await standby.stopFollowing();
  return standby;
}

/** Puts the standby in the place of the primary; returns a clock that begins then, in milliseconds. */
async function failOver(
  primary: PostgresServer,
  standby: StandbyServer,
  proxy: NetworkProxy,
): Promise<() => number> {
  await primary.kill();
  await standby.promote();
  const movedAt = performance.now();
  proxy.moveTo(standby.port);
  return () => Math.round(performance.now() - movedAt);
}

function reportVersion(tenant: Tenant, version: string): Promise<Answer> {
  const device = { deviceId: 'reported', version, platform: 'linux', arch: 'x86_64' };
  return tenant.report([device]);
}

/** PostgreSQL behind one address that the test moves, and Redis, for nodes of their own disks. */
async function startPair() {
  const [primary, redis] = [own(await startPostgres()), own(await startRedis())];
  const proxy = own(await startProxy(primary.port));
  const databaseUrl = primary.url.replace(String(primary.port), String(proxy.port));
  return {
    primary,
    redis,
    proxy,
    async start(settings: NodeSettings = {}): Promise<ServingNode> {
      const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redis.url };
      return own(await startNode({ ...stores, ...settings }));
    },
  };
}

/** Returns a device in the cohort that is offered the version. */
async function deviceOffered(tenant: Tenant, version: string): Promise<string> {
  for (let number = 0; number < 100; number++) {
    if ((await offered(tenant, `device-${number}`)) === version) return `device-${number}`;
  }
  throw new Error(`no device is offered ${version}`);
}

const offered = (tenant: Tenant, device = 'device-1') => tenant.offered('0.9.0', { device });

async function untilAllOffer(
  nodes: readonly ServingNode[],
  tenant: Tenant,
  device: string,
  version: string,
): Promise<void> {
  for (const node of nodes) {
    await eventually(`${node.url} offers ${version}`, async () => {
      if ((await offered(tenant.at(node), device)) === version) return true;
      await sleep(ASK_INTERVAL_MS);
      return false;
    });
  }
}

/** Repeats a call until it is not answered with 503. */
async function untilAnswered(call: () => Promise<Answer>) {
  let answer = await call();
  await eventually('the call is answered', async () => {
    if (answer.status === 503) answer = await call();
    return answer.status !== 503;
  });
  return answer;
}
