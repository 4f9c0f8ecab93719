// Measures how soon a live feed ends with its session (docs/console.md, The fleet): sessions are looked
// at every ten seconds, and one that this process ended itself ends its feeds at once.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { openFeed } from '../support/live-feed.ts';
import type { ServingNode } from '../support/node.ts';
import { member } from '../support/person.ts';
import { createTenant } from '../support/tenant.ts';

/** Half of the time between two looks. */
const END_MS_MAX = 5000;

describeOnBackends('the end of a live feed', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start();
  });
  afterAll(() => node?.dispose());

  it('comes with that of its session, before the next look', async () => {
    const tenant = await createTenant(node);
    const viewer = await member(node, tenant.org, 'viewer');
    const feed = await openFeed(viewer, tenant.app);
    if (typeof feed === 'number') throw new Error(`refused with ${feed}`);
    const at = performance.now();
    expect((await viewer.call('DELETE', 'session')).status).toBe(200);
    await feed.over;
    expect(performance.now() - at).toBeLessThan(END_MS_MAX);
  });
});
