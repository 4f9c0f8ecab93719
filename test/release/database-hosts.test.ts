// Tests an address that names a primary and its standby, as PostgreSQL's own library reads it: whichever
// takes writes is used, also after a promotion, and nobody has to change an address.

import { afterEach, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { check, control, createTenant, publish } from '../support/tenant.ts';

/** Promised time until changes are accepted after a promotion, in milliseconds. */
const PROMISE_MS = 5000;
const ATTRIBUTES = 'target_session_attrs=read-write';

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** Returns an address that names several ports of this machine. */
function addressOf(databaseUrl: string, ports: readonly number[]): string {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
  return `postgres://postgres@${hosts}${new URL(databaseUrl).pathname}?${ATTRIBUTES}`;
}

describeOnRealStores('an address with several hosts', () => {
  it('serves through a promotion, and takes changes on the promoted server', async () => {
    const [primary, redis] = await Promise.all([startPostgres(), startRedis()]);
    endings.push(() => Promise.all([primary.stop(), redis.stop()]));
    const standby = await primary.startStandby();
    endings.push(() => standby.stop());
    // The standby comes first, and refuses writes.
    const url = addressOf(primary.url, [standby.port, primary.port]);
    const [one, other] = await Promise.all([startOn(url, redis), startOn(url, redis)]);
    const tenant = await createTenant(one);
    await publish(one, tenant, '1.0.0');
    const offers = async (node: ServingNode, version: string) =>
      (await check(node, tenant, '0.9.0')).body?.version === version;
    for (const node of [one, other]) await eventually('1.0.0', () => offers(node, '1.0.0'));
    await standby.catchUp();

    const failures: number[] = [];
    let isOver = false;
    const devices = (async () => {
      while (!isOver) {
        for (const node of [one, other]) {
          const { status } = await check(node, tenant, '0.9.0');
          if (status !== 200) failures.push(status);
        }
        await sleep(20);
      }
    })();
    await primary.kill();
    await standby.promote();
    const promotedAt = performance.now();
    await eventually('a change is accepted', async () => {
      return (await publish(one, tenant, '1.1.0')).status === 201;
    });
    const acceptedMs = Math.round(performance.now() - promotedAt);
    for (const node of [one, other]) await eventually('1.1.0', () => offers(node, '1.1.0'));
    isOver = true;
    await devices;
    expect(failures).toEqual([]);
    expect(acceptedMs).toBeLessThan(PROMISE_MS);
    console.info(`promotion: a change was accepted after ${acceptedMs} ms`);
    expect((await control(other, tenant, '1.1.0', { status: 'paused' })).status).toBe(200);
    // Told by the node that came first.
    const told = [one, other].map((node) => node.output()).join('');
    expect(told).toContain('the ledger went back or moved');
  });
});

async function startOn(databaseUrl: string, redis: RedisServer): Promise<ServingNode> {
  const node = await startNode({ DATABASE_URL: databaseUrl, REDIS_URL: redis.url });
  endings.push(() => node.dispose());
  return node;
}
