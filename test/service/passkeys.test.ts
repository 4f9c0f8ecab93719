// Tests passkeys: adding, naming and removing them, signing in with one alone or after the password, and what
// is refused of stolen, copied and replayed ones.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { Authenticator } from '../support/authenticator.ts';
import { describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import type { ServingNode } from '../support/node.ts';
import { member, PASSWORD, Person, tokenIn } from '../support/person.ts';
import { type Answer, admin, createTenant, randomId, send } from '../support/tenant.ts';

const ORIGIN = 'https://sluice.example.com';
const REFUSED = { error: 'This passkey was not accepted' };
const STALE = { error: 'This was asked too long ago, or was answered already: try again' };

type Options = { readonly challenge: string };

describeOnBackends('passkeys', (backend) => {
  let node: ServingNode;
  let org: string;
  beforeAll(async () => {
    node = await backend.start({ PUBLIC_URL: ORIGIN, TRUST_PROXY: '1' });
    ({ org } = await createTenant(node));
  });
  afterAll(() => node?.dispose());

  async function newPerson(role = 'viewer'): Promise<Person> {
    const person = await member(node, org, role);
    person.origin = ORIGIN;
    return person;
  }

  const optionsOf = ({ body }: Answer) => body?.options as Options;

  async function add(
    person: Person,
    authenticator = new Authenticator(ORIGIN),
    lies = {},
  ): Promise<{ authenticator: Authenticator; answer: Answer }> {
    const asked = await person.call('POST', 'account/passkeys/options', {});
    expect(asked.status, asked.text).toBe(200);
    const credential = authenticator.make(optionsOf(asked), lies);
    const answer = await person.call('POST', 'account/passkeys', { name: 'Key', credential });
    return { authenticator, answer };
  }

  /** A person with a passkey, who is signed in. */
  async function holder(role = 'viewer') {
    const person = await newPerson(role);
    const { authenticator, answer } = await add(person);
    expect(answer.status, answer.text).toBe(201);
    return { person, authenticator, id: String(answer.body?.id) };
  }

  const ask = async (person: Person) =>
    optionsOf(await person.call('POST', 'session/passkey/options', {}));

  const show = (person: Person, authenticator: Authenticator, options: Options, lies = {}) =>
    person.call('POST', 'session/passkey', { credential: authenticator.show(options, lies) });

  const apps = async (person: Person) => (await person.call('GET', `apps?org=${org}`)).status;

  async function actionsOf({ email }: Person): Promise<string[]> {
    const query = `audit?org=${org}&action=account&subject=${email}`;
    const entries = (await admin(node, 'GET', query)).body?.entries as { action: string }[];
    return entries.map(({ action }) => action);
  }

  it('are added with a name, listed, renamed and removed; the audit has it', async () => {
    const { person, authenticator, id } = await holder();
    expect((await person.call('GET', 'account/passkeys')).body).toEqual({
      passkeys: [{ id, name: 'Key', createdAt: expect.stringMatching(/Z$/), lastUsedAt: null }],
    });
    const renamed = await person.call('PATCH', `account/passkeys/${id}`, { name: 'Blue <b>' });
    expect([renamed.status, renamed.body?.name]).toEqual([200, 'Blue <b>']);
    const removed = await person.call('DELETE', `account/passkeys/${id}`);
    expect([removed.status, removed.body]).toEqual([200, {}]);
    expect((await person.call('GET', 'account/passkeys')).body).toEqual({ passkeys: [] });
    const other = person.elsewhere();
    expect((await show(other, authenticator, await ask(other))).body).toEqual(REFUSED);
    expect(await actionsOf(person)).toEqual(
      expect.arrayContaining(['account.add-passkey', 'account.remove-passkey']),
    );
  });

  it('sign in alone: no email, no password; the session says how it was opened', async () => {
    const { person, authenticator } = await holder();
    const other = person.elsewhere();
    const answer = await show(other, authenticator, await ask(other));
    expect(answer.status, answer.text).toBe(200);
    expect(answer.body).toMatchObject({ state: 'signedIn', account: { email: person.email } });
    expect(await apps(other)).toBe(200);
    const { body } = await other.call('GET', 'account/sessions');
    expect(body?.sessions).toContainEqual(
      expect.objectContaining({ current: true, openedBy: 'passkey', secondFactor: true }),
    );
    const list = (await other.call('GET', 'account/passkeys')).body?.passkeys;
    expect(list).toMatchObject([{ lastUsedAt: expect.stringMatching(/Z$/) }]);
  });

  it('follow the password: it opens nothing by itself, and the passkey is of that account', async () => {
    const { person, authenticator } = await holder();
    const other = person.elsewhere();
    const half = await other.signIn();
    expect([half.status, half.body?.state, other.token]).toEqual([200, 'secondFactor', undefined]);
    expect(await apps(other)).toBe(401);
    const { authenticator: foreign } = await holder();
    expect((await show(other, foreign, optionsOf(half))).body).toEqual(REFUSED);
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
    const body = { token: tokenIn(made.body?.url), password };
    const half = await other.call('POST', 'password-reset', body);
    expect([half.body?.state, other.token]).toEqual(['secondFactor', undefined]);
    expect((await show(other, authenticator, optionsOf(half))).status).toBe(200);
    const second = await createTenant(node);
    const invitation = { org: second.org, email: person.email, role: 'owner' };
    const invited = await admin(node, 'POST', 'invitations', invitation);
    const joining = { token: tokenIn(invited.body?.url), name: 'X', password };
    const joined = await person.elsewhere().call('POST', 'invitation', joining);
    expect(joined.body?.state).toBe('secondFactor');
  });

  it.each([
    ['another origin', { origin: 'https://evil.example.com' }],
    ['another relying party', { rpId: 'evil.example.com' }],
    ['another challenge', { challenge: randomId() }],
    ['no verified person', { isUnverified: true }],
    ['the answer to a question for a new one', { type: 'webauthn.create' }],
    ['the account of somebody else', { userHandle: Buffer.from('acc_x').toString('base64url') }],
  ])('with %s open nothing', async (_, lies) => {
    const { person, authenticator } = await holder();
    const other = person.elsewhere();
    const answer = await show(other, authenticator, await ask(other), lies);
    expect([answer.status, answer.body, other.token]).toEqual([401, REFUSED, undefined]);
  });

  it.each([
    ['another origin', { origin: 'https://evil.example.com' }],
    ['another relying party', { rpId: 'evil.example.com' }],
    ['another challenge', { challenge: randomId() }],
    ['no verified person', { isUnverified: true }],
    ['the answer to a question for an old one', { type: 'webauthn.get' }],
  ])('with %s are not added', async (_, lies) => {
    const person = await newPerson();
    const { answer } = await add(person, new Authenticator(ORIGIN), lies);
    expect([answer.status, answer.body]).toEqual([
      400,
      { error: 'credential: This passkey was not accepted' },
    ]);
  });

  it('answer a question once, of many at once, and only in the browser that was asked', async () => {
    const { person, authenticator } = await holder();
    authenticator.counter = null;
    const other = person.elsewhere();
    const options = await ask(other);
    const credential = authenticator.show(options, { counter: 9 });
    const thief = person.elsewhere();
    expect((await thief.call('POST', 'session/passkey', { credential })).body).toEqual(STALE);
    await ask(thief);
    expect((await thief.call('POST', 'session/passkey', { credential })).body).toEqual(REFUSED);
    const { challenge } = other;
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => {
        const copy = person.elsewhere();
        copy.challenge = challenge;
        return copy.call('POST', 'session/passkey', { credential });
      }),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409]);
    other.challenge = challenge;
    expect((await other.call('POST', 'session/passkey', { credential })).body).toEqual(STALE);
  });

  it('with a counter that went back are copies: refused, and in the audit', async () => {
    const { person, authenticator } = await holder();
    const other = person.elsewhere();
    expect((await show(other, authenticator, await ask(other), { counter: 7 })).status).toBe(200);
    for (const counter of [7, 6, 0]) {
      const copy = person.elsewhere();
      const answer = await show(copy, authenticator, await ask(copy), { counter });
      expect([answer.status, answer.body, copy.token]).toEqual([401, REFUSED, undefined]);
    }
    const query = `audit?org=${org}&action=account.refuse-passkey&subject=${person.email}`;
    expect((await admin(node, 'GET', query)).body?.entries).toHaveLength(3);
    const last = person.elsewhere();
    expect((await show(last, authenticator, await ask(last), { counter: 8 })).status).toBe(200);
  });

  it('of an authenticator that does not count sign in again and again', async () => {
    const person = await newPerson();
    const { authenticator, answer } = await add(
      person,
      new Authenticator(ORIGIN, { counter: null }),
    );
    expect(answer.status).toBe(201);
    for (let count = 0; count < 2; count++) {
      const other = person.elsewhere();
      expect((await show(other, authenticator, await ask(other))).status).toBe(200);
    }
  });

  it('are of one account: what is registered is not registered again', async () => {
    const { authenticator } = await holder();
    const { credentialId } = authenticator;
    const { answer } = await add(await newPerson(), new Authenticator(ORIGIN, { credentialId }));
    expect([answer.status, answer.body]).toEqual([
      409,
      { error: 'This passkey is registered already' },
    ]);
  });

  it('are the business of their person: ids of others are unknown', async () => {
    const { person, id } = await holder();
    const { person: other } = await holder('owner');
    for (const each of [id, 'nobody', 'nul%00', "quote'--"]) {
      const renamed = await other.call('PATCH', `account/passkeys/${each}`, { name: 'Mine' });
      expect([renamed.status, renamed.body]).toEqual([404, { error: 'Unknown passkey' }]);
      expect((await other.call('DELETE', `account/passkeys/${each}`)).status).toBe(404);
    }
    expect((await person.call('GET', 'account/passkeys')).body?.passkeys).toHaveLength(1);
    expect((await admin(node, 'GET', 'account/passkeys')).status).toBe(401);
  });

  it('are not added or removed by a session that a password alone opened, but for the first', async () => {
    const person = await newPerson();
    const weak = await person.elsewhereSignedIn();
    const { answer } = await add(person);
    expect(answer.status).toBe(201);
    const first = { error: 'Sign in with a passkey or single sign-on first' };
    const asked = await weak.call('POST', 'account/passkeys/options', {});
    expect([asked.status, asked.body]).toEqual([403, first]);
    const removed = await weak.call('DELETE', `account/passkeys/${answer.body?.id}`);
    expect([removed.status, removed.body]).toEqual([403, first]);
    // The session that added it has shown it.
    expect((await add(person)).answer.status).toBe(201);
  });

  it('are at most twenty', async () => {
    const person = await newPerson();
    for (let count = 0; count < 20; count++) expect((await add(person)).answer.status).toBe(201);
    const refused = await person.call('POST', 'account/passkeys/options', {});
    expect([refused.status, refused.body]).toEqual([
      409,
      { error: 'Too many passkeys: remove some' },
    ]);
  });

  it('end the other sessions when one is removed', async () => {
    const { person, authenticator, id } = await holder();
    const other = person.elsewhere();
    await show(other, authenticator, await ask(other));
    expect((await person.call('DELETE', `account/passkeys/${id}`)).status).toBe(200);
    expect([await apps(person), await apps(other)]).toEqual([200, 401]);
  });

  it.each([
    [{}, /^credential: /],
    [{ credential: {} }, /^credential/],
    [{ credential: 'x' }, /^credential/],
    [{ credential: { id: 'x', rawId: 'x', type: 'password', response: {} } }, /^credential\.type/],
    [{ credential: { id: 'x'.repeat(9000) } }, /^credential/],
  ])('with %j is 400 that names the field', async (body, message) => {
    const person = await newPerson();
    for (const path of ['session/passkey', 'account/passkeys']) {
      const named = path === 'session/passkey' ? body : { name: 'Key', ...body };
      const answer = await person.call('POST', path, named);
      expect(answer.status).toBe(400);
      expect(String(answer.body?.error)).toMatch(message);
    }
  });

  it('that are no keys at all, or of another kind, are refused, never a fault', async () => {
    const { person, authenticator } = await holder();
    const garbage = ['AAAA', Buffer.from('{}').toString('base64url'), 'not base64 !', '////'];
    for (const each of garbage) {
      const other = person.elsewhere();
      const shown = authenticator.show(await ask(other));
      for (const field of ['clientDataJSON', 'authenticatorData', 'signature']) {
        const credential = { ...shown, response: { ...shown.response, [field]: each } };
        const answer = await other.call('POST', 'session/passkey', { credential });
        expect(answer.status).toBe(401);
      }
    }
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

  it('sign nobody in for a page of another site', async () => {
    const { person, authenticator } = await holder();
    const other = person.elsewhere();
    const options = await ask(other);
    other.origin = 'https://evil.example.com';
    expect((await show(other, authenticator, options)).status).toBe(403);
    expect((await other.call('POST', 'session/passkey/options', {})).status).toBe(403);
    other.origin = undefined;
    expect((await show(other, authenticator, options)).status).toBe(403);
  });

  it('the challenge is a cookie for five minutes, that scripts and other sites cannot use', async () => {
    const answer = await (await newPerson()).call('POST', 'session/passkey/options', {});
    const [cookie = ''] = answer.headers.getSetCookie();
    expect(cookie).toMatch(
      /^sluice_challenge=[\w.-]+; Path=\/console; Max-Age=300; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect(answer.body?.options).toMatchObject({
      rpId: 'sluice.example.com',
      userVerification: 'required',
    });
  });

  it.each(['', 'x', 'a.b', `${'A'.repeat(2000)}.x`, 'e30.AAAA', 'e30.e30.e30'])(
    'a challenge `%s` that the service has not signed is none',
    async (challenge) => {
      const { person, authenticator } = await holder();
      const other = person.elsewhere();
      const options = await ask(other);
      other.challenge = challenge;
      expect((await show(other, authenticator, options)).body).toEqual(STALE);
    },
  );

  it('a claimed account loses the passkeys of the one who made it', async () => {
    const { person, authenticator } = await holder();
    expect(
      (await admin(node, 'DELETE', 'members', { org, account: person.accountId })).status,
    ).toBe(200);
    const invitation = { org, email: person.email, role: 'owner' };
    const invited = await admin(node, 'POST', 'invitations', invitation);
    const body = { token: tokenIn(invited.body?.url), name: 'New', password: `${PASSWORD} 2` };
    const owner = new Person(node, person.email);
    owner.origin = ORIGIN;
    expect((await owner.call('POST', 'invitation', body)).body?.state).toBe('signedIn');
    const other = person.elsewhere();
    expect((await show(other, authenticator, await ask(other))).body).toEqual(REFUSED);
  });
});
