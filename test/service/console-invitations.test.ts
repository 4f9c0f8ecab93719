// Tests invitations: a link works once, for one email, for a week, until it is revoked.

import { beforeAll, expect, it } from 'vitest';
import { member, PASSWORD, Person, tokenIn } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, randomId } from '../support/tenant.ts';

const UNKNOWN = { error: 'Unknown or expired invitation' };

serviceSuite('an invitation', (node) => {
  let org: string;
  let owner: Person;

  beforeAll(async () => {
    const { body } = await admin(node, 'POST', 'organizations', { name: 'Größe & Söhne' });
    org = String(body?.id);
    owner = await member(node, org, 'owner');
  });

  async function invite(email: string, role = 'publisher', by = owner) {
    const answer = await by.call('POST', 'invitations', { org, email, role });
    expect(answer.status, answer.text).toBe(201);
    return {
      id: String(answer.body?.id),
      url: String(answer.body?.url),
      token: tokenIn(answer.body?.url),
    };
  }

  function accept(person: Person, token: string, password = PASSWORD) {
    return person.call('POST', 'invitation', { token, name: 'Invited', password });
  }

  it('tells its holder what it is for, makes an account, signs in, and works once', async () => {
    const person = new Person(node);
    const { url, token } = await invite(person.email.toUpperCase());
    expect(url).toBe(`${node.url}/console/invitation/${token}`);
    const shown = await person.call('GET', `invitation?token=${token}`);
    expect(shown.body).toEqual({
      organization: { id: org, name: 'Größe & Söhne' },
      role: 'publisher',
      email: person.email,
    });
    const joined = await accept(person, token);
    expect(joined.status).toBe(201);
    expect(joined.body).toMatchObject({
      state: 'signedIn',
      account: { email: person.email, name: 'Invited' },
      memberships: [{ organization: { id: org }, role: 'publisher' }],
    });
    expect((await person.call('GET', `apps?org=${org}`)).status).toBe(200);
    const second = new Person(node, person.email);
    for (const answer of [
      await accept(second, token),
      await second.call('GET', `invitation?token=${token}`),
    ]) {
      expect([answer.status, answer.body]).toEqual([404, UNKNOWN]);
    }
    expect((await person.elsewhere().signIn()).status).toBe(200);
  });

  it('is used by one of many at once', async () => {
    const email = `${randomId()}@example.com`;
    const { token } = await invite(email);
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => accept(new Person(node, email), token)),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    const { body } = await owner.call('GET', `members?org=${org}`);
    const members = (body?.members ?? []) as { account: { email: string } }[];
    expect(members.filter(({ account }) => account.email === email)).toHaveLength(1);
  });

  it('is listed without its token until it is used, and cannot be used once revoked', async () => {
    const email = `${randomId()}@example.com`;
    const { id, token } = await invite(email, 'viewer');
    const listed = await owner.call('GET', `members?org=${org}`);
    expect(listed.body?.invitations).toContainEqual({
      id,
      email,
      role: 'viewer',
      expiresAt: expect.any(String),
      createdBy: `account:${owner.email}`,
    });
    expect(listed.text).not.toContain(token);
    expect((await owner.call('POST', `invitations/${id}/revoke`)).status).toBe(200);
    expect((await owner.call('POST', `invitations/${id}/revoke`)).status).toBe(200);
    expect((await accept(new Person(node, email), token)).body).toEqual(UNKNOWN);
    expect((await owner.call('GET', `members?org=${org}`)).text).not.toContain(email);
    const { body } = await owner.call('GET', `audit?org=${org}&subject=${email}`);
    const actions = ((body?.entries ?? []) as { action: string }[]).map(({ action }) => action);
    expect(actions).toEqual(['invitation.revoke', 'invitation.create']);
  });

  it('ends when the same email is invited again', async () => {
    const email = `${randomId()}@example.com`;
    const [first, second] = [await invite(email, 'owner'), await invite(email, 'viewer')];
    expect((await accept(new Person(node, email), first.token)).body).toEqual(UNKNOWN);
    const joined = await accept(new Person(node, email), second.token);
    expect(joined.body).toMatchObject({ memberships: [{ role: 'viewer' }] });
  });

  it('of an email that has an account takes the password of that account, and no other', async () => {
    const elsewhere = await admin(node, 'POST', 'organizations', { name: 'Elsewhere' });
    const person = await member(node, String(elsewhere.body?.id), 'viewer');
    const { token } = await invite(person.email);
    const wrong = await accept(person.elsewhere(), token, 'some other password');
    expect(wrong.status).toBe(400);
    expect(String(wrong.body?.error)).toMatch(/^password: /);
    const joined = await accept(person.elsewhere(), token);
    expect(joined.body?.account).toMatchObject({ id: person.accountId, name: 'A Person' });
    expect(joined.body?.memberships).toHaveLength(2);
  });

  it('of an organization that nobody accepted keeps no address from another organization', async () => {
    const elsewhere = String((await createTenant(node)).org);
    const email = `${randomId()}@example.com`;
    const body = { org: elsewhere, email, role: 'owner' };
    const squatted = await admin(node, 'POST', 'invitations', body);
    const { token } = await invite(email);
    const joined = await accept(new Person(node, email), token, 'the password of one');
    expect([joined.status, joined.body?.memberships]).toEqual([201, [expect.anything()]]);
    // The other one is for the account that there is by now.
    const other = tokenIn(squatted.body?.url);
    expect((await accept(new Person(node, email), other, 'some other password')).status).toBe(400);
    expect((await accept(new Person(node, email), other, 'the password of one')).status).toBe(201);
  });

  it('claims the address of an account that is a member nowhere any more', async () => {
    const elsewhere = String((await createTenant(node)).org);
    const squatter = await member(node, elsewhere, 'viewer', 'Squatter');
    const { email, accountId } = squatter;
    const { token } = await invite(email);
    const password = 'the password of the right one';
    expect((await accept(new Person(node, email), token, password)).status).toBe(400);
    await admin(node, 'DELETE', 'members', { org: elsewhere, account: accountId });
    const joined = await accept(new Person(node, email), token, password);
    expect([joined.status, joined.body?.account]).toEqual([
      201,
      { id: accountId, email, name: 'Invited' },
    ]);
    expect((await squatter.call('GET', `apps?org=${org}`)).status).toBe(401);
    expect((await squatter.elsewhere().signIn()).status).toBe(401);
    expect((await new Person(node, email).signIn(password)).status).toBe(200);
  });

  it('is refused for who is a member already', async () => {
    const answer = await owner.call('POST', 'invitations', {
      org,
      email: owner.email,
      role: 'viewer',
    });
    expect([answer.status, answer.body]).toEqual([
      409,
      { error: 'Already a member of this organization' },
    ]);
  });

  it.each(['', 'x', 'A'.repeat(43), "'; --", '%00'])(
    'with the token `%s` is unknown',
    async (token) => {
      const person = new Person(node);
      const shown = await person.call('GET', `invitation?token=${token}`);
      expect([400, 404]).toContain(shown.status);
      expect(shown.body).not.toHaveProperty('organization');
      expect([400, 404]).toContain((await accept(person, decodeURIComponent(token))).status);
    },
  );

  it.each([
    [{ email: 'nobody', role: 'viewer' }, /^email: /],
    [{ email: 'a@b', role: 'admin' }, /^role: Must be one of owner, publisher, viewer$/],
    [{ email: 'a@b' }, /^role: /],
    [{ email: 'a@b', role: 'viewer', more: 1 }, /^more: /],
  ])('for %j is 400 that names the field', async (body, message) => {
    const answer = await owner.call('POST', 'invitations', { org, ...body });
    expect(answer.status).toBe(400);
    expect(String(answer.body?.error)).toMatch(message);
  });

  it('links of an organization are at most a hundred in an hour, for invitations and lost passkeys together', async () => {
    const { body } = await admin(node, 'POST', 'organizations', { name: 'Many' });
    const many = String(body?.id);
    // Its own invitation counts as well.
    const by = await member(node, many, 'owner');
    const recovery = { org: many, account: by.accountId };
    expect((await by.call('POST', 'members/recover', recovery)).status).toBe(201);
    const inviteOne = () => {
      const invitation = { org: many, email: `${randomId()}@example.com`, role: 'viewer' };
      return by.call('POST', 'invitations', invitation);
    };
    for (let made = 2; made < 100; made++) expect((await inviteOne()).status).toBe(201);
    for (const refused of [await inviteOne(), await by.call('POST', 'members/recover', recovery)]) {
      expect([refused.status, refused.body]).toEqual([429, { error: 'Rate limit exceeded' }]);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60);
    }
    await invite(`${randomId()}@example.com`);
  });
});
