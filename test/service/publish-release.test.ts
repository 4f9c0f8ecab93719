// Tests publishing over HTTP: what is answered, recorded and served afterwards, and in which order a call is
// refused (docs/contract.md 4.1 and 11). The fields of the body are tested in test/http/release-body.test.ts.

import { describe, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { auditOf, expectWithin, type Json, releaseOf, releasesOf } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  anotherKey,
  check,
  control,
  createTenant,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

const BODY_BYTES_MAX = 1024 * 1024;

serviceSuite('publishing a release', (node) => {
  const listed = (tenant: Tenant) => releasesOf(node, tenant);
  const audited = (tenant: Tenant) => auditOf(node, tenant, 'action=release.publish');

  /** Publishes a body that is text, so that the test decides its exact bytes. */
  function publishText(tenant: Pick<Tenant, 'secret'>, body: string): Promise<Answer> {
    const headers = { authorization: `Bearer ${tenant.secret}` };
    return send(node, 'POST', '/api/v1/releases', { body, headers });
  }

  function setDefaultRollout(tenant: Tenant, defaultRollout: number): Promise<Answer> {
    return admin(node, 'PATCH', 'channels', { app: tenant.app, name: 'stable', defaultRollout });
  }

  describe('the answer', () => {
    it("is 201 with exactly the contract's fields, which the list shows too (§2.2, §4.1)", async () => {
      const tenant = await createTenant(node);
      const given = {
        notes: '# What is new\n\n- *everything* 🚀',
        artifacts: [{ ...ARTIFACT, sha512: 'q83vEjRWeJA=', size: 1234 }],
      };
      const before = Date.now();
      const answer = await publish(node, tenant, '1.2.3', given);
      const after = Date.now();
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        201,
        'application/json',
      ]);
      const release = releaseOf(answer);
      expect(answer.body).toStrictEqual({
        release: {
          ...{ id: release.id, app: tenant.app, channel: 'stable', version: '1.2.3', ...given },
          ...{ status: 'published', rolloutPct: 100, createdAt: release.createdAt },
        },
      });
      expect(release.id).toMatch(/^rel_[0-9a-z]+$/);
      expectWithin(release.createdAt, before, after);
      expect(await listed(tenant)).toStrictEqual([release]);
    });

    it('has empty notes and no artifacts when none were given (§4.1)', async () => {
      const tenant = await createTenant(node);
      const answer = await publish(node, tenant, '1.0.0', { artifacts: undefined });
      expect(answer.status).toBe(201);
      expect(releaseOf(answer)).toMatchObject({ notes: '', artifacts: [] });
    });

    it('means that the node that answered serves the release at once', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      expect((await check(node, tenant, '1.0.0')).status).toBe(204);
      await publish(node, tenant, '1.1.0');
      const { status, body } = await check(node, tenant, '1.0.0');
      expect([status, body?.version]).toEqual([200, '1.1.0']);
    });
  });

  describe('app and channel', () => {
    it('app is a ref or an id, and is answered as the ref; both must exist (§4.1)', async () => {
      const tenant = await createTenant(node);
      for (const [app, version] of Object.entries({ [tenant.app]: '1.0', [tenant.appId]: '1.1' })) {
        const answer = await publish(node, tenant, version, { app });
        expect([answer.status, releaseOf(answer).app]).toEqual([201, tenant.app]);
      }
      for (const app of [`${tenant.app}-not`, 'app_', `${tenant.appId}0`, '%', '*']) {
        expectError(await publish(node, tenant, '2.0.0', { app }), 404, 'Unknown app');
      }
      const channel = 'nightly';
      expectError(await publish(node, tenant, '2.0.0', { channel }), 404, 'Unknown channel');
      expect(await listed(tenant)).toHaveLength(2);
    });

    it("another organization's app is 404, by ref and by id (§5.2)", async () => {
      const [owner, stranger] = [await createTenant(node), await createTenant(node)];
      for (const app of [owner.app, owner.appId]) {
        expectError(await publish(node, stranger, '1.0.0', { app }), 404, 'Unknown app');
      }
      expect([await listed(owner), await audited(owner)]).toEqual([[], []]);
    });
  });

  describe('versions', () => {
    it('in two spellings are one, and 409 the second time (unique per app and channel)', async () => {
      const tenant = await createTenant(node);
      const pairs = {
        ...{ 'v1.2': '1.2.0', '2.0': 'V2', '3': '3.0.0.0', '2026.01.15': '2026.1.15' },
        ...{ '1.0.0-rc.01': '1.0.0-rc.1', '1.0.0+1': 'v1.0+1' },
      };
      for (const [first, second] of Object.entries(pairs)) {
        expect((await publish(node, tenant, first)).status).toBe(201);
        const error = 'Version already exists on this app and channel';
        expectError(await publish(node, tenant, second), 409, error);
      }
      const firsts = (await listed(tenant)).map(({ version }) => version).reverse();
      expect(firsts).toEqual(Object.keys(pairs));
    });

    it('are unique per app and channel, and stay taken when rolled back (§3.5, §10.6)', async () => {
      const tenant = await createTenant(node);
      const ref = `${tenant.app}-two`;
      await admin(node, 'POST', 'apps', { org: tenant.org, ref, name: 'Two' });
      expect((await publish(node, tenant, '1.0.0')).status).toBe(201);
      expect((await publish(node, tenant, '1.0.0', { channel: 'beta' })).status).toBe(201);
      expect((await publish(node, tenant, '1.0.0', { app: ref })).status).toBe(201);
      expect((await publish(node, tenant, '1.0.0', { app: tenant.appId })).status).toBe(409);
      await control(node, tenant, '1.0.0', { status: 'rolled_back' });
      expect((await publish(node, tenant, '1.0.0')).status).toBe(409);
    });
  });

  describe('how it is served from the start', () => {
    it("rolloutPct is the channel's defaultRollout, 100 unless set; that of the call wins", async () => {
      const tenant = await createTenant(node);
      expect((await setDefaultRollout(tenant, 25)).status).toBe(200);
      expect(releaseOf(await publish(node, tenant, '1.0.0')).rolloutPct).toBe(25);
      const elsewhere = await publish(node, tenant, '1.0.0', { channel: 'beta' });
      expect(releaseOf(elsewhere).rolloutPct).toBe(100);
      for (const rollout of [0, 1, 60, 100]) {
        const answer = await publish(node, tenant, `2.0.${rollout}`, { rollout });
        expect([answer.status, releaseOf(answer).rolloutPct]).toEqual([201, rollout]);
      }
    });

    it('a release published at 0 %, or as paused, has no moment at which it is offered', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0', { rollout: 0 });
      const answer = await publish(node, tenant, '1.1.0', { status: 'paused' });
      expect([answer.status, releaseOf(answer).status]).toEqual([201, 'paused']);
      for (const device of ['one', 'two', 'three']) {
        expect((await check(node, tenant, '0.1', { device })).status).toBe(204);
      }
    });

    it('targets given at publish decide, and are not in the answer; null targets everybody', async () => {
      const tenant = await createTenant(node);
      const targets = { matchLabels: { ring: ['early'] } };
      const answer = await publish(node, tenant, '1.0.0', { targets });
      expect(answer.status).toBe(201);
      expect(releaseOf(answer)).not.toHaveProperty('targets');
      const asked = ['', 'l.ring=late', 'l.ring=early'].map((query) =>
        check(node, tenant, '0.1', { query }),
      );
      expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([204, 204, 200]);
      expect((await publish(node, tenant, '1.1.0', { targets: null })).status).toBe(201);
      expect((await check(node, tenant, '0.1')).body?.version).toBe('1.1.0');
    });
  });

  describe('the body', () => {
    it('that is wrong is 400 with the path, and nothing is published', async () => {
      const tenant = await createTenant(node);
      const misleading = { targets: { matchLabels: { $platform: ['linux'] } } };
      for (const [more, error] of [
        [{ rolout: 10 }, 'rolout: Unrecognized key'],
        [{ channel: undefined }, 'channel: Required'],
        [{ version: 'latest' }, 'version: Invalid version'],
        [{ rollout: 101 }, 'rollout: Must be at most 100'],
        [{ status: 'rolled_back' }, 'status: Must be one of published, paused'],
        [{ artifacts: [ARTIFACT, { arch: 'x' }] }, 'artifacts.1.platform: Required'],
        [misleading, 'targets.matchLabels.$platform: Label key must not begin with $'],
      ] as const) {
        expectError(await publish(node, tenant, '1.0.0', more), 400, error);
      }
      expect(await listed(tenant)).toEqual([]);
    });

    it('may be 1 MiB, one byte more is 413', async () => {
      const tenant = await createTenant(node);
      const text = JSON.stringify({ app: tenant.app, channel: 'stable', version: '1.0.0' });
      const longest = text.padEnd(BODY_BYTES_MAX, ' ');
      expectError(await publishText(tenant, `${longest} `), 413, 'Request body too large');
      expect(await listed(tenant)).toEqual([]);
      expect((await publishText(tenant, longest)).status).toBe(201);
    });
  });

  describe('notes and artifacts', () => {
    it('are kept in their order and with every character, and optional fields only where given', async () => {
      const tenant = await createTenant(node);
      const notes = '🚀'.repeat(64 * 1024);
      const texts = [
        ...['q83vEjRWeJA+/w==', 'ABCDEF0123456789', '  spaces around  ', 'ünïcödé 🚀'],
        ...['"quoted" \\ {}[]', 'a'.repeat(4 * 1024)],
      ];
      const lines = '-----BEGIN-----\nline\r\n\tline\n-----END-----\n';
      const artifacts: Json[] = [
        { platform: 'p-0', arch: 'mips' },
        ...texts.map((text) => ({ ...ARTIFACT, sha512: text, signature: text, size: 0 })),
        { ...ARTIFACT, signature: lines },
        { platform: 'windows', size: Number.MAX_SAFE_INTEGER },
        ...['c', 'a', 'b', 'a'].map((name) => ({ ...ARTIFACT, url: `https://a.example/${name}` })),
      ];
      const answer = await publish(node, tenant, '1.0.0', { notes, artifacts });
      expect(releaseOf(answer)).toMatchObject({ notes });
      expect(releaseOf(answer).artifacts).toStrictEqual(artifacts);
      const [shown] = await listed(tenant);
      expect([shown?.notes, shown?.artifacts]).toStrictEqual([notes, artifacts]);
    });
  });

  // That 429 comes after 401 and before all others is tested in management-rate-limit.test.ts.
  describe('the order of refusal is 401, 429, 413/400, 404, 409', () => {
    const tooLarge = ' '.repeat(BODY_BYTES_MAX + 1);

    it('401 comes before everything', async () => {
      const nobody = { secret: 'sluice_nobody' };
      for (const text of ['{', tooLarge, '{"app":"unknown","channel":"x","version":"1"}']) {
        expectError(await publishText(nobody, text), 401, 'Invalid or revoked API key');
      }
    });

    it('413 and 400 come before 404, and 400 before 409', async () => {
      const tenant = await createTenant(node);
      const elsewhere = { app: 'unknown', channel: 'unknown' };
      expect((await publishText(tenant, tooLarge)).status).toBe(413);
      const misspelt = await publish(node, tenant, '1.0.0', { ...elsewhere, rolout: 1 });
      expectError(misspelt, 400, 'rolout: Unrecognized key');
      expectError(await publish(node, tenant, '1.0.0', elsewhere), 404, 'Unknown app');
      await publish(node, tenant, '1.0.0');
      expect((await publish(node, tenant, '1.0.0', { rollout: 101 })).status).toBe(400);
      expect((await publish(node, tenant, '1.0.0')).status).toBe(409);
    });
  });

  describe('the audit', () => {
    it('says who published what, and when (§1.7, §11.10)', async () => {
      const tenant = await createTenant(node);
      const second = await anotherKey(node, tenant);
      const targets = { matchLabels: { ring: ['a'] }, matchExpressions: [] };
      const before = Date.now();
      await publish(node, tenant, 'v1.2', { rollout: 5, status: 'paused', targets });
      const after = Date.now();
      await publish(node, second, '1.0.1');
      const [newest, entry, ...others] = await audited(tenant);
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

    it('has nothing of a publish that was refused', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      const refused = await Promise.all([
        publish(node, tenant, '1.0.0'),
        publish(node, tenant, '1.0.1', { rolout: 1 }),
        publish(node, tenant, '1.0.1', { channel: 'nightly' }),
        publish(node, { ...tenant, secret: 'wrong' }, '1.0.1'),
      ]);
      expect(refused.map(({ status }) => status)).toEqual([409, 400, 404, 401]);
      expect(await audited(tenant)).toHaveLength(1);
    });
  });
});
