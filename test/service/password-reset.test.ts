// Tests the way back in after a forgotten password: a link that the operator makes, which works once.

import { beforeAll, expect, it } from 'vitest';
import { member, PASSWORD, Person, tokenIn } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, manage, randomId, send, type Tenant } from '../support/tenant.ts';

const NEXT = 'a new and long password';
const GONE = { error: 'Unknown or expired link' };

serviceSuite('a forgotten password', (node) => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant(node);
  });

  const ask = (email: string) => admin(node, 'POST', 'accounts/reset-password', { email });

  /** Makes a link for the person; returns its token. */
  async function linkFor({ email }: Person): Promise<string> {
    const made = await ask(email);
    expect(made.status).toBe(201);
    return tokenIn(made.body?.url);
  }

  const use = (token: string, password = NEXT, person = new Person(node)) =>
    person.call('POST', 'password-reset', { token, password });

  it('is replaced by a link that the operator makes: it tells for whom, for an hour', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const before = Date.now();
    const made = await ask(` ${person.email.toUpperCase()} `);
    expect([made.status, Object.keys(made.body ?? {})]).toEqual([201, ['url', 'expiresAt']]);
    expect(made.body?.url).toMatch(/^http:\/\/[^/]+\/console\/password-reset\/[\w-]{43}$/);
    const lasts = Date.parse(String(made.body?.expiresAt)) - before;
    expect(Math.abs(lasts - 3_600_000)).toBeLessThan(60_000);
    const token = tokenIn(made.body?.url);
    const shown = await send(node, 'GET', `/console/api/password-reset?token=${token}`);
    expect([shown.status, shown.body]).toEqual([200, { email: person.email }]);
    expect(shown.headers.get('cache-control')).toBe('no-store');
  });

  it('signs in with the new one, ends every session, and works once, of many at once', async () => {
    const person = await member(node, tenant.org, 'owner');
    const elsewhere = await person.elsewhereSignedIn();
    const token = await linkFor(person);
    const answers = await Promise.all(Array.from({ length: 4 }, () => use(token)));
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([200, 404, 404, 404]);
    const used = answers.find(({ status }) => status === 200);
    expect(used?.body).toMatchObject({ state: 'signedIn', account: { email: person.email } });
    expect(used?.headers.getSetCookie().map((each) => each.split('=')[0])).toEqual([
      'sluice_session',
      'sluice_browser',
    ]);
    for (const each of [person, elsewhere]) {
      expect((await each.call('GET', `apps?org=${tenant.org}`)).status).toBe(401);
    }
    expect((await person.elsewhere().signIn()).status).toBe(401);
    expect((await person.elsewhere().signIn(NEXT)).status).toBe(200);
    const again = await use(token);
    expect([again.status, again.body]).toEqual([404, GONE]);
  });

  it('is asked for again: the last link counts, and none after the password was changed', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const [first, second] = [await linkFor(person), await linkFor(person)];
    expect((await use(first)).body).toEqual(GONE);
    expect((await person.call('POST', 'password', { current: PASSWORD, next: NEXT })).status).toBe(
      200,
    );
    expect((await use(second)).body).toEqual(GONE);
    expect((await person.elsewhere().signIn(NEXT)).status).toBe(200);
  });

  it('is nothing for anybody but the operator: people, keys and strangers are refused', async () => {
    const owner = await member(node, tenant.org, 'owner');
    const body = { email: owner.email };
    const refused = await owner.call('POST', 'accounts/reset-password', body);
    expect([refused.status, refused.body]).toEqual([403, { error: 'Your role may not do this' }]);
    const path = '/console/api/accounts/reset-password';
    expect((await send(node, 'POST', path, { body })).status).toBe(401);
    const headers = { authorization: `Bearer ${tenant.secret}` };
    expect((await send(node, 'POST', path, { body, headers })).status).toBe(401);
    expect((await manage(node, tenant, 'POST', 'accounts/reset-password', body)).status).toBe(404);
  });

  it.each([
    [{}, 400, 'email: Required'],
    [{ email: 'nobody' }, 400, 'email: Must be an email address'],
    [{ email: 'a@b', more: 1 }, 400, 'more: Unrecognized key'],
    [{ email: 'nobody@example.com' }, 404, 'Unknown account'],
  ])('with %j is %i', async (body, status, error) => {
    const answer = await admin(node, 'POST', 'accounts/reset-password', body);
    expect([answer.status, answer.body]).toEqual([status, { error }]);
  });

  it('takes a password as long as any, and a link that is one', async () => {
    const token = await linkFor(await member(node, tenant.org, 'viewer'));
    const short = await use(token, 'eleven char');
    expect([short.status, short.body?.error]).toEqual([
      400,
      'password: Must have at least 12 characters',
    ]);
    for (const wrong of ['A'.repeat(43), 'x', `${token}x`, token.toLowerCase()]) {
      expect((await use(wrong)).body).toEqual(GONE);
      const path = `/console/api/password-reset?token=${encodeURIComponent(wrong)}`;
      expect((await send(node, 'GET', path)).body).toEqual(GONE);
    }
    expect((await use(token)).status).toBe(200);
  });

  it('is not guessed: fifty tries from a network, sign-ins among them; the holder of a link gets in', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const token = await linkFor(person);
    // A household has a whole network of IPv6 addresses.
    const network = `2001:db8:${randomId().slice(0, 4)}:${randomId().slice(0, 4)}`;
    const from = (last: number, within = network) => ({ 'x-forwarded-for': `${within}::${last}` });
    const read = (each: string, last: number) =>
      send(node, 'GET', `/console/api/password-reset?token=${each}`, { headers: from(last) });
    const statuses: number[] = [];
    for (let count = 1; count <= 52; count++) {
      statuses.push((await read(randomId().padEnd(43, 'x'), count)).status);
    }
    expect(statuses).toEqual([...Array(50).fill(404), 429, 429]);
    const signIn = (headers: Record<string, string>) => {
      const body = { email: `${randomId()}@example.com`, password: 'x' };
      return send(node, 'POST', '/console/api/session', { body, headers });
    };
    expect((await signIn(from(99))).status).toBe(429);
    expect((await signIn(from(1, `${network.slice(0, -4)}fff0`))).status).toBe(401);
    const body = { token, password: NEXT };
    const path = '/console/api/password-reset';
    expect((await send(node, 'POST', path, { headers: from(1), body })).status).toBe(200);
  });

  it('is in the audit of the organizations: who made the link, and that it was used', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const token = await linkFor(person);
    expect((await use(token)).status).toBe(200);
    const query = `audit?org=${tenant.org}&action=account&subject=${person.email}`;
    const { body, text } = await admin(node, 'GET', query);
    const entries = body?.entries as { action: string; actor: string; after: unknown }[];
    expect(entries.slice(0, 3)).toMatchObject([
      { action: 'account.sign-in', actor: `account:${person.email}` },
      {
        action: 'account.set-password',
        actor: `account:${person.email}`,
        after: { by: 'link' },
      },
      { action: 'account.reset-password', actor: 'admin-token' },
    ]);
    expect(text).not.toContain(token);
  });
});
