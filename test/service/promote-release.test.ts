// Tests the promotion of releases over HTTP: what another channel gets, and what is refused (docs/contract.md
// 4.16 and 11.17).

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
  send,
  type Tenant,
} from '../support/tenant.ts';

serviceSuite('promoting a release', (node) => {
  function promote(tenant: Tenant, version: string, more: Json = {}): Promise<Answer> {
    const body = { app: tenant.app, version, from: 'beta', to: 'stable', ...more };
    return tenant.manage('POST', 'releases/promote', body);
  }

  /** A tenant with v1.2 on beta. */
  const withBeta = (more: Json = {}) => createTenant(node, ['v1.2', { channel: 'beta', ...more }]);

  it('publishes the same version, notes and artifacts on the other channel, audited with its source: 201 (§4.16, §11.10)', async () => {
    const sums = { sha512: 'q83v', sha256: 'ab'.repeat(32) };
    const given = { notes: '# New', artifacts: [{ ...ARTIFACT, ...sums, format: 'zip', size: 7 }] };
    const tenant = await withBeta(given);
    const reason = 'two weeks on beta';
    const answer = await promote(tenant, '1.2.0', { reason });
    expect(answer.status).toBe(201);
    const { id, createdAt } = releaseOf(answer);
    expect(answer.body).toStrictEqual({
      release: {
        ...{ id, app: tenant.app, channel: 'stable', version: 'v1.2', ...given },
        ...{ status: 'published', rolloutPct: 100, createdAt },
      },
    });
    const offered = await tenant.check('1.0.0', { device: 'a' });
    expect(offered.body).toMatchObject({ version: 'v1.2', notes: '# New', url: ARTIFACT.url });
    const after = { version: 'v1.2', status: 'published', rolloutPct: 100, artifacts: 1 };
    expect((await tenant.audit())[0]).toMatchObject({
      ...{ actor: `key:${tenant.keyId} (ci)`, action: 'release.promote', reason, before: null },
      ...{ subject: `${tenant.app}/stable@v1.2`, after: { ...after, from: 'beta' } },
    });
  });

  it('serves it by the rollout, targets and status of the call, else as the channel says (§11.17)', async () => {
    const tenant = await withBeta({ rollout: 3, targets: { matchLabels: { ring: ['a'] } } });
    await tenant.publish('1.3.0', { channel: 'beta', status: 'paused' });
    await tenant.setChannel({ defaultRollout: 20 });
    expect(releaseOf(await promote(tenant, '1.2.0'))).toMatchObject({ rolloutPct: 20 });
    const targets = { matchLabels: { ring: ['b'] }, matchExpressions: [] };
    const staged = await promote(tenant, '1.3.0', { rollout: 5, targets, status: 'paused' });
    expect(releaseOf(staged)).toMatchObject({ rolloutPct: 5, status: 'paused' });
    const state = await tenant.control('1.3.0', { rollout: 5 });
    expect(releaseOf(state)).toMatchObject({ targets });
    const untargeted = await tenant.control('1.2.0', { rollout: 20 });
    expect(releaseOf(untargeted)).toMatchObject({ targets: null });
  });

  it('copies the sums that a webhook brought, and counts as published through the API (§11.17)', async () => {
    const tenant = await createTenant(node);
    const hook = await enableWebhook(node, tenant);
    const digest = `sha256:${'cd'.repeat(32)}`;
    const assets = [asset('Notes-1.2.0-full.nupkg', { digest })];
    const event = releaseEvent('v1.2.0', { prerelease: true, assets });
    expect((await deliver(node, hook, event)).body?.outcome).toBe('created');
    expect((await promote(tenant, '1.2.0')).status).toBe(201);
    const path = `/velopack/${tenant.app}/stable/releases.win.json?localVersion=1.0.0`;
    const { body: index } = await send(node, 'GET', path);
    expect(index).toMatchObject({ Assets: [{ SHA256: 'CD'.repeat(32) }] });
    const more = releaseEvent('v1.2.0', { assets: [asset('notes-1.2.0.dmg')] });
    const answer = await deliver(node, hook, more);
    expect(answer.body).toMatchObject({ outcome: 'duplicate' });
    expect(releaseOf(answer).artifacts).toHaveLength(1);
  });

  it('is refused: 409 for a source that is over or a version that is there, 400, and 404 for what is not found (§11.17)', async () => {
    const tenant = await withBeta();
    await tenant.publish('1.3.0');
    await tenant.publish('1.3.0', { channel: 'beta' });
    for (const [version, more, status, error] of [
      ['1.3.0', {}, 409, 'Version already exists on this app and channel'],
      ['1.2.0', { to: 'beta' }, 400, 'to: Must be another channel than from'],
      ['1.2.0', { app: 'nobody' }, 404, 'Unknown app'],
      ['1.2.0', { from: 'nightly' }, 404, 'Unknown channel'],
      ['1.2.0', { to: 'nightly' }, 404, 'Unknown channel'],
      ['9.9.9', {}, 404, 'Unknown release'],
    ] as const) {
      expectError(await promote(tenant, version, more), status, error);
    }
    for (const [status, words] of [
      ['deprecated', 'A deprecated release cannot be promoted'],
      ['rolled_back', 'A rolled-back release cannot be promoted'],
    ] as const) {
      await tenant.control('1.2.0', { channel: 'beta', status });
      expectError(await promote(tenant, '1.2.0'), 409, words);
    }
  });
});
