// Tests an edge whose upstream's address leads elsewhere for a while: to a copy of its service, whose state
// it then has to give up again, and to a service that has nothing to do with its own (docs/contract.md
// 29.10).

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { copiedDatabase } from '../support/copied-database.ts';
import { arrives, offeredBy, startEdgeOnAWay } from '../support/edge-arrival.ts';
import { eventually } from '../support/eventually.ts';
import type { FreshDatabase } from '../support/fresh-database.ts';
import { metricsOf } from '../support/metrics.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { runOn } from '../support/run-on.ts';
import type { NetworkProxy } from '../support/tcp-proxy.ts';
import {
  check,
  control,
  createTenant,
  devicesOf,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

describeOnRealStores('an edge whose address of its upstream leads elsewhere', () => {
  const ends: (() => unknown)[] = [];
  let production: ServingNode;
  let database: FreshDatabase;
  let edge: ServingNode;
  let way: NetworkProxy;
  let tenant: Tenant;

  beforeAll(async () => {
    database = await migratedDatabase(inject('postgresUrl'));
    ends.push(() => database.drop());
    production = await serviceOn(database);
    tenant = await createTenant(production);
    await publish(production, tenant, '1.0.0');
    ({ edge, way } = await startEdgeOnAWay(production));
    ends.push(
      () => way.close(),
      () => edge.dispose(),
    );
    await arrives(edge, tenant, '1.0.0');
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });

  async function serviceOn({ url }: { readonly url: string }): Promise<ServingNode> {
    const node = await startNode({ DATABASE_URL: url, SECRET_KEY: 'a key of the tests' });
    ends.push(() => node.dispose());
    return node;
  }

  it('serves what its own service has once that is back, though the other one was ahead of it', async () => {
    await publish(production, tenant, '2.0.0');
    await arrives(edge, tenant, '2.0.0');
    const copy = await copiedDatabase(database.url);
    ends.push(() => copy.drop());
    const recovery = await serviceOn(copy);
    way.moveTo(portOf(recovery));
    await publish(recovery, tenant, '2.5.0');
    await arrives(edge, tenant, '2.5.0');
    way.moveTo(portOf(production));
    await control(production, tenant, '2.0.0', { status: 'paused' });
    await arrives(edge, tenant, '1.0.0');
    await publish(production, tenant, '3.0.0');
    await arrives(edge, tenant, '3.0.0');
    await eventually('it is ready', async () => (await readiness()).status === 200);

    // The other way round: now it is the copy that is behind.
    way.moveTo(portOf(recovery));
    await arrives(edge, tenant, '2.5.0');
    way.moveTo(portOf(production));
    await arrives(edge, tenant, '3.0.0');
  });

  it('refuses a service of another record, and hands it nothing over', async () => {
    await arrives(edge, tenant, '3.0.0');
    const other = await migratedDatabase(inject('postgresUrl'));
    ends.push(() => other.drop());
    const stranger = await serviceOn(other);
    const theirs = await createTenant(stranger, tenant.app);
    await publish(stranger, theirs, '9.0.0');
    await copyTokens(database.url, other.url);
    way.moveTo(portOf(stranger));
    const device = randomUUID();
    expect((await check(edge, tenant, '0.9.0', { device })).body?.version).toBe('3.0.0');
    await eventually('it is not ready', async () => (await readiness()).status === 503);
    expect((await readiness()).text).toContain('is of another record');
    expect(await metricsOf(edge)).toMatch(/sluice_edge_refused_total\{reason="foreign"\} [1-9]/);
    expect(await offeredBy(edge, tenant)).toBe('3.0.0');
    const accepted = /sluice_check_ins_total\{outcome="accepted"\} [1-9]/;
    expect(await metricsOf(stranger)).not.toMatch(accepted);

    way.moveTo(portOf(production));
    await eventually('it is ready again', async () => (await readiness()).status === 200);
    await eventually('the check-ins are with their own service', async () => {
      return (await devicesOf(production, tenant)).some(({ deviceId }) => deviceId === device);
    });
  });

  function readiness() {
    return send(edge, 'GET', '/readyz');
  }
});

function portOf({ url }: ServingNode): number {
  return Number(new URL(url).port);
}

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
