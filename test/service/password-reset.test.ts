// Tests the way back in after a forgotten password: a link that the operator makes, which works once.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { member, PASSWORD, Person, tokenIn } from '../support/person.ts';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { admin, randomId, send } from '../support/tenant.ts';

const NEXT = 'a new and long password';
const GONE = 'Unknown or expired link';
const PATH = '/console/api/password-reset';

serviceSuite('a forgotten password', (node) => {
  const tenant = suiteTenant(node);

  const ask = (body: unknown) => admin(node, 'POST', 'accounts/reset-password', body);
  const linkFor = async ({ email }: Person) => tokenIn((await ask({ email })).body?.url);
  const use = (token: string, password = NEXT) =>
    new Person(node).call('POST', 'password-reset', { token, password });

  it('is replaced by a link for an hour that signs in, ends every session, and works once', async () => {
    const person = await member(node, tenant.org, 'owner');
    const elsewhere = await person.elsewhereSignedIn();
    const before = Date.now();
    const made = await ask({ email: ` ${person.email.toUpperCase()} ` });
    expect([made.status, Object.keys(made.body ?? {})]).toEqual([201, ['url', 'expiresAt']]);
    expect(made.body?.url).toMatch(/^http:\/\/[^/]+\/console\/password-reset\/[\w-]{43}$/);
    const lasts = Date.parse(String(made.body?.expiresAt)) - before;
    expect(Math.abs(lasts - 3_600_000)).toBeLessThan(60_000);
    const token = tokenIn(made.body?.url);
    const shown = await send(node, 'GET', `${PATH}?token=${token}`);
    expect([shown.status, shown.body]).toEqual([200, { email: person.email }]);
    expect(shown.headers.get('cache-control')).toBe('no-store');
    expectError(await use(token, 'eleven char'), 400, 'password: Must have at least 12 characters');

    const used = await use(token);
    expect(used.body).toMatchObject({ state: 'signedIn', account: { email: person.email } });
    const cookies = used.headers.getSetCookie().map((each) => each.split('=')[0]);
    expect([used.status, cookies]).toEqual([200, ['sluice_session', 'sluice_browser']]);
    for (const each of [person, elsewhere]) {
      expect((await each.call('GET', `apps?org=${tenant.org}`)).status).toBe(401);
    }
    expect((await person.elsewhere().signIn()).status).toBe(401);
    expect((await person.elsewhere().signIn(NEXT)).status).toBe(200);
    expectError(await use(token), 404, GONE);
    const query = `audit?org=${tenant.org}&action=account&subject=${person.email}`;
    const { body, text } = await admin(node, 'GET', query);
    const actor = `account:${person.email}`;
    expect(((body?.entries ?? []) as unknown[]).slice(1, 4)).toMatchObject([
      { action: 'account.sign-in', actor },
      { action: 'account.set-password', actor, after: { by: 'link' } },
      { action: 'account.reset-password', actor: 'admin-token' },
    ]);
    expect(text).not.toContain(token);
  });

  it('is asked for again: the last link counts, and none after the password was changed, nor one that is none', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const [first, second] = [await linkFor(person), await linkFor(person)];
    for (const wrong of [first, 'A'.repeat(43), 'x', `${second}x`, second.toLowerCase()]) {
      expectError(await use(wrong), 404, GONE);
      expectError(await send(node, 'GET', `${PATH}?token=${wrong}`), 404, GONE);
    }
    const change = { current: PASSWORD, next: NEXT };
    expect((await person.call('POST', 'password', change)).status).toBe(200);
    expectError(await use(second), 404, GONE);
  });

  it.each([
    [{}, 400, 'email: Required'],
    [{ email: 'nobody' }, 400, 'email: Must be an email address'],
    [{ email: 'nobody@example.com' }, 404, 'Unknown account'],
  ])('with %j is %i', async (body, status, error) => {
    expectError(await ask(body), status, error);
  });

  it('is not guessed: fifty tries from a network, sign-ins among them; the holder of a link gets in', async () => {
    const token = await linkFor(await member(node, tenant.org, 'viewer'));
    // A household has a whole network of IPv6 addresses.
    const network = `2001:db8:${randomId().slice(0, 4)}:${randomId().slice(0, 4)}`;
    const from = (last: number, within = network) => ({ 'x-forwarded-for': `${within}::${last}` });
    const statuses: number[] = [];
    for (let count = 1; count <= 52; count++) {
      const path = `${PATH}?token=${randomId().padEnd(43, 'x')}`;
      statuses.push((await send(node, 'GET', path, { headers: from(count) })).status);
    }
    expect(statuses).toEqual([...Array(50).fill(404), 429, 429]);
    const signIn = (headers: Record<string, string>) => {
      const body = { email: `${randomId()}@example.com`, password: 'x' };
      return send(node, 'POST', '/console/api/session', { body, headers });
    };
    expect((await signIn(from(99))).status).toBe(429);
    expect((await signIn(from(1, `${network.slice(0, -4)}fff0`))).status).toBe(401);
    const body = { token, password: NEXT };
    expect((await send(node, 'POST', PATH, { headers: from(1), body })).status).toBe(200);
  });
});
