// Tests `sluice doctor` and `sluice migrate` on real stores in good and in bad states, by settings, without a
// running service. What they say of settings alone: test/node/examine-settings.test.ts.

import { once } from 'node:events';
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Diagnosis } from '../../src/contract/store-fault.ts';
import { diagnose } from '../../src/node/machine/doctor.ts';
import type { Database } from '../../src/store/ledger/database/database.ts';
import { migrate } from '../../src/store/ledger/database/migrate.ts';
import { openPgDatabase } from '../../src/store/ledger/database/pg-database.ts';
import { applyBaseline, recordMigration } from '../store/ledger/baseline-schema.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { baseEnvironment } from '../support/base-environment.ts';
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

function dataDir(): string {
  const folder = temporaryFolder('sluice-doctor-');
  onTestFinished(() => removeFolder(folder));
  return folder;
}

/** Settings of a doctor; a password in them is `hunter2`. */
function environmentOf(settings: NodeSettings): NodeSettings {
  const secrets = { ADMIN_TOKEN: SECRET, SECRET_KEY: SECRET };
  return { DATA_DIR: dataDir(), PORT: '0', ...secrets, ...settings };
}

/** Examines in this process, as the command does in one of its own. */
async function doctor(settings: NodeSettings) {
  const environment = { ...baseEnvironment(), ...environmentOf(settings) };
  return read(await diagnose(undefined, environment));
}

/** Returns the names of the checks that failed, and the message of each check; secrets are in none. */
function read({ checks }: Diagnosis) {
  expect(JSON.stringify(checks)).not.toMatch(new RegExp(`${SECRET}|hunter2`));
  const messages = new Map(checks.map(({ name, message }) => [name, message]));
  const bad = checks.filter(({ ok }) => !ok).map(({ name }) => name);
  return { bad, message: (name: string) => messages.get(name) ?? `no check ${name}` };
}

/** Runs the command; returns the same, and expects that its exit code tells whether all is well. */
async function doctorCommand(settings: NodeSettings) {
  const { code, stdout, stderr } = await runSluice(['doctor', '--json'], environmentOf(settings));
  const result = read(JSON.parse(stdout) as Diagnosis);
  expect([code, stderr]).toEqual([result.bad.length === 0 ? 0 : 1, '']);
  return result;
}

describe('sluice doctor on the embedded set-up', () => {
  it('follows a directory from before its first start, through a run, to the end', async () => {
    const DATA_DIR = join(dataDir(), 'data');
    const before = await doctorCommand({ DATA_DIR });
    expect([before.bad, before.message('ledger')]).toEqual([
      [],
      expect.stringContaining('made at'),
    ]);

    const node = await startNode({ DATA_DIR });
    onTestFinished(() => node.dispose());
    const PORT = new URL(node.url).port;
    const during = await doctor({ DATA_DIR, HOST: '127.0.0.1', PORT });
    expect(during.bad).toEqual([]);
    expect(during.message('ledger')).toMatch(/in use by process \d+/);
    expect(during.message('port')).toContain('is in use by a running service');
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
    expect((await doctor({ DATA_DIR: join(folder, 'file') })).bad).toContain('data-dir');
    writeFileSync(join(folder, 'ledger.used'), '');
    const lost = await doctorCommand({ DATA_DIR: folder });
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

  it('tells a server of mails and a provider of sign-ins that cannot be used, and a port that is taken', async () => {
    const other = createServer((socket) => socket.destroy());
    await once(other.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const { bad, message } = await doctor({
      ...{ SMTP_URL: 'smtp://updates:hunter2@127.0.0.1:1', MAIL_FROM: 'updates@example.com' },
      ...{ OIDC_ISSUER: 'http://127.0.0.1:1', CONSOLE_URL: 'http://127.0.0.1:2' },
      ...{ OIDC_CLIENT_ID: 'sluice', OIDC_CLIENT_SECRET: SECRET },
      ...{ HOST: '127.0.0.1', PORT: String(port) },
    });
    expect(bad.toSorted()).toEqual(['mail', 'oidc', 'port']);
    expect(message('mail')).toMatch(/^SMTP_URL: the server at 127\.0\.0\.1:1 cannot be used: /);
    expect(message('oidc')).toMatch(/^http:\/\/127\.0\.0\.1:1 cannot be used: ./);
    expect(message('port')).toContain(`127.0.0.1:${port} is in use by another program`);
  });

  it('tells a provider and an address without one apart', async () => {
    const server = createHttpServer(({ url }, response) => {
      const isOurs = url?.startsWith('/realm/') === true;
      const body = JSON.stringify({ issuer: `${origin}/realm/` });
      response.writeHead(isOurs ? 200 : 404, { 'content-type': 'application/json' }).end(body);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const toldOf = async (issuer: string) => {
      const client = { OIDC_CLIENT_ID: 'sluice', OIDC_CLIENT_SECRET: SECRET };
      return (await doctor({ OIDC_ISSUER: issuer, ...client })).message('oidc');
    };
    expect(await toldOf(origin)).toContain('cannot be used: its answer is not that of a provider');
    expect(await toldOf(`${origin}/realm/`)).toBe(`${origin}/realm/ answers`);
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

describeOnRealStores('sluice doctor and sluice migrate on PostgreSQL and Redis', () => {
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
    await onDatabase(url, async (database) => void (await migrate(database)));
    return url;
  }

  it('finds nothing to mend where all is well', async () => {
    const { bad, message } = await doctorCommand({
      DATABASE_URL: await database(),
      REDIS_URL: redis.url,
    });
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

  it('names a region that plans wait for and one that they go on without, and apps whose devices share an id', async () => {
    const url = await database();
    const examine = () => doctor({ DATABASE_URL: url, REDIS_URL: redis.url });
    await runOn(
      url,
      `INSERT INTO region_marks VALUES ('rgn_east', 1, clock_timestamp()),
         ('rgn_west', 1, clock_timestamp() - interval '10 minutes');
       INSERT INTO organizations (id, name) VALUES ('org_1', 'x');
       INSERT INTO apps (id, organization_id, ref, name) VALUES ('app_1', 'org_1', 'notes', 'x');
       INSERT INTO mistaken_ids VALUES ('app_1', 'undefined', 41, clock_timestamp(), clock_timestamp())`,
    );
    const waited = await examine();
    expect(waited.bad.toSorted()).toEqual(['device-ids', 'regions']);
    expect(waited.message('regions')).toMatch(
      /^rgn_west has recorded nothing since \S+Z: plans with guards wait for it, for 60 minutes at most\. /,
    );
    expect(waited.message('device-ids')).toMatch(
      /^41 requests of notes since \S+Z named the device by "undefined": these devices are in no staged /,
    );
    await runOn(
      url,
      `UPDATE region_marks SET noted_at = noted_at - interval '1 hour' WHERE region = 'rgn_west';
       UPDATE mistaken_ids SET last_at = last_at - interval '8 days'`,
    );
    const gone = await examine();
    expect(gone.bad).toEqual([]);
    expect(gone.message('regions')).toMatch(
      /^check-ins of rgn_east; plans go on without rgn_west, silent since \S+Z$/,
    );
    expect(gone.message('device-ids')).toBe('none that many devices share by mistake');
  });

  it('says of stores that are away or hang that they are, and so does migrate in one line', async () => {
    const DATABASE_URL = 'postgres://sluice:hunter2@127.0.0.1:1/sluice';
    const away = await doctor({ DATABASE_URL, REDIS_URL: 'redis://:hunter2@127.0.0.1:1' });
    expect(away.bad).toEqual(['ledger', 'redis']);
    for (const name of away.bad) expect(away.message(name)).toContain('ECONNREFUSED');
    const { code, stderr } = await runSluice(['migrate'], { DATABASE_URL, DATA_DIR: dataDir() });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^sluice: DATABASE_URL: [^\n]*ECONNREFUSED[^\n]*\n$/),
    ]);
    expect(stderr).not.toContain('hunter2');

    for (const server of [postgres, redis]) {
      server.pause();
      onTestFinished(() => server.resume());
    }
    const hung = await doctor({ DATABASE_URL: postgres.url, REDIS_URL: redis.url });
    expect(hung.bad).toEqual(['ledger', 'redis']);
  });

  it('says that a password is wrong', async () => {
    await runOn(postgres.url, `CREATE ROLE sluice LOGIN PASSWORD 'right'`);
    const [row] = await runOn<{ hba_file: string }>(postgres.url, 'SHOW hba_file');
    const path = row?.hba_file ?? '';
    const rules = readFileSync(path, 'utf8');
    writeFileSync(path, `host all sluice 127.0.0.1/32 scram-sha-256\n${rules}`);
    await runOn(postgres.url, 'SELECT pg_reload_conf()');
    await clientOf(redis).call('ACL', 'SETUSER', 'sluice', 'on', '>right');
    const { bad, message } = await doctor({
      DATABASE_URL: `postgres://sluice:hunter2@127.0.0.1:${postgres.port}/postgres`,
      REDIS_URL: `redis://sluice:hunter2@127.0.0.1:${redis.port}`,
    });
    expect(bad).toEqual(['ledger', 'redis']);
    expect(message('ledger')).toContain('password authentication failed for user "sluice"');
    expect(message('redis')).toContain('WRONGPASS');
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
    const settings = { DATABASE_URL: await database(), ...clock.settings };
    const { bad, message } = await doctorCommand(settings);
    expect(bad).toEqual(['clock']);
    expect(message('clock')).toMatch(
      /^this machine's clock is (59|60|61)\.\d s behind PostgreSQL's/,
    );
  });

  it('tells a Redis that drops what waits, one whose queue nobody empties, and one that may not be written to', async () => {
    const small = await startRedis({
      args: ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru'],
    });
    onTestFinished(() => small.stop());
    const client = clientOf(small);
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
    onTestFinished(() => cluster.stop());
    const well = await doctor({ REDIS_URL: cluster.url });
    expect([well.bad, well.message('redis')]).toEqual([[], expect.stringMatching(/, 3 masters$/)]);
    await clientOf(cluster.nodes[2] ?? redis).config(
      'SET',
      'maxmemory',
      '64mb',
      'maxmemory-policy',
      'allkeys-random',
    );
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

    const migrateOnce = async () => {
      const settings = { DATABASE_URL: url, DATA_DIR: dataDir() };
      const { code, stdout, stderr } = await runSluice(['migrate', '--json'], settings);
      expect([code, stderr]).toEqual([0, '']);
      return JSON.parse(stdout) as { from: number; to: number };
    };
    const both = await Promise.all([migrateOnce(), migrateOnce()]);
    const to = both[0]?.to ?? 0;
    expect(to).toBeGreaterThan(32);
    expect(both.map(({ from }) => from)).toContain(32);
    expect(await migrateOnce()).toEqual({ from: to, to });
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
});

/** Returns a client of a Redis, which ends with the test. */
function clientOf({ url }: RedisServer): Redis {
  const client = new Redis(url);
  onTestFinished(() => client.disconnect());
  return client;
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
