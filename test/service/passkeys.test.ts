// Tests passkeys on a service that is reached by https: adding, naming and removing them, signing in with
// one alone or after the password, what is refused of stolen, copied and replayed ones, the demand of an
// organization for a second factor, and the links for people who lost their passkeys. That a demand takes
// every right is in console-rights.test.ts; calls at once are in test/store/ledger/passkey-contract.ts.

import { beforeAll, describe, expect, it } from 'vitest';
import { Authenticator } from '../support/authenticator.ts';
import { describeOnBackends, suiteNode } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { openFeed } from '../support/live-feed.ts';
import { member, PASSWORD, Person, tokenIn } from '../support/person.ts';
import { type Answer, admin, createTenant, randomId, send } from '../support/tenant.ts';

const ORIGIN = 'https://sluice.example.com';
const REFUSED = 'This passkey was not accepted';
const STALE = 'This was asked too long ago, or was answered already: try again';
const NEEDED = 'This organization asks for a second factor';
const FIRST = 'Sign in with a passkey or single sign-on first';
const GONE = 'Unknown or expired link';

type Options = { readonly challenge: string };
type Made = { readonly authenticator: Authenticator; readonly answer: Answer };
/** A person who is signed in, with a passkey and its id. */
type Holder = {
  readonly person: Person;
  readonly authenticator: Authenticator;
  readonly id: string;
};

const optionsOf = ({ body }: Answer) => body?.options as Options;

async function add(
  person: Person,
  authenticator = new Authenticator(ORIGIN),
  lies = {},
): Promise<Made> {
  const asked = await person.call('POST', 'account/passkeys/options', {});
  expect(asked.status, asked.text).toBe(200);
  const credential = authenticator.make(optionsOf(asked), lies);
  const answer = await person.call('POST', 'account/passkeys', { name: 'Key', credential });
  return { authenticator, answer };
}

const ask = async (person: Person) =>
  optionsOf(await person.call('POST', 'session/passkey/options', {}));

const show = (person: Person, authenticator: Authenticator, options: Options, lies = {}) =>
  person.call('POST', 'session/passkey', { credential: authenticator.show(options, lies) });

/** Shows a passkey at another browser of its person; returns that browser, and the answer. */
async function showElsewhere({ person, authenticator }: Omit<Holder, 'id'>, lies = {}) {
  const other = person.elsewhere();
  return { other, answer: await show(other, authenticator, await ask(other), lies) };
}

describeOnBackends('passkeys', (backend) => {
  const node = suiteNode(() => backend.start({ PUBLIC_URL: ORIGIN, TRUST_PROXY: '1' }));
  let org: string;
  beforeAll(async () => {
    ({ org } = await createTenant(node));
  });

  async function newPerson(role = 'viewer', of = org): Promise<Person> {
    const person = await member(node, of, role);
    person.origin = ORIGIN;
    return person;
  }

  async function holder(role = 'viewer', of = org): Promise<Holder> {
    const person = await newPerson(role, of);
    const { authenticator, answer } = await add(person);
    expect(answer.status, answer.text).toBe(201);
    return { person, authenticator, id: String(answer.body?.id) };
  }

  const apps = (person: Person, of = org) => person.call('GET', `apps?org=${of}`);
  const demand = (person: Person, of: string, requireSecondFactor = true) =>
    person.call('PATCH', 'organizations', { org: of, requireSecondFactor });

  async function actionsOf({ email }: Person): Promise<string[]> {
    const query = `audit?org=${org}&action=account&subject=${email}`;
    const entries = (await admin(node, 'GET', query)).body?.entries as { action: string }[];
    return entries.map(({ action }) => action);
  }

  it('are added with a name, listed, renamed and removed, which ends the other sessions; the audit has it', async () => {
    const held = await holder();
    const { person, id } = held;
    expect((await person.call('GET', 'account/passkeys')).body).toEqual({
      passkeys: [{ id, name: 'Key', createdAt: expect.stringMatching(/Z$/), lastUsedAt: null }],
    });
    const renamed = await person.call('PATCH', `account/passkeys/${id}`, { name: 'Blue <b>' });
    expect([renamed.status, renamed.body?.name]).toEqual([200, 'Blue <b>']);
    const { other } = await showElsewhere(held);
    const removed = await person.call('DELETE', `account/passkeys/${id}`);
    expect([removed.status, removed.body]).toEqual([200, {}]);
    expect((await person.call('GET', 'account/passkeys')).body).toEqual({ passkeys: [] });
    expect([(await apps(person)).status, (await apps(other)).status]).toEqual([200, 401]);
    expectError((await showElsewhere(held)).answer, 401, REFUSED);
    expect(await actionsOf(person)).toEqual(
      expect.arrayContaining(['account.add-passkey', 'account.remove-passkey']),
    );
  });

  it('sign in alone, again and again; the session is Secure, and says how it was opened', async () => {
    const person = await newPerson();
    const uncounted = new Authenticator(ORIGIN, { counter: null });
    const held = { person, ...(await add(person, uncounted)) };
    for (let count = 0; count < 2; count++) {
      const { other, answer } = await showElsewhere(held);
      expect([answer.status, answer.body]).toMatchObject([
        ...[200, { state: 'signedIn', account: { email: person.email } }],
      ]);
      expect(answer.headers.getSetCookie()[0]).toMatch(/; HttpOnly; SameSite=Strict; Secure$/);
      expect((await apps(other)).status).toBe(200);
      const { body } = await other.call('GET', 'account/sessions');
      expect(body?.sessions).toContainEqual(
        expect.objectContaining({ current: true, openedBy: 'passkey', secondFactor: true }),
      );
    }
    const { body } = await person.call('GET', 'account/passkeys');
    expect(body?.passkeys).toMatchObject([{ lastUsedAt: expect.stringMatching(/Z$/) }]);
  });

  it('follow the password: it opens nothing by itself, and the passkey is of that account', async () => {
    const { person, authenticator } = await holder();
    const other = person.elsewhere();
    const half = await other.signIn();
    expect([half.status, half.body?.state, other.token]).toEqual([200, 'secondFactor', undefined]);
    expect((await apps(other)).status).toBe(401);
    const { authenticator: foreign } = await holder();
    expectError(await show(other, foreign, optionsOf(half)), 401, REFUSED);
    const answer = await show(other, authenticator, optionsOf(half));
    expect([answer.status, answer.body?.state]).toEqual([200, 'signedIn']);
    const { body } = await other.call('GET', 'account/sessions');
    expect(body?.sessions).toContainEqual(
      expect.objectContaining({ current: true, openedBy: 'password', secondFactor: true }),
    );
  });

  it('are asked for after a new password of a link, and of an invitation', async () => {
    const { person, authenticator } = await holder();
    const made = await admin(node, 'POST', 'accounts/reset-password', { email: person.email });
    const other = person.elsewhere();
    const password = 'a new and long password';
    const reset = { token: tokenIn(made.body?.url), password };
    const half = await other.call('POST', 'password-reset', reset);
    expect([half.body?.state, other.token]).toEqual(['secondFactor', undefined]);
    expect((await show(other, authenticator, optionsOf(half))).status).toBe(200);
    const second = await createTenant(node);
    const invitation = { org: second.org, email: person.email, role: 'owner' };
    const invited = await admin(node, 'POST', 'invitations', invitation);
    const joining = { token: tokenIn(invited.body?.url), name: 'X', password };
    const joined = await person.elsewhere().call('POST', 'invitation', joining);
    expect(joined.body?.state).toBe('secondFactor');
  });

  const LIES: readonly (readonly [string, object])[] = [
    ['another origin', { origin: 'https://evil.example.com' }],
    ['another relying party', { rpId: 'evil.example.com' }],
    ['another challenge', { challenge: randomId() }],
    ['no verified person', { isUnverified: true }],
  ];

  it('open nothing with a lie, and are not added with one, nor to a second account', async () => {
    const held = await holder();
    const userHandle = Buffer.from('acc_x').toString('base64url');
    const ofAnother = ['the account of somebody else', { userHandle }] as const;
    const asNew = ['the answer to a question for a new one', { type: 'webauthn.create' }] as const;
    for (const [what, lies] of [...LIES, ofAnother, asNew]) {
      const { other, answer } = await showElsewhere(held, lies);
      const told = [what, answer.status, answer.body?.error, other.token];
      expect(told).toEqual([what, 401, REFUSED, undefined]);
    }
    const person = await newPerson();
    const asOld = ['the answer to a question for an old one', { type: 'webauthn.get' }] as const;
    for (const [what, lies] of [...LIES, asOld]) {
      const { answer } = await add(person, new Authenticator(ORIGIN), lies);
      const told = [what, answer.status, answer.body?.error];
      expect(told).toEqual([what, 400, `credential: ${REFUSED}`]);
    }
    const { credentialId } = held.authenticator;
    const { answer } = await add(person, new Authenticator(ORIGIN, { credentialId }));
    expectError(answer, 409, 'This passkey is registered already');
  });

  it('that are no keys at all are refused, never a fault, and so is a challenge that the service has not signed', async () => {
    const { person, authenticator } = await holder();
    for (const each of ['AAAA', Buffer.from('{}').toString('base64url'), 'not base64 !', '////']) {
      for (const field of ['clientDataJSON', 'authenticatorData', 'signature']) {
        const other = person.elsewhere();
        const shown = authenticator.show(await ask(other));
        const credential = { ...shown, response: { ...shown.response, [field]: each } };
        // From an address of its own each time, so that it is no try too many.
        const answer = await other.call('POST', 'session/passkey', { credential });
        expect(answer.status).toBe(401);
      }
    }
    for (const challenge of ['', 'x', 'a.b', `${'A'.repeat(2000)}.x`, 'e30.AAAA', 'e30.e30.e30']) {
      const other = person.elsewhere();
      const options = await ask(other);
      other.challenge = challenge;
      expectError(await show(other, authenticator, options), 409, STALE);
    }
  });

  it('answer a question once, only in the browser that was asked, and for no page of another site', async () => {
    const { person, authenticator } = await holder();
    authenticator.counter = null;
    const other = person.elsewhere();
    const asked = await other.call('POST', 'session/passkey/options', {});
    expect(asked.headers.getSetCookie()[0]).toMatch(
      /^sluice_challenge=[\w.-]+; Path=\/console; Max-Age=300; HttpOnly; SameSite=Strict; Secure$/,
    );
    const options = { rpId: 'sluice.example.com', userVerification: 'required' };
    expect(asked.body?.options).toMatchObject(options);
    const credential = authenticator.show(optionsOf(asked), { counter: 9 });
    const thief = person.elsewhere();
    expectError(await thief.call('POST', 'session/passkey', { credential }), 409, STALE);
    await ask(thief);
    expectError(await thief.call('POST', 'session/passkey', { credential }), 401, REFUSED);
    const { challenge } = other;
    for (const origin of ['https://evil.example.com', undefined]) {
      other.origin = origin;
      expect((await other.call('POST', 'session/passkey', { credential })).status).toBe(403);
      expect((await other.call('POST', 'session/passkey/options', {})).status).toBe(403);
    }
    for (const status of [200, 409]) {
      const copy = person.elsewhere();
      copy.challenge = challenge;
      expect((await copy.call('POST', 'session/passkey', { credential })).status).toBe(status);
    }
  });

  it('with a counter that went back are copies: refused, and in the audit', async () => {
    const held = await holder();
    expect((await showElsewhere(held, { counter: 7 })).answer.status).toBe(200);
    for (const counter of [7, 6, 0]) {
      const { answer, other } = await showElsewhere(held, { counter });
      expectError(answer, 401, REFUSED);
      expect(other.token).toBeUndefined();
    }
    const refused = (await actionsOf(held.person)).filter((each) =>
      each.endsWith('refuse-passkey'),
    );
    expect(refused).toHaveLength(3);
    expect((await showElsewhere(held, { counter: 8 })).answer.status).toBe(200);
  });

  it('are the business of their person: ids of others are unknown', async () => {
    const { person, id } = await holder();
    const { person: other } = await holder('owner');
    for (const each of [id, 'nobody', 'nul%00', "quote'--"]) {
      const renamed = await other.call('PATCH', `account/passkeys/${each}`, { name: 'Mine' });
      expectError(renamed, 404, 'Unknown passkey');
      expect((await other.call('DELETE', `account/passkeys/${each}`)).status).toBe(404);
    }
    expect((await person.call('GET', 'account/passkeys')).body?.passkeys).toHaveLength(1);
  });

  it('are not added or removed by a session that a password alone opened, but for the first; at most twenty', async () => {
    const person = await newPerson();
    const weak = await person.elsewhereSignedIn();
    const { answer } = await add(person);
    expectError(await weak.call('POST', 'account/passkeys/options', {}), 403, FIRST);
    const path = `account/passkeys/${answer.body?.id}`;
    expectError(await weak.call('DELETE', path), 403, FIRST);
    // The session that added it has shown it.
    for (let count = 1; count < 20; count++) expect((await add(person)).answer.status).toBe(201);
    const refused = await person.call('POST', 'account/passkeys/options', {});
    expectError(refused, 409, 'Too many passkeys: remove some');
  });

  it.each([
    [{}, /^credential: /],
    [{ credential: 'x' }, /^credential/],
    [{ credential: { id: 'x', rawId: 'x', type: 'password', response: {} } }, /^credential\.type/],
    [{ credential: { id: 'x'.repeat(9000) } }, /^credential/],
  ])('with %j is 400 that names the field', async (body, message) => {
    const person = await newPerson();
    const told = expect.stringMatching(message);
    expectError(await person.call('POST', 'session/passkey', body), 400, told);
    const named = { name: 'Key', ...body };
    expectError(await person.call('POST', 'account/passkeys', named), 400, told);
  });

  it('count as tries of the account: eleven wrong ones from an address are too many', async () => {
    const { person, authenticator } = await holder();
    const statuses: number[] = [];
    for (let count = 0; count < 11; count++) {
      const other = person.elsewhere();
      const credential = authenticator.show(await ask(other), { origin: 'x' });
      const cookie = `sluice_challenge=${other.challenge}`;
      const headers = { origin: ORIGIN, cookie, 'x-forwarded-for': '203.0.113.7' };
      const path = '/console/api/session/passkey';
      statuses.push((await send(node, 'POST', path, { body: { credential }, headers })).status);
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
    await eventually('the failures are told', async () =>
      (await actionsOf(person)).includes('account.fail-sign-in'),
    );
  });

  it('of a claimed account are not those of the one who made it', async () => {
    const held = await holder();
    const { accountId: account, email } = held.person;
    expect((await admin(node, 'DELETE', 'members', { org, account })).status).toBe(200);
    const invited = await admin(node, 'POST', 'invitations', { org, email, role: 'owner' });
    expect(invited.body?.url).toMatch(
      /^https:\/\/sluice\.example\.com\/console\/invitation\/[\w-]{43}$/,
    );
    const body = { token: tokenIn(invited.body?.url), name: 'New', password: `${PASSWORD} 2` };
    const owner = new Person(node, email);
    owner.origin = ORIGIN;
    expect((await owner.call('POST', 'invitation', body)).body?.state).toBe('signedIn');
    expectError((await showElsewhere(held)).answer, 401, REFUSED);
  });

  describe('a second factor', () => {
    /** An organization that asks for a second factor, with its owner. */
    async function demanding() {
      const tenant = await createTenant(node);
      const { person: owner } = await holder('owner', tenant.org);
      expect((await demand(owner, tenant.org)).status).toBe(200);
      return { tenant, owner };
    }

    it('is asked for by an owner whose session has it, ends weak feeds, stays with a new name, and is turned off', async () => {
      const tenant = await createTenant(node);
      const owner = await newPerson('owner', tenant.org);
      const weak = await newPerson('viewer', tenant.org);
      const feed = await openFeed(weak, tenant.app);
      if (typeof feed === 'number') throw new Error(`no feed: ${feed}`);
      expectError(await demand(owner, tenant.org), 403, FIRST);
      for (const [body, message] of [
        [{ requireSecondFactor: 'yes' }, /^requireSecondFactor: /],
        [{}, /^name: Required/],
      ] as const) {
        const answer = await owner.call('PATCH', 'organizations', { org: tenant.org, ...body });
        expectError(answer, 400, expect.stringMatching(message));
      }
      await add(owner);
      const asked = await demand(owner, tenant.org);
      const organization = { id: tenant.org, name: 'Test', requireSecondFactor: true };
      expect([asked.status, asked.body]).toEqual([200, organization]);
      const { body } = await owner.call('GET', 'session');
      expect(body?.memberships).toEqual([{ organization, role: 'owner' }]);
      await feed.over;
      expect(feed.events.at(-1)).toEqual({ name: 'end', data: { reason: 'no-access' } });
      const renamed = await owner.call('PATCH', 'organizations', { org: tenant.org, name: 'New' });
      expect(renamed.body).toEqual({ ...organization, name: 'New' });
      expectError(await apps(weak, tenant.org), 403, NEEDED);
      expect((await demand(owner, tenant.org, false)).status).toBe(200);
      expect((await apps(weak, tenant.org)).status).toBe(200);
      const query = `audit?org=${tenant.org}&action=organization.update`;
      const { body: audit } = await owner.call('GET', query);
      expect(((audit?.entries ?? []) as unknown[]).at(-1)).toMatchObject({
        ...{ actor: `account:${owner.email}`, before: { requireSecondFactor: false } },
        after: { requireSecondFactor: true },
      });
    });

    it('is needed there alone, which the session says, and there once it has added a passkey or was opened with one', async () => {
      const { tenant } = await demanding();
      const { org: elsewhere } = await createTenant(node);
      const person = await newPerson('viewer', tenant.org);
      await member(node, elsewhere, 'viewer', 'A Person', person.email);
      expectError(await apps(person, tenant.org), 403, NEEDED);
      expect((await apps(person, elsewhere)).status).toBe(200);
      const { memberships } = (await person.call('GET', 'session')).body as {
        memberships: { organization: { id: string }; needsSecondFactor?: boolean }[];
      };
      const needing = memberships.filter((each) => each.needsSecondFactor);
      expect(needing.map(({ organization }) => organization.id)).toEqual([tenant.org]);
      const weak = await person.elsewhereSignedIn();
      const { authenticator } = await add(person);
      expect((await apps(person, tenant.org)).status).toBe(200);
      expectError(await apps(weak, tenant.org), 403, NEEDED);
      const both = person.elsewhere();
      await show(both, authenticator, optionsOf(await both.signIn()));
      for (const each of [both, (await showElsewhere({ person, authenticator })).other]) {
        expect((await apps(each, tenant.org)).status).toBe(200);
      }
    });

    const use = (token: string, person: Person, password = PASSWORD) =>
      person.call('POST', 'recovery', { token, password });

    it('that is lost is recovered by an owner: a link that works once, with the password', async () => {
      const { tenant, owner } = await demanding();
      const held = await holder('viewer', tenant.org);
      const { person } = held;
      const whom = { org: tenant.org, account: person.accountId };
      const made = await owner.call('POST', 'members/recover', whom);
      expect([made.status, Object.keys(made.body ?? {})]).toEqual([201, ['url', 'expiresAt']]);
      expect(made.body?.url).toMatch(
        /^https:\/\/sluice\.example\.com\/console\/recovery\/[\w-]{43}$/,
      );
      const token = tokenIn(made.body?.url);
      const shown = await send(node, 'GET', `/console/api/recovery?token=${token}`);
      expect(shown.body).toEqual({ email: person.email });
      const other = person.elsewhere();
      expectError(await use(token, other, 'not it'), 400, 'password: Wrong password');
      const winner = person.elsewhere();
      expect((await use(token, winner)).status).toBe(200);
      for (const each of [token, 'A'.repeat(43), 'x']) {
        expectError(await use(each, other), 404, GONE);
      }
      // The passkeys and the sessions are gone, and a password alone has no rights there.
      expect((await apps(person, tenant.org)).status).toBe(401);
      expectError((await showElsewhere(held)).answer, 401, REFUSED);
      expectError(await apps(winner, tenant.org), 403, NEEDED);
      const query = `audit?org=${tenant.org}&action=account&subject=${person.email}`;
      const { body, text } = await admin(node, 'GET', query);
      for (const entry of [
        { action: 'account.recover', actor: `account:${owner.email}` },
        { action: 'account.use-recovery', after: { removed: 1 } },
      ]) {
        expect(body?.entries).toContainEqual(expect.objectContaining(entry));
      }
      expect(text).not.toContain(token);
    });

    it('that is lost is recovered by the operator as well; an earlier link ends', async () => {
      const { person } = await holder();
      const make = (email = person.email) => admin(node, 'POST', 'accounts/recover', { email });
      const [first, second] = [await make(), await make()];
      expect(second.status).toBe(201);
      const other = person.elsewhere();
      expectError(await use(tokenIn(first.body?.url), other), 404, GONE);
      expect((await use(tokenIn(second.body?.url), other)).body?.state).toBe('signedIn');
      expectError(await make('nobody@example.com'), 404, 'Unknown account');
    });
  });
});
