// Tests nodes behind a real PgBouncer that turns to another server. Their connections stay, so nothing asks
// anew where they lead: that the ledger went back is found by comparing states.

import { afterEach, describe, expect, inject, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { findPgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { check, createTenant, publish } from '../support/tenant.ts';

const isPossible =
  findPgBouncer() !== undefined && inject('postgresUrl') !== '' && inject('redisUrl') !== '';
const title = isPossible
  ? 'a PgBouncer that turns to a standby'
  : 'a PgBouncer that turns to a standby (skipped: no PgBouncer, PostgreSQL or Redis here)';
/** Promised time until every node serves the ledger's state, in milliseconds. */
const PROMISE_MS = 5000;

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

describe.skipIf(!isPossible)(title, () => {
  it('which lacked the last commits: every node is at the record within 5 s', async () => {
    const [primary, redis] = await Promise.all([startPostgres(), startRedis()]);
    endings.push(() => Promise.all([primary.stop(), redis.stop()]));
    const [standby, bouncer] = await Promise.all([
      primary.startStandby(),
      startPgBouncer(primary.port),
    ]);
    endings.push(() => Promise.all([standby.stop(), bouncer.stop()]));
    const settings = { DATABASE_URL: bouncer.through(primary.url), REDIS_URL: redis.url };
    const nodes = await Promise.all([startNode(settings), startNode(settings)]);
    endings.push(() => Promise.all(nodes.map((node) => node.dispose())));
    const [one, other] = nodes;
    const tenant = await createTenant(one);
    let asked = 0;
    const untilOffered = async (version: string) => {
      for (const node of nodes) {
        await eventually(`${version} is offered`, async () => {
          // Each time another device, because one may ask 120 times in a minute.
          const device = `waiting-${++asked}`;
          return (await check(node, tenant, '0.9.0', { device })).body?.version === version;
        });
      }
    };

    await publish(one, tenant, '1.0.0');
    await untilOffered('1.0.0');
    await standby.catchUp();
    await standby.stopFollowing();
    await publish(one, tenant, '1.1.0');
    await untilOffered('1.1.0');
    await standby.promote();
    const movedAt = performance.now();
    await bouncer.moveTo(standby.port);
    await untilOffered('1.0.0');
    const rightMs = Math.round(performance.now() - movedAt);
    console.info(`fail-over behind PgBouncer: all right after ${rightMs} ms`);
    expect(rightMs).toBeLessThan(PROMISE_MS);

    expect((await publish(other, tenant, '1.2.0')).status).toBe(201);
    await untilOffered('1.2.0');
    expect(nodes.filter(hasRaisedTheEpoch)).toHaveLength(1);
  });
});

function hasRaisedTheEpoch(node: ServingNode): boolean {
  return node.output().includes('the ledger went back or moved');
}
