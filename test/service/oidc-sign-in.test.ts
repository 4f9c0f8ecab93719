// Tests the sign-in with an OpenID Connect provider (§31) against a real one: who is let in first on a fresh
// service, as whom, with which roles, and what is refused of what comes back. The forms of its answers are in
// test/access, whose an account is in test/store/ledger/identity-contract.ts.

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { LIMIT } from '../../src/contract/limit.ts';
import { describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { freePort } from '../support/free-port.ts';
import { metricsOf } from '../support/metrics.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
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
  readers: { organization: 'Acme', role: 'viewer' },
  strangers: { organization: 'Unknown', role: 'owner' },
  hermits: { organization: 'Hermitage', role: 'owner' },
};
const NO_ROLES = { OIDC_GROUPS_CLAIM: '', OIDC_ROLES: '' };
const REFUSED = '/console/sign-in?refused=';
const SIGN_IN = { password: true, oidc: { name: 'Example ID' } };
const SET_UP = { token: ADMIN_TOKEN, organization: 'Acme' };

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
    // A provider that is away when the node starts keeps it from nothing.
    provider.broken = 500;
    node = await backend.start({ PORT: String(port), ...provider.settings(ROLES) });
  });
  afterAll(() => Promise.all([node?.dispose(), provider?.stop(), other?.stop()]));
  beforeEach(() => {
    Object.assign(provider, { falsify: undefined, foreignKey: undefined, broken: undefined });
  });

  const browser = () => new OidcBrowser(node);
  const begin = () => new Person(node).call('POST', 'oidc', {});

  /** Makes a new person of the provider the one who is at the browser. */
  function arrives(groups: readonly string[] = [], isVerified = true) {
    const sub = randomId();
    const email = `${sub}@example.com`;
    provider.present = { sub, email, email_verified: isVerified, name: 'Olga', groups };
    return provider.present as Required<typeof provider.present>;
  }

  /** Signs in who is at the browser, in these groups. */
  async function enters(groups?: readonly string[], visitor = browser()): Promise<OidcBrowser> {
    if (groups !== undefined) provider.present = { ...provider.present, groups };
    expect(await visitor.signIn()).toBe('/console');
    return visitor;
  }

  async function expectRefused(reason: string, answer?: (url: URL) => void): Promise<void> {
    const visitor = browser();
    const url = await visitor.comeBack();
    answer?.(url);
    expect(await visitor.arrive(url)).toBe(REFUSED + reason);
    expect((await visitor.session()).state).toBe('signedOut');
  }

  const invite = (email: string, role: string, to = org) =>
    admin(node, 'POST', 'invitations', { org: to, email, role });

  async function auditOf(query: string): Promise<{ action: string; reason: string }[]> {
    return (await admin(node, 'GET', `audit?org=${org}&${query}`)).body?.entries as never;
  }

  it('on a fresh service a sign-in alone makes nobody an owner; the admin token does, once, by either way (§31.13)', async () => {
    provider.broken = 500;
    expectError(await begin(), 503, 'The sign-in provider cannot be reached: try again shortly');
    expect(await browser().session()).toEqual({ state: 'setup', signIn: SIGN_IN });
    provider.broken = undefined;
    const visitors: OidcBrowser[] = [];
    for (const groups of [[], ['admins']]) {
      arrives(groups);
      const visitor = await enters();
      expect(await visitor.session()).toMatchObject({ memberships: [], awaitsSetUp: true });
      visitors.push(visitor);
    }
    const [visitor = browser()] = visitors;
    expect(await browser().session()).toEqual({ state: 'setup', signIn: SIGN_IN });
    const refused = async (body: object, by = visitor) => {
      const answer = await by.call('POST', 'setup/organization', body);
      return [answer.status, (answer.body as { error?: string }).error];
    };
    const wrong = { ...SET_UP, token: 'wrong' };
    expect(await refused(wrong)).toEqual([400, 'token: Not the admin token']);
    const nameless = expect.stringContaining('organization');
    expect(await refused({ ...SET_UP, organization: '' })).toEqual([400, nameless]);
    const stranger = new Person(node);
    stranger.token = visitor.cookies.get(`${node.url} sluice_session`);
    stranger.origin = 'https://elsewhere.example';
    expect((await stranger.call('POST', 'setup/organization', SET_UP)).status).toBe(403);
    // With the address of an account, its password would be another way into it.
    const { account } = await visitor.session();
    expect((await new Person(node, account?.email).setUp('Mine')).status).toBe(409);

    // Of several at once one does, and owns alone; a provider that is away is in nobody's way.
    provider.broken = 500;
    const answers = await Promise.all([
      ...visitors.map((each) => each.call('POST', 'setup/organization', SET_UP)),
      new Person(node).setUp('Acme'),
      new Person(node).setUp('Acme'),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    const { body } = await admin(node, 'GET', 'session');
    const memberships = body?.memberships as { organization: { id: string } }[];
    expect(memberships).toHaveLength(1);
    org = String(memberships[0]?.organization.id);
    const { body: listed } = await admin(node, 'GET', `members?org=${org}`);
    expect(listed?.members).toMatchObject([{ role: 'owner' }]);
    expect(await browser().session()).toEqual({ state: 'signedOut', signIn: SIGN_IN });
    provider.broken = undefined;
    arrives();
    const late = await enters();
    expect(await late.session()).not.toHaveProperty('awaitsSetUp');
    expect(await refused(SET_UP, late)).toEqual([
      409,
      'The service is set up already: ask an owner for an invitation',
    ]);
  });

  it('lets in a new person as a new account, and leads to the page that was asked for, in the console alone', async () => {
    const { email } = arrives(['unknown group', 'strangers']);
    const visitor = browser();
    expect(await visitor.signIn('/console/apps/notes?page=2')).toBe('/console/apps/notes?page=2');
    const account = { id: expect.any(String), email, name: 'Olga' };
    const session = { state: 'signedIn', account, memberships: [], hasPassword: false };
    expect(await visitor.session()).toEqual({ ...session, signIn: SIGN_IN });
    const again = browser();
    for (const to of ['https://evil.example', '/console/../..//evil.example', '/\\evil']) {
      expect(await again.signIn(to)).toBe('/console');
    }
    expect((await again.session()).account?.id).toBe((await visitor.session()).account?.id);
    expect((await visitor.call('DELETE', 'session')).status).toBe(200);
    expect((await visitor.session()).state).toBe('signedOut');
  });

  it('gives the highest role of the groups, renews it, and takes it away with the group (§31.6)', async () => {
    const person = arrives();
    const visitor = browser();
    const roleAfter = async (...groups: string[]) =>
      (await enters(groups, visitor)) && visitor.roleIn(org);
    expect(await roleAfter('readers', 'admins')).toBe('owner');
    expect(await roleAfter('readers')).toBe('viewer');
    const { account } = await visitor.session();
    const raised = { org, account: account?.id, role: 'publisher' };
    expect((await admin(node, 'PATCH', 'members', raised)).status).toBe(200);
    expect(await roleAfter('readers')).toBe('viewer');
    // One of the other forms in which providers name groups (§31.9).
    provider.present = { ...person, groups: { admins: { '1': 'acme.example' } } };
    await enters(undefined, visitor);
    expect(await visitor.roleIn(org)).toBe('owner');
    expect(await roleAfter()).toBeUndefined();
    const entries = await auditOf(`action=member&subject=${person.email}`);
    expect(entries.map(({ action }) => action)).toEqual([
      'member.remove',
      ...Array(4).fill('member.update'),
      'member.join',
    ]);
    expect(entries[0]?.reason).toBe('No group of the sign-in provider gives it any more');
  });

  it('leaves the last owner none of a role that the group has lost, and says so in audit and log', async () => {
    const made = await admin(node, 'POST', 'organizations', { name: 'Hermitage' });
    const hermitage = String(made.body?.id);
    arrives();
    const visitor = await enters(['hermits']);
    expect(await visitor.roleIn(hermitage)).toBe('owner');
    await enters([], visitor);
    expect(await visitor.roleIn(hermitage)).toBeUndefined();
    const audit = await admin(node, 'GET', `audit?org=${hermitage}&action=member.remove&limit=1`);
    expect(JSON.stringify(audit.body)).toContain('the organization has no owner now');
    expect(node.output()).toContain('an organization has no owner any more');
  });

  it('takes no role away by groups that it cannot read, and tells their form without their values (§31.9)', async () => {
    const person = arrives();
    const visitor = await enters(['admins']);
    provider.present = { ...person, groups: [4711] };
    expect(await browser().signIn()).toBe(`${REFUSED}unreadable-groups`);
    expect(await visitor.roleIn(org)).toBe('owner');
    // Not each refusal within a second has a line.
    await eventually('the log tells the form', async () => {
      await browser().signIn();
      return node.output().includes('the claim groups is a list with a number');
    });
    expect(node.output()).not.toContain('4711');
  });

  it('keeps what an invitation gave, which works by its link and by a verified address (§31.5)', async () => {
    const { email } = arrives();
    await invite(email, 'publisher');
    const visitor = await enters(['readers']);
    expect(await visitor.roleIn(org)).toBe('publisher');
    await enters([], visitor);
    expect(await visitor.roleIn(org)).toBe('publisher');
    const made = await admin(node, 'POST', 'organizations', { name: randomId() });
    const second = String(made.body?.id);
    const accept = async (whom: string) => {
      const token = tokenIn((await invite(whom, 'viewer', second)).body?.url);
      return (await visitor.call('POST', 'invitation/accept', { token })).status;
    };
    expect(await accept('a@b.example')).toBe(400);
    expect(await accept(email)).toBe(200);
    expect(await visitor.roleIn(second)).toBe('viewer');
  });

  it('leads a new person past an invitation that is used by then, and others to it (§31.5)', async () => {
    const { email } = arrives();
    const { pathname } = new URL(String((await invite(email, 'publisher')).body?.url));
    const visitor = browser();
    expect(await visitor.signIn(pathname)).toBe('/console');
    expect(await visitor.roleIn(org)).toBe('publisher');
    expect(await browser().signIn(pathname)).toBe(pathname);
  });

  it('refuses who has no address, or one that is no text (§31.10)', async () => {
    for (const email of [undefined, 7, 'nobody']) {
      arrives();
      provider.present = { ...provider.present, email: email as string };
      await expectRefused('no-address');
    }
  });

  it('gives an unverified address nothing that was meant for it (§31.11)', async () => {
    const { email } = arrives([], false);
    await expectRefused('unverified');
    await invite(email, 'publisher');
    expect((await (await enters()).session()).memberships).toEqual([]);
    provider.present = { ...provider.present, sub: randomId(), email_verified: true };
    expect(await (await enters()).roleIn(org)).toBe('publisher');
  });

  it('joins an account by its password, once, and never without a proof (§31.4)', async () => {
    const { email } = arrives(['readers']);
    const person = await member(node, org, 'publisher', 'A Person', email);
    const visitor = browser();
    expect(await visitor.signIn('/console/audit')).toBe('/console/join');
    expect((await visitor.session()).state).toBe('signedOut');
    expect((await visitor.call('GET', 'oidc/arrival')).body).toEqual({ email });
    const join = (body: object, by = visitor) => by.call('POST', 'oidc/join', body);
    expect((await join({})).status).toBe(400);
    expect((await join({ password: 'wrong' })).status).toBe(401);
    const joined = await join({ password: PASSWORD });
    expect([joined.status, joined.body]).toEqual([200, { to: '/console/audit' }]);
    expect((await join({ password: PASSWORD })).status).toBe(404);
    const again = await enters();
    for (const each of [visitor, again]) {
      expect((await each.session()).account?.id).toBe(person.accountId);
    }
    const entries = await auditOf(`action=account&subject=${email}`);
    expect(entries.map(({ action }) => action)).toContain('account.join-provider');
    // Another person of the provider with that address does not get the account by its password.
    provider.present = { sub: randomId(), email, email_verified: true };
    const thief = browser();
    expect(await thief.signIn()).toBe('/console/join');
    expect((await join({ password: PASSWORD }, thief)).status).toBe(409);
  });

  it('joins an account by a session of it, and by no session of another (§31.4)', async () => {
    const { email } = arrives();
    const person = await member(node, org, 'viewer', 'A Person', email);
    const visitor = browser();
    await visitor.signIn();
    for (const [who, status] of [
      [await member(node, org, 'viewer'), 400],
      [person, 200],
    ] as const) {
      visitor.cookies.set(`${node.url} sluice_session`, who.token ?? '');
      expect((await visitor.call('POST', 'oidc/join', {})).status).toBe(status);
    }
    expect((await visitor.session()).account?.id).toBe(person.accountId);
  });

  it.each<[string, (token: Token) => unknown]>([
    ['a wrong issuer', ({ claims }) => Object.assign(claims, { iss: 'https://id.example' })],
    ['another audience', ({ claims }) => Object.assign(claims, { aud: 'other' })],
    ['another nonce', ({ claims }) => Object.assign(claims, { nonce: 'other' })],
    ['no nonce', ({ claims }) => delete claims.nonce],
    ['an expired token', ({ claims }) => Object.assign(claims, { exp: Date.now() / 1000 - 120 })],
    ['an unknown key id', ({ header }) => Object.assign(header, { kid: 'unknown' })],
    ['no signature', ({ header }) => Object.assign(header, { alg: 'none' })],
    ['a secret as key', ({ header }) => Object.assign(header, { alg: 'HS256' })],
    ['the signature of another key', () => undefined],
  ])('refuses %s (§31.3)', async (what, falsify) => {
    arrives(['admins']);
    if (what.includes('another key')) provider.foreignKey = foreignKey();
    provider.falsify = falsify;
    await expectRefused('untrusted');
  });

  it('forgives a clock that is some seconds off, and takes the new keys of a provider that has changed them', async () => {
    arrives();
    provider.falsify = ({ claims }) =>
      Object.assign(claims, { exp: Math.floor(Date.now() / 1000) - 10 });
    await enters();
    provider.falsify = undefined;
    const fetched = () => provider.requests.get('/jwks') ?? 0;
    const before = fetched();
    expect(before).toBeGreaterThan(0);
    provider.rotate();
    await enters();
    expect(fetched()).toBe(before + 1);
    provider.falsify = ({ header }) => Object.assign(header, { kid: 'unknown' });
    for (let index = 0; index < 12; index++) {
      expect(await browser().signIn()).toBe(`${REFUSED}untrusted`);
    }
    expect(fetched()).toBeLessThan(before + 12);
  });

  it('refuses another state, another issuer of the answer, and none (mix-up); a refusal and an outage have their reasons', async () => {
    arrives();
    await expectRefused('stale', (url) => url.searchParams.set('state', 'other'));
    await expectRefused('stale', (url) => url.searchParams.append('state', 'other'));
    await expectRefused('untrusted', (url) => url.searchParams.set('iss', other.issuer));
    await expectRefused('untrusted', (url) => url.searchParams.delete('iss'));
    await expectRefused('stale', (url) => url.searchParams.set('code', 'other'));
    await expectRefused('denied', (url) => {
      url.searchParams.delete('code');
      url.searchParams.set('error', 'access_denied');
    });
    const visitor = browser();
    const answer = await visitor.comeBack();
    provider.broken = 'silent';
    expect(await visitor.arrive(answer)).toBe(`${REFUSED}away`);
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

  it('binds a sign-in by a cookie that no script and no other site can use (§31.1, §31.2)', async () => {
    const begun = await browser().send('POST', `${node.url}/console/api/oidc`, {});
    expect(begun.headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^sluice_sign_in=\S+; Path=\/console\/api\/oidc; Max-Age=600; HttpOnly; SameSite=Lax$/,
      ),
    ]);
    const { url } = (await begun.json()) as { url: string };
    const { searchParams: asked } = new URL(url);
    expect(asked.get('code_challenge_method')).toBe('S256');
    expect(asked.get('redirect_uri')).toBe(`${node.url}/console/api/oidc/callback`);
    const secrets = ['state', 'nonce', 'code_challenge'].map((name) => asked.get(name));
    expect(new Set(secrets).size).toBe(3);
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

  // Last: the node has another provider afterwards.
  it('another issuer is another person, whatever address it tells; without passwords the link stays (§31.7, §31.10)', async () => {
    const { email, sub } = arrives();
    await invite(email, 'viewer');
    const { account } = await (await enters()).session();
    await node.stop();
    node = await node.restart({ OIDC_ISSUER: node.url });
    const nowhere = 'No sign-in provider answers at OIDC_ISSUER: tell the operator';
    expectError(await begin(), 503, nowhere);
    await node.stop();
    node = await node.restart({ ...other.settings(), ...NO_ROLES, PASSWORD_SIGN_IN: 'off' });
    expect((await browser().session()).signIn).toMatchObject({ password: false });
    other.present = { sub, email, email_verified: true };
    // The first secret is refused; from then on it is sent where this provider wants it.
    for (const requests of [2, 3]) {
      expect(await browser().signIn()).toBe('/console/join');
      expect(other.requests.get('/token')).toBe(requests);
    }
    const person = new Person(node, email);
    const off = 'Passwords are off here: sign in with the provider';
    expectError(await person.signIn(), 403, off);
    const made = await admin(node, 'POST', 'accounts/reset-password', { email });
    const token = tokenIn(made.body?.url);
    const used = await person.call('POST', 'password-reset', { token, password: PASSWORD });
    expect([used.status, used.body?.account]).toMatchObject([200, { id: account?.id }]);
    expectError(await person.elsewhere().signIn(), 403, off);
  });
});
