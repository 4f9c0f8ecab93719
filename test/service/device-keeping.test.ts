// Tests the setting of how much of a device's history is kept, by what a running service shows of a device.
// What it means is tested in test/store/ledger/device-keeping-contract.ts; DEVICE_FRESHNESS_SECONDS is in
// test/timed.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { admin, check, createTenant } from '../support/tenant.ts';

let node: ServingNode;
beforeAll(async () => {
  node = await startNode({ DEVICE_HISTORY: '2' });
});
afterAll(() => node?.dispose());

it('a device has as many changes of its version as DEVICE_HISTORY asks for', async () => {
  const { app } = await createTenant(node);
  const read = async () => (await admin(node, 'GET', `device?app=${app}&deviceId=d`)).body ?? {};
  for (const version of ['1.0.0', '1.1.0', '1.2.0', '1.3.0']) {
    await check(node, { app }, version, { device: 'd' });
    await eventually('it is recorded', async () => (await read()).version === version);
  }
  expect((await read()).history).toMatchObject([{ to: '1.3.0' }, { to: '1.2.0' }]);
  expect((await read()).history).toHaveLength(2);
});
