// Tests the withdrawal of releases over HTTP: which can be withdrawn, what is refused and with which words,
// and what of them is left (docs/contract.md 4.15 and 11.13 to 11.16).

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { asset, deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  createTenant,
  type Json,
  releaseOf,
  type Tenant,
} from '../support/tenant.ts';

const OFFERED =
  'This release was already offered: pause it to stop offering it, or roll it back to pull it';

serviceSuite('withdrawing a release', (node) => {
  /** Makes a withdrawal that must be refused, and must change neither the list nor the audit. */
  async function refused(tenant: Tenant, version: string, more: Json = {}): Promise<Answer> {
    const before = [await tenant.versions(), await tenant.audit()];
    const answer = await tenant.withdraw(version, more);
    expect([await tenant.versions(), await tenant.audit()]).toStrictEqual(before);
    return answer;
  }

  it('removes it: 200 with its app, channel and version as published, audited with what it was and the reason (§4.15, §11.16)', async () => {
    const tenant = await createTenant(node, ['v1.2', { rollout: 40 }]);
    const answer = await tenant.withdraw('1.2.0', { app: tenant.appId, reason: 'wrong platform' });
    expect([answer.status, answer.body]).toStrictEqual([
      200,
      { release: { app: tenant.app, channel: 'stable', version: 'v1.2' } },
    ]);
    expect(await tenant.versions()).toEqual([]);
    expect((await tenant.check('1.0.0', { device: 'a' })).status).toBe(204);
    const changed = await tenant.control('1.2.0', { rollout: 5 });
    expectError(changed, 404, 'Unknown release');
    expect((await tenant.withdraw('1.2.0')).status).toBe(404);
    const artifacts = [expect.anything()];
    const before = { version: 'v1.2', status: 'published', rolloutPct: 40, artifacts };
    expect((await tenant.audit())[0]).toMatchObject({
      ...{ actor: `key:${tenant.keyId} (ci)`, action: 'release.withdraw', before, after: null },
      ...{ subject: `${tenant.app}/stable@v1.2`, reason: 'wrong platform' },
    });
  });

  it('leaves its version free, and nothing of it in what takes the version next; it may be paused or deprecated (§11.13)', async () => {
    const tenant = await createTenant(node);
    const old = { ...ARTIFACT, url: 'https://downloads.example.com/old.tar.gz' };
    const targets = { matchLabels: { ring: ['none'] } };
    const given = { artifacts: [old], notes: 'Old', rollout: 1, targets };
    const first = await tenant.publish('1.2.0', given);
    for (const status of ['paused', 'deprecated']) {
      await tenant.publish('1.1.0', { status: 'paused' });
      await tenant.control('1.1.0', { status });
      expect((await tenant.withdraw('1.1.0')).status).toBe(200);
    }
    expect((await tenant.withdraw('1.2.0')).status).toBe(200);
    const again = await tenant.publish('1.2.0', { notes: 'New' });
    expect(again.status).toBe(201);
    expect(releaseOf(again).id).not.toBe(releaseOf(first).id);
    const offered = await tenant.check('1.0.0', { device: 'a' });
    expect(offered.body).toMatchObject({ url: ARTIFACT.url, notes: 'New' });
  });

  it('is refused with 409 once the release was offered, is rolled back, or runs on devices on record (§11.14)', async () => {
    const tenant = await createTenant(node, ['1.2.0']);
    expect((await tenant.check('1.0.0', { device: 'a' })).status).toBe(200);
    expectError(await refused(tenant, '1.2.0'), 409, OFFERED);
    await tenant.publish('1.1.0');
    await tenant.control('1.1.0', { status: 'rolled_back' });
    const taken = 'A rolled-back release cannot be withdrawn: its version stays taken';
    expectError(await refused(tenant, '1.1.0'), 409, taken);

    await tenant.publish('v1.3', { status: 'paused' });
    const on = (deviceId: string, version = '1.3.0', channel = 'stable') =>
      tenant.report([{ deviceId, version, channel, platform: 'linux' }]);
    const ways = 'pause it to stop offering it, or roll it back to pull it';
    await on('b');
    const one = `This release already runs on 1 device: ${ways}`;
    expectError(await refused(tenant, '1.3.0'), 409, one);
    await on('c');
    const two = `This release already runs on 2 devices: ${ways}`;
    expectError(await refused(tenant, '1.3.0'), 409, two);
    await on('b', '1.1.0');
    await on('c', '1.3.0', 'beta');
    expect((await tenant.withdraw('1.3.0')).status).toBe(200);
  });

  it('is refused with 400 for a bad body, and 404 for what is not found (§11.7)', async () => {
    const tenant = await createTenant(node, ['1.2.0']);
    for (const [version, more, status, error] of [
      ['one', {}, 400, 'version: Invalid version'],
      ['9.9.9', { force: true }, 400, 'force: Unrecognized key'],
      ['9.9.9', { reason: 7 }, 400, 'reason: Expected a string'],
      ['1.2.0', { app: 'nobody' }, 404, 'Unknown app'],
      ['1.2.0', { channel: 'nightly' }, 404, 'Unknown channel'],
      ['1.2.1', {}, 404, 'Unknown release'],
    ] as const) {
      expectError(await refused(tenant, version, more), status, error);
    }
  });

  it('a version that the webhook brought is ignored there, until the API publishes it (§18.12)', async () => {
    const tenant = await createTenant(node);
    const hook = await enableWebhook(node, tenant);
    const event = releaseEvent('v1.2.0', { assets: [asset('notes-linux-amd64')] });
    const announce = async (action = 'published') =>
      (await deliver(node, hook, { ...event, action })).body;
    expect((await announce())?.outcome).toBe('created');
    expect((await tenant.withdraw('1.2.0')).status).toBe(200);
    for (const action of ['released', 'edited', 'published']) {
      expect((await announce(action))?.outcome).toBe('ignored');
    }
    expect(await announce()).toStrictEqual({
      outcome: 'ignored',
      reason: 'This version was withdrawn: publish it through the API',
    });
    expect(await tenant.versions()).toEqual([]);
    expect((await tenant.publish('1.2.0')).status).toBe(201);
    expect((await announce())?.outcome).toBe('duplicate');
    // Withdrawn as the API's, it is the code host's again.
    await tenant.withdraw('1.2.0');
    expect((await announce())?.outcome).toBe('created');
  });

  it('the reason of serving control is in the audit, and in no answer (§11.16)', async () => {
    const tenant = await createTenant(node, ['1.2.0']);
    const answer = await tenant.control('1.2.0', { status: 'paused', reason: 'crashes' });
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain('crashes');
    await tenant.control('1.2.0', { status: 'published', reason: '' });
    const entries = await tenant.audit();
    expect(entries.slice(0, 2).map(({ reason }) => reason)).toEqual([null, 'crashes']);
    expect((await tenant.manage('GET', 'releases')).text).not.toContain('crashes');
    // It does not make a call that names no change one that does (§14.8).
    expect((await tenant.control('1.2.0', { reason: 'why' })).status).toBe(400);
  });
});
