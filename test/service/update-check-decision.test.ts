// Tests which release a device is offered and on what terms (docs/contract.md 4.7 and 13), over HTTP, as
// devices ask. How versions compare is tested in test/domain/decision/version.test.ts.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { at, manifestOf, release, serve, setChannel, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { type CheckOptions, check, createTenant, type Tenant } from '../support/tenant.ts';

deviceSuite('update check: decision', (node) => {
  /** Returns the manifest that a device gets, or null for 204. */
  async function ask(tenant: Tenant, version = '1.0.0', options: CheckOptions = {}) {
    return manifestOf(await check(node, tenant, version, { device: randomUUID(), ...options }));
  }

  async function askVersion(tenant: Tenant, version = '1.0.0', options: CheckOptions = {}) {
    return (await ask(tenant, version, options))?.version ?? null;
  }

  describe('direction', () => {
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
      const tenant = await tenantWith(node, ['1.1.0'], ['2.0.0', { channel: 'beta' }]);
      const other = await createTenant(node);
      expect(await askVersion(tenant)).toBe('1.1.0');
      expect(await askVersion(tenant, '1.0.0', { channel: 'beta' })).toBe('2.0.0');
      expect(await askVersion(tenant, '1.1.0', { channel: 'beta' })).toBe('2.0.0');
      expect(await ask(other)).toBeNull();
    });

    it.each<[device: string, release: string, isOffered: boolean]>([
      ['v1.2.0', '1.2.0', false],
      ['1.1.9', 'v1.2', true],
      ['1.2.0', '1.2.0.1', true],
      ['1.0.0-beta.2', '1.0.0-beta.11', true],
      ['1.0.0+2', '1.0.0+10', true],
      ['99999999999999999999.0.0', '99999999999999999998.0.0', false],
    ])('a device on %s against release %s: offered is %s (§10.4)', async (from, to, isOffered) => {
      const tenant = await tenantWith(node, [to]);
      expect(await askVersion(tenant, from)).toBe(isOffered ? to : null);
    });
  });

  describe('status', () => {
    it('a paused release is not offered, the next below is, and resuming offers it again (§3.3, §11.2)', async () => {
      const tenant = await tenantWith(node, ['1.1.0'], ['1.2.0', { status: 'paused' }]);
      expect(await askVersion(tenant)).toBe('1.1.0');
      await serve(node, tenant, '1.2.0', { status: 'published' });
      expect(await askVersion(tenant)).toBe('1.2.0');
      await serve(node, tenant, '1.2.0', { status: 'paused' });
      expect(await askVersion(tenant)).toBe('1.1.0');
      expect(await askVersion(tenant, '1.1.0')).toBeNull();
      await serve(node, tenant, '1.2.0', { status: 'published' });
      expect(await askVersion(tenant, '1.1.0')).toBe('1.2.0');
    });

    it('devices on a rolled-back release get the newest published release below it as a downgrade (§4.7.5)', async () => {
      const versions = ['1.0.0', '1.1.0', '1.2.0', '2.0.0', '3.0.0'] as const;
      const tenant = await tenantWith(node, ...versions.map((version) => [version] as const));
      await serve(node, tenant, '1.2.0', { status: 'paused' });
      await serve(node, tenant, '2', { status: 'rolled_back' });
      // The current release is found by its canonical version (§13.1).
      for (const spelling of ['2.0.0', 'v2.0', '02.0.0', 'V2.0.0.0']) {
        expect(await ask(tenant, spelling)).toMatchObject({
          version: '1.1.0',
          allowDowngrade: true,
        });
      }
      // All other devices go up, and never see the flag; another build is another version.
      for (const version of ['1.1.0', '2.0.1', '2.0.0+1']) {
        const update = await ask(tenant, version);
        expect(update).toMatchObject({ version: '3.0.0' });
        expect(update).not.toHaveProperty('allowDowngrade');
      }
    });

    it('a rolled-back release is offered to nobody, and is no reason to go down on another channel (§3.5, §13.1)', async () => {
      const beta = { channel: 'beta' };
      const tenant = await tenantWith(node, ['1.1.0'], ['1.2.0'], ['1.3.0', beta]);
      await serve(node, tenant, '1.2.0', { status: 'rolled_back' });
      expect(await askVersion(tenant)).toBe('1.1.0');
      expect(await ask(tenant, '1.1.0')).toBeNull();
      await serve(node, tenant, '1.3.0', { ...beta, status: 'rolled_back' });
      expect(await ask(tenant, '1.3.0')).toBeNull();
      expect(await ask(tenant, '1.3.0', beta)).toBeNull();
    });

    it('a deprecated release is not served, and devices on it get their next update as required (§3.4, §13.5)', async () => {
      const tenant = await tenantWith(node, ['1.0.0'], ['1.1.0'], ['1.2.0']);
      await serve(node, tenant, '1.1.0', { status: 'deprecated' });
      const update = (updateMode: string) => ({ version: '1.2.0', updateMode });
      expect(await ask(tenant, '1.1.0')).toMatchObject(update('required'));
      expect(await ask(tenant)).toMatchObject(update('optional'));
      await serve(node, tenant, '1.2.0', { status: 'deprecated' });
      expect(await ask(tenant)).toBeNull();
      // There is no next update for them yet, and a deprecation is no downgrade.
      expect(await ask(tenant, '1.2.0')).toBeNull();
      for (const version of ['1.1.0', '1.2.0']) {
        await serve(node, tenant, version, { status: 'published' });
      }
      expect(await ask(tenant, '1.1.0')).toMatchObject(update('optional'));
      await serve(node, tenant, '1.2.0', { status: 'paused' });
      expect(await askVersion(tenant)).toBe('1.1.0');
    });
  });

  describe('terms', () => {
    it("updateMode is the channel's, or required exactly below its minimum supported version (§13.5)", async () => {
      const tenant = await tenantWith(node, ['2.0.0']);
      expect((await ask(tenant))?.updateMode).toBe('optional');
      await setChannel(node, tenant, { updateMode: 'recommended' });
      expect((await ask(tenant))?.updateMode).toBe('recommended');
      await setChannel(node, tenant, { minimumSupportedVersion: '1.5' });
      const versions = ['1.4.9', '1.5.0-rc.1', '1.5.0', '1.5', '1.6.0'];
      const modes = versions.map(async (version) => (await ask(tenant, version))?.updateMode);
      const [below, above] = ['required', 'recommended'];
      expect(await Promise.all(modes)).toEqual([below, below, above, above, above]);
      await setChannel(node, tenant, { updateMode: 'optional' });
      expect((await ask(tenant, '1.6.0'))?.updateMode).toBe('optional');
    });

    it('a device below the minimum with nothing to go to gets 204 (§13.5)', async () => {
      const tenant = await tenantWith(node, ['2.0.0', { rollout: 0 }]);
      await setChannel(node, tenant, { minimumSupportedVersion: '3.0.0' });
      expect(await ask(tenant)).toBeNull();
    });

    it('minimumSupportedVersion is in the manifest when the channel has one, and only then (§13.6)', async () => {
      const tenant = await tenantWith(node, ['2.0.0']);
      expect(await ask(tenant)).not.toHaveProperty('minimumSupportedVersion');
      await setChannel(node, tenant, { minimumSupportedVersion: '1.5.0' });
      expect(await ask(tenant, '1.9.0')).toHaveProperty('minimumSupportedVersion', '1.5.0');
      await setChannel(node, tenant, { minimumSupportedVersion: null });
      const update = await ask(tenant);
      expect(update).toMatchObject({ updateMode: 'optional' });
      expect(update).not.toHaveProperty('minimumSupportedVersion');
    });

    it('a downgrade below the minimum is required and says so together with allowDowngrade (§2.5, §13.5)', async () => {
      const tenant = await tenantWith(node, ['1.0.0'], ['2.0.0']);
      await serve(node, tenant, '2.0.0', { status: 'rolled_back' });
      const minimumSupportedVersion = '2.1.0';
      await setChannel(node, tenant, { minimumSupportedVersion });
      const terms = { updateMode: 'required', minimumSupportedVersion, allowDowngrade: true };
      expect(await ask(tenant, '2.0.0')).toMatchObject({ version: '1.0.0', ...terms });
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

    it('what an artifact does not have is absent, not null; notes are then empty (§2.5, §13.6)', async () => {
      const tenant = await tenantWith(node, ['1.1.0', { artifacts: [{ platform: 'linux' }] }]);
      const update = (await ask(tenant)) ?? {};
      expect(Object.keys(update).sort()).toEqual(['notes', 'pub_date', 'updateMode', 'version']);
      expect(update.notes).toBe('');
    });
  });
});
