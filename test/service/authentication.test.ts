// Tests who may call the management API, and what a key gives access to (docs/contract.md 5). From outside,
// everything wrong about a key looks the same.

import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import {
  type Answer,
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

const UNAUTHORIZED = { error: 'Invalid or revoked API key' };
const SECRET = /^sluice_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/;

type Json = Record<string, unknown>;

describeOnBackends('authentication', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    // The most verbose log level: no secret may be in its log either.
    node = await backend.start({ LOG_LEVEL: 'trace' });
  });
  afterAll(() => node?.dispose());

  /** Calls every endpoint of the management API with these headers; each call would do something. */
  async function callAll(tenant: Tenant, headers: Record<string, string>): Promise<Answer[]> {
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    return Promise.all([
      send(node, 'POST', '/api/v1/releases', { headers, body: { ...name, version: '1.0.1' } }),
      send(node, 'PATCH', '/api/v1/releases', { headers, body: { ...name, status: 'paused' } }),
      send(node, 'GET', '/api/v1/releases', { headers }),
      send(node, 'GET', '/api/v1/apps', { headers }),
    ]);
  }

  async function expectRefusedEverywhere(
    tenant: Tenant,
    headers: Record<string, string>,
  ): Promise<void> {
    for (const answer of await callAll(tenant, headers)) {
      expect([answer.status, answer.body]).toStrictEqual([401, UNAUTHORIZED]);
      expect(answer.headers.get('content-type')).toBe('application/json');
    }
  }

  async function listed(tenant: Tenant): Promise<Json[]> {
    const { body } = await manage(node, tenant, 'GET', 'releases');
    return (body?.releases ?? []) as Json[];
  }

  function revoke(tenant: Tenant): Promise<Answer> {
    return admin(node, 'POST', `keys/${tenant.keyId}/revoke`);
  }

  describe('a missing or invalid key is 401 `Invalid or revoked API key` (§5.1)', () => {
    it.each<[string, (secret: string) => Record<string, string>]>([
      ['no header', () => ({})],
      ['an empty header', () => ({ authorization: '' })],
      ['the scheme alone', () => ({ authorization: 'Bearer' })],
      ['another scheme', (secret) => ({ authorization: `Basic ${btoa(`key:${secret}`)}` })],
      ['the secret without a scheme', (secret) => ({ authorization: secret })],
      ['the secret in another header', (secret) => ({ 'x-api-key': secret })],
      ['no key at all', () => ({ authorization: 'Bearer nonsense' })],
      ['the admin token', () => ({ authorization: `Bearer ${ADMIN_TOKEN}` })],
      ['the prefix alone', (secret) => ({ authorization: `Bearer ${secret.slice(0, 19)}` })],
      ['a key cut short', (secret) => ({ authorization: `Bearer ${secret.slice(0, -1)}` })],
      ['a key too long', (secret) => ({ authorization: `Bearer ${secret}A` })],
      ['the key twice', (secret) => ({ authorization: `Bearer ${secret} ${secret}` })],
      ['the key in quotes', (secret) => ({ authorization: `Bearer "${secret}"` })],
      ['the key in capitals', (secret) => ({ authorization: `Bearer ${secret.toUpperCase()}` })],
      ['the key in small letters', (secret) => ({ authorization: `Bearer ${lowered(secret)}` })],
      ['one character changed', (secret) => ({ authorization: `Bearer ${altered(secret)}` })],
      ['a key nobody made', () => ({ authorization: `Bearer ${invented()}` })],
      ['10,000 characters', () => ({ authorization: `Bearer ${'a'.repeat(10_000)}` })],
      ['bytes that are no ASCII', () => ({ authorization: 'Bearer \u00ff\u00fe\u0080' })],
    ])('%s', async (_, headersFor) => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      await expectRefusedEverywhere(tenant, headersFor(tenant.secret));
      expect(await listed(tenant)).toMatchObject([{ version: '1.0.0', status: 'published' }]);
    });

    it('the secret in the query', async () => {
      const { secret } = await createTenant(node);
      const path = `/api/v1/apps?api_key=${secret}&access_token=${secret}&key=${secret}`;
      const answer = await send(node, 'GET', path);
      expect([answer.status, answer.body]).toStrictEqual([401, UNAUTHORIZED]);
    });

    it.each(['Bearer', 'bearer', 'BEARER'])(
      "the scheme's case does not matter: %s",
      async (scheme) => {
        const { secret } = await createTenant(node);
        const headers = { authorization: `${scheme} ${secret}` };
        expect((await send(node, 'GET', '/api/v1/apps', { headers })).status).toBe(200);
      },
    );
  });

  describe('a revoked key (§5.1)', () => {
    it('is 401 at once, on every endpoint', async () => {
      const tenant = await createTenant(node);
      const other = await anotherKey(node, tenant);
      await publish(node, tenant, '1.0.0');
      const revoked = await revoke(tenant);
      expect([revoked.status, revoked.body?.id]).toEqual([200, tenant.keyId]);
      await expectRefusedEverywhere(tenant, { authorization: `Bearer ${tenant.secret}` });
      expect(await listed(other)).toMatchObject([{ version: '1.0.0', status: 'published' }]);
    });

    it('stays revoked when it is revoked again', async () => {
      const tenant = await createTenant(node);
      const first = await revoke(tenant);
      const second = await revoke(tenant);
      expect([second.status, second.body]).toStrictEqual([200, first.body]);
      await expectRefusedEverywhere(tenant, { authorization: `Bearer ${tenant.secret}` });
    });

    it('takes no other key of the organization with it', async () => {
      const tenant = await createTenant(node);
      const other = await anotherKey(node, tenant);
      await revoke(tenant);
      expect((await manage(node, other, 'GET', 'apps')).status).toBe(200);
      expect((await publish(node, other, '1.0.0')).status).toBe(201);
    });

    it('leaves what it published as it was', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      await revoke(tenant);
      expect((await check(node, tenant, '0.1')).status).toBe(200);
    });
  });

  describe('a key belongs to an organization (§5.2)', () => {
    it('and sees nothing of another one', async () => {
      const [a, b] = [await createTenant(node), await createTenant(node)];
      await publish(node, a, '1.0.0');
      await publish(node, b, '2.0.0');
      expect(await listed(a)).toMatchObject([{ app: a.app, version: '1.0.0' }]);
      expect(await listed(b)).toMatchObject([{ app: b.app, version: '2.0.0' }]);
      const apps = await manage(node, b, 'GET', 'apps');
      const seen = (apps.body?.apps ?? []) as Json[];
      expect(seen.map(({ ref }) => ref)).toEqual([b.app]);
      expect(apps.text).not.toContain(a.appId);
    });

    it('and finds apps outside it unknown (404), by ref and by id', async () => {
      const [a, b] = [await createTenant(node), await createTenant(node)];
      await publish(node, a, '1.0.0');
      for (const app of [a.app, a.appId]) {
        for (const answer of [
          await publish(node, b, '1.0.0', { app }),
          await publish(node, b, '9.0.0', { app }),
          await control(node, b, '1.0.0', { app, status: 'rolled_back' }),
        ]) {
          expect([answer.status, answer.body]).toStrictEqual([404, { error: 'Unknown app' }]);
        }
      }
      expect(await listed(a)).toMatchObject([{ version: '1.0.0', status: 'published' }]);
    });
  });

  describe('the secret', () => {
    it('begins with sluice_ and its prefix, and is another one every time', async () => {
      const { org } = await createTenant(node);
      const keys = [];
      for (let index = 0; index < 5; index++) {
        keys.push((await admin(node, 'POST', 'keys', { org, name: 'ci' })).body ?? {});
      }
      for (const { secret, prefix } of keys) {
        expect(secret).toMatch(SECRET);
        expect(prefix).toMatch(/^sluice_/);
        expect(String(secret).startsWith(String(prefix))).toBe(true);
      }
      expect(new Set(keys.map(({ secret }) => secret)).size).toBe(keys.length);
      expect(new Set(keys.map(({ prefix }) => prefix)).size).toBe(keys.length);
    });

    it('is shown once: neither list, audit, metrics nor log has it, nor its hash', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      await control(node, tenant, '1.0.0', { status: 'paused' });
      await manage(node, tenant, 'POST', 'releases', '{');
      await manage(node, { secret: altered(tenant.secret) }, 'GET', 'apps');
      await revoke(tenant);
      await manage(node, tenant, 'GET', 'apps');
      const other = await anotherKey(node, tenant);
      const shown = [
        (await manage(node, other, 'GET', 'releases')).text,
        (await manage(node, other, 'GET', 'apps')).text,
        (await admin(node, 'GET', `audit?org=${tenant.org}&limit=1000`)).text,
        (await send(node, 'GET', '/metrics')).text,
        node.output(),
      ];
      for (const { secret } of [tenant, other]) {
        for (const text of shown) {
          expect(text.length).toBeGreaterThan(0);
          expect(text).not.toContain(secret.slice(-43));
          expect(text).not.toContain(createHash('sha256').update(secret).digest('hex'));
        }
      }
    });
  });

  describe('device endpoints take no key (§5.3)', () => {
    it('and do not care about a wrong one', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      const path = `/u/${tenant.app}/stable/linux/x86_64/0.1`;
      for (const headers of [{}, { authorization: 'Bearer nonsense' }]) {
        expect((await send(node, 'GET', path, { headers })).status).toBe(200);
      }
    });
  });
});

/** Changes the secret part of a key and keeps the public part, so that the key is found and refused. */
function altered(secret: string): string {
  return secret.slice(0, -2) + (secret.at(-2) === 'A' ? 'B' : 'A') + secret.slice(-1);
}

/**
 * Returns the secret in lower case. Its 43 characters have both cases, so it nearly always differs; checked
 * here.
 */
function lowered(secret: string): string {
  const lower = secret.toLowerCase();
  return lower === secret ? altered(secret) : lower;
}

function invented(): string {
  return `sluice_${'0123456789ab'}_${'A'.repeat(43)}`;
}
