// Tests sessions at the console: the first account, signing in and out, and what a stolen session is worth. A
// service that is reached by https is in second-factor.test.ts.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { member, PASSWORD, Person } from '../support/person.ts';
import { createTenant, randomId, send } from '../support/tenant.ts';

const SIGNED_OUT = { error: 'Sign in first' };

describeOnBackends('a session', (backend) => {
  let node: ServingNode;
  let org: string;
  beforeAll(async () => {
    node = await backend.start();
  });
  afterAll(() => node?.dispose());

  /** Tries a password from an address, as a proxy in front would report it. */
  function tryFrom(address: string, email: string, password: string) {
    const headers = { 'x-forwarded-for': address };
    return send(node, 'POST', '/console/api/session', { body: { email, password }, headers });
  }

  it('the start prints the address until the service is set up', async () => {
    const lines = () => node.output().split('\n');
    const told = () => lines().find((each) => each.includes('the service is not set up'));
    await eventually('it is told', async () => told() !== undefined);
    expect(JSON.parse(told() ?? '')).toMatchObject({ address: `${node.url}/console` });
    expect(node.output()).not.toContain(ADMIN_TOKEN);
  });

  it('only the admin token makes the owner, who owns what there is already; once', async () => {
    const tenant = await createTenant(node);
    org = tenant.org;
    const person = new Person(node, 'First.Owner@Example.com');
    expect((await person.call('GET', 'session')).body).toEqual({ state: 'setup' });
    const body = {
      token: 'wrong',
      email: person.email,
      name: 'Zoë <b>',
      password: PASSWORD,
      organization: 'Größe & Söhne',
    };
    expect((await person.call('POST', 'setup', body)).status).toBe(401);
    expect((await person.call('POST', 'setup', { ...body, password: 'eleven char' })).status).toBe(
      400,
    );
    const made = await person.call('POST', 'setup', { ...body, token: ADMIN_TOKEN });
    expect(made.status).toBe(201);
    expect(made.body).toEqual({
      state: 'signedIn',
      account: {
        id: expect.stringMatching(/^acc_/),
        email: 'first.owner@example.com',
        name: 'Zoë <b>',
      },
      memberships: [
        { organization: { id: expect.any(String), name: 'Größe & Söhne' }, role: 'owner' },
        { organization: { id: tenant.org, name: 'Test' }, role: 'owner' },
      ],
    });
    expect((await person.call('GET', 'session')).body).toEqual(made.body);
    const again = await new Person(node).setUp('Mine');
    expect([again.status, again.body]).toEqual([
      409,
      { error: 'An account exists already: sign in' },
    ]);
    expect((await new Person(node).call('GET', 'session')).body).toEqual({ state: 'signedOut' });
  });

  it('is a cookie that scripts and other sites cannot use, and no cache may keep its answers', async () => {
    const person = await member(node, org, 'viewer');
    const answer = await person.signIn();
    expect(answer.headers.getSetCookie()[0]).toMatch(
      /^sluice_session=[\w-]{43}; Path=\/console; Max-Age=1209600; HttpOnly; SameSite=Strict$/,
    );
    for (const path of ['session', `apps?org=${org}`, 'apps?org=nobody', 'apps']) {
      expect((await person.call('GET', path)).headers.get('cache-control')).toBe('no-store');
    }
  });

  it('is a new one at every sign-in, and the one presented then is over: nobody can choose it', async () => {
    const person = await member(node, org, 'viewer');
    const thief = person.elsewhere();
    thief.token = person.token;
    expect((await thief.call('GET', `apps?org=${org}`)).status).toBe(200);
    const before = person.token;
    await person.signIn();
    expect(person.token).not.toBe(before);
    expect((await thief.call('GET', `apps?org=${org}`)).body).toEqual(SIGNED_OUT);
    const planted = person.elsewhere();
    planted.token = 'A'.repeat(43);
    await planted.signIn();
    expect(planted.token).not.toBe('A'.repeat(43));
  });

  it('is over after signing out, here or everywhere', async () => {
    const person = await member(node, org, 'viewer');
    const [second, third] = [person.elsewhere(), person.elsewhere()];
    await second.signIn();
    await third.signIn();
    const token = person.token;
    const out = await person.call('DELETE', 'session');
    expect([out.status, out.body, person.token]).toEqual([200, {}, undefined]);
    person.token = token;
    expect((await person.call('GET', `apps?org=${org}`)).status).toBe(401);
    expect((await person.call('GET', 'session')).body).toEqual({ state: 'signedOut' });
    expect((await second.call('GET', `apps?org=${org}`)).status).toBe(200);
    const secondToken = second.token;
    expect((await second.call('DELETE', 'sessions')).status).toBe(200);
    second.token = secondToken;
    for (const each of [second, third]) {
      expect((await each.call('GET', `apps?org=${org}`)).status).toBe(401);
    }
  });

  it('ends with another password, but for the one that set it', async () => {
    const person = await member(node, org, 'viewer');
    const other = person.elsewhere();
    await other.signIn();
    const next = 'another long password';
    const wrong = await person.call('POST', 'password', { current: 'not the password', next });
    expect([wrong.status, wrong.body]).toEqual([400, { error: 'current: Wrong password' }]);
    expect(
      (await person.call('POST', 'password', { current: PASSWORD, next: 'short' })).status,
    ).toBe(400);
    expect((await person.call('POST', 'password', { current: PASSWORD, next })).body).toEqual({});
    expect((await person.call('GET', `apps?org=${org}`)).status).toBe(200);
    expect((await other.call('GET', `apps?org=${org}`)).status).toBe(401);
    expect((await person.elsewhere().signIn()).status).toBe(401);
    expect((await person.elsewhere().signIn(next)).status).toBe(200);
  });

  it('writes only for a page of the service: another origin, none, or "null" is 403', async () => {
    const person = await member(node, org, 'owner');
    const foreign = [
      'https://evil.example.com',
      'null',
      undefined,
      '',
      `${node.url}.evil.example.com`,
      `http://127.0.0.1:1`,
    ];
    const writes = [
      ['POST', 'organizations', { name: 'Theirs' }],
      ['PATCH', 'organizations', { org, name: 'Theirs' }],
      ['DELETE', 'session', undefined],
      ['DELETE', 'sessions', undefined],
      ['POST', 'session', { email: person.email, password: PASSWORD }],
      ['POST', 'keys', { org, name: 'theirs' }],
    ] as const;
    for (const origin of foreign) {
      person.origin = origin;
      for (const [method, path, body] of writes) {
        const answer = await person.call(method, path, body);
        expect([answer.status, answer.body], `${method} ${path} ${origin}`).toEqual([
          403,
          { error: 'Origin not allowed' },
        ]);
      }
      expect((await person.call('GET', `apps?org=${org}`)).status).toBe(200);
    }
    // Another site may not sign a browser in under another account either.
    const stranger = person.elsewhere();
    stranger.origin = 'https://evil.example.com';
    expect((await stranger.signIn()).status).toBe(403);
  });

  it('is not made good by, and does not make good, an admin token', async () => {
    const person = await member(node, org, 'owner');
    const cookie = `sluice_session=${person.token}`;
    const headers = { cookie, authorization: 'Bearer wrong' };
    const path = `/console/api/apps?org=${org}`;
    expect((await send(node, 'GET', path, { headers })).status).toBe(401);
    const operator = { cookie: 'sluice_session=x', authorization: `Bearer ${ADMIN_TOKEN}` };
    expect((await send(node, 'GET', path, { headers: operator })).status).toBe(200);
    const session = await send(node, 'GET', '/console/api/session', { headers: operator });
    expect(session.body).toMatchObject({ state: 'signedIn' });
    expect(session.body).not.toHaveProperty('account');
  });

  it.each([undefined, '', 'x', 'A'.repeat(43), `${'A'.repeat(43)}; sluice_session=y`, "'; --"])(
    'is none with the cookie `%s`',
    async (token) => {
      const person = new Person(node);
      person.token = token;
      expect((await person.call('GET', `apps?org=${org}`)).body).toEqual(SIGNED_OUT);
      expect((await person.call('GET', 'session')).body).toEqual({ state: 'signedOut' });
    },
  );

  describe('signing in', () => {
    it('tells not what was wrong, takes the email in any case, and the password as it is', async () => {
      const person = await member(node, org, 'viewer');
      const email = ` ${person.email.toUpperCase()} `;
      expect((await tryFrom('203.0.113.1', email, PASSWORD)).status).toBe(200);
      const refusals = [
        await tryFrom('203.0.113.1', person.email, PASSWORD.toUpperCase()),
        await tryFrom('203.0.113.1', 'nobody@example.com', PASSWORD),
      ];
      for (const { status, body } of refusals) {
        expect([status, body]).toEqual([401, { error: 'Wrong email or password' }]);
      }
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
      expect(answer.status).toBe(400);
      expect(String(answer.body?.error)).toMatch(message);
    });

    it('takes ten wrong passwords from an address, also at once, then none, not even the right one', async () => {
      const person = await member(node, org, 'viewer');
      const answers = await Promise.all(
        Array.from({ length: 14 }, () => tryFrom('203.0.113.9', person.email, randomId())),
      );
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(4);
      const refused = await tryFrom('203.0.113.9', person.email, PASSWORD);
      expect(refused.status).toBe(429);
      const wait = Number(refused.headers.get('retry-after'));
      expect(wait).toBeGreaterThan(600);
      expect(wait).toBeLessThanOrEqual(900);
      // The owner of the account has another address, and is let in.
      expect((await tryFrom('203.0.113.8', person.email, PASSWORD)).status).toBe(200);
    });

    it('with the right password begins the count anew', async () => {
      const person = await member(node, org, 'viewer');
      for (let count = 0; count < 12; count++) {
        const password = count % 6 === 5 ? PASSWORD : randomId();
        const { status } = await tryFrom('203.0.113.10', person.email, password);
        expect(status).toBe(count % 6 === 5 ? 200 : 401);
      }
    });
  });
});
