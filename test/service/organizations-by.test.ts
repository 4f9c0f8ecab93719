// Tests who may create organizations: the operator, and where the setting ORGANIZATIONS_BY says so, everybody
// with an account.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import type { ServingNode } from '../support/node.ts';
import { member, Person } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { createTenant } from '../support/tenant.ts';

const REFUSAL = { error: 'Only the operator may create organizations' };

serviceSuite('organizations by the operator, which is the default', (node) => {
  it('are created by no account, whatever its role, and by none without an organization', async () => {
    const { org } = await createTenant(node);
    const people = [await member(node, org, 'owner'), await member(node, org, 'viewer')];
    for (const person of people) {
      const answer = await person.call('POST', 'organizations', { name: 'Mine' });
      expect([answer.status, answer.body]).toEqual([403, REFUSAL]);
      const { body } = await person.call('GET', 'session');
      expect(body).not.toHaveProperty('mayCreateOrganizations');
      expect(body?.memberships).toHaveLength(1);
    }
  });
});

describeOnBackends('organizations by anyone', (backend) => {
  let node: ServingNode;
  let org: string;
  beforeAll(async () => {
    node = await backend.start({ ORGANIZATIONS_BY: 'anyone' });
    await new Person(node).setUp('First');
    org = (await createTenant(node)).org;
  });
  afterAll(() => node?.dispose());

  it('belong to the person who creates them, and to nobody else', async () => {
    const [owner, viewer] = [await member(node, org, 'owner'), await member(node, org, 'viewer')];
    expect((await viewer.call('GET', 'session')).body?.mayCreateOrganizations).toBe(true);
    const made = await viewer.call('POST', 'organizations', { name: 'Mine' });
    expect(made.status).toBe(201);
    const path = `members?org=${made.body?.id}`;
    expect((await viewer.call('GET', path)).body?.members).toMatchObject([
      { account: { email: viewer.email }, role: 'owner' },
    ]);
    expect((await owner.call('GET', path)).status).toBe(404);
  });
});
