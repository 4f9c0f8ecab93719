// Tests that names which people read cannot be made to look like others: a character that turns the direction
// of a text is refused wherever a name is given. test/http/field.test.ts has all of these characters, and
// console-data.test.ts the names of apps and keys.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { member, PASSWORD, Person, tokenIn } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, randomId, send } from '../support/tenant.ts';

const REASON = 'Must not contain bidirectional control characters';
const NAME = 'Acme \u202egpj.exe';

serviceSuite('a name', (node) => {
  it('of an organization, an account or its address may be read from right to left, and turns no other text', async () => {
    const made = await admin(node, 'POST', 'organizations', { name: 'שركة חברה' });
    expect([made.status, made.body?.name]).toEqual([201, 'שركة חברה']);
    const org = String(made.body?.id);
    const person = await member(node, org, 'viewer', 'אבי');
    expect((await new Person(node, person.email).signIn()).status).toBe(200);
    const invitation = { org, email: `${randomId()}@example.com`, role: 'viewer' };
    const email = 'boss\u202e@example.com';
    for (const [method, path, body, error] of [
      ['POST', 'organizations', { name: NAME }, `name: ${REASON}`],
      ['PATCH', 'organizations', { org, name: NAME }, `name: ${REASON}`],
      ['POST', 'invitations', { ...invitation, email }, `email: ${REASON}`],
    ] as const) {
      expectError(await admin(node, method, path, body), 400, error);
    }
    const { body } = await admin(node, 'POST', 'invitations', invitation);
    const accepted = { token: tokenIn(body?.url), name: NAME, password: PASSWORD };
    const answer = await send(node, 'POST', '/console/api/invitation', { body: accepted });
    expectError(answer, 400, `name: ${REASON}`);
    const first = { token: ADMIN_TOKEN, email, name: 'A', password: PASSWORD, organization: 'A' };
    const refused = await send(node, 'POST', '/console/api/setup', { body: first });
    expectError(refused, 400, `email: ${REASON}`);
  });
});
