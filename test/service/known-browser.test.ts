// Tests that strangers who try the password of an account, from however many addresses, cannot keep its owner
// out of a browser in which the owner signed in before: from a new address, on another node, after a restart.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Backend, describeOnBackends, describeOnRealStores } from '../support/backend.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { member, PASSWORD, Person } from '../support/person.ts';
import { createTenant, randomId, send } from '../support/tenant.ts';
import { freshStores, type Stores } from '../support/worker-node.ts';

type Addressed = { readonly url: string };

const BOTS = 30;

/** Lets bots, each with an address of its own, try the account's password until one is slowed down. */
async function attack(node: Addressed, email: string): Promise<void> {
  const statuses: number[] = [];
  for (let round = 0; round < 3 && !statuses.includes(429); round++) {
    const tries = Array.from({ length: BOTS }, () => signIn(node, email, randomId()));
    statuses.push(...(await Promise.all(tries)));
  }
  expect(statuses).toContain(429);
}

/** Signs in from a new address; returns the status. `browser` is the cookie of a browser. */
async function signIn(
  node: Addressed,
  email: string,
  password: string,
  browser?: string,
): Promise<number> {
  const headers =
    browser === undefined ? {} : { cookie: `sluice_browser=${browser}`, origin: node.url };
  const body = { email, password };
  return (await send(node, 'POST', '/console/api/session', { body, headers })).status;
}

/** Expects that nobody gets in from a new address without the cookie, the right password or not. */
async function expectClosed(node: Addressed, email: string): Promise<void> {
  const statuses = await Promise.all(
    Array.from({ length: 4 }, () => signIn(node, email, PASSWORD)),
  );
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(3);
}

describeOnBackends('an account whose password thirty addresses try', (backend: Backend) => {
  let node: ServingNode;
  let org: string;
  beforeAll(async () => {
    node = await backend.start();
    await new Person(node).setUp('Acme');
    org = (await createTenant(node)).org;
  });
  afterAll(() => node?.dispose());

  it('lets its owner in by a browser that signed in before, from any address, also after a restart', async () => {
    const owner = await member(node, org, 'owner');
    await attack(node, owner.email);
    await expectClosed(node, owner.email);
    expect(await signIn(node, owner.email, PASSWORD, owner.browser)).toBe(200);
    expect((await owner.elsewhere().signIn()).status).toBe(429);
    await node.stop();
    node = await node.restart();
    await attack(node, owner.email);
    await expectClosed(node, owner.email);
    expect(await signIn(node, owner.email, PASSWORD, owner.browser)).toBe(200);
  });

  it('lets nobody try for longer with a cookie that is not its own', async () => {
    const [owner, other] = [await member(node, org, 'owner'), await member(node, org, 'owner')];
    await attack(node, owner.email);
    const [version, number, id, signature] = (owner.browser ?? '').split('.');
    const forged = [
      other.browser,
      [version, number, id, `${signature?.slice(0, -2)}AA`].join('.'),
      [version, '2', id, signature].join('.'),
      [version, number, 'A'.repeat(22), signature].join('.'),
      'x'.repeat(100),
      '',
    ];
    for (const browser of forged) {
      const statuses = [
        await signIn(node, owner.email, PASSWORD, browser),
        await signIn(node, owner.email, PASSWORD, browser),
      ];
      expect(statuses, browser).toContain(429);
    }
  });

  it('lets a browser try ten times, whatever its address, and then again after a success', async () => {
    const owner = await member(node, org, 'owner');
    const guess = () => signIn(node, owner.email, randomId(), owner.browser);
    for (let count = 0; count < 9; count++) expect(await guess()).toBe(401);
    expect(await signIn(node, owner.email, PASSWORD, owner.browser)).toBe(200);
    for (let count = 0; count < 10; count++) expect(await guess()).toBe(401);
    expect(await guess()).toBe(429);
    expect(await signIn(node, owner.email, PASSWORD, owner.browser)).toBe(429);
  });

  it('does not know browsers any more that signed in with an earlier password', async () => {
    const owner = await member(node, org, 'owner');
    const before = owner.browser;
    const next = 'another long password';
    expect((await owner.call('POST', 'password', { current: PASSWORD, next })).status).toBe(200);
    expect(owner.browser).not.toBe(before);
    await attack(node, owner.email);
    expect([
      await signIn(node, owner.email, next, before),
      await signIn(node, owner.email, next, before),
    ]).toContain(429);
    expect(await signIn(node, owner.email, next, owner.browser)).toBe(200);
  });

  it('lets its owner change the password meanwhile, and accept an invitation', async () => {
    const owner = await member(node, org, 'owner');
    await attack(node, owner.email);
    const other = (await createTenant(node)).org;
    const joined = await member(node, other, 'viewer', 'A Person', owner.email);
    expect(joined.accountId).toBe(owner.accountId);
    const next = 'another long password';
    expect((await owner.call('POST', 'password', { current: PASSWORD, next })).status).toBe(200);
  });

  it('gives every browser a cookie that scripts and other sites cannot use, and signing out leaves it', async () => {
    const owner = await member(node, org, 'owner');
    const answer = await owner.elsewhere().signIn();
    const [session, browser] = answer.headers.getSetCookie();
    expect(session).toMatch(/^sluice_session=/);
    expect(browser).toMatch(/^sluice_browser=v1\.1\.[\w-]{22}\.[\w-]{43}; Path=\/console; /);
    expect(browser).toMatch(/; Max-Age=34560000; HttpOnly; SameSite=Strict$/);
    const out = await owner.call('DELETE', 'session');
    expect(out.headers.getSetCookie()).toHaveLength(1);
    // It opens nothing by itself.
    expect((await owner.call('GET', `apps?org=${org}`)).status).toBe(401);
  });
});

describeOnRealStores('an account whose password thirty addresses try, on another node', () => {
  let stores: Stores;
  let nodes: readonly ServingNode[] = [];
  beforeAll(async () => {
    stores = await freshStores();
    nodes = await Promise.all([startNode(stores.settings), startNode(stores.settings)]);
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.dispose()));
    await stores?.drop();
  });

  it('lets its owner in by a browser that signed in before on any node', async () => {
    const [one, two] = nodes as readonly [ServingNode, ServingNode];
    await new Person(one).setUp('Acme');
    const { org } = await createTenant(one);
    const [owner, second] = [await member(one, org, 'owner'), await member(two, org, 'owner')];
    await Promise.all([attack(one, owner.email), attack(two, second.email)]);
    await expectClosed(two, owner.email);
    expect(await signIn(two, owner.email, PASSWORD, owner.browser)).toBe(200);
    expect(await signIn(one, second.email, PASSWORD, second.browser)).toBe(200);
  });
});
