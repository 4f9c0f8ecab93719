// Tests the first sign-in with a provider on a fresh service (§31.13): who becomes an owner, and that nobody
// is left without a way in, whoever comes first and whether the provider is there or not.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { freePort } from '../support/free-port.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { OidcBrowser, startOidcProvider, type TestProvider } from '../support/oidc-provider.ts';
import { Person } from '../support/person.ts';
import { admin, randomId } from '../support/tenant.ts';

const ROLES = { admins: { organization: 'Acme', role: 'owner' } };
const SET_UP = { token: ADMIN_TOKEN, organization: 'Acme' };

describeOnBackends('first sign-in with OpenID Connect', (backend) => {
  let provider: TestProvider;
  let port: number;
  beforeAll(async () => {
    port = await freePort();
    provider = await startOidcProvider([`http://127.0.0.1:${port}`]);
  });
  afterAll(() => provider?.stop());

  /** Runs work on a service that nobody has used. */
  async function onFresh(settings: object, work: (node: ServingNode) => Promise<void>) {
    const node = await backend.start({
      PORT: String(port),
      ...provider.settings(ROLES),
      ...settings,
    });
    try {
      await work(node);
    } finally {
      provider.broken = undefined;
      await node.dispose();
    }
  }

  /** Signs in a new person of the provider, in these groups. */
  async function arrive(node: ServingNode, groups: readonly string[] = []): Promise<OidcBrowser> {
    const sub = randomId();
    const email = `${sub}@example.com`;
    provider.present = { sub, email, email_verified: true, name: 'Olga', groups };
    const visitor = new OidcBrowser(node);
    expect(await visitor.signIn()).toBe('/console');
    return visitor;
  }

  /** Lists who is in the organizations, as the operator sees it. */
  async function membersOf(node: ServingNode): Promise<readonly string[]> {
    const session = await admin(node, 'GET', 'session');
    const held = (session.body?.memberships ?? []) as { organization: { id: string } }[];
    const lists = held.map(async ({ organization }) => {
      const { body } = await admin(node, 'GET', `members?org=${organization.id}`);
      const members = (body?.members ?? []) as { account: { email: string }; role: string }[];
      return members.map(({ account, role }) => `${account.email} is ${role}`);
    });
    return (await Promise.all(lists)).flat();
  }

  it('a sign-in alone makes nobody an owner, and leaves the set-up open', () =>
    onFresh({}, async (node) => {
      const signIn = { password: true, oidc: { name: 'Example ID' } };
      provider.broken = 500;
      expect((await new Person(node).call('POST', 'oidc', {})).status).toBe(503);
      expect(await new OidcBrowser(node).session()).toEqual({ state: 'setup', signIn });
      provider.broken = undefined;
      for (const groups of [[], ['admins']]) {
        const visitor = await arrive(node, groups);
        expect(await visitor.session()).toMatchObject({ memberships: [], awaitsSetUp: true });
      }
      expect(await new OidcBrowser(node).session()).toEqual({ state: 'setup', signIn });
      expect((await admin(node, 'GET', 'session')).body).toMatchObject({ memberships: [] });
      const person = new Person(node);
      provider.broken = 500;
      expect((await person.setUp('Acme')).status).toBe(201);
      expect(await membersOf(node)).toEqual([`${person.email} is owner`]);
      expect(await new OidcBrowser(node).session()).toEqual({ state: 'signedOut', signIn });
    }));

  it('the admin token makes the first organization for who is signed in, and nothing else does', () =>
    onFresh({ PASSWORD_SIGN_IN: 'off' }, async (node) => {
      const visitor = await arrive(node);
      const { account } = await visitor.session();
      const refused = async (body: object, by = visitor) => {
        const answer = await by.call('POST', 'setup/organization', body);
        return [answer.status, (answer.body as { error?: string }).error];
      };
      expect(await refused(SET_UP, new OidcBrowser(node))).toEqual([401, 'Sign in first']);
      expect(await refused({ ...SET_UP, token: 'wrong' })).toEqual([
        400,
        'token: Not the admin token',
      ]);
      expect(await refused({ ...SET_UP, organization: '' })).toEqual([
        400,
        expect.stringContaining('organization'),
      ]);
      const stranger = new Person(node);
      stranger.token = visitor.cookies.get(`${node.url} sluice_session`);
      stranger.origin = 'https://elsewhere.example';
      expect((await stranger.call('POST', 'setup/organization', SET_UP)).status).toBe(403);
      // With the address of an account, its password would be another way into it.
      const email = account?.email ?? '';
      expect((await new Person(node, email).setUp('Mine')).status).toBe(409);
      const made = await visitor.call('POST', 'setup/organization', SET_UP);
      expect([made.status, made.body]).toEqual([201, { id: expect.any(String), name: 'Acme' }]);
      expect(await visitor.session()).toMatchObject({ memberships: [{ role: 'owner' }] });
      expect(await visitor.session()).not.toHaveProperty('awaitsSetUp');
      expect(await refused(SET_UP)).toEqual([
        409,
        'The service is set up already: ask an owner for an invitation',
      ]);
      const late = await arrive(node);
      expect(await late.session()).not.toHaveProperty('awaitsSetUp');
      expect(await refused(SET_UP, late)).toEqual([409, expect.stringContaining('invitation')]);
      // The name of OIDC_ROLES has an organization now.
      const owner = await arrive(node, ['admins']);
      expect(await owner.session()).toMatchObject({ memberships: [{ role: 'owner' }] });
    }));

  it('of several who set it up at once one does, and owns alone', () =>
    onFresh({}, async (node) => {
      const visitors = [await arrive(node), await arrive(node, ['admins'])];
      const person = new Person(node);
      const answers = await Promise.all([
        ...visitors.map((visitor) => visitor.call('POST', 'setup/organization', SET_UP)),
        person.setUp('Acme', ADMIN_TOKEN),
        new Person(node).setUp('Acme', ADMIN_TOKEN),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
      expect(await membersOf(node)).toHaveLength(1);
      expect((await admin(node, 'GET', 'session')).body?.memberships).toHaveLength(1);
    }));
});
