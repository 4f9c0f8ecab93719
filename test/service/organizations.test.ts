// Tests who may create organizations, and that no name of one, of an account or in an address can be made to
// look like another: a character that turns the direction of a text is refused. test/http/field.test.ts has
// all of these characters, console-data.test.ts the names of apps and keys. That everybody with an account
// creates organizations where ORGANIZATIONS_BY says so is tested in admin-address.test.ts.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { member, PASSWORD, Person, tokenIn } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, randomId, send } from '../support/tenant.ts';

const REASON = 'Must not contain bidirectional control characters';
const NAME = 'Acme \u202egpj.exe';

serviceSuite('an organization', (node) => {
  it('has a name that may be read from right to left, as its people, and turns no other text', async () => {
    const made = await admin(node, 'POST', 'organizations', { name: 'שركة חברה' });
    expect([made.status, made.body?.name]).toEqual([201, 'שركة חברה']);
    const org = String(made.body?.id);
    const person = await member(node, org, 'viewer', 'אבי');
    expect((await new Person(node, person.email).signIn()).status).toBe(200);
    const invitation = { org, email: `${randomId()}@example.com`, role: 'viewer' };
    const { body } = await admin(node, 'POST', 'invitations', invitation);
    const accepted = { token: tokenIn(body?.url), name: NAME, password: PASSWORD };
    const email = 'boss\u202e@example.com';
    const first = { token: ADMIN_TOKEN, email, name: 'A', password: PASSWORD, organization: 'A' };
    for (const [answer, field] of [
      [admin(node, 'POST', 'organizations', { name: NAME }), 'name'],
      [admin(node, 'PATCH', 'organizations', { org, name: NAME }), 'name'],
      [admin(node, 'POST', 'invitations', { ...invitation, email }), 'email'],
      [send(node, 'POST', '/console/api/invitation', { body: accepted }), 'name'],
      [send(node, 'POST', '/console/api/setup', { body: first }), 'email'],
    ] as const) {
      expectError(await answer, 400, `${field}: ${REASON}`);
    }
    // By default the operator alone creates organizations, whatever the role of an account.
    const owner = await member(node, org, 'owner');
    for (const refused of [owner, person]) {
      const answer = await refused.call('POST', 'organizations', { name: 'Mine' });
      expectError(answer, 403, 'Only the operator may create organizations');
      const session = (await refused.call('GET', 'session')).body;
      expect(session).not.toHaveProperty('mayCreateOrganizations');
      expect(session?.memberships).toHaveLength(1);
    }
  });
});
