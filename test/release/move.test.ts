// Tests the move of an embedded service to PostgreSQL as an operator makes it: one command between a stop and
// a start, after which devices, publishers, people and code hosts are answered as before; what it refuses;
// and the way back.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import type { Diagnosis } from '../../src/contract/store-fault.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { deliver, enableWebhook, type Hook, releaseEvent } from '../support/github.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { type NodeSettings, type ServingNode, startNode } from '../support/node.ts';
import { own, ownFolder } from '../support/own.ts';
import { Person } from '../support/person.ts';
import { runSluice } from '../support/sluice-command.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

const DEVICES = Array.from({ length: 1500 }, (_, index) => ({
  ...{ deviceId: `device-${index}`, version: '0.9.0', platform: 'linux', arch: 'x86_64' },
  ...(index % 2 === 0 && { labels: { ring: 'early' } }),
}));
const [REPORTED_AT_A_TIME, ASKED] = [500, 100];
const PASSWORD = 'hunter2';

const postgresUrl = inject('postgresUrl');

/** Creates an empty database; its address has a password, which this server does not ask for. */
async function emptyDatabase(): Promise<string> {
  const { url } = own(await freshDatabase(postgresUrl));
  return Object.assign(new URL(url), { password: PASSWORD }).href;
}

/** Starts a node that makes its own secret key; stops it in the end. */
async function start(settings: NodeSettings): Promise<ServingNode> {
  return own(await startNode(settings));
}

/** Runs a start that is refused; returns the line that says why. */
async function refusal(settings: NodeSettings): Promise<string> {
  const failed = await start(settings).then(
    () => 'it has started',
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
  const tenant = await createTenant(node, ['1.0.0'], ['2.0.0', { rollout: 0 }]);
  const steps = [
    { rollout: 30, holdMinutes: 60 },
    { rollout: 100, holdMinutes: 0 },
  ];
  const plan = { app: tenant.app, channel: 'stable', version: '2.0.0', steps };
  expect((await tenant.manage('PUT', 'releases/plan', plan)).status).toBe(200);
  for (let first = 0; first < DEVICES.length; first += REPORTED_AT_A_TIME) {
    const devices = DEVICES.slice(first, first + REPORTED_AT_A_TIME);
    expect((await tenant.report(devices)).status).toBe(200);
  }
  const hook = await enableWebhook(node, tenant);
  await eventually('the first step of the plan begins', async () => {
    const { steps: taken } = await planOf(tenant);
    return taken[0]?.startedAt !== null;
  });
  return { owner, tenant, hook };
}

async function planOf(tenant: Tenant) {
  const query = `app=${tenant.app}&channel=stable&version=2.0.0`;
  const { body } = await tenant.manage('GET', `releases/plan?${query}`);
  return body?.plan as { nextAt: string; steps: readonly { startedAt: string | null }[] };
}

/** Returns what many devices are told, as texts; their checks are of versions on record. */
function decisionsOf(tenant: Tenant): Promise<readonly string[]> {
  const told = DEVICES.slice(0, ASKED).map(async ({ deviceId }) => {
    const { status, text } = await tenant.check('0.9.0', { device: deviceId });
    return `${status} ${text}`;
  });
  return Promise.all(told);
}

describeOnRealStores('sluice move', () => {
  it('brings a service in use to PostgreSQL, where everything is as before', async () => {
    const DATA_DIR = ownFolder();
    const DATABASE_URL = await emptyDatabase();
    let node = await start({ DATA_DIR });
    const { owner, tenant, hook } = await furnish(node);
    const decisions = await decisionsOf(tenant.at(node));
    expect(new Set(decisions).size).toBe(2);
    const [plan, audit] = [await planOf(tenant.at(node)), await tenant.at(node).audit()];
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
    expect(rows).toBeGreaterThan(DEVICES.length);
    console.info(`moved ${rows} rows of ${tables} tables in ${seconds} s`);

    node = own(await node.restart({ DATABASE_URL }));
    const here = Object.assign(owner, { node, origin: node.url });
    expect(await decisionsOf(tenant.at(node))).toEqual(decisions);
    // The time of plans stood still between the stop and the start, so the next step comes later by that.
    const { nextAt, ...planned } = await planOf(tenant.at(node));
    expect({ ...planned, nextAt: plan.nextAt }).toEqual(plan);
    expect(Date.parse(nextAt)).toBeGreaterThanOrEqual(Date.parse(plan.nextAt));
    expect(Date.parse(nextAt) - Date.parse(plan.nextAt)).toBeLessThan(Date.now() - stoppedAt);
    expect(await tenant.at(node).audit()).toEqual(audit);
    // The browser is still signed in, and the password is the same.
    expect((await here.call('GET', 'session')).body?.state).toBe('signedIn');
    expect((await here.elsewhere().signIn()).status).toBe(200);
    // A code host whose secret is the one from before is believed, and another is not.
    expect((await deliver(node, hook, releaseEvent('v2.5.0'))).body?.outcome).toBe('created');
    const other: Hook = { ...hook, secret: 'another' };
    expect((await deliver(node, other, releaseEvent('v2.6.0'))).status).toBe(401);
    expect((await tenant.at(node).publish('3.0.0')).status).toBe(201);
    expect(await tenant.at(node).offered()).toBe('3.0.0');
    expect(node.output()).not.toContain('went back or moved');

    const undo = await move(DATA_DIR, ['--undo', '--force'], { DATABASE_URL });
    expect([undo.code, undo.stdout]).toEqual([1, '']);
    expect(undo.stderr).toMatch(
      /^sluice: A service was started on PostgreSQL at [^\n]+: set DATABASE_URL to it\n$/,
    );
    await node.stop();
    expect((await move(DATA_DIR, ['--undo'], { DATABASE_URL })).code).toBe(1);
  });

  it('refuses a start on the directory afterwards, with the way back, and goes it; secrets go along', async () => {
    const DATA_DIR = ownFolder();
    const DATABASE_URL = await emptyDatabase();
    const { host, pathname } = new URL(DATABASE_URL);
    // The embedded service has generated its secrets.
    const ADMIN_TOKEN = '';
    const operate = async (node: ServingNode, ...args: string[]) => {
      const environment = { DATA_DIR: node.dataDir, SLUICE_URL: node.url };
      const { code, stdout } = await runSluice(['org', ...args, '--json'], environment);
      return [code, stdout === '' ? '' : JSON.parse(stdout)];
    };
    const embedded = await start({ DATA_DIR, ADMIN_TOKEN });
    expect((await operate(embedded, 'create', '--name', 'A'))[0]).toBe(0);
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

    // The line that was printed, which no setting helps.
    const [, words = '', address = ''] = way ?? [];
    const environment = { DATA_DIR, PGPASSWORD: PASSWORD };
    const undone = await runSluice([...words.split(' '), address, '--json'], environment);
    expect(undone).toEqual({ code: 0, stdout: '{"undone":true}\n', stderr: '' });
    const back = await start({ DATA_DIR, ADMIN_TOKEN });
    expect((await operate(back, 'create', '--name', 'B'))[0]).toBe(0);
    await back.stop();
    await moved(DATA_DIR, DATABASE_URL);
    const node = await start({ DATA_DIR, ADMIN_TOKEN, DATABASE_URL });
    const organizations = [{ name: 'A' }, { name: 'B' }];
    expect(await operate(node, 'list')).toMatchObject([0, { organizations }]);
    // A directory that never moved has secrets of nobody.
    const other = await start({ DATA_DIR: ownFolder(), ADMIN_TOKEN, DATABASE_URL });
    writeFileSync(join(other.dataDir, 'admin-token'), 'nobodys-token-of-32-characters-xx');
    expect((await operate(other, 'list'))[0]).toBe(1);
  });

  it('refuses a service that runs, a database in use, and addresses that lead nowhere', async () => {
    const DATA_DIR = ownFolder();
    const { url: DATABASE_URL, drop } = own(await freshDatabase(postgresUrl));
    const embedded = await start({ DATA_DIR });
    const running = await move(DATA_DIR, ['--to', DATABASE_URL]);
    expect([running.code, running.stdout]).toEqual([1, '']);
    expect(running.stderr).toMatch(/^sluice: The directory .* is in use by process \d+[^\n]*\n$/);
    await embedded.stop();

    const { url: other } = own(await migratedDatabase(postgresUrl));
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
    const unused = ownFolder();
    const empty = await move(unused, ['--to', DATABASE_URL]);
    expect([empty.code, empty.stderr]).toEqual([
      1,
      expect.stringContaining('no embedded database'),
    ]);
    expect(existsSync(join(unused, 'ledger'))).toBe(false);

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

    // It goes back without the other database only where it is forced to.
    await drop();
    const refused = await move(DATA_DIR, ['--undo'], { DATABASE_URL });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/cannot be used: .* does not exist\. --force goes back without/),
    ]);
    expect((await move(DATA_DIR, ['--undo', '--force'], { DATABASE_URL })).code).toBe(0);
  });
});
