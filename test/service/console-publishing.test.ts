// Tests the calls of the console API by which people publish: a dry run, a promotion, a withdrawal, each
// for publishers of the organization alone.

import { beforeEach, describe, expect, it } from 'vitest';
import { member } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { ARTIFACT, admin, check, createTenant, publish, type Tenant } from '../support/tenant.ts';

type Fields = Record<string, unknown>;

serviceSuite('publishing at the console', (node) => {
  let tenant: Tenant;
  beforeEach(async () => {
    tenant = await createTenant(node);
  });

  const release = (version: string, more: Fields = {}) => ({
    ...{ app: tenant.app, channel: 'stable', version, artifacts: [ARTIFACT], ...more },
  });

  it('a dry run says what speaks against a release and what it would do, and writes nothing (§23)', async () => {
    const artifacts = [{ platform: 'widnows' }];
    const answer = await admin(node, 'POST', 'releases/rehearse', release('1.0.0', { artifacts }));
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      release: { version: '1.0.0', channel: 'stable' },
      findings: expect.arrayContaining([
        expect.objectContaining({ path: 'artifacts.0.platform', message: expect.any(String) }),
      ]),
      effect: { devices: 0, gain: 0, lose: 0 },
    });
    const list = await admin(node, 'GET', `releases?app=${tenant.app}&channel=stable`);
    expect(list.body).toMatchObject({ releases: [] });
    const taken = await publish(node, tenant, '1.0.0');
    expect(taken.status).toBe(201);
    const again = await admin(node, 'POST', 'releases/rehearse', release('1.0.0'));
    expect([again.status, again.body?.error]).toEqual([
      409,
      'Version already exists on this app and channel',
    ]);
  });

  it('a promotion publishes on another channel; a withdrawal removes what nobody was offered', async () => {
    await publish(node, tenant, '1.0.0');
    const promotion = { app: tenant.app, version: '1.0.0', from: 'stable', to: 'beta' };
    const promoted = await admin(node, 'POST', 'releases/promote', promotion);
    expect([promoted.status, promoted.body]).toEqual([
      201,
      { release: expect.objectContaining({ channel: 'beta', version: '1.0.0' }) },
    ]);
    const name = { app: tenant.app, channel: 'beta', version: '1.0.0' };
    const withdrawn = await admin(node, 'DELETE', 'releases', { ...name, reason: 'wrong file' });
    expect([withdrawn.status, withdrawn.body]).toEqual([200, { release: name }]);
    expect((await admin(node, 'DELETE', 'releases', name)).status).toBe(404);
    expect((await check(node, tenant, '0.9.0')).status).toBe(200);
    const offered = await admin(node, 'DELETE', 'releases', { ...name, channel: 'stable' });
    expect(offered.status).toBe(409);
    const { body } = await admin(node, 'GET', `audit?org=${tenant.org}&limit=3`);
    const { entries } = body as { entries: Fields[] };
    expect(entries.slice(0, 2)).toMatchObject([
      {
        ...{ action: 'release.withdraw', reason: 'wrong file', after: null },
        before: { notes: expect.any(String), artifacts: [{ url: expect.stringMatching(/^http/) }] },
      },
      { action: 'release.promote' },
    ]);
  });

  it('a change that is meant for another state is refused in words, and changes nothing', async () => {
    await publish(node, tenant, '1.0.0', { rollout: 10 });
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    const seen = { status: 'published', rolloutPct: 10 };
    const one = await admin(node, 'PATCH', 'releases', { ...name, status: 'paused', seen });
    expect(one.status).toBe(200);
    const other = await admin(node, 'PATCH', 'releases', { ...name, rollout: 50, seen });
    expect([other.status, other.body?.error]).toEqual([
      409,
      'Somebody changed this release meanwhile: it is paused, at 10 %',
    ]);
    const now = { ...seen, status: 'paused' };
    const again = await admin(node, 'PATCH', 'releases', { ...name, rollout: 50, seen: now });
    expect(again.body).toMatchObject({ release: { status: 'paused', rolloutPct: 50 } });
    const wrong = { ...name, rollout: 60, seen: { status: 'paused' } };
    expect((await admin(node, 'PATCH', 'releases', wrong)).body?.error).toBe(
      'seen.rolloutPct: Required',
    );
    // Of many who have seen the same state, one is right.
    const seenBy = { ...now, rolloutPct: 50 };
    const answers = await Promise.all(
      [60, 70, 80, 90].map((rollout) =>
        admin(node, 'PATCH', 'releases', { ...name, rollout, seen: seenBy }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409]);
  });

  describe('each', () => {
    const calls = (): readonly (readonly [method: string, path: string, body: Fields])[] => [
      ['POST', 'releases/rehearse', release('2.0.0')],
      [
        'POST',
        'releases/promote',
        { app: tenant.app, version: '1.0.0', from: 'stable', to: 'beta' },
      ],
      ['DELETE', 'releases', { app: tenant.app, channel: 'stable', version: '1.0.0' }],
    ];

    it('is done by publishers, refused to viewers, and does not exist for others', async () => {
      await publish(node, tenant, '1.0.0');
      const other = await createTenant(node);
      const [viewer, publisher, stranger] = [
        await member(node, tenant.org, 'viewer'),
        await member(node, tenant.org, 'publisher'),
        await member(node, other.org, 'owner'),
      ];
      for (const [method, path, body] of calls()) {
        expect((await viewer.call(method, path, body)).status, path).toBe(403);
        expect((await stranger.call(method, path, body)).body?.error, path).toBe('Unknown app');
        expect((await publisher.call(method, path, body)).status, path).toBeLessThan(300);
      }
    });

    it('is 400 for a field that is missing, or one too many, and names it', async () => {
      for (const [method, path, body] of calls()) {
        const missing = await admin(node, method, path, { ...body, version: undefined });
        expect([missing.status, missing.body?.error], path).toEqual([400, 'version: Required']);
        const more = await admin(node, method, path, { ...body, more: 1 });
        expect([more.status, more.body?.error], path).toEqual([400, 'more: Unrecognized key']);
      }
    });
  });
});
