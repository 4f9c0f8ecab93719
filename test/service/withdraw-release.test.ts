// Tests the withdrawal of releases over HTTP: which can be withdrawn, what is refused and with which words,
// and what of them is left (docs/contract.md 4.15 and 11.13 to 11.16).

import { describe, expect, it } from 'vitest';
import { asset, deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  check,
  control,
  createTenant,
  manage,
  publish,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

const OFFERED =
  'This release was already offered: pause it to stop offering it, or roll it back to pull it';

type Json = Record<string, unknown>;

serviceSuite('withdrawing a release', (node) => {
  function withdraw(tenant: Tenant, version: string, more: Json = {}): Promise<Answer> {
    const body = { app: tenant.app, channel: 'stable', version, ...more };
    return manage(node, tenant, 'DELETE', 'releases', body);
  }

  async function listed(tenant: Tenant): Promise<unknown[]> {
    const { body } = await manage(node, tenant, 'GET', 'releases');
    const releases = body?.releases as Json[];
    return releases.map(({ version }) => version);
  }

  async function audited(tenant: Tenant): Promise<Json[]> {
    const { body } = await admin(node, 'GET', `audit?org=${tenant.org}&limit=1000`);
    return body?.entries as Json[];
  }

  /** Makes a withdrawal that must be refused, and must change neither the list nor the audit. */
  async function refused(tenant: Tenant, version: string, more: Json = {}): Promise<Answer> {
    const before = [await listed(tenant), await audited(tenant)];
    const answer = await withdraw(tenant, version, more);
    expect([await listed(tenant), await audited(tenant)]).toStrictEqual(before);
    return answer;
  }

  describe('a release that nobody was offered', () => {
    it('is removed: the answer is 200 with its app, channel and version as published (§4.15)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, 'v1.2');
      const answer = await withdraw(tenant, '1.2.0', { app: tenant.appId });
      expect(answer.status).toBe(200);
      expect(answer.body).toStrictEqual({
        release: { app: tenant.app, channel: 'stable', version: 'v1.2' },
      });
      expect(await listed(tenant)).toEqual([]);
      expect((await check(node, tenant, '1.0.0', { device: 'a' })).status).toBe(204);
      expect((await control(node, tenant, '1.2.0', { rollout: 5 })).body).toEqual({
        error: 'Unknown release',
      });
      expect((await withdraw(tenant, '1.2.0')).status).toBe(404);
    });

    it('leaves its version free, and nothing of it in what takes the version next (§11.13)', async () => {
      const tenant = await createTenant(node);
      const old = { ...ARTIFACT, url: 'https://downloads.example.com/old.tar.gz' };
      const first = await publish(node, tenant, '1.2.0', {
        artifacts: [old],
        notes: 'Old',
        rollout: 1,
        targets: { matchLabels: { ring: ['none'] } },
      });
      expect((await withdraw(tenant, '1.2.0')).status).toBe(200);
      const again = await publish(node, tenant, '1.2.0', { notes: 'New' });
      expect(again.status).toBe(201);
      expect(idOf(again)).not.toBe(idOf(first));
      const offered = await check(node, tenant, '1.0.0', { device: 'a' });
      expect(offered.body).toMatchObject({ url: ARTIFACT.url, notes: 'New' });
    });

    it('may be paused, deprecated or staged', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.1.0', { status: 'paused' });
      await publish(node, tenant, '1.2.0', { rollout: 5 });
      await publish(node, tenant, '1.3.0', { status: 'paused' });
      await control(node, tenant, '1.3.0', { status: 'deprecated' });
      for (const version of ['1.1.0', '1.2.0', '1.3.0']) {
        expect((await withdraw(tenant, version)).status).toBe(200);
      }
      expect(await listed(tenant)).toEqual([]);
    });

    it('is audited with what it was, and with the reason (§11.10, §11.16)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.2.0', { rollout: 40 });
      await withdraw(tenant, '1.2.0', { reason: 'wrong platform' });
      const [entry] = await audited(tenant);
      expect(entry).toMatchObject({
        actor: `key:${tenant.keyId} (ci)`,
        action: 'release.withdraw',
        subject: `${tenant.app}/stable@1.2.0`,
        before: { version: '1.2.0', status: 'published', rolloutPct: 40, artifacts: 1 },
        after: null,
        reason: 'wrong platform',
      });
    });
  });

  describe('is refused', () => {
    it('with 409 once the release was offered (§11.14)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.2.0');
      expect((await check(node, tenant, '1.0.0', { device: 'a' })).status).toBe(200);
      const answer = await refused(tenant, '1.2.0');
      expect([answer.status, answer.body]).toEqual([409, { error: OFFERED }]);
    });

    it('with 409 and their number while devices on record run it (§11.14)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, 'v1.2', { status: 'paused' });
      const device = { version: '1.2.0', platform: 'linux', channel: 'stable' };
      await report(node, tenant, [{ ...device, deviceId: 'a' }]);
      expect((await refused(tenant, '1.2.0')).body?.error).toBe(
        'This release already runs on 1 device: pause it to stop offering it, or roll it back to pull it',
      );
      await report(node, tenant, [{ ...device, deviceId: 'b' }]);
      const answer = await refused(tenant, '1.2.0');
      expect(answer.status).toBe(409);
      expect(answer.body?.error).toMatch(/^This release already runs on 2 devices: /);
      await report(node, tenant, [
        { ...device, deviceId: 'a', version: '1.1.0' },
        { ...device, deviceId: 'b', channel: 'beta' },
      ]);
      expect((await withdraw(tenant, '1.2.0')).status).toBe(200);
    });

    it('with 409 when the release is rolled back (§11.14)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.2.0');
      await control(node, tenant, '1.2.0', { status: 'rolled_back' });
      const answer = await refused(tenant, '1.2.0');
      expect([answer.status, answer.body]).toEqual([
        409,
        { error: 'A rolled-back release cannot be withdrawn: its version stays taken' },
      ]);
    });

    it('with 404 for an app, channel or release that does not exist', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.2.0');
      const app = await refused(tenant, '1.2.0', { app: 'nobody' });
      const channel = await refused(tenant, '1.2.0', { channel: 'nightly' });
      const release = await refused(tenant, '1.2.1');
      expect([app, channel, release].map(({ status, body }) => [status, body?.error])).toEqual([
        [404, 'Unknown app'],
        [404, 'Unknown channel'],
        [404, 'Unknown release'],
      ]);
    });

    it('with 404 for a release of another organization (§12.4)', async () => {
      const [mine, other] = [await createTenant(node), await createTenant(node)];
      await publish(node, other, '1.2.0');
      for (const app of [other.app, other.appId]) {
        const answer = await withdraw(mine, '1.2.0', { app });
        expect([answer.status, answer.body]).toEqual([404, { error: 'Unknown app' }]);
      }
      expect(await listed(other)).toEqual(['1.2.0']);
    });

    it.each([
      [{ version: 'one' }, 'version: Invalid version'],
      [{ force: true }, 'force: Unrecognized key'],
      [{ channel: undefined }, 'channel: Required'],
      [{ reason: 'x'.repeat(501) }, 'reason: Must have at most 500 characters'],
      [{ reason: 7 }, 'reason: Expected a string'],
    ])('with 400 for the body %j, before the name is looked up (§11.7)', async (more, error) => {
      const tenant = await createTenant(node);
      const answer = await refused(tenant, '9.9.9', more);
      expect([answer.status, answer.body]).toEqual([400, { error }]);
    });

    it('with 401 without a key, before the body is looked at (§11.7)', async () => {
      const answer = await send(node, 'DELETE', '/api/v1/releases', { body: '{' });
      expect(answer.status).toBe(401);
    });
  });

  describe('a version that the webhook brought', () => {
    it('is ignored there once it was withdrawn, until the API publishes it (§18.12)', async () => {
      const tenant = await createTenant(node);
      const hook = await enableWebhook(node, tenant);
      const event = releaseEvent('v1.2.0', { assets: [asset('notes-linux-amd64')] });
      expect((await deliver(node, hook, event)).body?.outcome).toBe('created');
      expect((await withdraw(tenant, '1.2.0')).status).toBe(200);
      for (const action of ['published', 'released', 'edited']) {
        const again = await deliver(node, hook, { ...event, action });
        expect(again.body?.outcome).toBe('ignored');
      }
      expect((await deliver(node, hook, event)).body).toStrictEqual({
        outcome: 'ignored',
        reason: 'This version was withdrawn: publish it through the API',
      });
      expect(await listed(tenant)).toEqual([]);
      expect((await publish(node, tenant, '1.2.0')).status).toBe(201);
      expect((await deliver(node, hook, event)).body?.outcome).toBe('duplicate');
      // Withdrawn as the API's, it is the code host's again.
      await withdraw(tenant, '1.2.0');
      expect((await deliver(node, hook, event)).body?.outcome).toBe('created');
    });
  });

  describe('the reason of serving control', () => {
    it('is in the audit, and in no answer (§11.16)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.2.0');
      const answer = await control(node, tenant, '1.2.0', { status: 'paused', reason: 'crashes' });
      expect(answer.status).toBe(200);
      expect(answer.text).not.toContain('crashes');
      await control(node, tenant, '1.2.0', { status: 'published', reason: '' });
      const entries = await audited(tenant);
      expect(entries.slice(0, 2).map(({ reason }) => reason)).toEqual([null, 'crashes']);
      expect((await manage(node, tenant, 'GET', 'releases')).text).not.toContain('crashes');
    });

    it('does not make a call that names no change one that does (§14.8)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.2.0');
      const answer = await control(node, tenant, '1.2.0', { reason: 'why' });
      expect(answer.status).toBe(400);
    });
  });
});

function idOf({ body }: Answer): unknown {
  const release = body?.release as Json;
  return release.id;
}
