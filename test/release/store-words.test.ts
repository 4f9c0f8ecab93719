// Tests that `/readyz`, the log, the doctor and the 503 of publishers say alike which store cannot be used
// and why: each fault is made on a PostgreSQL or a Redis of the test's own.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Diagnosis } from '../../src/contract/store-fault.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { endWithSuite, own, ownFolder } from '../support/own.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { runSluice } from '../support/sluice-command.ts';
import { createTenant, send } from '../support/tenant.ts';
import { startWorkerNode } from '../support/worker-node.ts';

const TABLESPACE_MB = 64;
const CHANGED = 'known channels are served, nothing can be changed';
/** Whether this account may mount a small disk; a container of CI may not. */
const MAY_MOUNT = (() => {
  const folder = temporaryFolder('sluice-mount-');
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', folder]);
  if (status === 0) spawnSync('umount', [folder]);
  removeFolder(folder);
  return status === 0;
})();
const NO_MOUNT = MAY_MOUNT ? '' : ' (skipped: this account may not mount a file system)';

describeOnRealStores('a store that cannot be used', () => {
  let postgres: PostgresServer;
  let redis: RedisServer;

  beforeAll(async () => {
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    await sql('CREATE ROLE sluice LOGIN');
  });
  endWithSuite(() => [postgres, redis]);

  async function sql(...texts: string[]): Promise<void> {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    for (const text of texts) await client.query(text);
    await client.end();
  }

  const addressOf = (database: string) => {
    const url = new URL(postgres.url);
    url.username = 'sluice';
    url.pathname = `/${database}`;
    return url.href;
  };
  const cut = (database: string) =>
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`;

  /** A node on a database of its own, with an app that has a release. */
  async function serve(database: string, more = '') {
    await sql(`CREATE DATABASE ${database} OWNER sluice ${more}`);
    const dataDir = ownFolder();
    const settings = {
      ...{ DATABASE_URL: addressOf(database), REDIS_URL: redis.url, DATA_DIR: dataDir },
      ...{ REDIS_PREFIX: database, SECRET_KEY: 'a key of the tests' },
    };
    const node = own(await startWorkerNode({ settings, drop: async () => undefined }));
    const tenant = await createTenant(node, ['1.0.0']);
    return { node, tenant, settings };
  }

  type Told = { ready: string; refused: string; logged: string; doctor: string };

  /** What is said of the ledger once its fault is seen, in the four places. */
  async function told(
    { node, tenant, settings }: Awaited<ReturnType<typeof serve>>,
    check = 'ledger',
    say = 'store lost',
  ): Promise<Told> {
    let ready = '';
    let refused = '';
    await eventually('the fault is told', async () => {
      const answer = await tenant.at(node).publish('2.0.0');
      if (answer.status !== 503) return false;
      refused = (answer.body as { error: string }).error;
      const { body } = await send(node, 'GET', '/readyz');
      const { degraded = [] } = body as { degraded?: { store: string; message: string }[] };
      ready = degraded.find(({ store }) => store === 'ledger')?.message ?? '';
      const why = refused.split(': ')[1] ?? '-';
      return (
        ready.startsWith(why) && node.log().some((line) => line.msg === say && line.reason === why)
      );
    });
    const why = refused.split(': ')[1];
    const line = node.log().find(({ msg, reason }) => msg === say && reason === why);
    const { stdout } = await runSluice(['doctor', '--json'], { ...settings, ADMIN_TOKEN });
    const { checks } = JSON.parse(stdout) as Diagnosis;
    const found = checks.find(({ name }) => name === check);
    expect(found?.ok, stdout).toBe(check === 'ledger-room');
    // Nothing is said twice, and an expected fault has no stack.
    const said = node.log().filter(({ msg }) => msg === 'store unavailable');
    expect(said.length).toBeLessThan(4);
    for (const each of node.log()) expect(JSON.stringify(each)).not.toContain('"stack"');
    return { ready, refused, logged: String(line?.reason), doctor: found?.message ?? '' };
  }

  function expectAlike({ ready, refused, logged, doctor }: Told, words: string): void {
    expect(ready).toBe(`${words}: ${CHANGED}`);
    expect(refused).toBe(`Temporarily unavailable, try again shortly: ${words}`);
    expect(logged).toBe(words);
    expect(doctor.startsWith(words), doctor).toBe(true);
  }

  it('refuses the login', async () => {
    const served = await serve('login');
    await sql('ALTER ROLE sluice NOLOGIN', cut('login'));
    onTestFinished(() => sql('ALTER ROLE sluice LOGIN'));
    expectAlike(await told(served), 'PostgreSQL refuses the login');
  });

  it('has an empty database', async () => {
    const served = await serve('emptied');
    await sql(
      ...['ALTER DATABASE emptied ALLOW_CONNECTIONS false', cut('emptied')],
      ...['ALTER DATABASE emptied RENAME TO kept', 'CREATE DATABASE emptied OWNER sluice'],
    );
    expectAlike(
      await told(served, 'ledger-record'),
      'PostgreSQL has an empty database, and not the record that DATA_DIR or Redis remember',
    );
  });

  it('has a newer schema, which a node finds that starts with snapshots', async () => {
    const served = await serve('newer');
    const client = new pg.Client({ connectionString: addressOf('newer') });
    await client.connect();
    await client.query("INSERT INTO sluice_migrations (id, name) VALUES (999, 'x')");
    await client.end();
    const { settings, tenant } = served;
    await served.node.dispose();
    const node = own(await startWorkerNode({ settings, drop: async () => undefined }));
    expectAlike(
      await told({ node, tenant, settings }, 'ledger-schema'),
      'PostgreSQL has the schema of a newer version of Sluice',
    );
  });

  it('does not answer in time', async () => {
    const served = await serve('slow');
    postgres.pause();
    onTestFinished(() => postgres.resume());
    expectAlike(await told(served), 'PostgreSQL does not answer in time');
  });

  it.skipIf(!MAY_MOUNT)(`has a full disk, and reads go on${NO_MOUNT}`, async () => {
    const disk = temporaryFolder('sluice-disk-');
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${TABLESPACE_MB}m`, 'none', disk]);
    chmodSync(disk, 0o777);
    const data = join(disk, 'data');
    mkdirSync(data, { mode: 0o700 });
    const owner = new pg.Client({ connectionString: postgres.url });
    await owner.connect();
    const { rows } = await owner.query("SELECT current_setting('data_directory') AS folder");
    await owner.end();
    execFileSync('chown', ['--reference', rows[0].folder, data]);
    await sql(`CREATE TABLESPACE tiny LOCATION '${data}'`);
    const served = await serve('tiny', 'TABLESPACE tiny');
    spawnSync('dd', ['if=/dev/zero', `of=${join(disk, 'filler')}`, 'bs=64k']);
    let version = 2;
    await eventually('the disk is full', async () => {
      version += 1;
      const notes = 'x'.repeat(200_000) + version;
      const { status } = await served.tenant.at(served.node).manage('POST', 'releases', {
        ...{ app: served.tenant.app, channel: 'stable', version: `1.0.${version}`, artifacts: [] },
        notes: [...notes]
          .map((_, at) => String.fromCharCode(97 + ((at * at + version * at) % 26)))
          .join(''),
      });
      return status === 503;
    });
    onTestFinished(async () => {
      await served.node.dispose();
      rmSync(join(disk, 'filler'), { force: true });
      await sql(cut('tiny'), 'DROP DATABASE tiny', 'DROP TABLESPACE tiny');
      execFileSync('umount', [disk]);
      removeFolder(disk);
    });
    const { body } = await send(served.node, 'GET', '/readyz');
    const words = 'PostgreSQL has no room left on its disk';
    expect(body).toMatchObject({
      status: 'ready',
      degraded: [{ store: 'ledger', message: `${words}: ${CHANGED}` }],
    });
    expect((await served.tenant.at(served.node).manage('GET', 'apps')).status).toBe(200);
    const line = served.node.log().find(({ msg }) => msg === 'store refuses writes');
    expect(line).toMatchObject({ store: 'ledger', reason: words });
    rmSync(join(disk, 'filler'));
    await eventually('there is room again', async () => {
      return (await send(served.node, 'GET', '/readyz')).body?.degraded === undefined;
    });
  });
});
