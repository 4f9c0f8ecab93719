// Tests channels that follow another one over HTTP: what their devices get, and what stays with each channel
// (docs/contract.md 11.19).

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { deviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  check,
  control,
  createTenant,
  decisions,
  manage,
  publish,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Json = Record<string, unknown>;

deviceSuite('a channel that follows another one', (node) => {
  function setChannel(tenant: Tenant, name: string, change: Json): Promise<Answer> {
    return admin(node, 'PATCH', 'channels', { app: tenant.app, name, ...change });
  }

  /** A tenant whose beta follows stable. */
  async function following(): Promise<Tenant> {
    const tenant = await createTenant(node);
    const answer = await setChannel(tenant, 'beta', { follows: 'stable' });
    expect(answer.body, answer.text).toMatchObject({ name: 'beta', follows: 'stable' });
    return tenant;
  }

  function publishBeta(tenant: Tenant, version: string, more: Json = {}): Promise<Answer> {
    return publish(node, tenant, version, { channel: 'beta', ...more });
  }

  function askBeta(
    tenant: Tenant,
    version: string,
    device: string = randomUUID(),
  ): Promise<Answer> {
    return check(node, tenant, version, { channel: 'beta', device });
  }

  async function offeredOnBeta(
    tenant: Tenant,
    version: string,
    device: string = randomUUID(),
  ): Promise<unknown> {
    return (await askBeta(tenant, version, device)).body?.version;
  }

  describe('its devices', () => {
    it('are decided over the published releases of both, highest version first', async () => {
      const tenant = await following();
      await publishBeta(tenant, '1.3.0-rc.1');
      await publish(node, tenant, '1.2.0');
      expect(await offeredOnBeta(tenant, '1.0.0')).toBe('1.3.0-rc.1');
      await publish(node, tenant, '1.3.0');
      expect(await offeredOnBeta(tenant, '1.3.0-rc.1')).toBe('1.3.0');
      await publish(node, tenant, '1.4.0', { status: 'paused' });
      expect((await askBeta(tenant, '1.3.0')).status).toBe(204);
      // A device of the followed channel gets nothing of the follower.
      expect((await check(node, tenant, '1.2.9')).body?.version).toBe('1.3.0');
      await publishBeta(tenant, '2.0.0');
      expect((await check(node, tenant, '1.3.0')).status).toBe(204);
    });

    it("get their own channel's release where both have the version, whatever its status", async () => {
      const tenant = await following();
      const own = { artifacts: [{ ...ARTIFACT, url: 'https://dl.example.com/own' }] };
      await publishBeta(tenant, '1.1.0', own);
      await publish(node, tenant, '1.1.0');
      expect((await askBeta(tenant, '1.0.0')).body?.url).toBe('https://dl.example.com/own');
      await control(node, tenant, '1.1.0', { channel: 'beta', status: 'paused' });
      expect((await askBeta(tenant, '1.0.0')).status).toBe(204);
      const name = { app: tenant.app, channel: 'beta', version: '1.2.0' };
      await publishBeta(tenant, '1.2.0', { rollout: 0 });
      await publish(node, tenant, 'v1.2');
      expect((await askBeta(tenant, '1.0.0')).status).toBe(204);
      const withdrawn = await manage(node, tenant, 'DELETE', 'releases', name);
      expect(withdrawn.status).toBe(200);
      expect(await offeredOnBeta(tenant, '1.0.0')).toBe('v1.2');
    });

    it('meet the rollout and the targeting of each release', async () => {
      const tenant = await following();
      await publish(node, tenant, '1.1.0', { targets: { matchLabels: { ring: ['a'] } } });
      const ask = (ring: string) =>
        check(node, tenant, '1.0.0', { channel: 'beta', device: ring, query: `l.ring=${ring}` });
      expect((await ask('a')).body?.version).toBe('1.1.0');
      expect((await ask('b')).status).toBe(204);
      await publish(node, tenant, '1.2.0', { rollout: 50 });
      const offered = await Promise.all(
        Array.from({ length: 25 }, async (_, index) => {
          const on = await offeredOnBeta(tenant, '1.1.0', `device-${index}`);
          const stable = await check(node, tenant, '1.1.0', { device: `device-${index}` });
          // Cohorts follow from the release, so both channels have the same.
          expect(on).toBe(stable.body?.version);
          return on;
        }),
      );
      const count = offered.filter((version) => version === '1.2.0').length;
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThan(25);
    });

    it('are taken down from a followed release that is rolled back, as its own devices are', async () => {
      const tenant = await following();
      await publish(node, tenant, '1.0.0');
      await publish(node, tenant, '1.1.0');
      await control(node, tenant, '1.1.0', { status: 'rolled_back' });
      const down = await askBeta(tenant, '1.1.0');
      expect(down.body).toMatchObject({ version: '1.0.0', allowDowngrade: true });
    });

    it('keep the minimum version, update mode and `requireSignature` of their own channel', async () => {
      const tenant = await following();
      await publish(node, tenant, '1.1.0', {
        artifacts: [{ ...ARTIFACT, signature: undefined }],
      });
      await setChannel(tenant, 'stable', {
        minimumSupportedVersion: '1.1.0',
        updateMode: 'recommended',
        requireSignature: true,
      });
      const optional = await askBeta(tenant, '1.0.0');
      expect(optional.body).toMatchObject({ version: '1.1.0', updateMode: 'optional' });
      await setChannel(tenant, 'beta', { minimumSupportedVersion: '1.1.0' });
      expect((await askBeta(tenant, '1.0.0')).body?.updateMode).toBe('required');
      await setChannel(tenant, 'beta', { requireSignature: true });
      expect((await askBeta(tenant, '1.0.0')).status).toBe(204);
    });

    it('hear of a change of the followed channel by the time it is answered', async () => {
      const tenant = await following();
      await publish(node, tenant, '1.1.0');
      for (let round = 0; round < 3; round++) {
        expect(await offeredOnBeta(tenant, '1.0.0', `d${round}`)).toBe('1.1.0');
        await control(node, tenant, '1.1.0', { status: 'paused' });
        expect((await askBeta(tenant, '1.0.0', `d${round}`)).status).toBe(204);
        await control(node, tenant, '1.1.0', { status: 'published' });
      }
    });

    it('are in waves of their channel, over both', async () => {
      const tenant = await following();
      await publish(node, tenant, '1.1.0');
      const device = { deviceId: 'x', platform: 'linux', arch: 'x86_64', version: '1.0.0' };
      const wave = await decisions(node, tenant, [device], { channel: 'beta' });
      expect(wave.body).toMatchObject({ decisions: [{ update: { version: '1.1.0' } }] });
    });
  });

  describe('what follows', () => {
    it('is not transitive', async () => {
      const tenant = await following();
      await admin(node, 'POST', 'channels', { app: tenant.app, name: 'nightly' });
      await setChannel(tenant, 'nightly', { follows: 'beta' });
      await publish(node, tenant, '1.1.0');
      await publishBeta(tenant, '1.0.5');
      const answer = await check(node, tenant, '1.0.0', { channel: 'nightly' });
      expect(answer.body?.version).toBe('1.0.5');
    });

    it('is neither itself nor a circle: 409', async () => {
      const tenant = await following();
      const error = 'A channel cannot follow itself, nor one that follows it';
      for (const [name, follows] of [
        ['beta', 'beta'],
        ['stable', 'beta'],
      ] as const) {
        const answer = await setChannel(tenant, name, { follows });
        expect([answer.status, answer.body]).toEqual([409, { error }]);
      }
    });

    it('is a channel of the same app: another one is 404, bad input is 400 `follows`', async () => {
      const tenant = await createTenant(node);
      const stranger = await createTenant(node);
      await admin(node, 'POST', 'channels', { app: stranger.app, name: 'theirs' });
      for (const follows of ['theirs', 'nowhere', `${stranger.app}/stable`]) {
        const answer = await setChannel(tenant, 'beta', { follows });
        expect([answer.status, answer.body?.error], follows).toEqual([404, 'Unknown channel']);
      }
      for (const follows of ['', 1, true, [], {}, 'x'.repeat(10_000)]) {
        const answer = await setChannel(tenant, 'beta', { follows });
        expect(answer.status, String(follows)).toBe(400);
        expect(answer.body?.error).toMatch(/^follows: /);
      }
    });

    it('ends with null, and is shown with the channel and in the audit', async () => {
      const tenant = await following();
      await publish(node, tenant, '1.1.0');
      expect(await offeredOnBeta(tenant, '1.0.0')).toBe('1.1.0');
      const list = await manage(node, tenant, 'GET', `channels?app=${tenant.app}`);
      expect(list.body?.channels).toMatchObject([
        { name: 'beta', follows: 'stable' },
        { name: 'stable', follows: null },
      ]);
      await setChannel(tenant, 'beta', { follows: null });
      expect((await askBeta(tenant, '1.0.0')).status).toBe(204);
      const audit = await admin(node, 'GET', `audit?org=${tenant.org}&limit=1`);
      expect(audit.body?.entries).toMatchObject([
        { action: 'channel.update', before: { follows: 'stable' }, after: { follows: null } },
      ]);
    });
  });

  describe('a release of the followed channel', () => {
    it('counts as offered once a device of a follower was offered it', async () => {
      const tenant = await following();
      await publish(node, tenant, '1.1.0', { rollout: 100 });
      const name = { app: tenant.app, channel: 'stable', version: '1.1.0' };
      expect(await offeredOnBeta(tenant, '1.0.0')).toBe('1.1.0');
      const narrowed = await control(node, tenant, '1.1.0', { rollout: 50 });
      expect(narrowed.status).toBe(422);
      const withdrawn = await manage(node, tenant, 'DELETE', 'releases', name);
      expect(withdrawn.status).toBe(409);
    });

    it('counts the devices of followers that run it, unless they run one of their own', async () => {
      const tenant = await following();
      const { body } = await publish(node, tenant, '1.1.0', { rollout: 0 });
      const { id } = (body as { release: { id: string } }).release;
      const device = { platform: 'linux', arch: 'x86_64', version: '1.1.0' };
      await report(node, tenant, [
        { ...device, deviceId: 'on-stable', channel: 'stable' },
        { ...device, deviceId: 'on-beta', channel: 'beta' },
      ]);
      const read = () => manage(node, tenant, 'GET', `releases/${id}`);
      expect((await read()).body?.devices).toBe(2);
      const name = { app: tenant.app, channel: 'stable', version: '1.1.0' };
      const withdrawn = await manage(node, tenant, 'DELETE', 'releases', name);
      expect(withdrawn.body?.error).toBe(
        'This release already runs on 2 devices: pause it to stop offering it, or roll it back to pull it',
      );
      await publishBeta(tenant, '1.1.0', { rollout: 0 });
      expect((await read()).body?.devices).toBe(1);
    });

    it('is in the files of updaters, and in no feed, list or download of the follower', async () => {
      const tenant = await following();
      const url = 'https://dl.example.com/app.AppImage';
      const artifact = { ...ARTIFACT, url, sha512: 'ab'.repeat(64), size: 7 };
      await publish(node, tenant, '1.1.0', { artifacts: [artifact], notes: 'of stable' });
      const get = (path: string) => send(node, 'GET', path);
      const yml = await get(`/e/${tenant.app}/beta/latest-linux.yml`);
      expect(yml.text).toContain("version: '1.1.0'");
      expect((await get(`/feed/${tenant.app}/beta`)).text).not.toContain('of stable');
      expect((await get(`/feed/${tenant.app}/stable`)).text).toContain('of stable');
      expect((await get(`/feed/${tenant.app}/beta/rss.xml`)).text).not.toContain('of stable');
      const download = await get(`/download/${tenant.app}/beta/linux`);
      expect([download.status, download.body]).toEqual([404, { error: 'No download' }]);
      const list = await manage(node, tenant, 'GET', `releases?app=${tenant.app}&channel=beta`);
      expect(list.body?.releases).toEqual([]);
    });
  });
});
