// Tests that names which people read cannot be made to look like others: characters that turn the direction
// of a text are refused wherever a name is given.

import { beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_TOKEN } from '../support/node.ts';
import { member, PASSWORD, Person, tokenIn } from '../support/person.ts';
import { serviceSuiteOnce } from '../support/service-suite.ts';
import { admin, createTenant, randomId, send, type Tenant } from '../support/tenant.ts';

const REASON = 'Must not contain bidirectional control characters';
const TURNING = [0x061c, 0x200e, 0x200f, ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)];

serviceSuiteOnce('a name with a bidirectional control character', (node) => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant(node);
  });

  describe.each(TURNING.map((code) => [`U+${code.toString(16).padStart(4, '0')}`, code]))(
    '%s',
    (_, code) => {
      const name = `Acme ${String.fromCodePoint(Number(code))}gpj.exe`;

      it('is refused for an organization, an app, a channel and a key', async () => {
        const { org, app } = tenant;
        const calls = [
          ['POST', 'organizations', { name }, `name: ${REASON}`],
          ['PATCH', 'organizations', { org, name }, `name: ${REASON}`],
          ['POST', 'apps', { org, ref: `app-${randomId()}`, name }, `name: ${REASON}`],
          ['POST', 'apps', { org, ref: name, name: 'x' }, /^ref: Must be 1 to 64 letters/],
          ['POST', 'channels', { app, name }, /^name: Must be 1 to 64 letters/],
          ['POST', 'keys', { org, name }, `name: ${REASON}`],
        ] as const;
        for (const [method, path, body, message] of calls) {
          const answer = await admin(node, method, path, body);
          expect([path, answer.status]).toEqual([path, 400]);
          expect(answer.body?.error).toEqual(
            typeof message === 'string' ? message : expect.stringMatching(message),
          );
        }
      });

      it('is refused for an account and its email address', async () => {
        const invitation = { org: tenant.org, email: `${randomId()}@example.com`, role: 'viewer' };
        const invited = await admin(node, 'POST', 'invitations', invitation);
        const token = tokenIn(invited.body?.url);
        const accepted = await send(node, 'POST', '/console/api/invitation', {
          body: { token, name, password: PASSWORD },
        });
        expect([accepted.status, accepted.body?.error]).toEqual([400, `name: ${REASON}`]);
        const email = `boss${String.fromCodePoint(Number(code))}@example.com`;
        const asked = await admin(node, 'POST', 'invitations', { ...invitation, email });
        expect([asked.status, asked.body?.error]).toEqual([400, `email: ${REASON}`]);
        const setUp = { token: ADMIN_TOKEN, email, name: 'A', password: PASSWORD };
        const first = await send(node, 'POST', '/console/api/setup', {
          body: { ...setUp, organization: 'Acme' },
        });
        expect([first.status, first.body?.error]).toEqual([400, `email: ${REASON}`]);
      });
    },
  );

  it('is not one with letters that are read from right to left', async () => {
    const made = await admin(node, 'POST', 'organizations', { name: 'شركة חברה' });
    expect([made.status, made.body?.name]).toEqual([201, 'شركة חברה']);
    const person = await member(node, tenant.org, 'viewer', 'אבי');
    expect((await new Person(node, person.email).signIn()).status).toBe(200);
  });
});

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
