// Tests the app list over HTTP (docs/contract.md 4.4).

import { expect, it } from 'vitest';
import { serviceSuite } from '../support/service-suite.ts';
import { type Answer, admin, createTenant, manage, type Tenant } from '../support/tenant.ts';

type App = { readonly ref: string; readonly channels: readonly string[] };

serviceSuite('listing apps', (node) => {
  function list(tenant: Pick<Tenant, 'secret'>, query = ''): Promise<Answer> {
    return manage(node, tenant, 'GET', `apps${query}`);
  }

  async function appsOf(tenant: Tenant): Promise<readonly App[]> {
    const { status, body } = await list(tenant);
    expect(status).toBe(200);
    return body?.apps as App[];
  }

  it("is 200 with exactly the contract's fields, nothing more (§4.4)", async () => {
    const tenant = await createTenant(node);
    const answer = await list(tenant);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json']);
    const [app] = (answer.body?.apps ?? []) as App[];
    expect([...(app?.channels ?? [])].sort()).toEqual(['beta', 'stable']);
    expect(answer.body).toStrictEqual({
      apps: [{ id: tenant.appId, name: 'Test app', ref: tenant.app, channels: app?.channels }],
    });
  });

  it("has every app of the key's organization, and of no other (§5.2)", async () => {
    const tenant = await createTenant(node);
    const stranger = await createTenant(node);
    const refs = ['two', 'three'].map((suffix) => `${tenant.app}-${suffix}`);
    for (const ref of refs) {
      await admin(node, 'POST', 'apps', { org: tenant.org, ref, name: ref, channels: ['only'] });
    }
    const apps = await appsOf(tenant);
    expect(apps.map(({ ref }) => ref).sort()).toEqual([tenant.app, ...refs].sort());
    expect(apps.find(({ ref }) => ref === refs[0])?.channels).toEqual(['only']);
    expect((await appsOf(stranger)).map(({ ref }) => ref)).toEqual([stranger.app]);
  });

  it('has a channel as soon as it exists', async () => {
    const tenant = await createTenant(node);
    await admin(node, 'POST', 'channels', { app: tenant.app, name: 'nightly' });
    const [app] = await appsOf(tenant);
    expect([...(app?.channels ?? [])].sort()).toEqual(['beta', 'nightly', 'stable']);
  });

  it('is empty for an organization without apps', async () => {
    const org = String((await admin(node, 'POST', 'organizations', { name: 'Empty' })).body?.id);
    const key = await admin(node, 'POST', 'keys', { org, name: 'ci' });
    const answer = await list({ secret: String(key.body?.secret) });
    expect([answer.status, answer.body]).toStrictEqual([200, { apps: [] }]);
  });

  it('has no parameters: whatever is asked for changes nothing (§4.4)', async () => {
    const tenant = await createTenant(node);
    const { body } = await list(tenant);
    for (const query of ['?', '?page=2&per_page=0', '?org=other', '?app=%00%ff']) {
      expect((await list(tenant, query)).body).toStrictEqual(body);
    }
  });
});
