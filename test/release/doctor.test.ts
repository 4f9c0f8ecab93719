// Tests `sluice doctor` and `sluice migrate` on real stores in good and in bad states, by settings, without a
// running service. What they say of settings alone: test/node/examine-settings.test.ts.

import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
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
import { loopbackServer } from '../support/loopback-server.ts';
import { type NodeSettings, startNode } from '../support/node.ts';
import { nodeClock } from '../support/node-clock.ts';
import { own, ownFolder } from '../support/own.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { findRedisCli, startRedisCluster } from '../support/redis-cluster.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { runOn } from '../support/run-on.ts';
import { runSluice } from '../support/sluice-command.ts';
import { createTenant } from '../support/tenant.ts';

const SECRET = 'f3b1c09a7d5e2846f3b1c09a7d5e2846';

/** Settings of a doctor; a password in them is `hunter2`. */
function environmentOf(settings: NodeSettings): NodeSettings {
  const secrets = { ADMIN_TOKEN: SECRET, SECRET_KEY: SECRET };
  return { DATA_DIR: ownFolder(), PORT: '0', ...secrets, ...settings };
}

/** Examines in this process, as the command does in one of its own. */
async function doctor(settings: NodeSettings) {
  const environment = { ...baseEnvironment(), ...environmentOf(settings) };
  return read(await diagnose(undefined, environment));
}

/** Returns the names of the checks that failed as `bad`, and each check's message; secrets are in none. */
function read({ checks }: Diagnosis) {
  expect(JSON.stringify(checks)).not.toMatch(new RegExp(`${SECRET}|hunter2`));
  const messages = Object.fromEntries(checks.map(({ name, message }) => [name, message]));
  return { ...messages, bad: checks.filter(({ ok }) => !ok).map(({ name }) => name) };
}

/** Runs the command; returns the same, and expects that its exit code tells whether all is well. */
async function doctorCommand(settings: NodeSettings) {
  const { code, stdout, stderr } = await runSluice(['doctor', '--json'], environmentOf(settings));
  const result = read(JSON.parse(stdout) as Diagnosis);
  expect([code, stderr]).toEqual([result.bad.length === 0 ? 0 : 1, '']);
  return result;
}

/** Message that contains a text, or matches a pattern. */
const says = (what: string | RegExp) =>
  typeof what === 'string' ? expect.stringContaining(what) : expect.stringMatching(what);

describe('sluice doctor on the embedded set-up', () => {
  it('follows a directory from before its first start, through a run, to the end', async () => {
    const DATA_DIR = join(ownFolder(), 'data');
    expect(await doctorCommand({ DATA_DIR })).toMatchObject({ bad: [], ledger: says('made at') });

    const node = own(await startNode({ DATA_DIR }));
    const PORT = new URL(node.url).port;
    expect(await doctor({ DATA_DIR, HOST: '127.0.0.1', PORT })).toMatchObject({
      ...{ bad: [], ledger: says(/in use by process \d+/) },
      port: says('is in use by a running service'),
    });
    await node.stop();
    expect(await doctor({ DATA_DIR })).toMatchObject({
      ...{ bad: [], 'ledger-schema': says(/^up to date, at migration \d+$/) },
      'data-dir': says('only'),
    });

    const migrated = await runSluice(['migrate', '--json'], { DATA_DIR });
    const { from, to } = JSON.parse(migrated.stdout) as { from: number; to: number };
    expect([migrated.code, from]).toEqual([0, to]);
  });

  it('says that a directory is none, or has lost its database', async () => {
    const folder = ownFolder();
    writeFileSync(join(folder, 'file'), '');
    expect((await doctor({ DATA_DIR: join(folder, 'file') })).bad).toContain('data-dir');
    writeFileSync(join(folder, 'ledger.used'), '');
    const lost = { bad: ['ledger'], ledger: says('has been used') };
    expect(await doctorCommand({ DATA_DIR: folder })).toMatchObject(lost);
  });

  const asRoot = process.getuid?.() === 0;
  it.skipIf(!asRoot)(
    `leaves a database of another account alone${asRoot ? '' : ' (skipped: not root)'}`,
    async () => {
      const folder = ownFolder();
      mkdirSync(join(folder, 'ledger'));
      writeFileSync(join(folder, 'ledger/PG_VERSION'), '17');
      chownSync(join(folder, 'ledger'), 12_345, 12_345);
      expect(await doctor({ DATA_DIR: folder })).toMatchObject({
        bad: ['data-dir', 'ledger'],
        'data-dir': says('ledger in it is not: chown it'),
        ledger: says('run this as the account'),
      });
    },
  );

  it('tells a server of mails and a provider of sign-ins that cannot be used, and a port that is taken', async () => {
    const { port } = own(await loopbackServer(({ socket }) => void socket.destroy()));
    const told = await doctor({
      ...{ SMTP_URL: 'smtp://updates:hunter2@127.0.0.1:1', MAIL_FROM: 'updates@example.com' },
      ...{ OIDC_ISSUER: 'http://127.0.0.1:1', CONSOLE_URL: 'http://127.0.0.1:2' },
      ...{ OIDC_CLIENT_ID: 'sluice', OIDC_CLIENT_SECRET: SECRET },
      ...{ HOST: '127.0.0.1', PORT: String(port) },
    });
    expect({ ...told, bad: told.bad.toSorted() }).toMatchObject({
      bad: ['mail', 'oidc', 'port'],
      mail: says(/^SMTP_URL: the server at 127\.0\.0\.1:1 cannot be used: /),
      oidc: says(/^http:\/\/127\.0\.0\.1:1 cannot be used: ./),
      port: says(`127.0.0.1:${port} is in use by another program`),
    });
  });

  it('tells a provider and an address without one apart', async () => {
    const { port, close } = await loopbackServer(({ url }, response) => {
      const isOurs = url?.startsWith('/realm/') === true;
      const body = JSON.stringify({ issuer: `${origin}/realm/` });
      response.writeHead(isOurs ? 200 : 404, { 'content-type': 'application/json' }).end(body);
    });
    onTestFinished(close);
    const origin = `http://127.0.0.1:${port}`;
    for (const [OIDC_ISSUER, oidc] of [
      [origin, says('cannot be used: its answer is not that of a provider')],
      [`${origin}/realm/`, `${origin}/realm/ answers`],
    ] as const) {
      const client = { OIDC_CLIENT_ID: 'sluice', OIDC_CLIENT_SECRET: SECRET };
      expect(await doctor({ OIDC_ISSUER, ...client })).toMatchObject({ oidc });
    }
  });

  it('names a wrong setting, and in text has one line for each check', async () => {
    const wrong = { bad: ['settings'], settings: says(/^PORT: /) };
    expect(await doctor({ PORT: 'eighty' })).toMatchObject(wrong);
    const { code, stdout } = await runSluice(['doctor'], {
      DATA_DIR: ownFolder(),
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
    const settings = { DATABASE_URL: await database(), REDIS_URL: redis.url };
    expect(await doctorCommand(settings)).toMatchObject({
      bad: [],
      ledger: says(/^PostgreSQL \d+[.\d]*.* at 127\.0\.0\.1:\d+\/test_\w+ answers$/),
      'ledger-connections': says('up to 20 of 197'),
      redis: says(/^Redis \d+\.\d+\.\d+ at 127\.0\.0\.1:\d+ answers$/),
      'redis-persistence': 'an append-only file is kept',
      ...{ 'check-ins': 'none wait', regions: 'none yet', region: 'none yet' },
    });
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
    expect({ ...waited, bad: waited.bad.toSorted() }).toMatchObject({
      bad: ['device-ids', 'regions'],
      regions: says(
        /^rgn_west has recorded nothing since \S+Z: plans with guards wait for it, for 60 minutes at most\. /,
      ),
      'device-ids': says(
        /^41 requests of notes since \S+Z named the device by "undefined": these devices are in no staged /,
      ),
    });
    await runOn(
      url,
      `UPDATE region_marks SET noted_at = noted_at - interval '1 hour' WHERE region = 'rgn_west';
       UPDATE mistaken_ids SET last_at = last_at - interval '8 days'`,
    );
    expect(await examine()).toMatchObject({
      bad: [],
      regions: says(/^check-ins of rgn_east; plans go on without rgn_west, silent since \S+Z$/),
      'device-ids': 'none that many devices share by mistake',
    });
  });

  it('says of stores that are away or hang that they are, and so does migrate in one line', async () => {
    const DATABASE_URL = 'postgres://sluice:hunter2@127.0.0.1:1/sluice';
    const refused = says('ECONNREFUSED');
    expect(await doctor({ DATABASE_URL, REDIS_URL: 'redis://:hunter2@127.0.0.1:1' })).toMatchObject(
      { bad: ['ledger', 'redis'], ledger: refused, redis: refused },
    );
    const { code, stderr } = await runSluice(['migrate'], { DATABASE_URL, DATA_DIR: ownFolder() });
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
    const told = await doctor({
      DATABASE_URL: `postgres://sluice:hunter2@127.0.0.1:${postgres.port}/postgres`,
      REDIS_URL: `redis://sluice:hunter2@127.0.0.1:${redis.port}`,
    });
    expect(told).toMatchObject({
      ...{ bad: ['ledger', 'redis'], redis: says('WRONGPASS') },
      ledger: says('password authentication failed for user "sluice"'),
    });
  });

  it('tells rights that are missing', async () => {
    const url = new URL(await database());
    await runOn(url.href, 'CREATE ROLE reader LOGIN CONNECTION LIMIT 7');
    await runOn(url.href, 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader');
    await runOn(url.href, 'REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    url.username = 'reader';
    expect(await doctor({ DATABASE_URL: url.href })).toMatchObject({
      bad: ['ledger-rights', 'ledger-connections'],
      'ledger-rights': says('reader does not own the table channels'),
      'ledger-connections': says('up to 10 of 7'),
    });
    const few = { 'ledger-connections': says('up to 6 of 7') };
    expect(await doctor({ DATABASE_URL: url.href, DATABASE_POOL: '6' })).toMatchObject(few);

    const empty = new URL((await freshDatabase(postgres.url)).url);
    await runOn(empty.href, 'REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    empty.username = 'reader';
    const none = { 'ledger-rights': says('GRANT CREATE ON SCHEMA public') };
    expect(await doctor({ DATABASE_URL: empty.href })).toMatchObject(none);
  });

  it('tells settings of PostgreSQL that lose what was acknowledged, or do not suit the fleet', async () => {
    const url = await database();
    const name = new URL(url).pathname.slice(1);
    await runOn(url, `ALTER DATABASE ${name} SET synchronous_commit = off`);
    await runOn(url, "UPDATE pg_class SET reltuples = 125000 WHERE relname ~ '^devices_[0-9]+$'");
    expect(await doctor({ DATABASE_URL: url })).toMatchObject({
      bad: ['ledger-durability', 'ledger-checkpoints'],
      'ledger-durability': says('synchronous_commit off'),
      'ledger-checkpoints': says('for about 2000000 devices'),
    });
  });

  it('tells a clock that is off', async () => {
    const settings = { DATABASE_URL: await database(), ...nodeClock(-60_000).settings };
    const clock = says(/^this machine's clock is (59|60|61)\.\d s behind PostgreSQL's/);
    expect(await doctorCommand(settings)).toMatchObject({ bad: ['clock'], clock });
  });

  it('tells a Redis that drops what waits, one whose queue nobody empties, and one that may not be written to', async () => {
    const small = own(
      await startRedis({
        args: ['--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru'],
      }),
    );
    const client = clientOf(small);
    await client.xadd('sluice:check-ins:4', '1000-1', 'batch', 'x');
    await client.call('ACL', 'SETUSER', 'reader', 'on', '>pw', '~*', '&*', '+@all', '-@write');
    expect(await doctor({ REDIS_URL: small.url })).toMatchObject({
      ...{ bad: ['redis-memory', 'check-ins'], 'redis-memory': says('allkeys-lru') },
      'check-ins': says(/^1 batches wait, the oldest for \d{9,} s: no process/),
    });
    const refused = says(/cannot be used: .*(?:can't run this command|permission)/);
    expect(await doctor({ REDIS_URL: `redis://reader:pw@127.0.0.1:${small.port}` })).toMatchObject({
      'check-ins': refused,
    });
    await client.replicaof('127.0.0.1', '1');
    const replica = { redis: says(/ is a replica, which refuses writes: name its primary$/) };
    expect(await doctor({ REDIS_URL: small.url })).toMatchObject(replica);
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
    const own = { bad: [], 'redis-record': 'that of the database' };
    expect(await doctor({ DATABASE_URL: theirs, REDIS_URL })).toMatchObject(own);
    for (const DATABASE_URL of [served, fresh, (await freshDatabase(postgres.url)).url]) {
      const foreign = says('of another record than the database');
      expect(await doctor({ DATABASE_URL, REDIS_URL })).toMatchObject({
        ...{ bad: ['redis-record'], 'redis-record': foreign },
      });
    }
  });

  const cli = findRedisCli() === undefined ? ' (skipped: no redis-cli on this machine)' : '';
  it.skipIf(cli !== '')(`looks at every master of a cluster${cli}`, async () => {
    const cluster = own(await startRedisCluster());
    const well = { bad: [], redis: says(/, 3 masters$/) };
    expect(await doctor({ REDIS_URL: cluster.url })).toMatchObject(well);
    const third = clientOf(cluster.nodes[2] ?? redis);
    await third.config('SET', 'maxmemory', '64mb');
    await third.config('SET', 'maxmemory-policy', 'allkeys-random');
    const small = { bad: ['redis-memory'], 'redis-memory': says('allkeys-random') };
    expect(await doctor({ REDIS_URL: cluster.url })).toMatchObject(small);
  });

  it('an older schema is to be migrated, migrate does it once, and a newer one is refused', async () => {
    const { url } = await freshDatabase(postgres.url);
    await onDatabase(url, applyBaseline);
    const old = says(/^at migration 32, .* run sluice migrate/);
    expect(await doctor({ DATABASE_URL: url })).toMatchObject({
      ...{ bad: ['ledger-schema'], 'ledger-schema': old },
    });

    const migrateOnce = async () => {
      const settings = { DATABASE_URL: url, DATA_DIR: ownFolder() };
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
    const refused = await runSluice(['migrate'], { DATABASE_URL: url, DATA_DIR: ownFolder() });
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
    expect(await doctor({ DATABASE_URL: url })).toMatchObject({ 'ledger-schema': says(refusal) });
    const { code, stderr } = await runSluice(['migrate'], {
      DATABASE_URL: url,
      DATA_DIR: ownFolder(),
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
