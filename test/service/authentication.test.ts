// Tests who may call the management API, and what a key gives access to (docs/contract.md 5). From outside,
// everything wrong about a key looks the same. That a key sees only its organization (5.2) is tested call
// by call, in publish-release, serving-control, list-releases and reading-with-a-key.test.ts.

import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { expectError } from '../support/expect-error.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { releasesOf } from '../support/published.ts';
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

const SECRET = /^sluice_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/;

type Headers = Record<string, string>;

describeOnBackends('authentication', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    // The most verbose log level: no secret may be in its log either.
    node = await backend.start({ LOG_LEVEL: 'trace' });
  });
  afterAll(() => node?.dispose());

  /** Calls every endpoint of the management API with these headers; each call would do something. */
  async function expectRefusedEverywhere(tenant: Tenant, headers: Headers): Promise<void> {
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    const answers = await Promise.all([
      send(node, 'POST', '/api/v1/releases', { headers, body: { ...name, version: '1.0.1' } }),
      send(node, 'PATCH', '/api/v1/releases', { headers, body: { ...name, status: 'paused' } }),
      send(node, 'GET', '/api/v1/releases', { headers }),
      send(node, 'GET', '/api/v1/apps', { headers }),
    ]);
    for (const answer of answers) {
      expectError(answer, 401, 'Invalid or revoked API key');
      expect(answer.headers.get('content-type')).toBe('application/json');
    }
  }

  const revoke = (tenant: Tenant) => admin(node, 'POST', `keys/${tenant.keyId}/revoke`);

  describe('a missing or invalid key is 401 `Invalid or revoked API key` (§5.1)', () => {
    let tenant: Tenant;
    beforeAll(async () => {
      tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
    });

    const bearer = (form: (secret: string) => string) => (secret: string) => ({
      authorization: `Bearer ${form(secret)}`,
    });

    it.each<[string, (secret: string) => Headers]>([
      ['no header', () => ({})],
      ['an empty header', () => ({ authorization: '' })],
      ['the scheme alone', () => ({ authorization: 'Bearer' })],
      ['another scheme', (secret) => ({ authorization: `Basic ${btoa(`key:${secret}`)}` })],
      ['the secret without a scheme', (secret) => ({ authorization: secret })],
      ['the secret in another header', (secret) => ({ 'x-api-key': secret })],
      ['no key at all', bearer(() => 'nonsense')],
      ['the admin token', bearer(() => ADMIN_TOKEN)],
      ['the prefix alone', bearer((secret) => secret.slice(0, 19))],
      ['a key cut short', bearer((secret) => secret.slice(0, -1))],
      ['a key too long', bearer((secret) => `${secret}A`)],
      ['the key twice', bearer((secret) => `${secret} ${secret}`)],
      ['the key in quotes', bearer((secret) => `"${secret}"`)],
      ['the key in capitals', bearer((secret) => secret.toUpperCase())],
      ['the key in small letters', bearer(lowered)],
      ['one character changed', bearer(altered)],
      ['a key nobody made', bearer(() => `sluice_0123456789ab_${'A'.repeat(43)}`)],
      ['10,000 characters', bearer(() => 'a'.repeat(10_000))],
      ['bytes that are no ASCII', bearer(() => '\u00ff\u00fe\u0080')],
    ])('%s', async (_, headersFor) => {
      await expectRefusedEverywhere(tenant, headersFor(tenant.secret));
      expect(await releasesOf(node, tenant)).toMatchObject([
        { version: '1.0.0', status: 'published' },
      ]);
    });

    it('the secret in the query', async () => {
      const { secret } = tenant;
      const path = `/api/v1/apps?api_key=${secret}&access_token=${secret}&key=${secret}`;
      expectError(await send(node, 'GET', path), 401, 'Invalid or revoked API key');
    });

    it("but the scheme's case does not matter", async () => {
      for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
        const headers = { authorization: `${scheme} ${tenant.secret}` };
        expect((await send(node, 'GET', '/api/v1/apps', { headers })).status).toBe(200);
      }
    });

    it('and devices need none, and may have a wrong one (§5.3)', async () => {
      const path = `/u/${tenant.app}/stable/linux/x86_64/0.1`;
      for (const headers of [{}, { authorization: 'Bearer nonsense' }] as Headers[]) {
        expect((await send(node, 'GET', path, { headers })).status).toBe(200);
      }
    });
  });

  it('a revoked key is 401 at once, on every endpoint, and no other key with it (§5.1)', async () => {
    const tenant = await createTenant(node);
    const other = await anotherKey(node, tenant);
    await publish(node, tenant, '1.0.0');
    const revoked = await revoke(tenant);
    expect([revoked.status, revoked.body?.id]).toEqual([200, tenant.keyId]);
    const headers = { authorization: `Bearer ${tenant.secret}` };
    await expectRefusedEverywhere(tenant, headers);
    const again = await revoke(tenant);
    expect([again.status, again.body]).toStrictEqual([200, revoked.body]);
    await expectRefusedEverywhere(tenant, headers);
    // What it published is as it was.
    expect(await releasesOf(node, other)).toMatchObject([
      { version: '1.0.0', status: 'published' },
    ]);
    expect((await check(node, tenant, '0.1')).status).toBe(200);
    expect((await publish(node, other, '1.0.1')).status).toBe(201);
  });

  describe('the secret', () => {
    it('begins with sluice_ and its prefix, and is another one every time', async () => {
      const { org } = await createTenant(node);
      const make = async (): Promise<Answer> => admin(node, 'POST', 'keys', { org, name: 'ci' });
      const keys = [];
      for (let index = 0; index < 5; index++) keys.push((await make()).body ?? {});
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
});

/** Changes the secret part of a key and keeps the public part, so that the key is found and refused. */
function altered(secret: string): string {
  return secret.slice(0, -2) + (secret.at(-2) === 'A' ? 'B' : 'A') + secret.slice(-1);
}

/** Returns the secret in lower case, which nearly always differs: its 43 characters have both cases. */
function lowered(secret: string): string {
  const lower = secret.toLowerCase();
  return lower === secret ? altered(secret) : lower;
}
