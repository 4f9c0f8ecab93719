// Tests the demand of an organization for a second factor, and the links for people who lost their passkeys,
// on a service that is reached by https.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { Authenticator } from '../support/authenticator.ts';
import { describeOnBackends } from '../support/backend.ts';
import { openFeed } from '../support/live-feed.ts';
import type { ServingNode } from '../support/node.ts';
import { member, PASSWORD, type Person, tokenIn } from '../support/person.ts';
import { type Answer, admin, createTenant, manage, send, type Tenant } from '../support/tenant.ts';

const ORIGIN = 'https://sluice.example.com';
const NEEDED = { error: 'This organization asks for a second factor' };
const FIRST = { error: 'Sign in with a passkey or single sign-on first' };
const GONE = { error: 'Unknown or expired link' };

type Options = { readonly challenge: string };

describeOnBackends('a second factor', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start({ PUBLIC_URL: ORIGIN });
  });
  afterAll(() => node?.dispose());

  const optionsOf = ({ body }: Answer) => body?.options as Options;

  async function newPerson(org: string, role = 'owner'): Promise<Person> {
    const person = await member(node, org, role);
    person.origin = ORIGIN;
    return person;
  }

  async function addPasskey(person: Person): Promise<Authenticator> {
    const authenticator = new Authenticator(ORIGIN);
    const asked = await person.call('POST', 'account/passkeys/options', {});
    const credential = authenticator.make(optionsOf(asked));
    const added = await person.call('POST', 'account/passkeys', { name: 'Key', credential });
    expect(added.status, added.text).toBe(201);
    return authenticator;
  }

  async function signInAlone(person: Person, authenticator: Authenticator): Promise<Answer> {
    const options = optionsOf(await person.call('POST', 'session/passkey/options', {}));
    const credential = authenticator.show(options);
    return person.call('POST', 'session/passkey', { credential });
  }

  const demand = (person: Person, org: string, requireSecondFactor: boolean) =>
    person.call('PATCH', 'organizations', { org, requireSecondFactor });

  /** An organization that asks for a second factor, with its owner and the owner's passkey. */
  async function demanding() {
    const tenant = await createTenant(node);
    const owner = await newPerson(tenant.org);
    const authenticator = await addPasskey(owner);
    const asked = await demand(owner, tenant.org, true);
    expect(asked.status, asked.text).toBe(200);
    return { tenant, owner, authenticator };
  }

  const calls = ({ org, app }: Tenant): readonly (readonly [string, string, unknown])[] => [
    ['GET', `apps?org=${org}`, undefined],
    ['GET', `members?org=${org}`, undefined],
    ['GET', `audit?org=${org}`, undefined],
    ['GET', `releases?app=${app}&channel=stable`, undefined],
    ['POST', 'stop', { app }],
    ['POST', 'keys', { org, name: 'ci' }],
    ['PATCH', 'organizations', { org, requireSecondFactor: false }],
  ];

  it('of a service that is reached by https the session is Secure, and so are the links', async () => {
    const { org } = await createTenant(node);
    const person = await newPerson(org);
    const [cookie] = (await person.signIn()).headers.getSetCookie();
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict; Secure$/);
    const invitation = { org, email: 'b@example.com', role: 'viewer' };
    const invited = await person.call('POST', 'invitations', invitation);
    expect(invited.body?.url).toMatch(
      /^https:\/\/sluice\.example\.com\/console\/invitation\/[\w-]{43}$/,
    );
  });

  it('is asked for by an owner whose session has it, and by no other one', async () => {
    const { org } = await createTenant(node);
    const owner = await newPerson(org);
    const refused = await demand(owner, org, true);
    expect([refused.status, refused.body]).toEqual([403, FIRST]);
    const publisher = await newPerson(org, 'publisher');
    await addPasskey(publisher);
    expect((await demand(publisher, org, true)).body).toEqual({
      error: 'Your role may not do this',
    });
    await addPasskey(owner);
    const asked = await demand(owner, org, true);
    expect([asked.status, asked.body]).toEqual([
      200,
      { id: org, name: 'Test', requireSecondFactor: true },
    ]);
    expect((await owner.call('GET', 'session')).body?.memberships).toEqual([
      { organization: { id: org, name: 'Test', requireSecondFactor: true }, role: 'owner' },
    ]);
    const query = `audit?org=${org}&action=organization.update`;
    expect((await owner.call('GET', query)).body?.entries).toMatchObject([
      {
        actor: `account:${owner.email}`,
        before: { requireSecondFactor: false },
        after: { requireSecondFactor: true },
      },
    ]);
  });

  it.each([
    [{ requireSecondFactor: 'yes' }, /^requireSecondFactor: /],
    [{}, /^name: Required/],
    [{ requireSecondFactor: true, more: 1 }, /^more: /],
  ])('with %j is 400 that names the field', async (body, message) => {
    const { tenant, owner } = await demanding();
    const answer = await owner.call('PATCH', 'organizations', { org: tenant.org, ...body });
    expect(answer.status).toBe(400);
    expect(String(answer.body?.error)).toMatch(message);
  });

  it('gives a session without it no rights there, whatever its role, and tells it so', async () => {
    const { tenant } = await demanding();
    const other = await createTenant(node);
    const person = await newPerson(tenant.org);
    await member(node, other.org, 'viewer', 'A Person', person.email);
    for (const [method, path, body] of calls(tenant)) {
      const answer = await person.call(method, path, body);
      expect([answer.status, answer.body], `${method} ${path}`).toEqual([403, NEEDED]);
    }
    const { memberships } = (await person.call('GET', 'session')).body as {
      memberships: { organization: { id: string }; needsSecondFactor?: boolean }[];
    };
    const weak = memberships.filter((each) => each.needsSecondFactor);
    expect(weak.map(({ organization }) => organization.id)).toEqual([tenant.org]);
    expect((await person.call('GET', `apps?org=${other.org}`)).status).toBe(200);
  });

  it('is there once the session has added a passkey, or was opened with one', async () => {
    const { tenant } = await demanding();
    const person = await newPerson(tenant.org, 'viewer');
    const weak = await person.elsewhereSignedIn();
    const authenticator = await addPasskey(person);
    const path = `apps?org=${tenant.org}`;
    expect((await person.call('GET', path)).status).toBe(200);
    expect((await weak.call('GET', path)).body).toEqual(NEEDED);
    const alone = person.elsewhere();
    expect((await signInAlone(alone, authenticator)).status).toBe(200);
    expect((await alone.call('GET', path)).status).toBe(200);
    const both = person.elsewhere();
    const half = await both.signIn();
    const credential = authenticator.show(optionsOf(half));
    expect((await both.call('POST', 'session/passkey', { credential })).status).toBe(200);
    expect((await both.call('GET', path)).status).toBe(200);
  });

  it('is nothing to strangers: the organization is unknown to them, as before', async () => {
    const { tenant } = await demanding();
    const stranger = await newPerson((await createTenant(node)).org);
    const answer = await stranger.call('GET', `apps?org=${tenant.org}`);
    expect([answer.status, answer.body]).toEqual([404, { error: 'Unknown organization' }]);
  });

  it('does not concern keys and the operator', async () => {
    const { tenant } = await demanding();
    const release = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    expect((await manage(node, tenant, 'POST', 'releases', release)).status).toBe(201);
    expect((await admin(node, 'GET', `apps?org=${tenant.org}`)).status).toBe(200);
    const off = { org: tenant.org, requireSecondFactor: false };
    const { body } = await admin(node, 'PATCH', 'organizations', off);
    expect(body).toEqual({ id: tenant.org, name: 'Test', requireSecondFactor: false });
  });

  it('is asked for while a live feed is open: the feed of a weak session ends', async () => {
    const tenant = await createTenant(node);
    const owner = await newPerson(tenant.org);
    const weak = await newPerson(tenant.org, 'viewer');
    const feed = await openFeed(weak, tenant.app);
    if (typeof feed === 'number') throw new Error(`no feed: ${feed}`);
    await addPasskey(owner);
    await demand(owner, tenant.org, true);
    await feed.over;
    expect(feed.events.at(-1)).toEqual({ name: 'end', data: { reason: 'no-access' } });
  });

  it('renaming keeps the demand, and it is turned off by whom it lets in', async () => {
    const { tenant, owner } = await demanding();
    const renamed = await owner.call('PATCH', 'organizations', { org: tenant.org, name: 'New' });
    expect(renamed.body).toEqual({ id: tenant.org, name: 'New', requireSecondFactor: true });
    const off = await demand(owner, tenant.org, false);
    expect(off.body).toEqual({ id: tenant.org, name: 'New', requireSecondFactor: false });
    const person = await newPerson(tenant.org, 'viewer');
    expect((await person.call('GET', `apps?org=${tenant.org}`)).status).toBe(200);
  });

  // Links for lost passkeys.

  const use = (token: string, person: Person, password = PASSWORD) =>
    person.call('POST', 'recovery', { token, password });

  it('that is lost is recovered by an owner: a link that works once, with the password', async () => {
    const { tenant, owner } = await demanding();
    const person = await newPerson(tenant.org, 'viewer');
    const authenticator = await addPasskey(person);
    const made = await owner.call('POST', 'members/recover', {
      org: tenant.org,
      account: person.accountId,
    });
    expect([made.status, Object.keys(made.body ?? {})]).toEqual([201, ['url', 'expiresAt']]);
    expect(made.body?.url).toMatch(
      /^https:\/\/sluice\.example\.com\/console\/recovery\/[\w-]{43}$/,
    );
    const token = tokenIn(made.body?.url);
    const shown = await send(node, 'GET', `/console/api/recovery?token=${token}`);
    expect(shown.body).toEqual({ email: person.email });
    const other = person.elsewhere();
    const wrong = await use(token, other, 'not the password');
    expect([wrong.status, wrong.body]).toEqual([400, { error: 'password: Wrong password' }]);
    const copies = Array.from({ length: 3 }, () => person.elsewhere());
    const answers = await Promise.all(copies.map((each) => use(token, each)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 404, 404]);
    expect((await use(token, other)).body).toEqual(GONE);
    // The passkeys and the sessions are gone, and a password alone has no rights there.
    expect((await person.call('GET', `apps?org=${tenant.org}`)).status).toBe(401);
    expect((await signInAlone(other, authenticator)).status).toBe(401);
    const [winner] = copies.filter((each) => each.token !== undefined);
    if (winner === undefined) throw new Error('nobody recovered');
    expect((await winner.call('GET', `apps?org=${tenant.org}`)).body).toEqual(NEEDED);
    await addPasskey(winner);
    expect((await winner.call('GET', `apps?org=${tenant.org}`)).status).toBe(200);
    const query = `audit?org=${tenant.org}&action=account&subject=${person.email}`;
    const { body, text } = await admin(node, 'GET', query);
    expect(body?.entries).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ action: 'account.recover', actor: `account:${owner.email}` }),
        expect.objectContaining({ action: 'account.use-recovery', after: { removed: 1 } }),
      ]),
    );
    expect(text).not.toContain(token);
  });

  it('that is lost is recovered by the operator as well; an earlier link ends', async () => {
    const { tenant } = await demanding();
    const person = await newPerson(tenant.org);
    await addPasskey(person);
    const make = () => admin(node, 'POST', 'accounts/recover', { email: person.email });
    const [first, second] = [await make(), await make()];
    expect(second.status).toBe(201);
    const other = person.elsewhere();
    expect((await use(tokenIn(first.body?.url), other)).body).toEqual(GONE);
    expect((await use(tokenIn(second.body?.url), other)).body?.state).toBe('signedIn');
  });

  it('is recovered by no publisher, no stranger, and for no member of another organization', async () => {
    const { tenant, owner } = await demanding();
    const person = await newPerson(tenant.org, 'publisher');
    await addPasskey(person);
    const body = { org: tenant.org, account: owner.accountId };
    expect((await person.call('POST', 'members/recover', body)).status).toBe(403);
    const { tenant: other, owner: foreign } = await demanding();
    expect((await foreign.call('POST', 'members/recover', body)).status).toBe(404);
    const theirs = { org: other.org, account: owner.accountId };
    const refused = await foreign.call('POST', 'members/recover', theirs);
    expect([refused.status, refused.body]).toEqual([404, { error: 'Unknown member' }]);
    const path = '/console/api/accounts/recover';
    expect((await send(node, 'POST', path, { body: { email: owner.email } })).status).toBe(401);
    const unknown = await admin(node, 'POST', 'accounts/recover', { email: 'nobody@example.com' });
    expect([unknown.status, unknown.body]).toEqual([404, { error: 'Unknown account' }]);
    for (const wrong of ['A'.repeat(43), 'x', '']) {
      expect((await use(wrong || 'y', owner.elsewhere())).body).toEqual(GONE);
    }
  });
});
