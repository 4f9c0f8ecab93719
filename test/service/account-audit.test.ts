// Tests what the audit tells of sign-ins, and that strangers cannot fill it.

import { beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import { member, PASSWORD, type Person } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, randomId, send, type Tenant } from '../support/tenant.ts';

type Entry = { actor: string; action: string; subject: string; after: Record<string, unknown> };

serviceSuite('the audit of sign-ins', (node) => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant(node);
  });

  function tryFrom(address: string, email: string, password: string) {
    const headers = { 'x-forwarded-for': address };
    return send(node, 'POST', '/console/api/session', { body: { email, password }, headers });
  }

  async function entriesOf({ email }: Pick<Person, 'email'>, org = tenant.org): Promise<Entry[]> {
    const query = `audit?org=${org}&action=account&subject=${email}`;
    return (await admin(node, 'GET', query)).body?.entries as Entry[];
  }

  it('has who signed in, from which address, in each organization of theirs', async () => {
    const other = await createTenant(node);
    const person = await member(node, tenant.org, 'viewer');
    await member(node, other.org, 'owner', 'A Person', person.email);
    expect((await tryFrom('198.51.100.7', person.email, PASSWORD)).status).toBe(200);
    for (const org of [tenant.org, other.org]) {
      const [entry] = await entriesOf(person, org);
      expect(entry).toMatchObject({
        actor: `account:${person.email}`,
        action: 'account.sign-in',
        subject: person.email,
        after: { address: '198.51.100.7' },
      });
    }
    expect(await entriesOf(person, (await createTenant(node)).org)).toEqual([]);
  });

  it('has a failed sign-in at once, further ones with the next entry, and no entry for each', async () => {
    const person = await member(node, tenant.org, 'viewer');
    expect((await tryFrom('198.51.100.8', person.email, randomId())).status).toBe(401);
    const failures = async () =>
      (await entriesOf(person)).filter(({ action }) => action === 'account.fail-sign-in');
    await eventually('the failure is told', async () => (await failures()).length > 0);
    for (let count = 0; count < 5; count++) {
      expect((await tryFrom('198.51.100.9', person.email, randomId())).status).toBe(401);
    }
    expect(await failures()).toMatchObject([
      { actor: 'unknown', subject: person.email, after: { address: '198.51.100.8', failures: 1 } },
    ]);
    // They are written within a second; the next sign-in tells them.
    await eventually('the failures are told', async () => {
      const { status } = await person.elsewhere().signIn();
      if (status !== 200) return false;
      const signedIn = await entriesOf(person);
      const told = signedIn.map(({ after }) => Number(after.failuresBefore ?? 0));
      return told.reduce((sum, each) => sum + each, 0) === 5;
    });
    expect(await failures()).toHaveLength(1);
  });

  it('has nothing of addresses without an account; the metrics count them', async () => {
    const count = async (outcome: string) => {
      const text = await metricsOf(node);
      const line = new RegExp(`^sluice_sign_ins_total\\{outcome="${outcome}"\\} (\\d+)`, 'm');
      return Number(line.exec(text)?.[1] ?? 0);
    };
    const before = await count('failed');
    const email = `${randomId()}@example.com`;
    for (let index = 0; index < 5; index++) {
      expect((await tryFrom(`198.51.100.${20 + index}`, email, 'x')).status).toBe(401);
    }
    expect((await count('failed')) - before).toBeGreaterThanOrEqual(5);
    expect(await entriesOf({ email })).toEqual([]);
  });

  it('has a changed password, and no password', async () => {
    const person = await member(node, tenant.org, 'viewer');
    const next = 'another long password';
    expect((await person.call('POST', 'password', { current: PASSWORD, next })).status).toBe(200);
    const entries = await entriesOf(person);
    expect(entries[0]).toMatchObject({
      actor: `account:${person.email}`,
      action: 'account.set-password',
      after: { by: 'password' },
    });
    expect(JSON.stringify(entries)).not.toContain(next);
  });
});
