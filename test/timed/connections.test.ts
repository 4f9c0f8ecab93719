// Measures for how long connections are kept: an idle one at least as long as answers announce it
// (docs/operating/health.md), which nothing can shorten, because the native server keeps that time; and a
// live feed until its session ends (docs/console.md, The fleet). Both wait more than they work, and run at
// once.

import { Agent } from 'node:http';
import { expect, it } from 'vitest';
import { suiteNode } from '../support/backend.ts';
import { sleep } from '../support/eventually.ts';
import { ask } from '../support/http-ask.ts';
import { openFeed } from '../support/live-feed.ts';
import { startNode } from '../support/node.ts';
import { member } from '../support/person.ts';
import { createTenant } from '../support/tenant.ts';

/** Time for which an idle connection is kept at least, as its answers announce it. */
const IDLE_MS = 8000;
/** Times at which connections become idle: the native server looks at them every 4 s. */
const PHASES_MS = [0, 1000, 2000, 3000];
/** Half of the time between two looks at the sessions of feeds. */
const FEED_ENDS_MS_MAX = 5000;

const node = suiteNode(() => startNode());

it.concurrent('a connection is kept for as long as it is announced', async () => {
  const isSame = PHASES_MS.map(async (phase) => {
    // This agent has no time-out of its own, and so does not heed the announced one.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await sleep(phase);
    const portOf = async () => (await ask(`${node.url}/healthz`, { agent })).localPort;
    const first = await portOf();
    await sleep(IDLE_MS - 100);
    const again = await portOf();
    agent.destroy();
    return again === first;
  });
  expect(await Promise.all(isSame)).toEqual(PHASES_MS.map(() => true));
});

it.concurrent('a live feed ends with its session, before the next look at sessions', async () => {
  const tenant = await createTenant(node);
  const viewer = await member(node, tenant.org, 'viewer');
  const feed = await openFeed(viewer, tenant.app);
  if (typeof feed === 'number') throw new Error(`refused with ${feed}`);
  const at = performance.now();
  expect((await viewer.call('DELETE', 'session')).status).toBe(200);
  await feed.over;
  expect(performance.now() - at).toBeLessThan(FEED_ENDS_MS_MAX);
});
