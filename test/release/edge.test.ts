// Tests an edge against faults (docs/contract.md 29): its upstream away under load, its own kill, and an
// address of its upstream, or a directory, that belongs to another service. In full the upstream is away for
// half a minute instead of some seconds.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { copiedDatabase } from '../support/copied-database.ts';
import {
  arrives,
  makeEdgeToken,
  offeredBy,
  portOf,
  startEdge,
  startEdgeOnAWay,
} from '../support/edge-node.ts';
import { eventually, sleep } from '../support/eventually.ts';
import type { FreshDatabase } from '../support/fresh-database.ts';
import { IS_FULL } from '../support/full-run.ts';
import { metricsOf } from '../support/metrics.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { repeatCalls } from '../support/repeated-calls.ts';
import { runOn } from '../support/run-on.ts';
import { startProcess } from '../support/server-process.ts';
import { SLUICE_COMMAND } from '../support/sluice-command.ts';
import type { NetworkProxy } from '../support/tcp-proxy.ts';
import { createNamed, createTenant, send, type Tenant } from '../support/tenant.ts';

const AWAY_MS = IS_FULL ? 30_000 : 4000;
/** Time in which what an edge has answered is on its disk: promised are 100 ms on a disk that follows. */
const SYNCED_MS = 250;
const PAGE_SIZE = 1000;
/** Clients that ask the edge at a time. */
const CLIENTS = 4;
/** Time in which the service records what has come together: a quarter of that time, or a minute. */
const RECORDED_MS_MAX = Math.max(60_000, AWAY_MS / 4);

describeOnRealStores('an edge', () => {
  const ends: (() => unknown)[] = [];
  let database: FreshDatabase;
  let service: ServingNode;
  let edge: ServingNode;
  let way: NetworkProxy;
  let tenant: Tenant;

  beforeAll(async () => {
    database = await migratedDatabase(inject('postgresUrl'));
    ends.push(() => database.drop());
    service = await serviceOn({ DATABASE_URL: database.url });
    tenant = await createTenant(service, ['1.0.0']);
    ({ edge, way } = await startEdgeOnAWay(service));
    ends.push(
      () => way.close(),
      () => edge.dispose(),
    );
    await arrives(edge, tenant, '1.0.0');
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });

  async function serviceOn(settings: { DATABASE_URL?: string; SECRET_KEY?: string }) {
    const node = await startNode({ SECRET_KEY: 'a key of the tests', ...settings });
    ends.push(() => node.dispose());
    return node;
  }

  const readiness = () => send(edge, 'GET', '/readyz');

  it('without its upstream gives no wrong answer, loses no check-in on disk, and is right soon after (§29.5, §29.6)', {
    timeout: 2 * AWAY_MS + 120_000,
  }, async () => {
    const answered: { readonly device: string; readonly at: number }[] = [];
    const wrong: unknown[] = [];
    const right: unknown[] = ['1.0.0', 503];
    const askOnce = async (): Promise<void> => {
      const device = randomUUID();
      // An edge that was killed does not answer, which is no wrong answer.
      const answer = await tenant
        .at(edge)
        .check('0.9.0', { device })
        .catch(() => undefined);
      const told = answer?.body?.version ?? answer?.status;
      if (told === undefined) await sleep(20);
      else if (!right.includes(told)) wrong.push(told);
      else if (told !== 503) answered.push({ device, at: performance.now() });
    };
    const load = repeatCalls(20, ...Array(CLIENTS).fill(askOnce));
    way.blackhole();
    way.cut();
    await tenant.publish('2.0.0');
    await sleep(AWAY_MS / 2);
    const killedAt = performance.now();
    await edge.kill();
    edge = await edge.restart();
    await sleep(AWAY_MS / 2);
    right.push('2.0.0');
    way.heal();
    await arrives(edge, tenant, '2.0.0');
    await load.end();
    expect(wrong).toEqual([]);
    // What the kill may have taken with it: answered, and not on disk yet.
    const certain = answered.filter(({ at }) => Math.abs(at - killedAt) > SYNCED_MS);
    expect(certain.length).toBeGreaterThan(100);
    const missing = async () => {
      const recorded = await devicesOnRecord();
      return certain.filter(({ device }) => !recorded.has(device)).length;
    };
    await expect.poll(missing, { timeout: RECORDED_MS_MAX, interval: 500 }).toBe(0);
  });

  async function devicesOnRecord(): Promise<ReadonlySet<string>> {
    const devices = new Set<string>();
    for (let after = ''; ; ) {
      const page = await tenant.devices(`limit=${PAGE_SIZE}&after=${after}`);
      for (const { deviceId } of page) devices.add(String(deviceId));
      if (page.length < PAGE_SIZE) return devices;
      after = String(page.at(-1)?.deviceId);
    }
  }

  it('whose address led to a copy of its service, which was ahead, serves what its own one has (§29.10)', async () => {
    const copy = await copiedDatabase(database.url);
    ends.push(() => copy.drop());
    const recovery = await serviceOn({ DATABASE_URL: copy.url });
    way.moveTo(portOf(recovery));
    await tenant.at(recovery).publish('2.5.0');
    await arrives(edge, tenant, '2.5.0');
    way.moveTo(portOf(service));
    await tenant.control('2.0.0', { status: 'paused' });
    await arrives(edge, tenant, '1.0.0');
    await tenant.publish('3.0.0');
    await arrives(edge, tenant, '3.0.0');
    await eventually('it is ready', async () => (await readiness()).status === 200);

    // The other way round: now it is the copy that is behind.
    way.moveTo(portOf(recovery));
    await arrives(edge, tenant, '2.5.0');
    way.moveTo(portOf(service));
    await arrives(edge, tenant, '3.0.0');
  });

  it('refuses a service of another record, and hands it nothing over (§29.10)', async () => {
    const other = await migratedDatabase(inject('postgresUrl'));
    ends.push(() => other.drop());
    const stranger = await serviceOn({ DATABASE_URL: other.url });
    await (await createNamed(stranger, tenant.app)).publish('9.0.0');
    await copyTokens(database.url, other.url);
    way.moveTo(portOf(stranger));
    const device = randomUUID();
    expect(await tenant.at(edge).offered('0.9.0', { device })).toBe('3.0.0');
    await eventually('it is not ready', async () => (await readiness()).status === 503);
    expect((await readiness()).text).toContain('is of another record');
    expect(await metricsOf(edge)).toMatch(/sluice_edge_refused_total\{reason="foreign"\} [1-9]/);
    expect(await offeredBy(edge, tenant)).toBe('3.0.0');
    const accepted = /sluice_check_ins_total\{outcome="accepted"\} [1-9]/;
    expect(await metricsOf(stranger)).not.toMatch(accepted);

    way.moveTo(portOf(service));
    await eventually('it is ready again', async () => (await readiness()).status === 200);
    await eventually('it is on record', async () => (await devicesOnRecord()).has(device));
  });

  it('has a directory that is refused to another edge, and of which one of another service serves nothing (§29.3)', async () => {
    const args = [SLUICE_COMMAND, 'edge', '--upstream', service.url];
    const env = { ...process.env, DATA_DIR: edge.dataDir, PORT: '0' };
    const { secret } = await makeEdgeToken(service);
    const second = await startProcess(process.execPath, args, {
      env: { ...env, EDGE_TOKEN: secret },
    });
    const refusal = () => /^sluice: .*is in use by process.*\n/m.exec(second.output())?.[0];
    await eventually('it has ended', () => refusal() !== undefined);
    expect(refusal()).toMatch(new RegExp(`DATA_DIR.* process ${edge.process.pid}`));

    way.blackhole();
    const left = randomUUID();
    expect((await tenant.at(edge).check('0.9.0', { device: left })).status).toBe(200);
    await edge.stop();
    const others = await serviceOn({ SECRET_KEY: 'another key of the tests' });
    const namesake = await createNamed(others, tenant.app);
    await namesake.publish('9.0.0', { status: 'paused' });
    way.moveTo(portOf(others));
    const theirs = await startEdge(
      `http://127.0.0.1:${way.port}`,
      (await makeEdgeToken(others)).secret,
      { DATA_DIR: edge.dataDir },
    );
    ends.push(() => theirs.stop());
    expect(await offeredBy(theirs, tenant)).toBe(503);
    way.heal();
    await arrives(theirs, tenant, null);
    await eventually('what was dropped is said', () =>
      theirs.output().includes('check-ins of apps that the upstream does not have were dropped'),
    );
    const known = await namesake.deviceIds();
    expect(known).not.toContain(left);
  });
});

/** Makes the tokens of one service known to another one, as a copied row would. */
async function copyTokens(from: string, to: string): Promise<void> {
  const [{ rows } = { rows: [] }] = await runOn<{ rows: unknown }>(
    from,
    'SELECT json_agg(edge_tokens) AS rows FROM edge_tokens',
  );
  const json = JSON.stringify(rows).replaceAll("'", "''");
  const text = `INSERT INTO edge_tokens SELECT * FROM json_populate_recordset(NULL::edge_tokens, '${json}')`;
  await runOn(to, text);
}
