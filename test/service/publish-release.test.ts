// Tests publishing over HTTP: which releases are accepted, which are refused and with which words, and what
// is answered, recorded and served afterwards (docs/contract.md 4.1 and 11).

import { describe, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  anotherKey,
  check,
  control,
  createTenant,
  manage,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

const KIB = 1024;
const BODY_BYTES_MAX = 1024 * KIB;
const NOTES_BYTES_MAX = 256 * KIB;
const REQUESTS_PER_MINUTE = 300;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

type Json = Record<string, unknown>;

serviceSuite('publishing a release', (node) => {
  /** Returns the releases that the list shows of the tenant, newest first. */
  async function listed(tenant: Tenant): Promise<Json[]> {
    const { body } = await manage(node, tenant, 'GET', 'releases?per_page=100');
    return body?.releases as Json[];
  }

  /** Returns the tenant's publish entries of the audit, newest first. */
  async function audited(tenant: Tenant): Promise<Json[]> {
    const { body } = await admin(node, 'GET', `audit?org=${tenant.org}&limit=1000`);
    const entries = body?.entries as Json[];
    return entries.filter((entry) => entry.action === 'release.publish');
  }

  /** Publishes a body that is text, so that the test decides its exact bytes. */
  function publishText(tenant: Pick<Tenant, 'secret'>, body: string): Promise<Answer> {
    return send(node, 'POST', '/api/v1/releases', {
      body,
      headers: { authorization: `Bearer ${tenant.secret}` },
    });
  }

  function setDefaultRollout(tenant: Tenant, defaultRollout: number): Promise<Answer> {
    const change = { app: tenant.app, name: 'stable', defaultRollout };
    return admin(node, 'PATCH', 'channels', change);
  }

  describe('the answer', () => {
    it("is 201 with exactly the contract's fields, nothing more (§2.2, §4.1)", async () => {
      const tenant = await createTenant(node);
      const artifact = { ...ARTIFACT, sha512: 'q83vEjRWeJA=', size: 1234 };
      const before = Date.now();
      const answer = await publish(node, tenant, '1.2.3', {
        notes: '# What is new\n\n- *everything* 🚀',
        artifacts: [artifact],
      });
      const after = Date.now();
      expect(answer.status).toBe(201);
      expect(answer.headers.get('content-type')).toBe('application/json');
      const release = releaseOf(answer);
      expect(answer.body).toStrictEqual({
        release: {
          id: release.id,
          app: tenant.app,
          channel: 'stable',
          version: '1.2.3',
          notes: '# What is new\n\n- *everything* 🚀',
          status: 'published',
          rolloutPct: 100,
          createdAt: release.createdAt,
          artifacts: [artifact],
        },
      });
      expect(release.id).toMatch(/^rel_[0-9a-z]+$/);
      expect(release.createdAt).toMatch(TIMESTAMP);
      // The database and the test use the clock of one machine; the database may round milliseconds.
      const createdAt = Date.parse(String(release.createdAt));
      expect(createdAt).toBeGreaterThanOrEqual(before - 1);
      expect(createdAt).toBeLessThanOrEqual(after + 1);
    });

    it('has empty notes and no artifacts when none were given (§4.1)', async () => {
      const tenant = await createTenant(node);
      const body = { app: tenant.app, channel: 'stable', version: '1.0.0' };
      const answer = await manage(node, tenant, 'POST', 'releases', body);
      expect(answer.status).toBe(201);
      expect(releaseOf(answer)).toMatchObject({ notes: '', artifacts: [] });
    });

    it('has optional artifact fields only where they were given (§2.1)', async () => {
      const tenant = await createTenant(node);
      const artifacts = [
        { platform: 'linux' },
        { platform: 'my-console', arch: 'mips' },
        { platform: 'windows', size: 0 },
      ];
      const answer = await publish(node, tenant, '1.0.0', { artifacts });
      expect(releaseOf(answer).artifacts).toStrictEqual(artifacts);
    });

    it('is what the list shows afterwards (§2.2)', async () => {
      const tenant = await createTenant(node);
      const answer = await publish(node, tenant, '1.0.0', { notes: 'Größer' });
      expect(await listed(tenant)).toStrictEqual([releaseOf(answer)]);
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
    it('app is a ref or an id, and is answered as the ref (§4.1)', async () => {
      const tenant = await createTenant(node);
      for (const [app, version] of [
        [tenant.app, '1.0.0'],
        [tenant.appId, '1.0.1'],
      ] as const) {
        const answer = await publish(node, tenant, version, { app });
        expect([answer.status, releaseOf(answer).app]).toEqual([201, tenant.app]);
      }
    });

    it('an unknown app is 404 (§4.1)', async () => {
      const tenant = await createTenant(node);
      const answer = await publish(node, tenant, '1.0.0', { app: `${tenant.app}-not` });
      expectError(answer, 404, 'Unknown app');
    });

    it('an unknown channel is 404: it must already exist on the app (§4.1)', async () => {
      const tenant = await createTenant(node);
      const answer = await publish(node, tenant, '1.0.0', { channel: 'nightly' });
      expectError(answer, 404, 'Unknown channel');
      expect(await listed(tenant)).toEqual([]);
    });

    it("another organization's app is 404, by ref and by id (§5.2)", async () => {
      const owner = await createTenant(node);
      const stranger = await createTenant(node);
      for (const app of [owner.app, owner.appId]) {
        expectError(await publish(node, stranger, '1.0.0', { app }), 404, 'Unknown app');
      }
      expect(await listed(owner)).toEqual([]);
      expect(await audited(owner)).toEqual([]);
    });
  });

  describe('versions', () => {
    it.each([
      ['v1.2', '1.2.0'],
      ['1.2.0', 'V1.2'],
      ['1', '1.0.0.0'],
      ['2026.01.15', '2026.1.15'],
      ['1.0.0-rc.01', '1.0.0-rc.1'],
      ['1.0.0+1', 'v1.0+1'],
    ])(
      '%s and %s are the same version: 409 (unique per app and channel)',
      async (first, second) => {
        const tenant = await createTenant(node);
        expect((await publish(node, tenant, first)).status).toBe(201);
        const again = await publish(node, tenant, second);
        expect(again.status).toBe(409);
        expectErrorBody(again);
        expect((await listed(tenant)).map(({ version }) => version)).toEqual([first]);
      },
    );

    it.each([
      ['1.0.0', '1.0.0+1'],
      ['1.0.0+1', '1.0.0+2'],
      ['1.0.0', '1.0.0-rc.1'],
      ['1.0.0-rc.1', '1.0.0-rc.2'],
      ['1.2', '1.2.0.1'],
    ])('%s and %s are two versions (build metadata distinguishes)', async (first, second) => {
      const tenant = await createTenant(node);
      expect((await publish(node, tenant, first)).status).toBe(201);
      expect((await publish(node, tenant, second)).status).toBe(201);
    });

    it('are unique per app and channel: elsewhere the same one is free (§10.6)', async () => {
      const tenant = await createTenant(node);
      const ref = `${tenant.app}-two`;
      await admin(node, 'POST', 'apps', { org: tenant.org, ref, name: 'Two' });
      expect((await publish(node, tenant, '1.0.0')).status).toBe(201);
      expect((await publish(node, tenant, '1.0.0', { channel: 'beta' })).status).toBe(201);
      expect((await publish(node, tenant, '1.0.0', { app: ref })).status).toBe(201);
      expect((await publish(node, tenant, '1.0.0', { app: tenant.appId })).status).toBe(409);
    });

    it('stay taken by a release that was rolled back (§3.5)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      await control(node, tenant, '1.0.0', { status: 'rolled_back' });
      expect((await publish(node, tenant, '1.0.0')).status).toBe(409);
    });

    it.each(['v1.2', 'V3', '2026.01.15', '1.0.0-RC.01+Build.007', '1.2.3.4'])(
      '%s is echoed as it was published',
      async (version) => {
        const tenant = await createTenant(node);
        expect(releaseOf(await publish(node, tenant, version)).version).toBe(version);
        expect((await listed(tenant))[0]?.version).toBe(version);
        expect((await check(node, tenant, '0.1')).body?.version).toBe(version);
      },
    );

    it.each([
      '',
      'latest',
      '1.2.3.4.5',
      '1..2',
      '1.2.',
      '.1',
      '1.x',
      '-1',
      'vv1',
      '1.2-',
      '1.2+',
      '1.2-a..b',
      '1.2-ü',
      ' 1.2',
      '1.2 ',
      '1.2\n',
      '１.２',
    ])('%j is no version: 400 with the path', async (version) => {
      const tenant = await createTenant(node);
      expectError(await publish(node, tenant, version), 400, 'version: Invalid version');
    });

    it('have at most 64 characters', async () => {
      const tenant = await createTenant(node);
      const longest = `1.0.0-${'a'.repeat(58)}`;
      expect(longest).toHaveLength(64);
      expect((await publish(node, tenant, longest)).status).toBe(201);
      const tooLong = await publish(node, tenant, `${longest}a`);
      expectError(tooLong, 400, 'version: Invalid version');
    });
  });

  describe('how it is served from the start', () => {
    it("rolloutPct is the channel's defaultRollout, 100 unless set", async () => {
      const tenant = await createTenant(node);
      expect(releaseOf(await publish(node, tenant, '1.0.0')).rolloutPct).toBe(100);
      expect((await setDefaultRollout(tenant, 25)).status).toBe(200);
      expect(releaseOf(await publish(node, tenant, '1.0.1')).rolloutPct).toBe(25);
      const elsewhere = await publish(node, tenant, '1.0.1', { channel: 'beta' });
      expect(releaseOf(elsewhere).rolloutPct).toBe(100);
    });

    it.each([0, 1, 60, 100])('rollout %i at publish wins over the default', async (rollout) => {
      const tenant = await createTenant(node);
      await setDefaultRollout(tenant, 25);
      const answer = await publish(node, tenant, '1.0.0', { rollout });
      expect([answer.status, releaseOf(answer).rolloutPct]).toEqual([201, rollout]);
    });

    it.each([-1, 101, 1.5, '50', null, true])('rollout %j is 400', async (rollout) => {
      const tenant = await createTenant(node);
      const answer = await publish(node, tenant, '1.0.0', { rollout });
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).toMatch(/^rollout: ./);
    });

    it('a release published at 0 % has no moment at which it is offered', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0', { rollout: 0 });
      for (const device of ['one', 'two', 'three']) {
        expect((await check(node, tenant, '0.1', { device })).status).toBe(204);
      }
    });

    it('a release published as paused is paused, and not offered', async () => {
      const tenant = await createTenant(node);
      const answer = await publish(node, tenant, '1.0.0', { status: 'paused' });
      expect([answer.status, releaseOf(answer).status]).toEqual([201, 'paused']);
      expect((await check(node, tenant, '0.1')).status).toBe(204);
    });

    it.each(['rolled_back', 'deprecated', 'draft', 'Published', '', null])(
      'status %j at publish is 400: only published or paused',
      async (status) => {
        const tenant = await createTenant(node);
        const answer = await publish(node, tenant, '1.0.0', { status });
        expect(answer.status).toBe(400);
        expect(errorOf(answer)).toMatch(/^status: ./);
        expect(await listed(tenant)).toEqual([]);
      },
    );

    it('targets given at publish decide, and are not in the answer', async () => {
      const tenant = await createTenant(node);
      const targets = { matchLabels: { ring: ['early'] } };
      const answer = await publish(node, tenant, '1.0.0', { targets });
      expect(answer.status).toBe(201);
      expect(releaseOf(answer)).not.toHaveProperty('targets');
      expect((await check(node, tenant, '0.1')).status).toBe(204);
      expect((await check(node, tenant, '0.1', { query: 'l.ring=late' })).status).toBe(204);
      expect((await check(node, tenant, '0.1', { query: 'l.ring=early' })).status).toBe(200);
    });

    it('targets null targets everybody', async () => {
      const tenant = await createTenant(node);
      expect((await publish(node, tenant, '1.0.0', { targets: null })).status).toBe(201);
      expect((await check(node, tenant, '0.1')).status).toBe(200);
    });
  });

  describe('the body', () => {
    it.each([
      ['rolout', { rolout: 10 }],
      ['rolloutPct', { rolloutPct: 10 }],
      ['id', { id: 'rel_1' }],
      ['createdAt', { createdAt: '2026-01-01T00:00:00Z' }],
      ['artifacts.0.md5', { artifacts: [{ ...ARTIFACT, md5: 'x' }] }],
      ['artifacts.1.Platform', { artifacts: [ARTIFACT, { ...ARTIFACT, Platform: 'x' }] }],
      ['targets.matchLabel', { targets: { matchLabel: { ring: ['a'] } } }],
      [
        'targets.matchExpressions.0.value',
        { targets: { matchExpressions: [{ key: 'a', operator: 'Exists', value: [] }] } },
      ],
    ])('an unknown key is 400 `%s: Unrecognized key`', async (path, more) => {
      const tenant = await createTenant(node);
      expectError(await publish(node, tenant, '1.0.0', more), 400, `${path}: Unrecognized key`);
      expect(await listed(tenant)).toEqual([]);
    });

    it('a key named __proto__ is an unknown key like any other', async () => {
      const tenant = await createTenant(node);
      const text = `{"app":"${tenant.app}","channel":"stable","version":"1","__proto__":{}}`;
      expectError(await publishText(tenant, text), 400, '__proto__: Unrecognized key');
    });

    it.each(['app', 'channel', 'version'])('a missing %s is 400 and named', async (field) => {
      const tenant = await createTenant(node);
      const answer = await publish(node, tenant, '1.0.0', { [field]: undefined });
      expectError(answer, 400, `${field}: Required`);
    });

    it("a missing platform is 400 with the artifact's place", async () => {
      const tenant = await createTenant(node);
      const artifacts = [ARTIFACT, { arch: 'x86_64' }];
      const answer = await publish(node, tenant, '1.0.0', { artifacts });
      expectError(answer, 400, 'artifacts.1.platform: Required');
    });

    it.each(['', '{', 'release', '{"app":}', "{'app':'a'}", '{"app":"a",}', '{}{}'])(
      'malformed JSON is 400 `Invalid JSON body`: %j',
      async (text) => {
        const tenant = await createTenant(node);
        expectError(await publishText(tenant, text), 400, 'Invalid JSON body');
      },
    );

    it('may be 1 MiB, one byte more is 413', async () => {
      const tenant = await createTenant(node);
      const text = JSON.stringify({ app: tenant.app, channel: 'stable', version: '1.0.0' });
      const longest = text.padEnd(BODY_BYTES_MAX, ' ');
      const tooLarge = await publishText(tenant, `${longest} `);
      expect(tooLarge.status).toBe(413);
      expectErrorBody(tooLarge);
      expect(await listed(tenant)).toEqual([]);
      expect((await publishText(tenant, longest)).status).toBe(201);
    });
  });

  describe('notes and artifacts', () => {
    it.each([
      ['one byte each', 'x'],
      ['two bytes each', 'é'],
      ['four bytes each', '🚀'],
    ])('notes have at most 256 KiB, counted in bytes (characters of %s)', async (_, character) => {
      const tenant = await createTenant(node);
      const longest = character.repeat(NOTES_BYTES_MAX / Buffer.byteLength(character));
      const tooLong = await publish(node, tenant, '1.0.0', { notes: `${longest}x` });
      expect(tooLong.status).toBe(400);
      expect(errorOf(tooLong)).toMatch(/^notes: ./);
      const answer = await publish(node, tenant, '1.0.0', { notes: longest });
      expect(answer.status).toBe(201);
      expect(releaseOf(answer).notes).toBe(longest);
    });

    it('a release has at most 200 artifacts', async () => {
      const tenant = await createTenant(node);
      const artifacts = Array.from({ length: 201 }, (_, index) => ({ platform: `p${index}` }));
      const tooMany = await publish(node, tenant, '1.0.0', { artifacts });
      expect(tooMany.status).toBe(400);
      expect(errorOf(tooMany)).toMatch(/^artifacts: ./);
      const answer = await publish(node, tenant, '1.0.0', { artifacts: artifacts.slice(0, 200) });
      expect(answer.status).toBe(201);
      expect(releaseOf(answer).artifacts).toStrictEqual(artifacts.slice(0, 200));
    });

    it('several artifacts may have the same platform and arch, and keep their order', async () => {
      const tenant = await createTenant(node);
      const artifacts = ['c', 'a', 'b', 'a'].map((name) => ({
        platform: 'linux',
        arch: 'x86_64',
        url: `https://downloads.example.com/${name}`,
      }));
      const answer = await publish(node, tenant, '1.0.0', { artifacts });
      expect(answer.status).toBe(201);
      expect(releaseOf(answer).artifacts).toStrictEqual(artifacts);
      expect((await listed(tenant))[0]?.artifacts).toStrictEqual(artifacts);
    });

    it('an artifact url has at most 2,048 characters', async () => {
      const tenant = await createTenant(node);
      const longest = 'https://downloads.example.com/'.padEnd(2048, 'a');
      const tooLong = await publishUrl(tenant, `${longest}a`);
      expect(tooLong.status).toBe(400);
      expect(errorOf(tooLong)).toMatch(/^artifacts\.0\.url: ./);
      const answer = await publishUrl(tenant, longest);
      expect(answer.status).toBe(201);
      expect(releaseOf(answer).artifacts).toStrictEqual([{ platform: 'linux', url: longest }]);
    });

    it.each(['https://a.example/b?c=d&e=%20#f', 'http://a.example', 'HTTPS://A.EXAMPLE:8443/b'])(
      'an artifact url is absolute http(s), kept as it was given: %s',
      async (url) => {
        const tenant = await createTenant(node);
        const answer = await publishUrl(tenant, url);
        expect(releaseOf(answer).artifacts).toStrictEqual([{ platform: 'linux', url }]);
      },
    );

    it.each([
      '',
      '/a/b',
      'a.example/b',
      '//a.example/b',
      'ftp://a.example/b',
      'file:///etc/passwd',
      'javascript:alert(1)',
      'data:text/plain,x',
      'https:',
      'https://',
      'https://a.example/b c',
      ' https://a.example/b',
      'https://a.example/b\n',
      'https://a.example:99999/',
    ])('an artifact url that is not absolute http(s) is 400: %j', async (url) => {
      const tenant = await createTenant(node);
      const answer = await publishUrl(tenant, url);
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).toMatch(/^artifacts\.0\.url: ./);
    });

    it.each(
      named([
        'q83vEjRWeJA+/w==',
        'ABCDEF0123456789',
        '  spaces around  ',
        '-----BEGIN-----\nline\r\nline\n-----END-----\n',
        '\t"quoted" \\ {}[]',
        'ünïcödé 🚀',
        'a'.repeat(4 * KIB),
      ]),
    )('sha512 and signature pass through verbatim: %s', async (_, text) => {
      const tenant = await createTenant(node);
      const artifact = { ...ARTIFACT, sha512: text, signature: text };
      const answer = await publish(node, tenant, '1.0.0', { artifacts: [artifact] });
      expect(releaseOf(answer).artifacts).toStrictEqual([artifact]);
      expect((await listed(tenant))[0]?.artifacts).toStrictEqual([artifact]);
      expect((await check(node, tenant, '0.1')).body).toMatchObject({
        sha512: text,
        signature: text,
      });
    });

    it.each([0, 1, 2 ** 31, Number.MAX_SAFE_INTEGER])(
      'a size of %d bytes is kept',
      async (size) => {
        const tenant = await createTenant(node);
        const answer = await publish(node, tenant, '1.0.0', { artifacts: [{ ...ARTIFACT, size }] });
        expect(releaseOf(answer).artifacts).toStrictEqual([{ ...ARTIFACT, size }]);
        expect((await check(node, tenant, '0.1')).body?.size).toBe(size);
      },
    );

    it.each([-1, 1.5, '1', null, 2 ** 53])('a size of %j is 400', async (size) => {
      const tenant = await createTenant(node);
      const answer = await publish(node, tenant, '1.0.0', { artifacts: [{ ...ARTIFACT, size }] });
      expect(answer.status).toBe(400);
      expect(errorOf(answer)).toMatch(/^artifacts\.0\.size: ./);
    });
  });

  function publishUrl(tenant: Tenant, url: string): Promise<Answer> {
    return publish(node, tenant, '1.0.0', { artifacts: [{ platform: 'linux', url }] });
  }

  describe('the order of refusal is 401, 429, 413/400, 404, 409', () => {
    const tooLarge = ' '.repeat(BODY_BYTES_MAX + 1);

    it('401 comes before everything', async () => {
      const nobody = { secret: 'sluice_nobody' };
      for (const text of ['{', tooLarge, '{"app":"unknown","channel":"x","version":"1"}']) {
        expectError(await publishText(nobody, text), 401, 'Invalid or revoked API key');
      }
    });

    it('429 comes before 413, 400, 404 and 409', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      await spend(REQUESTS_PER_MINUTE - 1, () => publishText(tenant, '{'));
      for (const text of ['{', tooLarge, '{"app":"unknown","channel":"x","version":"1"}']) {
        expectError(await publishText(tenant, text), 429, 'Rate limit exceeded');
      }
      expectError(await publish(node, tenant, '1.0.0'), 429, 'Rate limit exceeded');
    });

    it('413 and 400 come before 404', async () => {
      const tenant = await createTenant(node);
      const elsewhere = { app: 'unknown', channel: 'unknown' };
      expect((await publishText(tenant, tooLarge)).status).toBe(413);
      const misspelt = await publish(node, tenant, '1.0.0', { ...elsewhere, rolout: 1 });
      expectError(misspelt, 400, 'rolout: Unrecognized key');
      const unparsable = await publish(node, tenant, 'latest', elsewhere);
      expectError(unparsable, 400, 'version: Invalid version');
      expectError(await publish(node, tenant, '1.0.0', elsewhere), 404, 'Unknown app');
    });

    it('400 comes before 409', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      expect((await publish(node, tenant, '1.0.0', { rollout: 101 })).status).toBe(400);
      expect((await publish(node, tenant, '1.0.0')).status).toBe(409);
    });
  });

  describe('the audit', () => {
    it('says who published what, and when (§1.7, §11.10)', async () => {
      const tenant = await createTenant(node);
      const targets = { matchLabels: { ring: ['a'] }, matchExpressions: [] };
      const before = Date.now();
      await publish(node, tenant, 'v1.2', { rollout: 5, status: 'paused', targets });
      const after = Date.now();
      const [entry, ...others] = await audited(tenant);
      expect(others).toEqual([]);
      expect(entry).toStrictEqual({
        id: expect.any(String),
        at: expect.stringMatching(TIMESTAMP),
        actor: expect.stringContaining(tenant.keyId),
        action: 'release.publish',
        subject: `${tenant.app}/stable@v1.2`,
        before: null,
        after: { version: 'v1.2', status: 'paused', rolloutPct: 5, targets, artifacts: 1 },
        requestId: expect.any(String),
        reason: null,
      });
      const at = Date.parse(String(entry?.at));
      expect(at).toBeGreaterThanOrEqual(before - 1);
      expect(at).toBeLessThanOrEqual(after + 1);
    });

    it('names the key that was used, of several of one organization', async () => {
      const tenant = await createTenant(node);
      const second = await anotherKey(node, tenant);
      await publish(node, tenant, '1.0.0');
      await publish(node, second, '1.0.1');
      const [newest, oldest] = await audited(tenant);
      expect(newest?.actor).toContain(second.keyId);
      expect(oldest?.actor).toContain(tenant.keyId);
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

  it('of parallel publishes of one version exactly one is 201, the others are 409', async () => {
    const tenant = await createTenant(node);
    const spellings = ['1.2.0', 'v1.2', '1.2', '1.02.0', 'V1.2.0.0', '1.2.0', '01.2', '1.2.00'];
    const answers = await Promise.all(spellings.map((version) => publish(node, tenant, version)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...spellings.slice(1).map(() => 409)]);
    const winner = answers.find(({ status }) => status === 201);
    expect(await listed(tenant)).toStrictEqual([releaseOf(winner)]);
    expect(await audited(tenant)).toHaveLength(1);
  });

  it('of parallel publishes of different versions every one lands', async () => {
    const tenant = await createTenant(node);
    const versions = Array.from({ length: 12 }, (_, index) => `1.0.${index}`);
    const answers = await Promise.all(versions.map((version) => publish(node, tenant, version)));
    expect(answers.map(({ status }) => status)).toEqual(versions.map(() => 201));
    const stored = (await listed(tenant)).map(({ version }) => version);
    expect(stored.sort()).toEqual([...versions].sort());
    expect(await audited(tenant)).toHaveLength(versions.length);
    expect((await check(node, tenant, '0.1')).body?.version).toBe('1.0.11');
  });
});

function releaseOf(answer: Answer | undefined): Json {
  return (answer?.body?.release ?? {}) as Json;
}

function errorOf(answer: Answer): string {
  return String(answer.body?.error);
}

/** Expects an Error body whose message the contract leaves open. */
function expectErrorBody(answer: Answer): void {
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(answer.body).toStrictEqual({ error: expect.stringMatching(/./) });
}

/** Makes requests, some at a time: the machine is small. */
async function spend(count: number, request: () => Promise<unknown>): Promise<void> {
  const parallel = 20;
  for (let made = 0; made < count; made += parallel) {
    await Promise.all(Array.from({ length: Math.min(parallel, count - made) }, request));
  }
}

/** Rows for a table of texts: a short name for the title, and the text. */
function named(texts: readonly string[]): [string, string][] {
  return texts.map((text) => {
    const isLong = text.length > 80;
    return [isLong ? `${text.slice(0, 20)}... (${text.length})` : JSON.stringify(text), text];
  });
}
