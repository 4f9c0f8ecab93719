// Tests that strangers who try the password of an account, from however many addresses, cannot keep its owner
// out of a browser in which the owner signed in before: from a new address, on another node, after a restart.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Backend, describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import type { ServingNode } from '../support/node.ts';
import { member, PASSWORD, Person } from '../support/person.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { createTenant, randomId, send } from '../support/tenant.ts';

type Addressed = { readonly url: string };

const BOTS = 30;
const NEXT = 'another long password';

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

/** Returns a signature whose first character is another one. */
function differingIn(signature: string): string {
  return `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
}

/** Expects that nobody gets in from a new address without the cookie, the right password or not. */
async function expectClosed(node: Addressed, email: string): Promise<void> {
  const statuses = await Promise.all(
    Array.from({ length: 4 }, () => signIn(node, email, PASSWORD)),
  );
  expect(statuses.sort().slice(1)).toEqual([429, 429, 429]);
}

describeOnBackends('an account whose password thirty addresses try', (backend: Backend) => {
  let node: ServingNode;
  /** Node with a directory of its own, on the same stores. */
  let other: ServingNode | undefined;
  const folder = temporaryFolder('sluice-other-');
  let org: string;
  let owner: Person;
  beforeAll(async () => {
    node = await backend.start();
    await new Person(node).setUp('Acme');
    org = (await createTenant(node)).org;
    owner = await member(node, org, 'owner');
    await attack(node, owner.email);
  });
  afterAll(async () => {
    await other?.stop();
    removeFolder(folder);
    await node?.dispose();
  });

  it('lets its owner in by a browser that signed in before, from any address', async () => {
    await expectClosed(node, owner.email);
    expect(await signIn(node, owner.email, PASSWORD, owner.browser)).toBe(200);
    expect((await owner.elsewhere().signIn()).status).toBe(429);
  });

  it('lets nobody try for longer with a cookie that is not its own', async () => {
    const stranger = await member(node, org, 'owner');
    const [version, number, id, signature] = (owner.browser ?? '').split('.');
    const forged = [
      stranger.browser,
      [version, number, id, differingIn(signature ?? '')].join('.'),
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
    const guess = () => signIn(node, owner.email, randomId(), owner.browser);
    for (let count = 0; count < 9; count++) expect(await guess()).toBe(401);
    expect(await signIn(node, owner.email, PASSWORD, owner.browser)).toBe(200);
    const second = await member(node, org, 'owner');
    const again = () => signIn(node, second.email, randomId(), second.browser);
    for (let count = 0; count < 10; count++) expect(await again()).toBe(401);
    expect(await again()).toBe(429);
    expect(await signIn(node, second.email, PASSWORD, second.browser)).toBe(429);
  });

  it('lets its owner accept an invitation and change the password, which the browsers then have to know', async () => {
    const elsewhere = (await createTenant(node)).org;
    const joined = await member(node, elsewhere, 'viewer', 'A Person', owner.email);
    expect(joined.accountId).toBe(owner.accountId);
    const before = owner.browser;
    expect((await owner.call('POST', 'password', { current: PASSWORD, next: NEXT })).status).toBe(
      200,
    );
    expect(owner.browser).not.toBe(before);
    expect([
      await signIn(node, owner.email, NEXT, before),
      await signIn(node, owner.email, NEXT, before),
    ]).toContain(429);
    expect(await signIn(node, owner.email, NEXT, owner.browser)).toBe(200);
  });

  it('gives every browser a cookie that scripts and other sites cannot use, and signing out leaves it', async () => {
    const person = await member(node, org, 'owner');
    const answer = await person.elsewhere().signIn();
    const [session, browser] = answer.headers.getSetCookie();
    expect(session).toMatch(/^sluice_session=/);
    expect(browser).toMatch(/^sluice_browser=v1\.1\.[\w-]{22}\.[\w-]{43}; Path=\/console; /);
    expect(browser).toMatch(/; Max-Age=34560000; HttpOnly; SameSite=Strict$/);
    const out = await person.call('DELETE', 'session');
    expect(out.headers.getSetCookie()).toHaveLength(1);
    // It opens nothing by itself.
    expect((await person.call('GET', `apps?org=${org}`)).status).toBe(401);
  });

  it('lets its owner in after a restart of the node', async () => {
    await node.stop();
    node = await node.restart();
    await attack(node, owner.email);
    await expectClosed(node, owner.email);
    expect(await signIn(node, owner.email, NEXT, owner.browser)).toBe(200);
    // The first steps are told until the service is set up.
    expect(node.output()).not.toContain('the service is not set up');
  });

  it.runIf(backend.name === 'PostgreSQL and Redis')(
    'lets its owner in on another node',
    async () => {
      const another = await node.restart({ DATA_DIR: folder });
      other = another;
      // Until Redis answers it, a node counts alone.
      await eventually('the node counts with the others', async () => {
        return (await signIn(another, owner.email, randomId())) === 429;
      });
      await expectClosed(other, owner.email);
      expect(await signIn(other, owner.email, NEXT, owner.browser)).toBe(200);
    },
  );
});
