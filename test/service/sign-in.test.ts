// Tests signing in with a password: the first account, the session and what a stolen one is worth, the tries
// that an address and a browser have, and what the audit tells. How many tries there are over nodes is in
// test/access/sign-in-limits.test.ts.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBackends, suiteNode } from '../support/backend.ts';
import type { Call } from '../support/console-writes.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { metricsOf } from '../support/metrics.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { member, PASSWORD, Person } from '../support/person.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';
import { admin, createTenant, randomId, send } from '../support/tenant.ts';

type Addressed = { readonly url: string };

const SIGNED_OUT = 'Sign in first';
const NEXT = 'another long password';

describeOnBackends('signing in', (backend) => {
  const node = suiteNode(() => backend.start());
  let org: string;

  /** Tries a password from an address, as a proxy in front would report it. */
  const tryFrom = (address: string, email: string, password: string) =>
    send(node, 'POST', '/console/api/session', {
      ...{ body: { email, password }, headers: { 'x-forwarded-for': address } },
    });
  const reads = async (person: Person) => (await person.call('GET', `apps?org=${org}`)).status;

  async function auditOf({ email }: Pick<Person, 'email'>, action = 'account') {
    const query = `audit?org=${org}&action=${action}&subject=${email}`;
    return (await admin(node, 'GET', query)).body?.entries as { after: Record<string, unknown> }[];
  }

  it('the start prints the address; only the admin token makes the owner, who owns what there is already; once', async () => {
    const line = () =>
      node
        .output()
        .split('\n')
        .find((each) => each.includes('is not set up'));
    await eventually('it is told', async () => line() !== undefined);
    expect(JSON.parse(line() ?? '')).toMatchObject({ address: `${node.url}/console` });
    expect(node.output()).not.toContain(ADMIN_TOKEN);
    ({ org } = await createTenant(node));
    const person = new Person(node, 'First.Owner@Example.com');
    expect((await person.call('GET', 'session')).body).toEqual({ state: 'setup' });
    const body = {
      ...{ token: ADMIN_TOKEN, email: person.email, name: 'Zoë <b>', password: PASSWORD },
      organization: 'Größe & Söhne',
    };
    const make = (more: object) => person.call('POST', 'setup', { ...body, ...more });
    expect((await make({ token: 'wrong' })).status).toBe(401);
    expect((await make({ password: 'eleven char' })).status).toBe(400);
    const made = await make({});
    expect([made.status, made.body]).toEqual([
      201,
      {
        state: 'signedIn',
        account: {
          ...{ id: expect.stringMatching(/^acc_/), name: 'Zoë <b>' },
          email: 'first.owner@example.com',
        },
        memberships: [
          { organization: { id: expect.any(String), name: 'Größe & Söhne' }, role: 'owner' },
          { organization: { id: org, name: 'Test' }, role: 'owner' },
        ],
      },
    ]);
    expect((await person.call('GET', 'session')).body).toEqual(made.body);
    const again = await new Person(node).setUp('Mine');
    expectError(again, 409, 'An account exists already: sign in');
    expect((await new Person(node).call('GET', 'session')).body).toEqual({ state: 'signedOut' });
  });

  describe('a session', () => {
    let person: Person;
    beforeAll(async () => {
      person = await member(node, org, 'owner');
    });

    it('is a cookie that scripts and other sites cannot use, as is that of the browser, and no cache may keep its answers', async () => {
      const [session, browser] = (await person.elsewhere().signIn()).headers.getSetCookie();
      expect(session).toMatch(
        /^sluice_session=[\w-]{43}; Path=\/console; Max-Age=1209600; HttpOnly; SameSite=Strict$/,
      );
      expect(browser).toMatch(/^sluice_browser=v1\.1\.[\w-]{22}\.[\w-]{43}; Path=\/console; /);
      expect(browser).toMatch(/; Max-Age=34560000; HttpOnly; SameSite=Strict$/);
      for (const path of ['session', `apps?org=${org}`, 'apps?org=nobody', 'apps']) {
        expect((await person.call('GET', path)).headers.get('cache-control')).toBe('no-store');
      }
    });

    it('is a new one at every sign-in, and the one presented then is over: nobody can choose it', async () => {
      const thief = person.elsewhere();
      thief.token = person.token;
      expect(await reads(thief)).toBe(200);
      const before = person.token;
      await person.signIn();
      expect(person.token).not.toBe(before);
      expectError(await thief.call('GET', `apps?org=${org}`), 401, SIGNED_OUT);
      const planted = person.elsewhere();
      planted.token = 'A'.repeat(43);
      await planted.signIn();
      expect(planted.token).not.toBe('A'.repeat(43));
    });

    it('is over after signing out, here or everywhere; the cookie of the browser stays, and opens nothing', async () => {
      const [first, second] = [await person.elsewhereSignedIn(), await person.elsewhereSignedIn()];
      const token = first.token;
      const out = await first.call('DELETE', 'session');
      expect([out.status, out.body, first.token]).toEqual([200, {}, undefined]);
      expect(out.headers.getSetCookie()).toHaveLength(1);
      expect(await reads(first)).toBe(401);
      first.token = token;
      expect((await first.call('GET', 'session')).body).toEqual({ state: 'signedOut' });
      expect(await reads(second)).toBe(200);
      const third = await person.elsewhereSignedIn();
      const stolen = third.token;
      expect((await third.call('DELETE', 'sessions')).status).toBe(200);
      third.token = stolen;
      for (const each of [second, person]) expect(await reads(each)).toBe(401);
      await person.signIn();
    });

    it('ends with another password, but for the one that set it; the audit has no password', async () => {
      const other = await person.elsewhereSignedIn();
      const change = (current: string, next: string) =>
        person.call('POST', 'password', { current, next });
      expectError(await change('not the password', NEXT), 400, 'current: Wrong password');
      expect((await change(PASSWORD, 'short')).status).toBe(400);
      expect((await change(PASSWORD, NEXT)).body).toEqual({});
      expect([await reads(person), await reads(other)]).toEqual([200, 401]);
      expect((await person.elsewhere().signIn()).status).toBe(401);
      expect((await person.elsewhere().signIn(NEXT)).status).toBe(200);
      const [entry] = await auditOf(person, 'account.set-password');
      expect(entry).toMatchObject({
        ...{ actor: `account:${person.email}`, after: { by: 'password' } },
      });
      expect(JSON.stringify(await auditOf(person))).not.toContain(NEXT);
    });

    it('writes only for a page of the service: another origin, none, or "null" is 403', async () => {
      const writes: readonly Call[] = [
        ['PATCH', 'organizations', { org, name: 'Theirs' }],
        ['DELETE', 'session'],
        ['DELETE', 'sessions'],
        // Another site may not sign a browser in under another account either.
        ['POST', 'session', { email: person.email, password: NEXT }],
      ];
      const foreign = ['https://evil.example.com', 'null', undefined, '', 'http://127.0.0.1:1'];
      for (const origin of [...foreign, `${node.url}.evil.example.com`]) {
        person.origin = origin;
        for (const write of writes) {
          expectError(await person.call(...write), 403, 'Origin not allowed');
        }
        expect(await reads(person)).toBe(200);
      }
      person.origin = node.url;
    });

    it('is not made good by, and does not make good, an admin token', async () => {
      const path = `/console/api/apps?org=${org}`;
      const wrong = { cookie: `sluice_session=${person.token}`, authorization: 'Bearer wrong' };
      expect((await send(node, 'GET', path, { headers: wrong })).status).toBe(401);
      const operator = { cookie: 'sluice_session=x', authorization: `Bearer ${ADMIN_TOKEN}` };
      expect((await send(node, 'GET', path, { headers: operator })).status).toBe(200);
      const { body } = await send(node, 'GET', '/console/api/session', { headers: operator });
      expect(body).toMatchObject({ state: 'signedIn' });
      expect(body).not.toHaveProperty('account');
    });

    it('is none with a cookie that is none', async () => {
      const visitor = new Person(node);
      const long = 'A'.repeat(43);
      for (const token of ['', 'x', long, `${long}; sluice_session=y`, "'; --"]) {
        visitor.token = token;
        expectError(await visitor.call('GET', `apps?org=${org}`), 401, SIGNED_OUT);
        visitor.token = token;
        expect((await visitor.call('GET', 'session')).body).toEqual({ state: 'signedOut' });
      }
    });
  });

  it.each([
    [{}, /^email: /],
    [{ email: 'a@b' }, /^password: /],
    [{ email: 'no address', password: 'x' }, /^email: /],
    [{ email: `${'x'.repeat(300)}@b`, password: 'x' }, /^email: /],
    [{ email: 'a@b', password: 'x'.repeat(300) }, /^password: /],
    [{ email: 'a@b', password: 'x', more: 1 }, /^more: /],
  ])('with %j is 400 that names the field', async (body, message) => {
    const answer = await send(node, 'POST', '/console/api/session', { body });
    expectError(answer, 400, expect.stringMatching(message));
  });

  it('takes ten wrong passwords from an address, also at once, then none, not even the right one', async () => {
    const { email } = await member(node, org, 'viewer');
    const answers = await Promise.all(
      Array.from({ length: 14 }, () => tryFrom('203.0.113.9', email, randomId())),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(4);
    const refused = await tryFrom('203.0.113.9', email, PASSWORD);
    expect(refused.status).toBe(429);
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(600);
    expect(wait).toBeLessThanOrEqual(900);
    // The owner of the account has another address, and is let in.
    expect((await tryFrom('203.0.113.8', email, PASSWORD)).status).toBe(200);
  });

  it('is told in each organization of theirs; a failure at once, further ones with the next entry', async () => {
    const [other, foreign] = [await createTenant(node), await createTenant(node)];
    const person = await member(node, org, 'viewer');
    await member(node, other.org, 'owner', 'A Person', person.email);
    // The email is taken in any case, the password as it is, and what was wrong is not told.
    const email = ` ${person.email.toUpperCase()} `;
    expect((await tryFrom('198.51.100.7', email, PASSWORD)).status).toBe(200);
    const [entry] = await auditOf(person, 'account.sign-in');
    expect(entry).toMatchObject({ after: { address: '198.51.100.7' } });
    const { text } = await admin(node, 'GET', `audit?org=${foreign.org}`);
    expect(text).not.toContain(person.email);
    const elsewhere = await admin(node, 'GET', `audit?org=${other.org}&action=account.sign-in`);
    expect(elsewhere.body?.entries).toContainEqual(
      expect.objectContaining({ actor: `account:${person.email}`, subject: person.email }),
    );
    const wrong = await tryFrom('198.51.100.8', person.email, PASSWORD.toUpperCase());
    expectError(wrong, 401, 'Wrong email or password');
    const failures = () => auditOf(person, 'account.fail-sign-in');
    await eventually('the failure is told', async () => (await failures()).length > 0);
    for (let count = 0; count < 3; count++) {
      expect((await tryFrom('198.51.100.9', person.email, randomId())).status).toBe(401);
    }
    // They are written within a second; the next sign-in tells them.
    await eventually('the failures are told', async () => {
      expect((await person.elsewhere().signIn()).status).toBe(200);
      const told = (await auditOf(person)).map(({ after }) => Number(after.failuresBefore ?? 0));
      return told.reduce((sum, each) => sum + each, 0) === 3;
    });
    expect(await failures()).toMatchObject([
      { actor: 'unknown', after: { address: '198.51.100.8', failures: 1 } },
    ]);
  });

  it('of an address without an account is in the metrics alone', async () => {
    const count = async () => {
      const line = /^sluice_sign_ins_total\{outcome="failed"\} (\d+)/m.exec(await metricsOf(node));
      return Number(line?.[1] ?? 0);
    };
    const before = await count();
    const email = `${randomId()}@example.com`;
    for (let index = 0; index < 3; index++) {
      const answer = await tryFrom(`198.51.100.${20 + index}`, email, 'x');
      expectError(answer, 401, 'Wrong email or password');
    }
    expect((await count()) - before).toBe(3);
    expect(await auditOf({ email })).toEqual([]);
  });

  describe('to an account whose password thirty addresses try', () => {
    let owner: Person;
    /** Node with a directory of its own, on the same stores. */
    let other: ServingNode | undefined;
    const folder = temporaryFolder('sluice-other-');
    beforeAll(async () => {
      owner = await member(node, org, 'owner');
      await attack(node, owner.email);
    });
    afterAll(async () => {
      await other?.stop();
      removeFolder(folder);
    });

    it('lets its owner in by a browser that signed in before, from any address', async () => {
      await expectClosed(node, owner.email);
      expect(await signIn(node, owner.email, PASSWORD, owner.browser)).toBe(200);
      expect((await owner.elsewhere().signIn()).status).toBe(429);
    });

    it('lets nobody try for longer with a cookie that is not its own', async () => {
      const stranger = await member(node, org, 'owner');
      const [version, number, id, signature = ''] = (owner.browser ?? '').split('.');
      const changed = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
      const forged = [stranger.browser, [version, number, id, changed].join('.')];
      forged.push([version, '2', id, signature].join('.'), 'x'.repeat(100), '');
      forged.push([version, number, 'A'.repeat(22), signature].join('.'));
      for (const browser of forged) {
        const statuses = [await signIn(node, owner.email, PASSWORD, browser)];
        statuses.push(await signIn(node, owner.email, PASSWORD, browser));
        expect(statuses, browser).toContain(429);
      }
    });

    it('lets a browser try ten times, whatever its address, and then again after a success', async () => {
      const guess = () => signIn(node, owner.email, randomId(), owner.browser);
      for (let count = 0; count < 9; count++) expect(await guess()).toBe(401);
      expect(await signIn(node, owner.email, PASSWORD, owner.browser)).toBe(200);
      const { email, browser } = await member(node, org, 'owner');
      for (let count = 0; count < 10; count++) {
        expect(await signIn(node, email, randomId(), browser)).toBe(401);
      }
      expect(await signIn(node, email, PASSWORD, browser)).toBe(429);
    });

    it('lets a browser accept an invitation and change the password, which the browsers then have to know', async () => {
      const { org: elsewhere } = await createTenant(node);
      const joined = await member(node, elsewhere, 'viewer', 'A Person', owner.email);
      expect(joined.accountId).toBe(owner.accountId);
      const before = owner.browser;
      const change = { current: PASSWORD, next: NEXT };
      expect((await owner.call('POST', 'password', change)).status).toBe(200);
      expect(owner.browser).not.toBe(before);
      const statuses = [await signIn(node, owner.email, NEXT, before)];
      statuses.push(await signIn(node, owner.email, NEXT, before));
      expect(statuses).toContain(429);
      expect(await signIn(node, owner.email, NEXT, owner.browser)).toBe(200);
    });

    it('lets its owner in on another node, or after a restart', async () => {
      const isApart = backend.name === 'PostgreSQL and Redis';
      if (!isApart) await node.stop();
      const another = await node.restart(isApart ? { DATA_DIR: folder } : {});
      if (isApart) other = another;
      else {
        Object.assign(node, another);
        await attack(node, owner.email);
      }
      // Until Redis answers it, a node counts alone.
      await eventually('the node counts with the others', async () => {
        return (await signIn(another, owner.email, randomId())) === 429;
      });
      await expectClosed(another, owner.email);
      expect(await signIn(another, owner.email, NEXT, owner.browser)).toBe(200);
      // The first steps are told until the service is set up.
      expect(another.output()).not.toContain('is not set up');
    });
  });
});

/** Lets thirty bots, each with an address of its own, try the account's password until one is slowed down. */
async function attack(node: Addressed, email: string): Promise<void> {
  const statuses: number[] = [];
  for (let round = 0; round < 3 && !statuses.includes(429); round++) {
    const tries = Array.from({ length: 30 }, () => signIn(node, email, randomId()));
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
  const tries = Array.from({ length: 4 }, () => signIn(node, email, PASSWORD));
  expect((await Promise.all(tries)).sort().slice(1)).toEqual([429, 429, 429]);
}
