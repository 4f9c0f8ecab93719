// Tests publishing over HTTP: what is answered, recorded and served afterwards, and in which order a call is
// refused (docs/contract.md 4.1 and 11). The fields of the body are tested in test/http/release-body.test.ts,
// calls at the same time and the defaults of a channel in test/store/ledger/publishing-contract.ts.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { expectWithin } from '../support/published.ts';
import { serviceSuite, testTenant } from '../support/service-suite.ts';
import { ARTIFACT, type Json, releaseOf } from '../support/tenant.ts';

const BODY_BYTES_MAX = 1024 * 1024;
const TAKEN = 'Version already exists on this app and channel';

serviceSuite('publishing a release', (node) => {
  const tenant = testTenant(node);

  const audited = () => tenant.audit('action=release.publish');

  /** Publishes a body that is text, so that the test decides its exact bytes. */
  const publishText = (body: string, by = tenant) => by.manage('POST', 'releases', body);

  it("is 201 with exactly the contract's fields and every character of them, as the list shows it (§2.2, §4.1, §11.5)", async () => {
    const texts = [
      'q83vEjRWeJA+/w==',
      '  spaces  ',
      'ünïcödé 🚀',
      '"quoted" \\ {}[]',
      'a'.repeat(4096),
    ];
    const artifacts: Json[] = [
      { platform: 'p-0', arch: 'mips' },
      ...texts.map((text) => ({ ...ARTIFACT, sha512: text, signature: text, size: 0 })),
      { ...ARTIFACT, signature: '-----BEGIN-----\nline\r\n\tline\n-----END-----\n' },
      { platform: 'windows', size: Number.MAX_SAFE_INTEGER },
    ];
    const given = { notes: '🚀'.repeat(64 * 1024), artifacts };
    const before = Date.now();
    const answer = await tenant.publish('1.2.3', given);
    const after = Date.now();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([201, 'application/json']);
    const release = releaseOf(answer);
    expect(answer.body).toStrictEqual({
      release: {
        ...{ id: release.id, app: tenant.app, channel: 'stable', version: '1.2.3', ...given },
        ...{ status: 'published', rolloutPct: 100, createdAt: release.createdAt },
      },
    });
    expect(release.id).toMatch(/^rel_[0-9a-z]+$/);
    expectWithin(release.createdAt, before, after);
    expect(await tenant.releases()).toStrictEqual([release]);
    const least = await tenant.publish('1.2.4', { artifacts: undefined });
    expect(releaseOf(least)).toMatchObject({ notes: '', artifacts: [] });
  });

  it('is served at once, and from the start by its rollout, status and targets (§11.2, §15.1)', async () => {
    const offered = (query = '') => tenant.offered('0.9.0', { device: 'one', query });
    await tenant.publish('1.0.0', { rollout: 0 });
    const paused = await tenant.publish('1.1.0', { status: 'paused' });
    expect([paused.status, releaseOf(paused).status]).toEqual([201, 'paused']);
    expect(await offered()).toBeNull();
    const targets = { matchLabels: { ring: ['early'] } };
    const targeted = await tenant.publish('1.2.0', { targets });
    expect(releaseOf(targeted)).not.toHaveProperty('targets');
    expect([await offered('l.ring=late'), await offered('l.ring=early')]).toEqual([null, '1.2.0']);
    expect((await tenant.publish('1.3.0', { targets: null })).status).toBe(201);
    expect(await offered('l.ring=late')).toBe('1.3.0');
  });

  it('app is a ref or an id, and is answered as the ref; both must exist (§4.1)', async () => {
    for (const [app, version] of Object.entries({ [tenant.app]: '1.0', [tenant.appId]: '1.1' })) {
      const answer = await tenant.publish(version, { app });
      expect([answer.status, releaseOf(answer).app]).toEqual([201, tenant.app]);
    }
    const channel = 'nightly';
    expectError(await tenant.publish('2.0.0', { channel }), 404, 'Unknown channel');
    for (const app of [`${tenant.appId}0`, '%']) {
      expectError(await tenant.publish('2.0.0', { app }), 404, 'Unknown app');
    }
    expect(await tenant.releases()).toHaveLength(2);
  });

  it('a version in two spellings is one, and stays taken when it is rolled back (§3.5, §10.6)', async () => {
    for (const [first, second] of [
      ['v1.2', '1.2.0'],
      ['2026.01.15', '2026.1.15'],
      ['1.0.0+1', 'v1.0+1'],
    ] as const) {
      expect((await tenant.publish(first)).status).toBe(201);
      expectError(await tenant.publish(second), 409, TAKEN);
    }
    expect((await tenant.publish('1.2.0', { channel: 'beta' })).status).toBe(201);
    await tenant.control('1.2.0', { status: 'rolled_back' });
    expectError(await tenant.publish('1.2.0'), 409, TAKEN);
  });

  // That 429 comes after 401 and before all others is tested in management-rate-limit.test.ts.
  it('is refused with 401, then 413 or 400, 404 and 409, and leaves nothing then (§8, §11.7)', async () => {
    const tooLarge = ' '.repeat(BODY_BYTES_MAX + 1);
    const nobody = tenant.with({ secret: 'sluice_nobody' });
    for (const text of ['{', tooLarge, '{"app":"unknown","channel":"x","version":"1"}']) {
      expectError(await publishText(text, nobody), 401, 'Invalid or revoked API key');
    }
    expectError(await publishText(tooLarge), 413, 'Request body too large');
    const elsewhere = { app: 'unknown', channel: 'unknown' };
    const misspelt = await tenant.publish('1.0.0', { ...elsewhere, rolout: 1 });
    expectError(misspelt, 400, 'rolout: Unrecognized key');
    expectError(await tenant.publish('1.0.0', elsewhere), 404, 'Unknown app');
    expect([await tenant.releases(), await audited()]).toEqual([[], []]);
    const text = JSON.stringify({ app: tenant.app, channel: 'stable', version: '1.0.0' });
    expect((await publishText(text.padEnd(BODY_BYTES_MAX, ' '))).status).toBe(201);
    expect((await tenant.publish('1.0.0', { rollout: 101 })).status).toBe(400);
    expectError(await tenant.publish('1.0.0'), 409, TAKEN);
    expect(await audited()).toHaveLength(1);
  });

  it('is audited: who published what, and when (§1.7, §11.10)', async () => {
    const second = await tenant.anotherKey();
    const targets = { matchLabels: { ring: ['a'] }, matchExpressions: [] };
    const before = Date.now();
    await tenant.publish('v1.2', { rollout: 5, status: 'paused', targets });
    const after = Date.now();
    await second.publish('1.0.1');
    const [newest, entry, ...others] = await audited();
    expect(others).toEqual([]);
    expect(entry).toStrictEqual({
      ...{ id: expect.any(String), at: expect.any(String), requestId: expect.any(String) },
      ...{ actor: expect.stringContaining(tenant.keyId), action: 'release.publish' },
      ...{ subject: `${tenant.app}/stable@v1.2`, before: null, reason: null },
      after: { version: 'v1.2', status: 'paused', rolloutPct: 5, targets, artifacts: 1 },
    });
    expectWithin(entry?.at, before, after);
    expect(newest?.actor).toContain(second.keyId);
  });
});
