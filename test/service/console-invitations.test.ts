// Tests invitations: a link works once, for one email, until it is revoked. How long is in
// test/store/ledger/people/accounts.test.ts.

import { beforeAll, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { member, PASSWORD, Person, tokenIn } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, randomId } from '../support/tenant.ts';

const UNKNOWN = 'Unknown or expired invitation';

serviceSuite('an invitation', (node) => {
  let org: string;
  let owner: Person;
  beforeAll(async () => {
    const { body } = await admin(node, 'POST', 'organizations', { name: 'Größe & Söhne' });
    org = String(body?.id);
    owner = await member(node, org, 'owner');
  });

  const newEmail = () => `${randomId()}@example.com`;
  async function invite(email: string, role = 'publisher', to = org) {
    const by = to === org ? owner : undefined;
    const body = { org: to, email, role };
    const answer = await (by?.call('POST', 'invitations', body) ??
      admin(node, 'POST', 'invitations', body));
    expect(answer.status, answer.text).toBe(201);
    const { id, url } = answer.body as { id: string; url: string };
    return { id, url, token: tokenIn(url) };
  }
  const accept = (person: Person, token: string, password = PASSWORD) =>
    person.call('POST', 'invitation', { token, name: 'Invited', password });

  it('tells its holder what it is for, makes an account, signs in, and works once', async () => {
    const email = newEmail();
    const { url, token } = await invite(email.toUpperCase());
    expect(url).toBe(`${node.url}/console/invitation/${token}`);
    const shown = await new Person(node).call('GET', `invitation?token=${token}`);
    expect(shown.body).toEqual({
      ...{ organization: { id: org, name: 'Größe & Söhne' }, role: 'publisher', email },
    });
    const person = new Person(node, email);
    const accepted = await accept(person, token);
    expect([accepted.status, accepted.body]).toMatchObject([
      201,
      {
        ...{ state: 'signedIn', account: { email, name: 'Invited' } },
        memberships: [{ organization: { id: org }, role: 'publisher' }],
      },
    ]);
    expect((await person.call('GET', `apps?org=${org}`)).status).toBe(200);
    expect((await new Person(node, email).signIn()).status).toBe(200);
    const { body } = await owner.call('GET', `members?org=${org}`);
    const members = body?.members as { account: { email: string } }[];
    expect(members.filter(({ account }) => account.email === email)).toHaveLength(1);
    const late = new Person(node, email);
    expectError(await accept(late, token), 404, UNKNOWN);
    expectError(await late.call('GET', `invitation?token=${token}`), 404, UNKNOWN);
    const again = { org, email, role: 'viewer' };
    const refused = await owner.call('POST', 'invitations', again);
    expectError(refused, 409, 'Already a member of this organization');
  });

  it('is listed without its token until it is used, and cannot be used once revoked, or after another one', async () => {
    const email = newEmail();
    const first = await invite(email, 'owner');
    const { id, token } = await invite(email, 'viewer');
    expectError(await accept(new Person(node, email), first.token), 404, UNKNOWN);
    const listed = await owner.call('GET', `members?org=${org}`);
    expect(listed.body?.invitations).toContainEqual({
      ...{ id, email, role: 'viewer', expiresAt: expect.any(String) },
      createdBy: `account:${owner.email}`,
    });
    expect(listed.text).not.toContain(token);
    const revoke = async () => (await owner.call('POST', `invitations/${id}/revoke`)).status;
    expect([await revoke(), await revoke()]).toEqual([200, 200]);
    expectError(await accept(new Person(node, email), token), 404, UNKNOWN);
    expect((await owner.call('GET', `members?org=${org}`)).text).not.toContain(email);
    const { body } = await owner.call('GET', `audit?org=${org}&subject=${email}`);
    const actions = ((body?.entries ?? []) as { action: string }[]).map(({ action }) => action);
    expect(actions).toContain('invitation.revoke');
  });

  it('of an email that has an account takes the password of that account, and no other', async () => {
    const elsewhere = (await createTenant(node)).org;
    const person = await member(node, elsewhere, 'viewer');
    const { token } = await invite(person.email);
    const wrong = await accept(person.elsewhere(), token, 'some other password');
    expectError(wrong, 400, expect.stringMatching(/^password: /));
    const joined = await accept(person.elsewhere(), token);
    expect(joined.body?.account).toMatchObject({ id: person.accountId, name: 'A Person' });
    expect(joined.body?.memberships).toHaveLength(2);
  });

  it('of an organization that nobody accepted keeps no address from another organization', async () => {
    const elsewhere = (await createTenant(node)).org;
    const email = newEmail();
    const squatted = await invite(email, 'owner', elsewhere);
    const { token } = await invite(email);
    const joined = await accept(new Person(node, email), token, 'the password of one');
    expect([joined.status, joined.body?.memberships]).toEqual([201, [expect.anything()]]);
    // The other one is for the account that there is by now.
    const other = squatted.token;
    expect((await accept(new Person(node, email), other, 'some other password')).status).toBe(400);
    expect((await accept(new Person(node, email), other, 'the password of one')).status).toBe(201);
  });

  it('claims the address of an account that is a member nowhere any more', async () => {
    const elsewhere = (await createTenant(node)).org;
    const squatter = await member(node, elsewhere, 'viewer', 'Squatter');
    const { email, accountId } = squatter;
    const { token } = await invite(email);
    const password = 'the password of the right one';
    expect((await accept(new Person(node, email), token, password)).status).toBe(400);
    await admin(node, 'DELETE', 'members', { org: elsewhere, account: accountId });
    const joined = await accept(new Person(node, email), token, password);
    const account = { id: accountId, email, name: 'Invited' };
    expect([joined.status, joined.body?.account]).toEqual([201, account]);
    expect((await squatter.call('GET', `apps?org=${org}`)).status).toBe(401);
    expect((await squatter.elsewhere().signIn()).status).toBe(401);
    expect((await new Person(node, email).signIn(password)).status).toBe(200);
  });

  it('with a token that is none is unknown, and one for nobody or no role is 400', async () => {
    const person = new Person(node);
    for (const token of ['', 'x', 'A'.repeat(43), "'; --", '%00']) {
      const shown = await person.call('GET', `invitation?token=${token}`);
      expect([400, 404]).toContain(shown.status);
      expect([400, 404]).toContain((await accept(person, decodeURIComponent(token))).status);
    }
    for (const [body, message] of [
      [{ email: 'nobody', role: 'viewer' }, /^email: /],
      [{ email: 'a@b', role: 'admin' }, /^role: Must be one of owner, publisher, viewer$/],
      [{ email: 'a@b', role: 'viewer', more: 1 }, /^more: /],
    ] as const) {
      const answer = await owner.call('POST', 'invitations', { org, ...body });
      expectError(answer, 400, expect.stringMatching(message));
    }
  });

  it('links of an organization are at most a hundred in an hour, for invitations and lost passkeys together', async () => {
    const { body } = await admin(node, 'POST', 'organizations', { name: 'Many' });
    const many = String(body?.id);
    // Its own invitation counts as well.
    const by = await member(node, many, 'owner');
    const recovery = { org: many, account: by.accountId };
    expect((await by.call('POST', 'members/recover', recovery)).status).toBe(201);
    const inviteOne = () =>
      by.call('POST', 'invitations', { org: many, email: newEmail(), role: 'viewer' });
    for (let made = 2; made < 100; made++) expect((await inviteOne()).status).toBe(201);
    for (const refused of [await inviteOne(), await by.call('POST', 'members/recover', recovery)]) {
      expectError(refused, 429, 'Rate limit exceeded');
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60);
    }
    await invite(newEmail());
  });
});
