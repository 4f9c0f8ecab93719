// Tests that names which people read cannot be made to look like others: a character that turns the direction
// of a text is refused wherever a name is given. test/http/field.test.ts has all of these characters.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { member, PASSWORD, Person, tokenIn } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, randomId, send } from '../support/tenant.ts';

const REASON = 'Must not contain bidirectional control characters';
const NAME = 'Acme \u202egpj.exe';

serviceSuite('a name with a bidirectional control character', (node) => {
  it('is refused for an organization, an app, a channel, a key, an account and its address', async () => {
    const { org, app } = await createTenant(node);
    const invitation = { org, email: `${randomId()}@example.com`, role: 'viewer' };
    const email = 'boss\u202e@example.com';
    for (const [method, path, body, error] of [
      ['POST', 'organizations', { name: NAME }, `name: ${REASON}`],
      ['PATCH', 'organizations', { org, name: NAME }, `name: ${REASON}`],
      ['POST', 'apps', { org, ref: `app-${randomId()}`, name: NAME }, `name: ${REASON}`],
      ['POST', 'apps', { org, ref: NAME, name: 'x' }, /^ref: Must be 1 to 64 letters/],
      ['POST', 'channels', { app, name: NAME }, /^name: Must be 1 to 64 letters/],
      ['POST', 'keys', { org, name: NAME }, `name: ${REASON}`],
      ['POST', 'invitations', { ...invitation, email }, `email: ${REASON}`],
    ] as const) {
      const expected = typeof error === 'string' ? error : expect.stringMatching(error);
      expectError(await admin(node, method, path, body), 400, expected);
    }
    const invited = await admin(node, 'POST', 'invitations', invitation);
    const accepted = { token: tokenIn(invited.body?.url), name: NAME, password: PASSWORD };
    const answer = await send(node, 'POST', '/console/api/invitation', { body: accepted });
    expectError(answer, 400, `name: ${REASON}`);
    const setUp = { token: ADMIN_TOKEN, email, name: 'A', password: PASSWORD };
    const first = { ...setUp, organization: 'Acme' };
    const refused = await send(node, 'POST', '/console/api/setup', { body: first });
    expectError(refused, 400, `email: ${REASON}`);
  });

  it('is not one with letters that are read from right to left', async () => {
    const made = await admin(node, 'POST', 'organizations', { name: 'שركة חברה' });
    expect([made.status, made.body?.name]).toEqual([201, 'שركة חברה']);
    const person = await member(node, String(made.body?.id), 'viewer', 'אבי');
    expect((await new Person(node, person.email).signIn()).status).toBe(200);
  });
});
