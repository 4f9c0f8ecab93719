// Tests the sign-in with an OpenID Connect provider (§31) against a real one: who is let in, as whom, with
// which roles, and what is refused of what comes back.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { LIMIT } from '../../src/contract/limit.ts';
import { describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { metricsOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import {
  foreignKey,
  OidcBrowser,
  startOidcProvider,
  type TestProvider,
  type Token,
} from '../support/oidc-provider.ts';
import { member, PASSWORD, Person, tokenIn } from '../support/person.ts';
import { admin, randomId } from '../support/tenant.ts';

const ROLES = {
  admins: { organization: 'Acme', role: 'owner' },
  developers: { organization: 'Acme', role: 'publisher' },
  readers: { organization: 'Acme', role: 'viewer' },
  strangers: { organization: 'Unknown', role: 'owner' },
};
const NO_ROLES = { OIDC_GROUPS_CLAIM: '', OIDC_ROLES: '' };
const REFUSED = '/console/sign-in?refused=';

describeOnBackends('sign-in with OpenID Connect', (backend) => {
  let node: ServingNode;
  let provider: TestProvider;
  let other: TestProvider;
  let org: string;
  beforeAll(async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    [provider, other] = await Promise.all([startOidcProvider([url]), startOidcProvider([url])]);
    other.refusesHeader = true;
    node = await backend.start({ PORT: String(port), ...provider.settings(ROLES) });
    const made = await admin(node, 'POST', 'organizations', { name: 'Acme' });
    org = String(made.body?.id);
  });
  afterAll(() => Promise.all([node?.dispose(), provider?.stop(), other?.stop()]));
  beforeEach(() => {
    Object.assign(provider, { falsify: undefined, foreignKey: undefined, broken: undefined });
  });

  const browser = () => new OidcBrowser(node);

  /** Makes a new person of the provider the one who is at the browser. */
  function arrives(groups: readonly string[] = [], isVerified = true, at = provider) {
    const sub = randomId();
    const email = `${sub}@example.com`;
    at.present = { sub, email, email_verified: isVerified, name: 'Olga', groups };
    return at.present as Required<typeof at.present>;
  }

  async function expectRefused(reason: string, answer?: (url: URL) => void): Promise<void> {
    const visitor = browser();
    const url = await visitor.comeBack();
    answer?.(url);
    expect(await visitor.arrive(url)).toBe(REFUSED + reason);
    expect((await visitor.session()).state).toBe('signedOut');
  }

  it('lets in a new person as a new account, and leads to the page that was asked for', async () => {
    const { email } = arrives(['unknown group', 'strangers']);
    const visitor = browser();
    expect(await visitor.signIn('/console/apps/notes?page=2')).toBe('/console/apps/notes?page=2');
    expect(await visitor.session()).toEqual({
      state: 'signedIn',
      account: { id: expect.any(String), email, name: 'Olga' },
      memberships: [],
      signIn: { password: true, oidc: { name: 'Example ID' } },
      hasPassword: false,
    });
    const again = browser();
    await again.signIn();
    expect((await again.session()).account?.id).toBe((await visitor.session()).account?.id);
    expect((await visitor.call('DELETE', 'session')).status).toBe(200);
    expect((await visitor.session()).state).toBe('signedOut');
  });

  it('gives the highest role of the groups, renews it, and takes it away with the group', async () => {
    const person = arrives(['readers', 'admins']);
    const visitor = browser();
    const roleAfter = async (...groups: string[]) => {
      provider.present = { ...person, groups };
      await visitor.signIn();
      return visitor.roleIn(org);
    };
    expect(await roleAfter('readers', 'admins')).toBe('owner');
    expect(await roleAfter('readers')).toBe('viewer');
    const { account } = await visitor.session();
    const raised = { org, account: account?.id, role: 'publisher' };
    expect((await admin(node, 'PATCH', 'members', raised)).status).toBe(200);
    expect(await roleAfter('readers')).toBe('viewer');
    expect(await roleAfter()).toBeUndefined();
    const audit = await admin(
      node,
      'GET',
      `audit?org=${org}&action=member&subject=${person.email}`,
    );
    const { entries } = audit.body as unknown as { entries: { action: string; reason: string }[] };
    expect(entries.map(({ action }) => action)).toEqual([
      'member.remove',
      ...['member.update', 'member.update', 'member.update', 'member.join'],
    ]);
    expect(entries[0]?.reason).toBe('No group of the sign-in provider gives it any more');
  });

  it('leaves the last owner none of a role that the group has lost, and says so in audit and log', async () => {
    const made = await admin(node, 'GET', `members?org=${org}`);
    expect(made.body).toMatchObject({ members: [] });
    const person = arrives(['admins']);
    const visitor = browser();
    await visitor.signIn();
    provider.present = { ...person, groups: [] };
    await visitor.signIn();
    expect(await visitor.roleIn(org)).toBeUndefined();
    const audit = await admin(node, 'GET', `audit?org=${org}&action=member.remove&limit=1`);
    expect(JSON.stringify(audit.body)).toContain('the organization has no owner now');
    expect(node.output()).toContain('an organization has no owner any more');
  });

  it.each<[string, unknown]>([
    ['an object of objects, as Zitadel', { admins: { '1': 'acme.example' } }],
    ['a list of objects with a name', [{ name: 'admins' }]],
    ['a list in JSON', '["readers","admins"]'],
    ['a text with commas', 'readers, admins'],
  ])('reads the groups of %s (§31.9)', async (_, groups) => {
    const person = arrives(['admins']);
    const visitor = browser();
    await visitor.signIn();
    provider.present = { ...person, groups };
    expect(await visitor.signIn()).toBe('/console');
    expect(await visitor.roleIn(org)).toBe('owner');
  });

  it.each<[string, unknown, string]>([
    ['an object of lists', { roles: ['admins'] }, 'an object with 1 keys, such as roles (a list)'],
    ['a list of numbers', [4711], 'a list with a number'],
    ['a number', 4711, 'a number'],
  ])('takes no role away by groups that it cannot read: %s (§31.9)', async (_, groups, form) => {
    const person = arrives(['admins']);
    const visitor = browser();
    await visitor.signIn();
    provider.present = { ...person, groups };
    expect(await browser().signIn()).toBe(`${REFUSED}unreadable-groups`);
    expect(await visitor.roleIn(org)).toBe('owner');
    // Not each refusal within a second has a line.
    await eventually('the log tells the form', async () => {
      await browser().signIn();
      return node.output().includes(`the claim groups is ${form}`);
    });
    expect(node.output()).not.toContain('4711');
  });

  it('keeps what an invitation gave, which works by its link and by a verified address', async () => {
    const person = arrives(['readers']);
    const { email } = person;
    await admin(node, 'POST', 'invitations', { org, email, role: 'publisher' });
    const visitor = browser();
    await visitor.signIn();
    expect(await visitor.roleIn(org)).toBe('publisher');
    provider.present = { ...person, groups: [] };
    await visitor.signIn();
    expect(await visitor.roleIn(org)).toBe('publisher');
    const second = await admin(node, 'POST', 'organizations', { name: randomId() });
    const invitation = { org: second.body?.id, email, role: 'viewer' };
    const invited = await admin(node, 'POST', 'invitations', invitation);
    const token = tokenIn(invited.body?.url);
    expect((await visitor.call('POST', 'invitation/accept', { token })).status).toBe(200);
    expect(await visitor.roleIn(String(second.body?.id))).toBe('viewer');
    arrives();
    const stranger = browser();
    await stranger.signIn();
    const foreign = await admin(node, 'POST', 'invitations', {
      ...invitation,
      email: 'a@b.example',
    });
    const taken = { token: tokenIn(foreign.body?.url) };
    expect((await stranger.call('POST', 'invitation/accept', taken)).status).toBe(400);
  });

  it('reads the text of a boolean that says whether an address is verified (§31.4)', async () => {
    const { email, ...person } = arrives();
    await admin(node, 'POST', 'invitations', { org, email, role: 'publisher' });
    provider.present = { ...person, email, email_verified: 'true' };
    const visitor = browser();
    await visitor.signIn();
    expect(await visitor.roleIn(org)).toBe('publisher');
  });

  it('gives an unverified address nothing that was meant for it', async () => {
    const { email } = arrives([], false);
    await admin(node, 'POST', 'invitations', { org, email, role: 'owner' });
    const visitor = browser();
    await visitor.signIn();
    expect((await visitor.session()).memberships).toEqual([]);
  });

  it('lets an unverified address keep nobody out: it makes no account, or loses it to its person (§31.11)', async () => {
    const { email } = arrives([], false);
    await expectRefused('unverified');
    await admin(node, 'POST', 'invitations', { org, email, role: 'publisher' });
    const squatter = browser();
    expect(await squatter.signIn()).toBe('/console');
    provider.present = { sub: randomId(), email, email_verified: true, name: 'Olga herself' };
    const visitor = browser();
    expect(await visitor.signIn()).toBe('/console');
    expect((await visitor.session()).account).toMatchObject({ email, name: 'Olga herself' });
    expect(await visitor.roleIn(org)).toBe('publisher');
    expect((await squatter.session()).state).toBe('signedOut');
    const audit = await admin(node, 'GET', `audit?org=${org}&action=account&subject=${email}`);
    expect(JSON.stringify(audit.body)).toContain('account.take-over');
    arrives([], false);
    provider.present = { ...provider.present, email };
    await expectRefused('unverified');
  });

  it('joins an account by its password, once, and never without a proof', async () => {
    const { email } = arrives(['readers']);
    const person = await member(node, org, 'publisher', 'A Person', email);
    const visitor = browser();
    expect(await visitor.signIn('/console/audit')).toBe('/console/join');
    expect((await visitor.session()).state).toBe('signedOut');
    expect((await visitor.call('GET', 'oidc/arrival')).body).toEqual({ email });
    expect((await visitor.call('POST', 'oidc/join', {})).status).toBe(400);
    expect((await visitor.call('POST', 'oidc/join', { password: 'wrong' })).status).toBe(401);
    const joined = await visitor.call('POST', 'oidc/join', { password: PASSWORD });
    expect([joined.status, joined.body]).toEqual([200, { to: '/console/audit' }]);
    expect((await visitor.session()).account?.id).toBe(person.accountId);
    expect((await visitor.call('POST', 'oidc/join', { password: PASSWORD })).status).toBe(404);
    const again = browser();
    expect(await again.signIn()).toBe('/console');
    expect((await again.session()).account?.id).toBe(person.accountId);
    const audit = await admin(node, 'GET', `audit?org=${org}&action=account&subject=${email}`);
    expect(JSON.stringify(audit.body)).toContain('account.join-provider');
    // Another person of the provider with that address does not get the account by its password.
    provider.present = { sub: randomId(), email, email_verified: true };
    const thief = browser();
    expect(await thief.signIn()).toBe('/console/join');
    expect((await thief.call('POST', 'oidc/join', { password: PASSWORD })).status).toBe(409);
  });

  it('joins an account by a session of it, and by no session of another', async () => {
    const { email } = arrives();
    const person = await member(node, org, 'viewer', 'A Person', email);
    const stranger = await member(node, org, 'viewer');
    const visitor = browser();
    await visitor.signIn();
    const session = `${node.url} sluice_session`;
    visitor.cookies.set(session, stranger.token ?? '');
    expect((await visitor.call('POST', 'oidc/join', {})).status).toBe(400);
    visitor.cookies.set(session, person.token ?? '');
    expect((await visitor.call('POST', 'oidc/join', {})).status).toBe(200);
    expect((await visitor.session()).account?.id).toBe(person.accountId);
  });

  it('refuses an unverified address that an account has', async () => {
    const { email } = arrives([], false);
    await member(node, org, 'viewer', 'A Person', email);
    await expectRefused('unverified');
  });

  const falsified: [string, (token: Token) => void][] = [
    ['a wrong issuer', ({ claims }) => Object.assign(claims, { iss: 'https://id.example' })],
    ['another audience', ({ claims }) => Object.assign(claims, { aud: 'other' })],
    ['another nonce', ({ claims }) => Object.assign(claims, { nonce: 'other' })],
    ['no nonce', ({ claims }) => delete claims.nonce],
    ['an expired token', ({ claims }) => Object.assign(claims, { exp: Date.now() / 1000 - 120 })],
    ['an unknown key id', ({ header }) => Object.assign(header, { kid: 'unknown' })],
    ['no signature', ({ header }) => Object.assign(header, { alg: 'none' })],
    ['a secret as key', ({ header }) => Object.assign(header, { alg: 'HS256' })],
  ];

  it.each(falsified)('refuses %s', async (_, falsify) => {
    arrives(['admins']);
    provider.falsify = falsify;
    await expectRefused('untrusted');
  });

  it('refuses a token that another key has signed', async () => {
    arrives(['admins']);
    Object.assign(provider, { falsify: () => undefined, foreignKey: foreignKey() });
    await expectRefused('untrusted');
  });

  it('forgives a clock that is some seconds off', async () => {
    arrives();
    provider.falsify = ({ claims }) => {
      Object.assign(claims, { exp: Math.floor(Date.now() / 1000) - 10 });
    };
    expect(await browser().signIn()).toBe('/console');
  });

  it('takes the new keys of a provider that has changed them', async () => {
    arrives();
    expect(await browser().signIn()).toBe('/console');
    const before = provider.requests.get('/jwks') ?? 0;
    expect(before).toBeGreaterThan(0);
    provider.rotate();
    expect(await browser().signIn()).toBe('/console');
    expect(provider.requests.get('/jwks')).toBe(before + 1);
    provider.falsify = ({ header }) => Object.assign(header, { kid: 'unknown' });
    for (let index = 0; index < 12; index++) {
      expect(await browser().signIn()).toBe(`${REFUSED}untrusted`);
    }
    expect(provider.requests.get('/jwks')).toBeLessThan(before + 12);
  });

  it('refuses another state, another issuer of the answer, and none (mix-up)', async () => {
    arrives();
    await expectRefused('stale', (url) => url.searchParams.set('state', 'other'));
    await expectRefused('stale', (url) => url.searchParams.append('state', 'other'));
    await expectRefused('untrusted', (url) => url.searchParams.set('iss', other.issuer));
    await expectRefused('untrusted', (url) => url.searchParams.delete('iss'));
    await expectRefused('stale', (url) => url.searchParams.set('code', 'other'));
  });

  it('refuses an answer a second time, in another browser, and without a sign-in (login CSRF)', async () => {
    arrives();
    const [attacker, victim] = [browser(), browser()];
    const answer = await attacker.comeBack();
    const cookies = new Map(attacker.cookies);
    expect(await victim.arrive(answer)).toBe(`${REFUSED}stale`);
    const own = await victim.comeBack();
    expect(await victim.arrive(answer)).toBe(`${REFUSED}stale`);
    expect(await victim.arrive(own)).toBe('/console');
    expect(await attacker.arrive(answer)).toBe('/console');
    for (const [name, value] of cookies) attacker.cookies.set(name, value);
    expect(await attacker.arrive(answer)).toBe(`${REFUSED}stale`);
    const foreign = new Person(node);
    foreign.origin = 'https://evil.example';
    expect((await foreign.call('POST', 'oidc', {})).status).toBe(403);
    expect((await foreign.call('POST', 'oidc/join', {})).status).toBe(403);
  });

  it('binds a sign-in by a cookie that no script and no other site can use', async () => {
    arrives();
    const visitor = browser();
    const begun = await visitor.send('POST', `${node.url}/console/api/oidc`, {});
    expect(begun.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^sluice_sign_in=\S+; Path=\/console\/api\/oidc; Max-Age=600; HttpOnly; SameSite=Lax$/,
      ),
    ]);
    const { url } = (await begun.json()) as { url: string };
    const { searchParams: asked } = new URL(url);
    expect(asked.get('code_challenge_method')).toBe('S256');
    expect(asked.get('redirect_uri')).toBe(`${node.url}/console/api/oidc/callback`);
    expect(new Set(['state', 'nonce', 'code_challenge'].map((name) => asked.get(name))).size).toBe(
      3,
    );
  });

  it.each(['https://evil.example', '//evil.example', '/console/../..//evil.example', '/\\evil'])(
    'leads nowhere but to the console: %s',
    async (to) => {
      arrives();
      expect(await browser().signIn(to)).toBe('/console');
    },
  );

  it('says so when the person was not let in, and when the provider is away', async () => {
    arrives();
    for (const [code, reason] of [
      ['access_denied', 'denied'],
      ['server_error', 'provider-failed'],
      ['temporarily_unavailable', 'provider-busy'],
      ['login_required', 'interaction-required'],
    ] as const) {
      await expectRefused(reason, (url) => {
        url.searchParams.delete('code');
        url.searchParams.set('error', code);
      });
    }
    for (const broken of [503, 'silent'] as const) {
      const visitor = browser();
      provider.broken = undefined;
      const answer = await visitor.comeBack();
      provider.broken = broken;
      expect(await visitor.arrive(answer)).toBe(`${REFUSED}away`);
    }
  });

  it('begins 50 sign-ins of an address at most, and counts those above', async () => {
    const visitor = browser();
    const statuses: number[] = [];
    for (let count = 0; count <= LIMIT.loginsPerAddressMax; count++) {
      statuses.push((await visitor.call('POST', 'oidc', {})).status);
    }
    expect(statuses).toEqual([...Array(LIMIT.loginsPerAddressMax).fill(200), 429]);
    expect(await metricsOf(node)).toMatch(/^sluice_sign_ins_total\{outcome="limited"\} 1$/m);
    expect((await browser().call('POST', 'oidc', {})).status).toBe(200);
  });

  it('a provider that is away when the node starts keeps it from nothing', async () => {
    provider.broken = 500;
    await node.stop();
    node = await node.restart();
    const begun = await new Person(node).call('POST', 'oidc', {});
    expect([begun.status, begun.body]).toEqual([
      503,
      { error: 'The sign-in provider cannot be reached: try again shortly' },
    ]);
    expect((await new Person(node).call('GET', 'session')).status).toBe(200);
    provider.broken = undefined;
    arrives();
    expect(await browser().signIn()).toBe('/console');
  });

  it('tells a wrong secret, and an address where no provider is, from one that is away (§31.10)', async () => {
    arrives();
    await node.stop();
    node = await node.restart({ OIDC_CLIENT_SECRET: 'another secret' });
    await expectRefused('client-refused');
    await node.stop();
    node = await node.restart({ ...provider.settings(ROLES), OIDC_ISSUER: node.url });
    const begun = await new Person(node).call('POST', 'oidc', {});
    expect([begun.status, begun.body]).toEqual([
      503,
      { error: 'No sign-in provider answers at OIDC_ISSUER: tell the operator' },
    ]);
    await node.stop();
    node = await node.restart(provider.settings(ROLES));
  });

  it('finds the groups at the end of a path, as Keycloak has them (§31.9)', async () => {
    await node.stop();
    node = await node.restart({ OIDC_GROUPS_CLAIM: 'realm_access.roles' });
    provider.present = { ...arrives(), realm_access: { roles: ['offline_access', 'admins'] } };
    const visitor = browser();
    await visitor.signIn();
    expect(await visitor.roleIn(org)).toBe('owner');
    provider.present = { ...provider.present, realm_access: {} };
    await visitor.signIn();
    expect(await visitor.roleIn(org)).toBeUndefined();
  });

  // Last: the node has another provider afterwards.
  it('another issuer is another person, whatever address it tells; without passwords the link stays', async () => {
    const { email } = arrives();
    await admin(node, 'POST', 'invitations', { org, email, role: 'viewer' });
    const visitor = browser();
    await visitor.signIn();
    const { account } = await visitor.session();
    await node.stop();
    node = await node.restart({ ...other.settings(), ...NO_ROLES, PASSWORD_SIGN_IN: 'off' });
    expect((await browser().session()).signIn).toMatchObject({ password: false });
    other.present = { sub: provider.present.sub, email, email_verified: true };
    // The first secret is refused; from then on it is sent where this provider wants it.
    expect(await browser().signIn()).toBe('/console/join');
    expect(other.requests.get('/token')).toBe(2);
    expect(await browser().signIn()).toBe('/console/join');
    expect(other.requests.get('/token')).toBe(3);
    const person = new Person(node, email);
    expect((await person.signIn()).body).toEqual({
      error: 'Passwords are off here: sign in with the provider',
    });
    const made = await admin(node, 'POST', 'accounts/reset-password', { email });
    const token = tokenIn(made.body?.url);
    const used = await person.call('POST', 'password-reset', { token, password: PASSWORD });
    expect([used.status, used.body?.account]).toMatchObject([200, { id: account?.id }]);
    expect((await person.elsewhere().signIn()).status).toBe(403);
    other.broken = 500;
    expect((await new Person(node).call('POST', 'oidc', {})).status).toBe(200);
  });
});
