// Tests which release a device is offered and on what terms (docs/contract.md 4.7 and 13), over HTTP, as
// devices ask: what the address, the query and the channel have to do with it. The rules themselves are
// tested in test/domain/decision, their whole way over HTTP in update-check-cohort.test.ts, and what each
// status does in serving-control.test.ts.

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { at, manifestOf, release, serve, setChannel, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { type CheckOptions, check, createTenant, type Tenant } from '../support/tenant.ts';

const INNER = { matchLabels: { ring: ['inner'] } };

deviceSuite('update check: decision', (node) => {
  /** Returns the manifest that a device gets, or null for 204. */
  async function ask(tenant: Tenant, version = '1.0.0', options: CheckOptions = {}) {
    return manifestOf(await check(node, tenant, version, { device: randomUUID(), ...options }));
  }

  async function askVersion(tenant: Tenant, version = '1.0.0', options: CheckOptions = {}) {
    return (await ask(tenant, version, options))?.version ?? null;
  }

  it('a device below the newest published release is offered it, one at or above it gets 204 (§4.7.1, §4.7.2)', async () => {
    const tenant = await createTenant(node);
    expect(await ask(tenant)).toBeNull();
    for (const version of ['1.9.0', '1.10.0', '1.2.0']) await release(node, tenant, version);
    const asked = ['0.9.0', '1.9.5', '1.10.0-rc.1', '1.10', '1.10.0', '1.10.1', '2.0.0'];
    const offers = asked.map((version) => askVersion(tenant, version));
    const newest = '1.10.0';
    expect(await Promise.all(offers)).toEqual([newest, newest, newest, null, null, null, null]);
  });

  it('a check sees the releases of its own app and channel only (§4.7)', async () => {
    const beta = { channel: 'beta' };
    const tenant = await tenantWith(node, ['1.1.0'], ['2.0.0', beta]);
    const other = await createTenant(node);
    expect(await askVersion(tenant)).toBe('1.1.0');
    expect(await askVersion(tenant, '1.1.0', beta)).toBe('2.0.0');
    expect(await ask(other)).toBeNull();
    await serve(node, tenant, '2.0.0', { ...beta, status: 'rolled_back' });
    expect(await ask(tenant, '2.0.0')).toBeNull();
  });

  it('the label keys and values of a query are UTF-8, percent-encoded, and may have any name (§2.3, §13.9)', async () => {
    const matchLabels = JSON.parse('{"größe & 🚀":["a=b&c","ß"],"__proto__":["x"]}') as object;
    const tenant = await tenantWith(node, ['9.0.0', { targets: { matchLabels } }]);
    const told = (size: string) => `l.__proto__=x&${encodeURIComponent('l.größe & 🚀')}=${size}`;
    const offered = async (query: string) => (await ask(tenant, '1.0.0', { query })) !== null;
    for (const size of ['a=b&c', 'ß']) {
      expect(await offered(told(encodeURIComponent(size)))).toBe(true);
    }
    for (const query of ['', told('ss'), told('%C3%9F').replace('=x', '=y')]) {
      expect(await offered(query)).toBe(false);
    }
  });

  it('devices a release is not for fall through, with or without a device id (§3.8, §13.4, §13.11)', async () => {
    const tenant = await tenantWith(
      node,
      ['1.1.0'],
      ['1.2.0', { targets: { matchLabels: { ring: ['outer', 'inner'] } } }],
      ['1.3.0', { targets: INNER }],
      // Targeting does not widen a cohort: both must hold.
      ['1.4.0', { targets: INNER, rollout: 0 }],
    );
    for (const device of [randomUUID(), undefined]) {
      const version = async (query: string) =>
        (await check(node, tenant, '1.0.0', { query, ...(device && { device: device + query }) }))
          .body?.version;
      expect(await version('l.ring=inner')).toBe('1.3.0');
      expect(await version('l.ring=outer')).toBe('1.2.0');
      expect(await version('')).toBe('1.1.0');
    }
  });

  it('serving control changes whom a release is for at once, and null clears it (§4.3)', async () => {
    const tenant = await tenantWith(node, ['1.1.0', { targets: INNER }]);
    const outer = { query: 'l.ring=outer' };
    expect(await ask(tenant, '1.0.0', outer)).toBeNull();
    await serve(node, tenant, '1.1.0', { targets: { matchLabels: { ring: ['inner', 'outer'] } } });
    expect(await ask(tenant, '1.0.0', outer)).not.toBeNull();
    await serve(node, tenant, '1.1.0', { targets: null });
    expect(await ask(tenant)).not.toBeNull();
  });

  it("what is changed of the channel's terms counts at the next check (§13.5, §13.6)", async () => {
    const tenant = await tenantWith(node, ['2.0.0']);
    expect(await ask(tenant)).toMatchObject({ updateMode: 'optional' });
    await setChannel(node, tenant, { updateMode: 'recommended', minimumSupportedVersion: '1.5' });
    const terms = { minimumSupportedVersion: '1.5' };
    expect(await ask(tenant, '1.4.9')).toMatchObject({ ...terms, updateMode: 'required' });
    expect(await ask(tenant, '1.5.0')).toMatchObject({ ...terms, updateMode: 'recommended' });
    await setChannel(node, tenant, { updateMode: 'optional', minimumSupportedVersion: null });
    const update = await ask(tenant);
    expect(update).toMatchObject({ updateMode: 'optional' });
    expect(update).not.toHaveProperty('minimumSupportedVersion');
  });

  it('the manifest has exactly the fields of the contract, with all an artifact can carry (§2.5, §10.6, §13.6)', async () => {
    const tenant = await createTenant(node);
    const carried = { url: at('a?b=1'), sha512: 'q+/=', signature: 'c2ln', size: 0 };
    const notes = '## Größer & schneller 🚀\n';
    const version = 'v1.02+Build.7';
    const artifacts = [{ platform: 'linux', arch: 'x86_64', ...carried }];
    const { createdAt } = await release(node, tenant, version, { notes, artifacts });
    expect(createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const updateMode = 'optional';
    const told = { version, notes, ...carried, updateMode, pub_date: createdAt };
    expect(await ask(tenant)).toEqual(told);
  });
});
