// Tests the settings of how closely devices are kept, by what a running service shows of a device.

import { afterEach, expect, it } from 'vitest';
import { eventually, sleep } from '../support/eventually.ts';
import { type NodeSettings, startNode } from '../support/node.ts';
import { admin, check, createTenant, type Tenant } from '../support/tenant.ts';

type Fields = Record<string, unknown>;

let node: Awaited<ReturnType<typeof startNode>> | undefined;
afterEach(async () => {
  await node?.dispose();
  node = undefined;
});

async function read({ app }: Tenant): Promise<Fields> {
  if (node === undefined) throw new Error('No node was started');
  return (await admin(node, 'GET', `device?app=${app}&deviceId=d`)).body ?? {};
}

/** Starts a node and lets a device run versions from 1.0.0 on; returns those that its history shows then. */
async function runVersions(count: number, settings: NodeSettings): Promise<readonly unknown[]> {
  const started = await startNode(settings);
  node = started;
  const tenant = await createTenant(started);
  for (let version = 0; version < count; version++) {
    await check(started, tenant, `1.${version}.0`, { device: 'd' });
    await eventually('the version is recorded', async () => {
      return (await read(tenant)).version === `1.${version}.0`;
    });
  }
  const { history } = await read(tenant);
  return (history as Fields[]).map(({ to }) => to);
}

it('a device has the newest ten changes of its version', async () => {
  const shown = await runVersions(12, {});
  expect(shown).toEqual(Array.from({ length: 10 }, (_, index) => `1.${11 - index}.0`));
});

it('or as many as DEVICE_HISTORY asks for', async () => {
  expect(await runVersions(4, { DEVICE_HISTORY: '2' })).toEqual(['1.3.0', '1.2.0']);
});

it('a device that has nothing new to say is written again after DEVICE_FRESHNESS_SECONDS', async () => {
  const started = await startNode({ DEVICE_FRESHNESS_SECONDS: '10' });
  node = started;
  const tenant = await createTenant(started);
  await check(started, tenant, '1.0.0', { device: 'd' });
  await eventually('it is recorded', async () => (await read(tenant)).version === '1.0.0');
  const { lastSeen } = await read(tenant);
  await sleep(10_100);
  await check(started, tenant, '1.0.0', { device: 'd' });
  await eventually('it is written again', async () => (await read(tenant)).lastSeen !== lastSeen);
});
