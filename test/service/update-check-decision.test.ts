// Tests which release a device is offered and on what terms (docs/contract.md 4.7 and 13), over HTTP, as
// devices ask. Checks carry a device id unless the rule is about its absence.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { deviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  type CheckOptions,
  check,
  control,
  createTenant,
  publish,
  type Tenant,
} from '../support/tenant.ts';

type Manifest = Record<string, unknown>;

deviceSuite('update check: decision', (node) => {
  /** Returns the manifest that a device gets, or null for 204. */
  async function ask(
    tenant: Tenant,
    version: string,
    options: CheckOptions = {},
  ): Promise<Manifest | null> {
    return manifestOf(await check(node, tenant, version, { device: randomUUID(), ...options }));
  }

  async function askVersion(tenant: Tenant, version: string, options: CheckOptions = {}) {
    return (await ask(tenant, version, options))?.version ?? null;
  }

  /** Publishes a release and returns its id. */
  async function release(tenant: Tenant, version: string, more: Manifest = {}): Promise<string> {
    const answer = await publish(node, tenant, version, more);
    expect(answer.status, answer.text).toBe(201);
    return String(releaseOf(answer).id);
  }

  async function serve(tenant: Tenant, version: string, change: Manifest): Promise<void> {
    const answer = await control(node, tenant, version, change);
    expect(answer.status, answer.text).toBe(200);
  }

  async function policy(tenant: Tenant, change: Manifest): Promise<void> {
    const body = { app: tenant.app, name: 'stable', ...change };
    expect((await admin(node, 'PATCH', 'channels', body)).status).toBe(200);
  }

  describe('direction', () => {
    it('a device below the newest published release is offered it, one at or above it gets 204 (§4.7.1, §4.7.2)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0');
      const offers = ['0.9.0', '1.0.0', '1.1.0-rc.1', '1.1.0', '1.1.1', '2.0.0'].map((version) =>
        askVersion(tenant, version),
      );
      expect(await Promise.all(offers)).toEqual(['1.1.0', '1.1.0', '1.1.0', null, null, null]);
    });

    it('a channel without releases has nothing for anybody: 204 (§4.7.2)', async () => {
      expect(await ask(await createTenant(node), '1.0.0')).toBeNull();
    });

    it('the highest version wins, whatever the order of publishing (§13.3)', async () => {
      const tenant = await createTenant(node);
      for (const version of ['1.9.0', '1.10.0', '1.2.0']) await release(tenant, version);
      expect(await askVersion(tenant, '1.0.0')).toBe('1.10.0');
      expect(await askVersion(tenant, '1.9.5')).toBe('1.10.0');
    });

    it('a check sees the releases of its own channel only (§4.7)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0');
      await release(tenant, '2.0.0', { channel: 'beta' });
      expect(await askVersion(tenant, '1.0.0')).toBe('1.1.0');
      expect(await askVersion(tenant, '1.0.0', { channel: 'beta' })).toBe('2.0.0');
      expect(await askVersion(tenant, '1.1.0', { channel: 'beta' })).toBe('2.0.0');
    });

    it('a check sees the releases of its own app only, also of the same organization (§4.7)', async () => {
      const [tenant, other] = [await createTenant(node), await createTenant(node)];
      await release(tenant, '1.1.0');
      expect(await ask(other, '1.0.0')).toBeNull();
    });

    it.each<[device: string, release: string, isOffered: boolean]>([
      ['1.2', '1.2.0', false],
      ['v1.2.0', '1.2.0', false],
      ['1.1.9', 'v1.2', true],
      ['1.2.0', '1.2.0.1', true],
      ['1.2.0.1', '1.2.1', true],
      ['1.2.0.10', '1.2.0.9', false],
      ['1.0.0-beta.2', '1.0.0-beta.11', true],
      ['1.0.0-beta', '1.0.0-alpha.9', false],
      ['1.0.0-rc.1', '1.0.0', true],
      ['1.0.0', '1.0.0-rc.1', false],
      ['1.0.0-1', '1.0.0-alpha', true],
      ['2026.1.15', '2026.01.15', false],
      ['2026.1.9', '2026.01.15', true],
      ['1.0.0', '1.0.0+1', true],
      ['1.0.0+2', '1.0.0+10', true],
      ['1.0.0+10', '1.0.0+2', false],
      ['1.0.0+1', '1.0.0', false],
      ['1.0.0+1', '1.0.0+1', false],
      ['99999999999999999999.0.0', '99999999999999999998.0.0', false],
      ['99999999999999999998.0.0', '99999999999999999999.0.0', true],
    ])('a device on %s against release %s: offered is %s (§10.4)', async (from, to, isOffered) => {
      const tenant = await createTenant(node);
      await release(tenant, to);
      expect(await askVersion(tenant, from)).toBe(isOffered ? to : null);
    });
  });

  describe('status', () => {
    it('a paused release is not offered, the next below is, and resuming offers it again (§3.3)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0');
      await release(tenant, '1.2.0');
      expect(await askVersion(tenant, '1.0.0')).toBe('1.2.0');
      await serve(tenant, '1.2.0', { status: 'paused' });
      expect(await askVersion(tenant, '1.0.0')).toBe('1.1.0');
      expect(await askVersion(tenant, '1.1.0')).toBeNull();
      await serve(tenant, '1.2.0', { status: 'published' });
      expect(await askVersion(tenant, '1.1.0')).toBe('1.2.0');
    });

    it('a release published as paused is offered to nobody until it is resumed (§11.2)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0', { status: 'paused' });
      expect(await ask(tenant, '1.0.0')).toBeNull();
      await serve(tenant, '1.1.0', { status: 'published' });
      expect(await askVersion(tenant, '1.0.0')).toBe('1.1.0');
    });

    it('devices on a rolled-back release get the newest published release below it as a downgrade (§4.7.5)', async () => {
      const tenant = await createTenant(node);
      for (const version of ['1.0.0', '1.1.0', '1.2.0', '2.0.0', '3.0.0']) {
        await release(tenant, version);
      }
      await serve(tenant, '1.2.0', { status: 'paused' });
      await serve(tenant, '2.0.0', { status: 'rolled_back' });
      expect(await ask(tenant, '2.0.0')).toMatchObject({ version: '1.1.0', allowDowngrade: true });
      // All other devices go up, and never see the flag.
      const [below, above] = [await ask(tenant, '1.1.0'), await ask(tenant, '2.0.1')];
      expect([below?.version, above?.version]).toEqual(['3.0.0', '3.0.0']);
      expect([below, above].some((each) => each !== null && 'allowDowngrade' in each)).toBe(false);
    });

    it('the current release is found by its canonical version: v2.0 is on a rolled-back 2.0.0 (§13.1)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.0.0');
      await release(tenant, '2.0.0');
      await serve(tenant, '2', { status: 'rolled_back' });
      for (const spelling of ['v2.0', '2', '02.0.0', 'V2.0.0.0']) {
        expect(await askVersion(tenant, spelling), spelling).toBe('1.0.0');
      }
      // Another build is another version, which was not rolled back.
      expect(await ask(tenant, '2.0.0+1')).toBeNull();
    });

    it('a rolled-back release on another channel is no reason to go down (§13.1)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.0.0');
      await release(tenant, '2.0.0', { channel: 'beta' });
      await serve(tenant, '2.0.0', { channel: 'beta', status: 'rolled_back' });
      expect(await ask(tenant, '2.0.0')).toBeNull();
      expect(await ask(tenant, '2.0.0', { channel: 'beta' })).toBeNull();
    });

    it('a rolled-back release is offered to nobody (§3.5)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0');
      await release(tenant, '1.2.0');
      await serve(tenant, '1.2.0', { status: 'rolled_back' });
      expect(await askVersion(tenant, '1.0.0')).toBe('1.1.0');
      expect(await ask(tenant, '1.1.0')).toBeNull();
    });

    it('a deprecated release is not served, and devices on it get their next update as required (§3.4, §13.5)', async () => {
      const tenant = await createTenant(node);
      for (const version of ['1.0.0', '1.1.0', '1.2.0']) await release(tenant, version);
      await serve(tenant, '1.1.0', { status: 'deprecated' });
      expect(await ask(tenant, '1.1.0')).toMatchObject({
        version: '1.2.0',
        updateMode: 'required',
      });
      expect(await ask(tenant, '1.0.0')).toMatchObject({
        version: '1.2.0',
        updateMode: 'optional',
      });
      await serve(tenant, '1.2.0', { status: 'deprecated' });
      expect(await ask(tenant, '1.0.0')).toBeNull();
      // There is no next update for them yet, and a deprecation is no downgrade.
      expect(await ask(tenant, '1.2.0')).toBeNull();
    });

    it('deprecation is reversible (§3.4)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0');
      await release(tenant, '1.2.0');
      await serve(tenant, '1.1.0', { status: 'deprecated' });
      await serve(tenant, '1.1.0', { status: 'published' });
      expect(await ask(tenant, '1.1.0')).toMatchObject({
        version: '1.2.0',
        updateMode: 'optional',
      });
      await serve(tenant, '1.2.0', { status: 'paused' });
      expect(await askVersion(tenant, '1.0.0')).toBe('1.1.0');
    });
  });

  describe('terms', () => {
    it("updateMode is optional, or the channel's recommended (§13.5)", async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0');
      expect((await ask(tenant, '1.0.0'))?.updateMode).toBe('optional');
      await policy(tenant, { updateMode: 'recommended' });
      expect((await ask(tenant, '1.0.0'))?.updateMode).toBe('recommended');
      await policy(tenant, { updateMode: 'optional' });
      expect((await ask(tenant, '1.0.0'))?.updateMode).toBe('optional');
    });

    it("updateMode is required exactly below the channel's minimum supported version (§13.5)", async () => {
      const tenant = await createTenant(node);
      await release(tenant, '2.0.0');
      await policy(tenant, { minimumSupportedVersion: '1.5', updateMode: 'recommended' });
      const versions = ['1.4.9', '1.5.0-rc.1', '1.5.0', '1.5', '1.6.0'];
      const modes = versions.map(async (version) => (await ask(tenant, version))?.updateMode);
      const [below, above] = ['required', 'recommended'];
      expect(await Promise.all(modes)).toEqual([below, below, above, above, above]);
    });

    it('a device below the minimum with nothing to go to gets 204 (§13.5)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '2.0.0', { rollout: 0 });
      await policy(tenant, { minimumSupportedVersion: '3.0.0' });
      expect(await ask(tenant, '1.0.0')).toBeNull();
    });

    it('minimumSupportedVersion is in the manifest when the channel has one, and only then (§13.6)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '2.0.0');
      expect(await ask(tenant, '1.0.0')).not.toHaveProperty('minimumSupportedVersion');
      await policy(tenant, { minimumSupportedVersion: '1.5.0' });
      expect(await ask(tenant, '1.9.0')).toHaveProperty('minimumSupportedVersion', '1.5.0');
      await policy(tenant, { minimumSupportedVersion: null });
      expect(await ask(tenant, '1.0.0')).toMatchObject({ updateMode: 'optional' });
      expect(await ask(tenant, '1.0.0')).not.toHaveProperty('minimumSupportedVersion');
    });

    it('a downgrade below the minimum is required and says so together with allowDowngrade (§2.5, §13.5)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.0.0');
      await release(tenant, '2.0.0');
      await serve(tenant, '2.0.0', { status: 'rolled_back' });
      await policy(tenant, { minimumSupportedVersion: '2.1.0' });
      expect(await ask(tenant, '2.0.0')).toMatchObject({
        version: '1.0.0',
        updateMode: 'required',
        minimumSupportedVersion: '2.1.0',
        allowDowngrade: true,
      });
    });

    it('the manifest has exactly the fields of the contract, with all an artifact can carry (§2.5)', async () => {
      const tenant = await createTenant(node);
      const carried = {
        url: 'https://dl.example.com/a?b=1',
        sha512: 'q+/=',
        signature: 'c2ln',
        size: 0,
      };
      await release(tenant, '1.1.0', {
        notes: '## Größer & schneller 🚀\n',
        artifacts: [{ platform: 'linux', arch: 'x86_64', ...carried }],
      });
      const manifest = await ask(tenant, '1.0.0');
      const { pub_date: publishedAt, ...rest } = manifest ?? {};
      expect(rest).toEqual({
        version: '1.1.0',
        notes: '## Größer & schneller 🚀\n',
        ...carried,
        updateMode: 'optional',
      });
      expect(publishedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    });

    it('what an artifact does not have is absent, not null; notes are then empty (§2.5, §13.6)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0', { artifacts: [{ platform: 'linux' }] });
      const keys = Object.keys((await ask(tenant, '1.0.0')) ?? {}).sort();
      expect(keys).toEqual(['notes', 'pub_date', 'updateMode', 'version']);
      expect((await ask(tenant, '1.0.0'))?.notes).toBe('');
    });

    it("pub_date is the release's createdAt (§13.6)", async () => {
      const tenant = await createTenant(node);
      const published = await publish(node, tenant, '1.1.0');
      const { createdAt } = releaseOf(published);
      expect((await ask(tenant, '1.0.0'))?.pub_date).toBe(createdAt);
    });

    it('the version is echoed as it was published (§10.6)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, 'v1.02+Build.7');
      expect(await askVersion(tenant, '1.0.0')).toBe('v1.02+Build.7');
    });
  });
});

function releaseOf({ body }: Answer): Manifest {
  return (body?.release ?? {}) as Manifest;
}

function manifestOf(answer: Answer): Manifest | null {
  if (answer.status === 204) return null;
  expect(answer.status, answer.text).toBe(200);
  return answer.body ?? {};
}
