// Tests the settings of how closely devices are kept, by what a running service shows of a device. What they
// mean is tested in test/ledger/device-keeping-contract.ts and test/operations/record-memory.test.ts.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { type NodeClock, nodeClock } from '../support/node-clock.ts';
import { admin, check, createTenant, type Tenant } from '../support/tenant.ts';

type Fields = Record<string, unknown>;

let clock: NodeClock;
let node: ServingNode;
let tenant: Tenant;
beforeAll(async () => {
  clock = nodeClock(0);
  const settings = { DEVICE_HISTORY: '2', DEVICE_FRESHNESS_SECONDS: '10' };
  node = await startNode({ ...clock.settings, ...settings });
  tenant = await createTenant(node);
});
afterAll(() => node?.dispose());

async function read(device: string): Promise<Fields> {
  const answer = await admin(node, 'GET', `device?app=${tenant.app}&deviceId=${device}`);
  return answer.body ?? {};
}

/** Lets a device ask from a version, and waits until it is recorded with it. */
async function run(device: string, version: string): Promise<Fields> {
  await check(node, tenant, version, { device });
  await eventually('the version is recorded', async () => (await read(device)).version === version);
  return read(device);
}

it('a device has as many changes of its version as DEVICE_HISTORY asks for', async () => {
  for (const version of ['1.0.0', '1.1.0', '1.2.0']) await run('d', version);
  const { history } = await run('d', '1.3.0');
  expect((history as Fields[]).map(({ to }) => to)).toEqual(['1.3.0', '1.2.0']);
});

it('one that has nothing new to say is written again after DEVICE_FRESHNESS_SECONDS', async () => {
  const { lastSeen } = await run('fresh', '1.0.0');
  clock.set(20_000);
  await eventually('it is written again', async () => {
    await check(node, tenant, '1.0.0', { device: 'fresh' });
    return (await read('fresh')).lastSeen !== lastSeen;
  });
});
