// Tests the console API as an operator calls it with the admin token (docs/operating/commands.md).

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnRealStores, realStores } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { startNodeOnReal } from '../support/real-node.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  control,
  createTenant,
  manage,
  publish,
  randomId,
  send,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;

/** Every console endpoint, with a body that it would accept. */
const ENDPOINTS: readonly [method: string, path: string, body?: Fields][] = [
  ['POST', 'organizations', { name: 'Org' }],
  ['POST', 'apps', { org: 'org_x', ref: 'r', name: 'App' }],
  ['POST', 'channels', { app: 'r', name: 'c' }],
  ['PATCH', 'channels', { app: 'r', name: 'c', defaultRollout: 1 }],
  ['POST', 'keys', { org: 'org_x', name: 'k' }],
  ['POST', 'keys/key_x/revoke'],
  ['GET', 'audit?org=org_x'],
];

serviceSuite('console', (node) => {
  async function audit(org: string, limit = 100): Promise<Fields[]> {
    const answer = await admin(node, 'GET', `audit?org=${org}&limit=${limit}`);
    expect(answer.status).toBe(200);
    return (answer.body as { entries: Fields[] }).entries;
  }

  describe('the console API', () => {
    it('every endpoint refuses whoever has not the admin token, whatever the body (console.md, How to call it)', async () => {
      const { secret } = await createTenant(node);
      const strangers = [
        undefined,
        '',
        'Bearer',
        'Bearer ',
        'Bearer wrong',
        `Bearer ${secret}`,
        `Basic ${ADMIN_TOKEN}`,
        ADMIN_TOKEN,
        `Bearer ${ADMIN_TOKEN}x`,
        `Bearer ${ADMIN_TOKEN} x`,
      ];
      for (const [method, path] of ENDPOINTS) {
        for (const authorization of strangers) {
          const headers: Record<string, string> =
            authorization === undefined ? {} : { authorization };
          const body = method === 'GET' ? undefined : '{"not":';
          const answer = await send(node, method, `/console/api/${path}`, { headers, body });
          expect([answer.status, answer.body], `${path} ${authorization}`).toEqual([
            401,
            { error: authorization === undefined ? 'Sign in first' : 'Invalid admin token' },
          ]);
        }
      }
    });

    it('the admin token is no API key (console.md, How to call it)', async () => {
      expect((await manage(node, { secret: ADMIN_TOKEN }, 'GET', 'apps')).status).toBe(401);
    });

    it("the scheme's case does not matter (console.md, How to call it)", async () => {
      const { org } = await createTenant(node);
      const headers = { authorization: `bEARER ${ADMIN_TOKEN}` };
      expect((await send(node, 'GET', `/console/api/audit?org=${org}`, { headers })).status).toBe(
        200,
      );
    });

    it('paths it has not are 404, methods it has not 405 with what is allowed (console.md, How to call it)', async () => {
      expect((await admin(node, 'GET', 'nothing')).status).toBe(404);
      expect((await admin(node, 'POST', 'keys//revoke', {})).status).toBe(404);
      const wrong = await admin(node, 'DELETE', 'channels', {});
      expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST, PATCH']);
    });

    it.each<[method: string, path: string, body: Fields | string | undefined, error: RegExp]>([
      ['POST', 'organizations', {}, /^name: Required$/],
      ['POST', 'organizations', { name: '' }, /^name: Must not be empty$/],
      ['POST', 'organizations', { name: 5 }, /^name: Expected a string$/],
      ['POST', 'organizations', { name: 'x'.repeat(201) }, /^name: .*200/],
      ['POST', 'organizations', { name: 'a\u0000b' }, /^name: .*NUL/],
      ['POST', 'organizations', { name: 'A', nmae: 'B' }, /^nmae: Unrecognized key$/],
      ['POST', 'organizations', '[]', /^body: /],
      ['POST', 'organizations', '{', /^Invalid JSON body$/],
      ['POST', 'organizations', undefined, /^Invalid JSON body$/],
      ['POST', 'apps', { org: 'o', ref: 'r' }, /^name: Required$/],
      ['POST', 'apps', { org: 'o', ref: 'r', name: 'A', channels: [] }, /^channels: .*at least 1/],
      [
        'POST',
        'apps',
        { org: 'o', ref: 'r', name: 'A', channels: ['a', 'a'] },
        /^channels: .*repeat/,
      ],
      ['POST', 'apps', { org: 'o', ref: 'r', name: 'A', channels: ['a', 'b/c'] }, /^channels\.1: /],
      [
        'POST',
        'apps',
        { org: 'o', ref: 'r', name: 'A', channels: 'a' },
        /^channels: Expected an array$/,
      ],
      ['POST', 'channels', { app: 'r', name: 'a b' }, /^name: /],
      ['PATCH', 'channels', { app: 'r', name: 'stable' }, /is required$/],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', defaultRollout: 101 },
        /^defaultRollout: .*100/,
      ],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', defaultRollout: -1 },
        /^defaultRollout: .*0/,
      ],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', defaultRollout: 1.5 },
        /^defaultRollout: Expected an integer$/,
      ],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', defaultRollout: '5' },
        /^defaultRollout: Expected a number$/,
      ],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', updateMode: 'required' },
        /^updateMode: Must be one of optional, recommended$/,
      ],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', minimumSupportedVersion: 'x' },
        /^minimumSupportedVersion: Invalid version$/,
      ],
      [
        'PATCH',
        'channels',
        { app: 'r', name: 'stable', minimumSupportedVersion: '' },
        /^minimumSupportedVersion: Invalid version$/,
      ],
      ['POST', 'keys', { org: 'o' }, /^name: Required$/],
      ['GET', 'audit', undefined, /^org: Required$/],
      ['GET', 'audit?org=o&limit=0', undefined, /^limit: .*1/],
      ['GET', 'audit?org=o&limit=1001', undefined, /^limit: .*1000/],
      ['GET', 'audit?org=o&limit=x', undefined, /^limit: /],
    ])(
      '%s %s with %j is 400 and names the field (console.md, How to call it)',
      async (method, path, body, error) => {
        const answer = await admin(node, method, path, body);
        expect(answer.status, answer.text).toBe(400);
        expect(answer.body?.error).toMatch(error);
      },
    );

    it('what does not exist is 404 and says what it is (console.md, How to call it)', async () => {
      const { app } = await createTenant(node);
      const rollout = { defaultRollout: 1 };
      const cases: [answer: Promise<Answer>, error: string][] = [
        [
          admin(node, 'POST', 'apps', { org: 'org_none', ref: `r-${randomId()}`, name: 'A' }),
          'Unknown organization',
        ],
        [admin(node, 'POST', 'keys', { org: 'org_none', name: 'A' }), 'Unknown organization'],
        [admin(node, 'GET', 'audit?org=org_none'), 'Unknown organization'],
        [admin(node, 'POST', 'channels', { app: 'no-such-app', name: 'c' }), 'Unknown app'],
        [
          admin(node, 'PATCH', 'channels', { app: 'no-such-app', name: 'stable', ...rollout }),
          'Unknown app',
        ],
        [admin(node, 'PATCH', 'channels', { app, name: 'no-such', ...rollout }), 'Unknown channel'],
        [admin(node, 'POST', 'keys/key_none/revoke'), 'Unknown API key'],
        [admin(node, 'POST', 'keys/%00/revoke'), 'Unknown API key'],
      ];
      for (const [answer, error] of cases) {
        expect([(await answer).status, (await answer).body]).toEqual([404, { error }]);
      }
    });

    it('a ref is taken once over all organizations, a channel once per app: 409 (§11.9)', async () => {
      const [tenant, other] = [await createTenant(node), await createTenant(node)];
      for (const org of [tenant.org, other.org]) {
        const taken = await admin(node, 'POST', 'apps', { org, ref: tenant.app, name: 'A' });
        expect([taken.status, taken.body]).toEqual([
          409,
          { error: 'An app with this ref already exists' },
        ]);
      }
      const twice = await admin(node, 'POST', 'channels', { app: tenant.app, name: 'beta' });
      expect([twice.status, twice.body]).toEqual([
        409,
        { error: 'A channel with this name already exists on this app' },
      ]);
      expect(
        (await admin(node, 'POST', 'channels', { app: tenant.app, name: 'Beta' })).status,
      ).toBe(201);
    });

    it('of many who want one ref at once exactly one gets it (§11.9)', async () => {
      const { org } = await createTenant(node);
      const ref = `app-${randomId()}`;
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => admin(node, 'POST', 'apps', { org, ref, name: 'A' })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([
        201,
        ...Array<number>(7).fill(409),
      ]);
    });

    it.each(['a', 'A.b_c-9', '9lives', 'x'.repeat(64), 'app_1'])(
      'a ref may be %s (Command line)',
      async (text) => {
        const { org } = await createTenant(node);
        // Refs are unique, and this suite runs twice on stores of its own.
        const answer = await admin(node, 'POST', 'apps', { org, ref: text, name: 'A' });
        expect(answer.status, answer.text).toBe(201);
        expect((await send(node, 'GET', `/u/${text}/stable/linux/x64/1.0.0`)).status).toBe(204);
      },
    );

    it.each([
      '',
      '-a',
      '.a',
      '_a',
      'a b',
      'a/b',
      'ä',
      'a%20',
      'a\n',
      'x'.repeat(65),
      `app_${'0'.repeat(26)}`,
    ])('a ref cannot be %j (Command line)', async (text) => {
      const { org } = await createTenant(node);
      const answer = await admin(node, 'POST', 'apps', { org, ref: text, name: 'A' });
      expect([answer.status, answer.body?.error]).toEqual([400, expect.stringMatching(/^ref: /)]);
    });

    it('a channel can be named by the id of its app as well (§2.4)', async () => {
      const { appId, app } = await createTenant(node);
      const change = { app: appId, name: 'stable', updateMode: 'recommended' };
      expect((await admin(node, 'PATCH', 'channels', change)).body).toMatchObject({
        app,
        updateMode: 'recommended',
      });
    });
  });

  describe('the audit', () => {
    it('tells who changed what from what to what, newest first (§11.10)', async () => {
      const tenant = await createTenant(node);
      const { app, org, keyId } = tenant;
      await admin(node, 'PATCH', 'channels', { app, name: 'stable', defaultRollout: 40 });
      await publish(node, tenant, 'v1.2');
      await control(node, tenant, '1.2.0', { rollout: 60, status: 'paused' });
      await admin(node, 'POST', `keys/${keyId}/revoke`);
      const [revoke, serve, published, update, ...setUp] = await audit(org);
      expect(revoke).toMatchObject({
        actor: 'admin-token',
        action: 'key.revoke',
        subject: keyId,
        before: { name: 'ci', revokedAt: null },
      });
      expect(serve).toMatchObject({
        actor: `key:${keyId} (ci)`,
        action: 'release.serve',
        subject: `${app}/stable@v1.2`,
        before: { rolloutPct: 40, status: 'published', targets: null },
        after: { rolloutPct: 60, status: 'paused', targets: null },
      });
      expect(published).toMatchObject({
        actor: `key:${keyId} (ci)`,
        action: 'release.publish',
        before: null,
        after: { version: 'v1.2', status: 'published', rolloutPct: 40 },
      });
      expect(update).toMatchObject({
        action: 'channel.update',
        subject: `${app}/stable`,
        before: { defaultRollout: 100 },
        after: { defaultRollout: 40 },
      });
      expect(setUp.map(({ action }) => action)).toEqual([
        'key.create',
        'app.create',
        'organization.create',
      ]);
      const times = (await audit(org)).map(({ at }) => String(at));
      expect(times).toEqual([...times].sort().reverse());
    });

    it('does not tell of what was refused, nor of what changed nothing (§11.9)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      const before = await audit(tenant.org);
      expect((await publish(node, tenant, '1.0')).status).toBe(409);
      expect((await publish(node, tenant, 'x')).status).toBe(400);
      expect((await control(node, tenant, '2.0.0', { rollout: 1 })).status).toBe(404);
      expect((await control(node, tenant, '1.0.0', { rollout: 100 })).status).toBe(200);
      expect(
        (
          await admin(node, 'PATCH', 'channels', {
            app: tenant.app,
            name: 'stable',
            defaultRollout: 100,
          })
        ).status,
      ).toBe(200);
      expect(await audit(tenant.org)).toEqual(before);
    });

    it("is the organization's own (§5.2)", async () => {
      const [tenant, other] = [await createTenant(node), await createTenant(node)];
      await publish(node, tenant, '1.0.0');
      expect(JSON.stringify(await audit(other.org))).not.toContain(tenant.app);
    });
  });
});

describeOnRealStores('a service on PostgreSQL without ADMIN_TOKEN', () => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await startNodeOnReal(realStores()?.postgresUrl ?? '', { ADMIN_TOKEN: undefined });
  });
  afterAll(() => node?.dispose());

  it('says at the start that ADMIN_TOKEN has to be set', async () => {
    const told = () => node.output().includes('the service is not set up yet: set ADMIN_TOKEN');
    await eventually('it is told', told);
  });

  it('makes none, and the console API is off for everybody (Environment)', async () => {
    await expect(stat(join(node.dataDir, 'admin-token'))).rejects.toThrow(/ENOENT/);
    for (const token of [undefined, '', ' ', ' undefined', ' null', ` ${ADMIN_TOKEN}`]) {
      for (const [method, path, body] of ENDPOINTS) {
        const headers: Record<string, string> =
          token === undefined ? {} : { authorization: `Bearer${token}` };
        const answer = await send(node, method, `/console/api/${path}`, { body, headers });
        expect(answer.status, `${path} ${token}`).toBe(401);
      }
    }
  });
});
