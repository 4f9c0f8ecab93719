// Tests that the servers of the tests can be killed, frozen and restarted as promised; fault tests would
// otherwise prove nothing.

import pg from 'pg';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { eventually, sleep } from '../support/eventually.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { findPostgres, type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { startProxy } from '../support/tcp-proxy.ts';

const leftovers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const dispose of leftovers.splice(0).reverse()) await dispose();
});

async function clientOf(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1000 });
  client.on('error', () => {});
  await client.connect();
  leftovers.push(() => Promise.race([client.end().catch(() => {}), sleep(500)]));
  return client;
}

/** Returns the answer of a trivial query, or `silence` when there is none for a while. */
function ask(client: pg.Client): Promise<unknown> {
  const answer = client.query('select 1 as one').then(({ rows }) => rows[0]?.one);
  answer.catch(() => {});
  return Promise.race([answer, sleep(300).then(() => 'silence')]);
}

describe.skipIf(findPostgres() === undefined)('a PostgreSQL of the tests', () => {
  async function start(): Promise<PostgresServer> {
    const server = await startPostgres();
    leftovers.push(() => server.stop());
    return server;
  }

  it('frozen, it answers neither old nor new connections; thawed, it does', async () => {
    const server = await start();
    const client = await clientOf(server.url);
    server.pause();
    expect(await ask(client)).toBe('silence');
    await expect(clientOf(server.url)).rejects.toThrow();
    server.resume();
    expect(await ask(client)).toBe(1);
    expect(await ask(await clientOf(server.url))).toBe(1);
  });

  it('killed, it takes its connections with it, and restarts with what was committed', async () => {
    const server = await start();
    const client = await clientOf(server.url);
    await client.query('create table kept (id int)');
    await server.kill();
    await expect(client.query('select 1')).rejects.toThrow();
    await server.restart();
    const again = await clientOf(server.url);
    expect((await again.query('select * from kept')).rowCount).toBe(0);
    await server.restart();
    await expect(clientOf(server.url)).resolves.toBeDefined();
  });

  it('frozen, it can still be killed or stopped', async () => {
    const server = await start();
    server.pause();
    await server.kill();
    await server.restart();
    server.pause();
    await server.stop();
  });

  it('a standby takes its place, with what it had followed so far and on another time line', async () => {
    const server = await start();
    const client = await clientOf(server.url);
    await client.query('create table kept (id int)');
    const standby = await server.startStandby();
    leftovers.push(() => standby.stop());
    await standby.catchUp();
    await standby.stopFollowing();
    await client.query('insert into kept values (1)');
    await server.kill();
    await standby.promote();
    const other = await clientOf(standby.url);
    expect((await other.query('select * from kept')).rowCount).toBe(0);
    await other.query('insert into kept values (2)');
    const { rows } = await other.query('select pg_walfile_name(pg_current_wal_lsn()) as name');
    expect(rows[0]?.name).toMatch(/^00000002/);
  });

  it('gives a fresh database to each who asks, and drops it under open connections', async () => {
    const postgresUrl = inject('postgresUrl');
    const [first, second] = [await freshDatabase(postgresUrl), await freshDatabase(postgresUrl)];
    expect(first.url).not.toBe(second.url);
    const client = await clientOf(first.url);
    await client.query('create table only_here (id int)');
    const other = await clientOf(second.url);
    await expect(other.query('select * from only_here')).rejects.toThrow('does not exist');
    await first.drop();
    await second.drop();
    await expect(clientOf(first.url)).rejects.toThrow('does not exist');
  });
});

describe.skipIf(findPostgres() === undefined)('the proxy', () => {
  async function proxied() {
    const target = new URL(inject('postgresUrl'));
    const proxy = await startProxy(Number(target.port));
    leftovers.push(() => proxy.close());
    target.port = String(proxy.port);
    return { proxy, url: target.href };
  }

  it('as a blackhole leaves connections open and silent; healed, it delivers what was held', async () => {
    const { proxy, url } = await proxied();
    const client = await clientOf(url);
    proxy.blackhole();
    const held = client.query("select 'held' as answer");
    expect(await Promise.race([held, sleep(300).then(() => 'silence')])).toBe('silence');
    await expect(clientOf(url)).rejects.toThrow();
    proxy.heal();
    expect((await held).rows).toEqual([{ answer: 'held' }]);
    expect(await ask(await clientOf(url))).toBe(1);
  });

  it('cuts connections and takes new ones', async () => {
    const { proxy, url } = await proxied();
    const client = await clientOf(url);
    let isEnded = false;
    client.once('end', () => {
      isEnded = true;
    });
    proxy.cut();
    await eventually('the client notices', () => isEnded, 1000);
    expect(await ask(await clientOf(url))).toBe(1);
  });

  it('drops the answers that it is told to drop', async () => {
    const { proxy, url } = await proxied();
    const client = await clientOf(url);
    proxy.dropWhen((chunk) => chunk.includes('SELECT 1'));
    expect(await ask(client)).toBe('silence');
  });
});
