// Tests a move of an embedded service to PostgreSQL that is killed right before its commit, and right after
// it. The commit decides where the record is; nothing is lost, and the same command ends the move.

import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { baseEnvironment } from '../support/base-environment.ts';
import { eventually } from '../support/eventually.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { own, ownFolder } from '../support/own.ts';
import { runOn } from '../support/run-on.ts';
import { removeFolder, startProcess, temporaryFolder } from '../support/server-process.ts';
import { runSluice, SLUICE_COMMAND } from '../support/sluice-command.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

/** One that no other test has: it is looked for in all processes of the machine. */
const PASSWORD = randomUUID();
/** Number of devices: as many as one report may have. */
const DEVICES = 500;

const postgresUrl = inject('postgresUrl');

/** Data directory of a stopped embedded service with an app, a release and devices. */
let furnished: string;
let tenant: Tenant;

/** Makes a copy of the stopped service, and a way to an empty database that can be cut. */
async function stoppedService() {
  const dataDir = ownFolder();
  cpSync(furnished, dataDir, { recursive: true });
  const { url } = own(await freshDatabase(postgresUrl));
  const proxy = own(await startProxy(Number(new URL(url).port)));
  const way = Object.assign(new URL(url), { port: String(proxy.port), password: PASSWORD }).href;
  return { dataDir, proxy, url, way };
}

type Service = Awaited<ReturnType<typeof stoppedService>>;

async function start(settings: Record<string, string>): Promise<ServingNode> {
  return own(await startNode(settings));
}

/** Begins a move, and kills it at its commit, which is let through or not, once all is there. */
async function killAt(
  { dataDir, proxy, way }: Service,
  isLetThrough: boolean,
  isOver: () => Promise<boolean> | boolean,
): Promise<void> {
  let hasCome = false;
  proxy.silenceAfter((chunk) => {
    const isCommit = chunk.toString('latin1').endsWith('COMMIT\0');
    if (isCommit && !isLetThrough) proxy.blackhole();
    hasCome ||= isCommit;
    return hasCome;
  });
  const moving = await startProcess(process.execPath, [SLUICE_COMMAND, 'move', '--json'], {
    env: { ...baseEnvironment(), DATA_DIR: dataDir, DATABASE_URL: way },
  });
  await eventually('the move is there', async () => {
    if (moving.hasExited()) throw new Error(`It has ended: ${moving.output()}`);
    return hasCome && (await isOver());
  });
  expect(commandLines().filter((line) => line.includes(PASSWORD))).toEqual([]);
  await moving.end('SIGKILL');
  expect(moving.output()).toBe('');
  proxy.cut();
  proxy.heal();
}

/** Returns what every process of this machine was started with. */
function commandLines(): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8')];
      } catch {
        return [];
      }
    });
}

async function moveAgain({ dataDir, way }: Service) {
  const environment = { DATA_DIR: dataDir, DATABASE_URL: way };
  const { code, stdout, stderr } = await runSluice(['move', '--json'], environment);
  expect([code, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toEqual({
    tables: expect.any(Number),
    rows: expect.any(Number),
    seconds: expect.any(Number),
    ...{ to: `${new URL(way).host}${new URL(way).pathname}`, moved: true },
  });
  return JSON.parse(stdout) as { tables: number; rows: number };
}

async function hasSchema(url: string): Promise<boolean> {
  const statement = `SELECT to_regclass('ledger_epoch') IS NOT NULL AS "isThere"`;
  const [row] = await runOn<{ isThere: boolean }>(url, statement);
  return row?.isThere === true;
}

/** Starts the service on PostgreSQL, expects all that it had, and stops it. */
async function expectWhole(dataDir: string, url: string): Promise<void> {
  const node = await start({ DATA_DIR: dataDir, DATABASE_URL: url });
  expect(await tenant.at(node).offered()).toBe('1.0.0');
  const [row] = await runOn<{ count: number }>(url, 'SELECT count(*)::int FROM devices');
  expect(row?.count).toBe(DEVICES);
  expect((await tenant.at(node).publish('1.1.0')).status).toBe(201);
  await node.stop();
}

/** Returns why the embedded service does not start. */
function refusal(dataDir: string): Promise<string> {
  return start({ DATA_DIR: dataDir }).then(
    () => 'it has started',
    (error: Error) => error.message,
  );
}

describeOnRealStores('a move that is killed', () => {
  beforeAll(async () => {
    furnished = temporaryFolder('sluice-move-');
    const node = await startNode({ DATA_DIR: furnished });
    tenant = await createTenant(node, ['1.0.0']);
    const devices = Array.from({ length: DEVICES }, (_, index) => ({
      ...{ deviceId: `device-${index}`, version: '0.9.0', platform: 'linux', arch: 'x86_64' },
    }));
    expect((await tenant.report(devices)).status).toBe(200);
    await node.stop();
  });
  afterAll(() => removeFolder(furnished));

  it('right before the commit has moved nothing: no start decides that, and the command or its undo does', async () => {
    const service = await stoppedService();
    const { dataDir, url } = service;
    const killAtItsEnd = async () => {
      await killAt(service, false, () => existsSync(join(dataDir, 'ledger.moved')));
      await eventually('the database is empty', async () => !(await hasSchema(url)));
    };
    await killAtItsEnd();
    const refused = await refusal(dataDir);
    expect(refused).toContain("was broken off: `sluice move --to 'postgres://");
    expect(refused).not.toContain(PASSWORD);
    const [, address = ''] = /`sluice move --undo --to '([^']+)'`/.exec(refused) ?? [];
    const undone = await runSluice(['move', '--undo', '--to', address], { DATA_DIR: dataDir });
    expect([undone.code, undone.stderr]).toEqual([0, '']);
    const node = await start({ DATA_DIR: dataDir });
    expect(await tenant.at(node).offered()).toBe('1.0.0');
    await node.stop();

    await killAtItsEnd();
    await moveAgain(service);
    await expectWhole(dataDir, url);
  });

  it('right after the commit has moved all: the command finds that and ends, and a start finds it too', async () => {
    const service = await stoppedService();
    const { dataDir, url, way } = service;
    await killAt(service, true, () => hasSchema(url));
    expect(await refusal(dataDir)).toContain('was broken off');
    await expectWhole(dataDir, url);
    const { rows } = await moveAgain(service);
    expect(rows).toBeGreaterThan(DEVICES);
    expect(await refusal(dataDir)).toContain('was moved to PostgreSQL at ');
    const undone = await runSluice(['move', '--undo'], { DATA_DIR: dataDir, DATABASE_URL: way });
    expect([undone.code, undone.stderr]).toEqual([1, expect.stringContaining('was started on')]);
  });
});
