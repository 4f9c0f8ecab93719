// Tests the move of an embedded service to PostgreSQL as an operator makes it: one command between a stop and
// a start, after which devices, publishers, people and code hosts are answered as before; what it refuses;
// and the way back.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, it } from 'vitest';
import type { Diagnosis } from '../../src/contract/store-fault.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { deliver, enableWebhook, type Hook, releaseEvent } from '../support/github.ts';
import { type NodeSettings, type ServingNode, startNode } from '../support/node.ts';
import { Person } from '../support/person.ts';
import { auditOf } from '../support/published.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { runSluice } from '../support/sluice-command.ts';
import { check, createTenant, manage, publish, report, type Tenant } from '../support/tenant.ts';

const DEVICES = 10_000;
const DEVICES_AT_A_TIME = 500;
const DECISIONS = 1000;
const ASKED_AT_A_TIME = 20;
const PASSWORD = 'hunter2';

const postgresUrl = inject('postgresUrl');
const needed = 'sluice move';
const title = postgresUrl === '' ? `${needed} (skipped: no PostgreSQL on this machine)` : needed;

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

function dataFolder(): string {
  const folder = temporaryFolder('sluice-move-');
  endings.push(() => removeFolder(folder));
  return folder;
}

/** Creates an empty database; its address has a password, which this server does not ask for. */
async function emptyDatabase(): Promise<string> {
  const { url, drop } = await freshDatabase(postgresUrl);
  endings.push(drop);
  return Object.assign(new URL(url), { password: PASSWORD }).href;
}

/** Starts a node that makes its own secret key; stops it in the end. */
async function start(settings: NodeSettings): Promise<ServingNode> {
  const node = await startNode(settings);
  endings.push(() => node.stop());
  return node;
}

/** Runs a start that is refused; returns the line that says why. */
async function refusal(settings: NodeSettings): Promise<string> {
  const failed = await startNode(settings).then(
    async (node) => {
      await node.stop();
      throw new Error('it has started');
    },
    (error: Error) => error.message,
  );
  expect(failed).not.toContain(PASSWORD);
  return /^sluice: .*$/m.exec(failed)?.[0] ?? failed;
}

/** Runs the command; nothing that it prints has the password. */
async function move(DATA_DIR: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const result = await runSluice(['move', ...args], { DATA_DIR, ...env });
  expect(result.stdout + result.stderr).not.toContain(PASSWORD);
  return result;
}

/** Runs the command with a file for the address; returns what it answers. */
async function moved(DATA_DIR: string, url: string, args: readonly string[] = []) {
  const DATABASE_URL_FILE = join(DATA_DIR, 'database-url');
  writeFileSync(DATABASE_URL_FILE, `${url}\n`);
  const { code, stdout, stderr } = await move(DATA_DIR, [...args, '--json'], { DATABASE_URL_FILE });
  expect([code, stderr]).toEqual([0, '']);
  type Moved = { tables: number; rows: number; seconds: number; to: string; moved: boolean };
  return JSON.parse(stdout) as Moved;
}

/** Makes a service that is in use; returns what of it must be the same elsewhere. */
async function furnish(node: ServingNode) {
  const owner = new Person(node);
  expect((await owner.setUp('Acme')).status).toBe(201);
  const tenant = await createTenant(node);
  await publish(node, tenant, '1.0.0');
  await publish(node, tenant, '2.0.0', { rollout: 0 });
  const steps = [
    { rollout: 30, holdMinutes: 60 },
    { rollout: 100, holdMinutes: 0 },
  ];
  const plan = { app: tenant.app, channel: 'stable', version: '2.0.0', steps };
  expect((await manage(node, tenant, 'PUT', 'releases/plan', plan)).status).toBe(200);
  for (let first = 0; first < DEVICES; first += DEVICES_AT_A_TIME) {
    const devices = Array.from({ length: DEVICES_AT_A_TIME }, (_, index) => ({
      ...{
        deviceId: `device-${first + index}`,
        version: '0.9.0',
        platform: 'linux',
        arch: 'x86_64',
      },
      ...(index % 2 === 0 && { labels: { ring: 'early' } }),
    }));
    expect((await report(node, tenant, devices)).status).toBe(200);
  }
  const hook = await enableWebhook(node, tenant);
  await eventually('the first step of the plan begins', async () => {
    const { steps: taken } = await planOf(node, tenant);
    return taken[0]?.startedAt !== null;
  });
  return { owner, tenant, hook };
}

async function planOf(node: ServingNode, tenant: Tenant) {
  const query = `app=${tenant.app}&channel=stable&version=2.0.0`;
  const { body } = await manage(node, tenant, 'GET', `releases/plan?${query}`);
  return body?.plan as { nextAt: string; steps: readonly { startedAt: string | null }[] };
}

/** Returns what a thousand devices are told, as texts; their checks are of versions on record. */
async function decisionsOf(node: ServingNode, tenant: Tenant): Promise<readonly string[]> {
  const told: string[] = [];
  for (let first = 0; first < DECISIONS; first += ASKED_AT_A_TIME) {
    const answers = await Promise.all(
      Array.from({ length: ASKED_AT_A_TIME }, (_, index) =>
        check(node, tenant, '0.9.0', { device: `device-${first + index}` }),
      ),
    );
    told.push(...answers.map(({ status, text }) => `${status} ${text}`));
  }
  return told;
}

describe.skipIf(postgresUrl === '')(title, () => {
  it('brings a service in use to PostgreSQL, where everything is as before', async () => {
    const DATA_DIR = dataFolder();
    const DATABASE_URL = await emptyDatabase();
    let node = await start({ DATA_DIR });
    const { owner, tenant, hook } = await furnish(node);
    const decisions = await decisionsOf(node, tenant);
    expect(new Set(decisions).size).toBe(2);
    const [plan, audit] = [await planOf(node, tenant), await auditOf(node, tenant)];
    const stoppedAt = Date.now();
    await node.stop();

    expect(await refusal({ DATA_DIR, DATABASE_URL })).toMatch(
      /^sluice: DATABASE_URL: the database is empty, and there is a ledger in .*: `sluice move` brings/,
    );
    const tried = await moved(DATA_DIR, DATABASE_URL, ['--dry-run']);
    const { host, pathname } = new URL(DATABASE_URL);
    expect(tried).toMatchObject({ to: `${host}${pathname}`, moved: false });
    const { tables, rows, seconds, ...done } = await moved(DATA_DIR, DATABASE_URL);
    expect(done).toEqual({ to: tried.to, moved: true });
    expect(await moved(DATA_DIR, DATABASE_URL, ['--dry-run'])).toMatchObject(done);
    expect({ tables, rows }).toEqual({ tables: tried.tables, rows: tried.rows });
    expect(rows).toBeGreaterThan(DEVICES);
    console.info(`moved ${rows} rows of ${tables} tables in ${seconds} s`);

    node = await node.restart({ DATABASE_URL });
    const here = Object.assign(owner, { node, origin: node.url });
    expect(await decisionsOf(node, tenant)).toEqual(decisions);
    // The time of plans stood still between the stop and the start, so the next step comes later by that.
    const { nextAt, ...planned } = await planOf(node, tenant);
    expect({ ...planned, nextAt: plan.nextAt }).toEqual(plan);
    expect(Date.parse(nextAt)).toBeGreaterThanOrEqual(Date.parse(plan.nextAt));
    expect(Date.parse(nextAt) - Date.parse(plan.nextAt)).toBeLessThan(Date.now() - stoppedAt);
    expect(await auditOf(node, tenant)).toEqual(audit);
    // The browser is still signed in, and the password is the same.
    expect((await here.call('GET', 'session')).body?.state).toBe('signedIn');
    expect((await here.elsewhere().signIn()).status).toBe(200);
    await expectHook(node, hook);
    expect((await publish(node, tenant, '3.0.0')).status).toBe(201);
    expect((await check(node, tenant, '0.9.0')).body?.version).toBe('3.0.0');
    expect(node.output()).not.toContain('went back or moved');

    const undo = await move(DATA_DIR, ['--undo', '--force'], { DATABASE_URL });
    expect([undo.code, undo.stdout]).toEqual([1, '']);
    expect(undo.stderr).toMatch(
      /^sluice: A service was started on PostgreSQL at [^\n]+: set DATABASE_URL to it\n$/,
    );
    await node.stop();
    expect((await move(DATA_DIR, ['--undo'], { DATABASE_URL })).code).toBe(1);
  });

  it('goes on with the secrets that the embedded service has generated', async () => {
    const DATA_DIR = dataFolder();
    const DATABASE_URL = await emptyDatabase();
    const ADMIN_TOKEN = '';
    const embedded = await start({ DATA_DIR, ADMIN_TOKEN });
    const created = await runSluice(['org', 'create', '--name', 'A', '--json'], {
      DATA_DIR,
      SLUICE_URL: embedded.url,
    });
    expect(created.code).toBe(0);
    await embedded.stop();
    await moved(DATA_DIR, DATABASE_URL);
    const node = await start({ DATA_DIR, ADMIN_TOKEN, DATABASE_URL });
    const listed = await runSluice(['org', 'list', '--json'], { DATA_DIR, SLUICE_URL: node.url });
    expect(JSON.parse(listed.stdout)).toMatchObject({ organizations: [{ name: 'A' }] });
    // A directory that never moved has secrets of nobody.
    const other = await start({ DATA_DIR: dataFolder(), ADMIN_TOKEN, DATABASE_URL });
    writeFileSync(join(other.dataDir, 'admin-token'), 'nobodys-token-of-32-characters-xx');
    const refused = await runSluice(['org', 'list'], {
      DATA_DIR: other.dataDir,
      SLUICE_URL: other.url,
    });
    expect(refused.code).toBe(1);
  });

  it('refuses a start on the directory afterwards, with the way back, and goes it', async () => {
    const DATA_DIR = dataFolder();
    const DATABASE_URL = await emptyDatabase();
    const { host, pathname } = new URL(DATABASE_URL);
    const embedded = await start({ DATA_DIR });
    const tenant = await createTenant(embedded);
    await publish(embedded, tenant, '1.0.0');
    await embedded.stop();
    await moved(DATA_DIR, DATABASE_URL);
    const told = await refusal({ DATA_DIR });
    expect(told).toContain(
      `was moved to PostgreSQL at ${host}${pathname}: set DATABASE_URL to it.`,
    );
    const way = /`sluice (move --undo --to) '([^']+)'`; its password goes into PGPASSWORD/.exec(
      told,
    );
    const doctor = await runSluice(['doctor', '--json'], { DATA_DIR });
    const { checks } = JSON.parse(doctor.stdout) as Diagnosis;
    expect(checks.find(({ name }) => name === 'ledger')).toMatchObject({ ok: false });
    expect((await runSluice(['migrate'], { DATA_DIR })).stderr).toContain('was moved to');

    const elsewhere = await move(DATA_DIR, ['--to', await emptyDatabase()]);
    expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining(host)]);
    const away = new URL(DATABASE_URL);
    away.port = String(await freePort());
    const gone = await move(DATA_DIR, ['--undo', '--to', away.href]);
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('was moved to')]);

    expect(await moved(DATA_DIR, DATABASE_URL)).toMatchObject({ rows: expect.any(Number) });
    // The line that was printed, which no setting helps.
    const [, words = '', address = ''] = way ?? [];
    const environment = { DATA_DIR, PGPASSWORD: PASSWORD };
    const undone = await runSluice([...words.split(' '), address, '--json'], environment);
    expect(undone).toEqual({ code: 0, stdout: '{"undone":true}\n', stderr: '' });
    const back = await start({ DATA_DIR });
    expect((await check(back, tenant, '0.9.0')).body?.version).toBe('1.0.0');
    expect((await publish(back, tenant, '1.1.0')).status).toBe(201);
    await back.stop();
    await moved(DATA_DIR, DATABASE_URL);
    const node = await start({ DATA_DIR, DATABASE_URL });
    expect((await check(node, tenant, '0.9.0')).body?.version).toBe('1.1.0');
  });

  it('goes back without the other database only where it is forced to', async () => {
    const DATA_DIR = dataFolder();
    const { url, drop } = await freshDatabase(postgresUrl);
    endings.push(drop);
    await (await start({ DATA_DIR })).stop();
    await moved(DATA_DIR, url);
    await drop();
    const refused = await move(DATA_DIR, ['--undo'], { DATABASE_URL: url });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/cannot be used: .* does not exist\. --force goes back without/),
    ]);
    expect((await move(DATA_DIR, ['--undo', '--force'], { DATABASE_URL: url })).code).toBe(0);
    const back = await start({ DATA_DIR });
    // What may go on elsewhere is of another time line.
    expect(back.output()).toContain('went back or moved');
  });

  it('refuses a service that runs, a database in use, and addresses that lead nowhere', async () => {
    const DATA_DIR = dataFolder();
    const DATABASE_URL = await emptyDatabase();
    const embedded = await start({ DATA_DIR });
    const running = await move(DATA_DIR, ['--to', DATABASE_URL]);
    expect([running.code, running.stdout]).toEqual([1, '']);
    expect(running.stderr).toMatch(/^sluice: The directory .* is in use by process \d+[^\n]*\n$/);
    await embedded.stop();

    const other = await emptyDatabase();
    await (await start({ DATABASE_URL: other })).dispose();
    const nowhere = `postgres://sluice:${PASSWORD}@127.0.0.1:${await freePort()}/none`;
    const missing = Object.assign(new URL(DATABASE_URL), { pathname: '/none' }).href;
    const wrong: readonly (readonly [args: string[], code: number, told: RegExp | string])[] = [
      [['--to', other], 1, 'has a schema of Sluice already'],
      [['--to', nowhere], 1, /PostgreSQL at 127\.0\.0\.1:\d+\/none cannot be used: .*ECONNREFUSED/],
      [['--to', missing], 1, 'database "none" does not exist'],
      [['--to', `http://x:${PASSWORD}@y`], 1, /^sluice: --to: must be a postgres:/],
      [[], 2, 'name the database with --to, or with DATABASE_URL or DATABASE_URL_FILE'],
      [['--to', DATABASE_URL, '--force'], 2, '--force goes with --undo'],
      [['--to', DATABASE_URL, '--undo', '--dry-run'], 2, '--dry-run'],
      [['--to', DATABASE_URL, '--undo'], 1, 'Nothing was moved from'],
    ];
    for (const [args, code, told] of wrong) {
      const result = await move(DATA_DIR, args);
      expect([result.code, result.stdout], args.join(' ')).toEqual([code, '']);
      expect(result.stderr).toMatch(told);
      expect(result.stderr).toMatch(/^sluice: [^\n]+\n$/);
    }
    expect(existsSync(join(DATA_DIR, 'ledger.moved'))).toBe(false);
    const empty = await move(dataFolder(), ['--to', DATABASE_URL]);
    expect([empty.code, empty.stderr]).toEqual([
      1,
      expect.stringContaining('no embedded database'),
    ]);

    // A DATABASE_URL on the used directory is answered with the command, wherever it is asked.
    const migrate = await runSluice(['migrate'], { DATA_DIR, DATABASE_URL });
    expect([migrate.code, migrate.stderr]).toEqual([1, expect.stringContaining('`sluice move`')]);
    const doctor = await runSluice(['doctor'], { DATA_DIR, DATABASE_URL });
    expect(doctor.stdout).toMatch(/^MEND ledger-schema: .*run sluice move$/m);
    const text = await move(DATA_DIR, ['--to', DATABASE_URL]);
    expect([text.code, text.stderr]).toEqual([0, '']);
    expect(text.stdout).toMatch(
      /^tables: \d+\nrows: \d+\nseconds: [\d.]+\nMoved to PostgreSQL at \S+\.\n\nStart the service with /,
    );
  });
});

/** Expects that a code host whose secret is the one from before is believed, and another is not. */
async function expectHook(node: ServingNode, hook: Hook): Promise<void> {
  const taken = await deliver(node, hook, releaseEvent('v2.5.0'));
  expect(taken.body?.outcome).toBe('created');
  const other = { ...hook, secret: 'another' };
  expect((await deliver(node, other, releaseEvent('v2.6.0'))).status).toBe(401);
}
