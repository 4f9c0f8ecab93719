// Waits for DEVICE_FRESHNESS_SECONDS to pass, which is at least 10: the service goes by a stopwatch, so no
// clock that a test moves shortens it. What it means is tested in test/fleet/record-cache.test.ts.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, sleep } from '../support/eventually.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { admin, check, createTenant } from '../support/tenant.ts';

const FRESHNESS_MS = 10_000;

let node: ServingNode;
beforeAll(async () => {
  node = await startNode({ DEVICE_FRESHNESS_SECONDS: String(FRESHNESS_MS / 1000) });
});
afterAll(() => node?.dispose());

it('a device that has nothing new to say is written again after DEVICE_FRESHNESS_SECONDS', async () => {
  const { app } = await createTenant(node);
  const lastSeen = async () =>
    (await admin(node, 'GET', `device?app=${app}&deviceId=d`)).body?.lastSeen;
  await check(node, { app }, '1.0.0', { device: 'd' });
  await eventually('it is recorded', async () => (await lastSeen()) !== undefined);
  const first = await lastSeen();
  await sleep(FRESHNESS_MS + 100);
  await check(node, { app }, '1.0.0', { device: 'd' });
  await eventually('it is written again', async () => (await lastSeen()) !== first);
  expect(String(await lastSeen()) > String(first)).toBe(true);
});
