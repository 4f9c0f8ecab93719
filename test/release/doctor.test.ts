// Tests `sluice doctor` and `sluice migrate` on real stores in good and in bad states, as an operator runs
// them: by settings, without a running service.

import { once } from 'node:events';
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Check, Diagnosis } from '../../src/contract/store-fault.ts';
import type { Database } from '../../src/store/ledger/database/database.ts';
import { openPgDatabase } from '../../src/store/ledger/database/pg-database.ts';
import { applyBaseline, recordMigration } from '../store/ledger/baseline-schema.ts';
import { realStores } from '../support/backend.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { type NodeSettings, startNode } from '../support/node.ts';
import { nodeClock } from '../support/node-clock.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { findRedisCli, startRedisCluster } from '../support/redis-cluster.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { runOn } from '../support/run-on.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { runSluice } from '../support/sluice-command.ts';
import { createTenant } from '../support/tenant.ts';

const SECRET = 'f3b1c09a7d5e2846f3b1c09a7d5e2846';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

function dataDir(): string {
  const folder = temporaryFolder('sluice-doctor-');
  endings.push(() => removeFolder(folder));
  return folder;
}

/** Runs the doctor; returns its checks by name, and the names of those that failed. */
async function doctor(settings: NodeSettings) {
  const secrets = { ADMIN_TOKEN: SECRET, SECRET_KEY: SECRET };
  const environment = { DATA_DIR: dataDir(), PORT: '0', ...secrets, ...settings };
  const { code, stdout, stderr } = await runSluice(['doctor', '--json'], environment);
  expect(stderr).toBe('');
  expect(stdout).not.toContain(SECRET);
  const { checks } = JSON.parse(stdout) as Diagnosis;
  const bad = checks.filter(({ ok }) => !ok).map(({ name }) => name);
  expect(code, stdout).toBe(bad.length === 0 ? 0 : 1);
  const message = (name: string): string => find(checks, name).message;
  return { bad, message, text: stdout };
}

function find(checks: readonly Check[], name: string): Check {
  const found = checks.find((check) => check.name === name);
  if (found === undefined) throw new Error(`no check ${name}`);
  return found;
}

describe('sluice doctor on the embedded set-up', () => {
  it('follows a directory from before its first start, through a run, to the end', async () => {
    const DATA_DIR = join(dataDir(), 'data');
    const before = await doctor({ DATA_DIR });
    expect([before.bad, before.message('ledger')]).toEqual([
      [],
      expect.stringContaining('made at'),
    ]);

    const node = await startNode({ DATA_DIR });
    endings.push(() => node.dispose());
    const during = await doctor({ DATA_DIR });
    expect(during.bad).toEqual([]);
    expect(during.message('ledger')).toMatch(/in use by process \d+/);
    await node.stop();

    const after = await doctor({ DATA_DIR });
    expect(after.bad).toEqual([]);
    expect(after.message('ledger-schema')).toMatch(/^up to date, at migration \d+$/);
    expect(after.message('data-dir')).toContain('only');

    const migrated = await runSluice(['migrate', '--json'], { DATA_DIR });
    const { from, to } = JSON.parse(migrated.stdout) as { from: number; to: number };
    expect([migrated.code, from]).toEqual([0, to]);
  });

  it('says that a directory is none, or has lost its database', async () => {
    const folder = dataDir();
    writeFileSync(join(folder, 'file'), '');
    const file = await doctor({ DATA_DIR: join(folder, 'file') });
    expect(file.bad).toContain('data-dir');
    writeFileSync(join(folder, 'ledger.used'), '');
    const lost = await doctor({ DATA_DIR: folder });
    expect([lost.bad, lost.message('ledger')]).toEqual([
      ['ledger'],
      expect.stringContaining('has been used'),
    ]);
  });

  const asRoot = process.getuid?.() === 0;
  it.skipIf(!asRoot)(
    `leaves a database of another account alone${asRoot ? '' : ' (skipped: not root)'}`,
    async () => {
      const folder = dataDir();
      mkdirSync(join(folder, 'ledger'));
      writeFileSync(join(folder, 'ledger/PG_VERSION'), '17');
      chownSync(join(folder, 'ledger'), 12_345, 12_345);
      const { bad, message } = await doctor({ DATA_DIR: folder });
      expect(bad).toEqual(['data-dir', 'ledger']);
      expect(message('data-dir')).toContain('ledger in it is not: chown it');
      expect(message('ledger')).toContain('run this as the account');
    },
  );

  it('tells a server of mails that cannot be used, without its password', async () => {
    const SMTP_URL = 'smtp://updates:hunter2@127.0.0.1:1';
    const { bad, message, text } = await doctor({ SMTP_URL, MAIL_FROM: 'updates@example.com' });
    expect(bad).toEqual(['mail']);
    expect(message('mail')).toMatch(/^SMTP_URL: the server at 127\.0\.0\.1:1 cannot be used: /);
    expect(text).not.toContain('hunter2');
  });

  it('tells a provider of sign-ins that cannot be used', async () => {
    const { bad, message, text } = await doctor({
      OIDC_ISSUER: 'http://127.0.0.1:1',
      OIDC_CLIENT_ID: 'sluice',
      OIDC_CLIENT_SECRET: SECRET,
      CONSOLE_URL: 'http://127.0.0.1:2',
    });
    expect(bad).toEqual(['oidc']);
    expect(message('oidc')).toMatch(/^http:\/\/127\.0\.0\.1:1 cannot be used: ./);
    expect(text).not.toContain(SECRET);
  });

  it('tells an issuer without its last slash, and an address without a provider, apart', async () => {
    const server = createHttpServer(({ url }, response) => {
      const isOurs = url?.startsWith('/realm/') === true;
      const body = JSON.stringify({ issuer: `${origin}/realm/` });
      response.writeHead(isOurs ? 200 : 404, { 'content-type': 'application/json' }).end(body);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    endings.push(() => server.close());
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const toldOf = async (issuer: string) => {
      const client = { OIDC_CLIENT_ID: 'sluice', OIDC_CLIENT_SECRET: SECRET };
      return (await doctor({ OIDC_ISSUER: issuer, ...client })).message('oidc');
    };
    expect(await toldOf(`${origin}/realm`)).toContain(`cannot be used: it calls itself ${origin}`);
    expect(await toldOf(origin)).toContain('cannot be used: its answer is not that of a provider');
    expect(await toldOf(`${origin}/realm/`)).toBe(`${origin}/realm/ answers`);
  });

  it('tells a port that another program has, and that of a running service', async () => {
    const other = createServer((socket) => socket.destroy());
    await once(other.listen(0, '127.0.0.1'), 'listening');
    endings.push(() => other.close());
    const { port } = other.address() as AddressInfo;
    const taken = await doctor({ HOST: '127.0.0.1', PORT: String(port) });
    const inUse = expect.stringContaining(`127.0.0.1:${port} is in use by another program`);
    expect([taken.bad, taken.message('port')]).toEqual([['port'], inUse]);
    const node = await startNode();
    endings.push(() => node.dispose());
    const service = await doctor({ HOST: '127.0.0.1', PORT: new URL(node.url).port });
    expect([service.bad, service.message('port')]).toEqual([
      [],
      expect.stringContaining('is in use by a running service'),
    ]);
  });

  it('names a wrong setting, and in text has one line for each check', async () => {
    const { bad, message } = await doctor({ PORT: 'eighty' });
    expect([bad, message('settings')]).toEqual([['settings'], expect.stringMatching(/^PORT: /)]);
    const { code, stdout } = await runSluice(['doctor'], {
      DATA_DIR: dataDir(),
      PUBLIC_URL: 'https://u.example.com',
      REDIS_URI: 'redis://x',
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^(?:(?:ok {2}|MEND) [a-z-]+: .+\n)+$/);
    expect(stdout).toMatch(/^MEND proxy: /m);
    expect(stdout).toMatch(/^ok {3}settings: .*REDIS_URI \(REDIS_URL\?\)$/m);
  });
});

const stores = realStores();
const needed = 'sluice doctor and sluice migrate on PostgreSQL and Redis';
const title = stores === undefined ? `${needed} (skipped: one is missing here)` : needed;
describe.skipIf(stores === undefined)(title, () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  beforeAll(async () => {
    // With fsync, unlike the servers of the other tests: the doctor looks at it.
    [postgres, redis] = await Promise.all([
      startPostgres({ fsync: true }),
      startRedis({ args: ['--appendonly', 'yes'] }),
    ]);
  });
  afterAll(() => Promise.all([postgres?.stop(), redis?.stop()]));

  /** Creates a database with the schema of these sources. */
  async function database(): Promise<string> {
    const { url } = await freshDatabase(postgres.url);
    const { code, stderr } = await runSluice(['migrate'], { DATABASE_URL: url });
    expect([code, stderr]).toEqual([0, '']);
    return url;
  }

  it('finds nothing to mend where all is well', async () => {
    const { bad, message } = await doctor({ DATABASE_URL: await database(), REDIS_URL: redis.url });
    expect(bad).toEqual([]);
    expect(message('ledger')).toMatch(
      /^PostgreSQL \d+[.\d]*.* at 127\.0\.0\.1:\d+\/test_\w+ answers$/,
    );
    expect(message('ledger-connections')).toContain('up to 20 of 197');
    expect(message('redis')).toMatch(/^Redis \d+\.\d+\.\d+ at 127\.0\.0\.1:\d+ answers$/);
    expect(message('redis-persistence')).toBe('an append-only file is kept');
    expect(message('check-ins')).toBe('none wait');
    expect([message('regions'), message('region')]).toEqual(['none yet', 'none yet']);
  });

  it('names a region that plans wait for, and one that they go on without', async () => {
    const url = await database();
    const examine = () => doctor({ DATABASE_URL: url, REDIS_URL: redis.url });
    await runOn(
      url,
      `INSERT INTO region_marks VALUES ('rgn_east', 1, clock_timestamp()),
         ('rgn_west', 1, clock_timestamp() - interval '10 minutes')`,
    );
    const waited = await examine();
    expect(waited.bad).toEqual(['regions']);
    expect(waited.message('regions')).toMatch(
      /^rgn_west has recorded nothing since \S+Z: plans with guards wait for it, for 60 minutes at most\. /,
    );
    await runOn(
      url,
      `UPDATE region_marks SET noted_at = noted_at - interval '1 hour' WHERE region = 'rgn_west'`,
    );
    const gone = await examine();
    expect(gone.bad).toEqual([]);
    expect(gone.message('regions')).toMatch(
      /^check-ins of rgn_east; plans go on without rgn_west, silent since \S+Z$/,
    );
  });

  it('names the apps whose devices share an id by mistake, and how often', async () => {
    const url = await database();
    const examine = () => doctor({ DATABASE_URL: url, REDIS_URL: redis.url });
    await runOn(
      url,
      `INSERT INTO organizations (id, name) VALUES ('org_1', 'x');
       INSERT INTO apps (id, organization_id, ref, name) VALUES ('app_1', 'org_1', 'notes', 'x');
       INSERT INTO mistaken_ids VALUES ('app_1', 'undefined', 41, clock_timestamp(), clock_timestamp())`,
    );
    const told = await examine();
    expect(told.bad).toEqual(['device-ids']);
    expect(told.message('device-ids')).toMatch(
      /^41 requests of notes since \S+Z named the device by "undefined": these devices are in no staged /,
    );
    await runOn(url, `UPDATE mistaken_ids SET last_at = last_at - interval '8 days'`);
    expect((await examine()).message('device-ids')).toBe('none that many devices share by mistake');
  });

  it('says of stores that are away that they are, without their passwords', async () => {
    const { bad, message, text } = await doctor({
      DATABASE_URL: 'postgres://sluice:hunter2@127.0.0.1:1/sluice',
      REDIS_URL: 'redis://:hunter2@127.0.0.1:1',
    });
    expect(bad).toEqual(['ledger', 'redis']);
    expect(message('ledger')).toContain('ECONNREFUSED');
    expect(message('redis')).toContain('ECONNREFUSED');
    expect(text).not.toContain('hunter2');
  });

  it('says of stores that hang that they do not answer', async () => {
    const [frozen, still] = await Promise.all([startPostgres(), startRedis()]);
    endings.push(() => Promise.all([frozen.stop(), still.stop()]));
    frozen.pause();
    still.pause();
    endings.push(() => [frozen.resume(), still.resume()]);
    const { bad } = await doctor({ DATABASE_URL: frozen.url, REDIS_URL: still.url });
    expect(bad).toEqual(['ledger', 'redis']);
  });

  it('says that a password is wrong, and does not print it', async () => {
    const locked = await startRedis({ args: ['--requirepass', 'right'] });
    endings.push(() => locked.stop());
    const guarded = await startPostgres();
    endings.push(() => guarded.stop());
    await runOn(guarded.url, `CREATE ROLE sluice LOGIN PASSWORD 'right'`);
    const [row] = await runOn<{ hba_file: string }>(guarded.url, 'SHOW hba_file');
    const path = row?.hba_file ?? '';
    const rules = readFileSync(path, 'utf8');
    writeFileSync(path, `host all sluice 127.0.0.1/32 scram-sha-256\n${rules}`);
    await runOn(guarded.url, 'SELECT pg_reload_conf()');
    const { bad, message, text } = await doctor({
      DATABASE_URL: `postgres://sluice:hunter2@127.0.0.1:${guarded.port}/postgres`,
      REDIS_URL: `redis://:hunter2@127.0.0.1:${locked.port}`,
    });
    expect(bad).toEqual(['ledger', 'redis']);
    expect(message('ledger')).toContain('password authentication failed for user "sluice"');
    expect(message('redis')).toContain('WRONGPASS');
    expect(text).not.toContain('hunter2');
  });

  it('tells rights that are missing', async () => {
    const url = new URL(await database());
    await runOn(url.href, 'CREATE ROLE reader LOGIN CONNECTION LIMIT 7');
    await runOn(url.href, 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader');
    await runOn(url.href, 'REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    url.username = 'reader';
    const owned = await doctor({ DATABASE_URL: url.href });
    expect(owned.bad).toEqual(['ledger-rights', 'ledger-connections']);
    expect(owned.message('ledger-rights')).toContain('reader does not own the table channels');
    expect(owned.message('ledger-connections')).toContain('up to 10 of 7');
    const few = await doctor({ DATABASE_URL: url.href, DATABASE_POOL: '6' });
    expect(few.message('ledger-connections')).toContain('up to 6 of 7');

    const empty = new URL((await freshDatabase(postgres.url)).url);
    await runOn(empty.href, 'REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    empty.username = 'reader';
    const { message } = await doctor({ DATABASE_URL: empty.href });
    expect(message('ledger-rights')).toContain('GRANT CREATE ON SCHEMA public');
  });

  it('tells settings of PostgreSQL that lose what was acknowledged, or do not suit the fleet', async () => {
    const url = await database();
    const name = new URL(url).pathname.slice(1);
    await runOn(url, `ALTER DATABASE ${name} SET synchronous_commit = off`);
    await runOn(url, "UPDATE pg_class SET reltuples = 125000 WHERE relname ~ '^devices_[0-9]+$'");
    const { bad, message } = await doctor({ DATABASE_URL: url });
    expect(bad).toEqual(['ledger-durability', 'ledger-checkpoints']);
    expect(message('ledger-durability')).toContain('synchronous_commit off');
    expect(message('ledger-checkpoints')).toContain('for about 2000000 devices');
  });

  it('tells a clock that is off', async () => {
    const clock = nodeClock(-60_000);
    const { bad, message } = await doctor({ DATABASE_URL: await database(), ...clock.settings });
    expect(bad).toEqual(['clock']);
    expect(message('clock')).toMatch(
      /^this machine's clock is (59|60|61)\.\d s behind PostgreSQL's/,
    );
  });

  it('tells a Redis that drops what waits, one whose queue nobody empties, and one that may not be written to', async () => {
    const small = await startRedis({
      args: ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru'],
    });
    endings.push(() => small.stop());
    const client = new Redis(small.url);
    endings.push(() => client.disconnect());
    await client.xadd('sluice:check-ins:4', '1000-1', 'batch', 'x');
    await client.call('ACL', 'SETUSER', 'reader', 'on', '>pw', '~*', '&*', '+@all', '-@write');
    const full = await doctor({ REDIS_URL: small.url });
    expect(full.bad).toEqual(['redis-memory', 'check-ins']);
    expect(full.message('redis-memory')).toContain('allkeys-lru');
    expect(full.message('check-ins')).toMatch(
      /^1 batches wait, the oldest for \d{9,} s: no process/,
    );
    const reader = await doctor({ REDIS_URL: `redis://reader:pw@127.0.0.1:${small.port}` });
    expect(reader.message('check-ins')).toMatch(
      /cannot be used: .*(?:can't run this command|permission)/,
    );
    await client.replicaof('127.0.0.1', '1');
    const replica = await doctor({ REDIS_URL: small.url });
    expect(replica.message('redis')).toMatch(
      / is a replica, which refuses writes: name its primary$/,
    );
  });

  it('tells a Redis that another database uses, also where the own one has no record yet', async () => {
    const [theirs, served, fresh] = [await database(), await database(), await database()];
    const REDIS_URL = redis.url;
    for (const [DATABASE_URL, more] of [
      [theirs, { REDIS_URL }],
      [served, {}],
    ] as const) {
      const node = await startNode({ DATABASE_URL, ...more });
      await createTenant(node);
      await node.dispose();
    }
    const own = await doctor({ DATABASE_URL: theirs, REDIS_URL });
    expect([own.bad, own.message('redis-record')]).toEqual([[], 'that of the database']);
    for (const DATABASE_URL of [served, fresh, (await freshDatabase(postgres.url)).url]) {
      const { bad, message } = await doctor({ DATABASE_URL, REDIS_URL });
      expect([bad, message('redis-record')]).toEqual([
        ['redis-record'],
        expect.stringContaining('of another record than the database'),
      ]);
    }
  });

  const cli = findRedisCli() === undefined ? ' (skipped: no redis-cli on this machine)' : '';
  it.skipIf(cli !== '')(`looks at every master of a cluster${cli}`, async () => {
    const cluster = await startRedisCluster();
    endings.push(() => cluster.stop());
    const well = await doctor({ REDIS_URL: cluster.url });
    expect([well.bad, well.message('redis')]).toEqual([[], expect.stringMatching(/, 3 masters$/)]);
    const client = new Redis(cluster.nodes[2]?.url ?? '');
    endings.push(() => client.disconnect());
    await client.config('SET', 'maxmemory', '64mb', 'maxmemory-policy', 'allkeys-random');
    const { bad, message } = await doctor({ REDIS_URL: cluster.url });
    expect([bad, message('redis-memory')]).toEqual([
      ['redis-memory'],
      expect.stringContaining('allkeys-random'),
    ]);
  });

  it('an older schema is to be migrated, migrate does it once, and a newer one is refused', async () => {
    const { url } = await freshDatabase(postgres.url);
    await onDatabase(url, applyBaseline);
    const old = await doctor({ DATABASE_URL: url });
    expect(old.bad).toEqual(['ledger-schema']);
    expect(old.message('ledger-schema')).toMatch(/^at migration 32, .* run sluice migrate/);

    const both = await Promise.all([migrate(url), migrate(url)]);
    const [first] = both;
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    const to = first?.change.to ?? 0;
    expect(to).toBeGreaterThan(32);
    expect(both.map(({ change }) => change.from)).toContain(32);
    expect((await migrate(url)).change).toEqual({ from: to, to });
    expect((await doctor({ DATABASE_URL: url })).bad).toEqual([]);

    await runOn(url, "INSERT INTO sluice_migrations (id, name) VALUES (900, 'later')");
    expect((await doctor({ DATABASE_URL: url })).bad).toEqual(['ledger-schema']);
    const refused = await runSluice(['migrate'], { DATABASE_URL: url, DATA_DIR: dataDir() });
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(
      /^sluice: DATABASE_URL: The database is at migration 900, but this version [^\n]+\n$/,
    );
  });

  it('a schema from before the baseline is refused by both, with the way to upgrade it', async () => {
    const { url } = await freshDatabase(postgres.url);
    await onDatabase(url, (database) => recordMigration(database, 28, '000028.sql'));
    const refusal =
      /The database is at migration 28, .* start the version of commit [0-9a-f]{8} \(before v0\.1\.0\) once/;
    expect((await doctor({ DATABASE_URL: url })).message('ledger-schema')).toMatch(refusal);
    const { code, stderr } = await runSluice(['migrate'], {
      DATABASE_URL: url,
      DATA_DIR: dataDir(),
    });
    expect([code, stderr]).toEqual([1, expect.stringMatching(refusal)]);
  });

  it('migrate says in one line that the database is away', async () => {
    const DATABASE_URL = 'postgres://sluice:hunter2@127.0.0.1:1/sluice';
    const { code, stderr } = await runSluice(['migrate'], { DATABASE_URL, DATA_DIR: dataDir() });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^sluice: DATABASE_URL: [^\n]*ECONNREFUSED[^\n]*\n$/),
    ]);
    expect(stderr).not.toContain('hunter2');
  });
});

async function migrate(url: string) {
  const settings = { DATABASE_URL: url, DATA_DIR: dataDir() };
  const { code, stdout, stderr } = await runSluice(['migrate', '--json'], settings);
  expect(stderr).toBe('');
  return { code, change: JSON.parse(stdout) as { from: number; to: number } };
}

async function onDatabase(url: string, work: (database: Database) => Promise<void>) {
  const onFault = (error: unknown) => expect(error).toBeUndefined();
  const database = openPgDatabase({ url, onFault });
  try {
    await work(database);
  } finally {
    await database.close();
  }
}
