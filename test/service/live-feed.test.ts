// Tests who may keep a live feed open (docs/console.md, The fleet): so many for an account, and for an
// organization; and none that outlives the session, or the right to see the app. How soon it ends is measured
// in test/timed/connections.test.ts.

import { beforeAll, beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type Feed, openFeed } from '../support/live-feed.ts';
import { member, type Person } from '../support/person.ts';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { admin, randomId } from '../support/tenant.ts';

const PER_ACCOUNT = 10;

serviceSuite('the live feed', (node) => {
  const tenant = suiteTenant(node);
  let other: Person;
  let viewer: Person;
  beforeAll(async () => {
    other = await member(node, tenant.org, 'viewer');
  });
  beforeEach(async () => {
    viewer = await member(node, tenant.org, 'viewer');
  });

  async function opened(person: Person): Promise<Feed> {
    const feed = await openFeed(person, tenant.app);
    if (typeof feed === 'number') throw new Error(`refused with ${feed}`);
    return feed;
  }

  it('an account has ten, however fast it asks; others, and it again once it closes one, are let in', async () => {
    const feeds = await Promise.all(
      Array.from({ length: 3 * PER_ACCOUNT }, () => openFeed(viewer, tenant.app)),
    );
    const admitted = feeds.filter((feed) => typeof feed !== 'number');
    const isOver = new Map<Feed, boolean>();
    for (const feed of admitted) void feed.over.then(() => isOver.set(feed, true));
    // One that was let in too many is told so by its last event.
    await eventually('ten are open', () => admitted.length - isOver.size === PER_ACCOUNT);
    for (const feed of isOver.keys()) {
      expect(feed.events).toEqual([{ name: 'end', data: { reason: 'too-many' } }]);
    }
    for (const status of feeds.filter((feed) => typeof feed === 'number')) {
      expect(status).toBe(429);
    }
    expect(await openFeed(viewer, tenant.app)).toBe(429);
    const neighbour = await opened(other);
    const open = admitted.filter((feed) => !isOver.has(feed));
    await open[0]?.leave();
    await eventually('there is a place again', async () => {
      const feed = await openFeed(viewer, tenant.app);
      if (typeof feed !== 'number') await feed.leave();
      return typeof feed !== 'number';
    });
    await Promise.all([...open, neighbour].map((feed) => feed.leave()));
  });

  it.each([
    ['DELETE', 'session'],
    ['DELETE', 'sessions'],
  ])('%s %s ends the response, with a last event that says so', async (method, path) => {
    const [feed, neighbour] = [await opened(viewer), await opened(other)];
    await tenant.check('1.0.0', { device: randomId() });
    await eventually('it is told', () => feed.events.length > 0);
    expect((await viewer.call(method, path)).status).toBe(200);
    await feed.over;
    expect(feed.events.at(-1)).toEqual({ name: 'end', data: { reason: 'signed-out' } });
    expect(feed.events.filter(({ name }) => name === 'end')).toHaveLength(1);
    const count = neighbour.events.length;
    await tenant.check('1.0.0', { device: randomId() });
    await eventually('the other one goes on', () => neighbour.events.length > count);
    await neighbour.leave();
  });

  it('the membership that ends ends the response; a role that still may see the app does not', async () => {
    const [feed, neighbour] = [await opened(viewer), await opened(other)];
    const org = tenant.org;
    const raised = { org, account: other.accountId, role: 'publisher' };
    expect((await admin(node, 'PATCH', 'members', raised)).status).toBe(200);
    const removed = { org, account: viewer.accountId };
    expect((await admin(node, 'DELETE', 'members', removed)).status).toBe(200);
    await feed.over;
    const ends = feed.events.filter(({ name }) => name === 'end');
    expect(ends).toEqual([{ name: 'end', data: { reason: 'no-access' } }]);
    expect(feed.events.at(-1)).toEqual(ends[0]);
    expect(await openFeed(viewer, tenant.app)).toBe(404);
    await tenant.check('1.0.0', { device: randomId() });
    await eventually('the other one goes on', () => neighbour.events.length > 0);
    await neighbour.leave();
  });
});
