// Tests who may call the management API, and what a key gives access to (docs/contract.md 5). From outside,
// everything wrong about a key looks the same; every form of it is in test/access/api-keys.test.ts.
// That a key sees only its organization (5.2) is tested call by call in narrowed-keys.test.ts.

import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { describeOnBackends, suiteNode } from '../support/backend.ts';
import { expectError } from '../support/expect-error.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { admin, createTenant, send, Tenant } from '../support/tenant.ts';

const INVALID = 'Invalid or revoked API key';
type Headers = Record<string, string>;

describeOnBackends('authentication', (backend) => {
  // The most verbose log level: no secret may be in its log either.
  const node = suiteNode(() => backend.start({ LOG_LEVEL: 'trace' }));

  /** Calls endpoints of the management API with these headers; each call would do something. */
  async function expectRefused({ app }: Tenant, headers: Headers): Promise<void> {
    const name = { app, channel: 'stable', version: '1.0.0' };
    const answers = await Promise.all([
      send(node, 'POST', '/api/v1/releases', { headers, body: { ...name, version: '1.0.1' } }),
      send(node, 'PATCH', '/api/v1/releases', { headers, body: { ...name, status: 'paused' } }),
      send(node, 'GET', '/api/v1/apps', { headers }),
    ]);
    for (const answer of answers) {
      expectError(answer, 401, INVALID);
      expect(answer.headers.get('content-type')).toBe('application/json');
    }
  }

  const revoke = ({ keyId }: Tenant) => admin(node, 'POST', `keys/${keyId}/revoke`);
  const PUBLISHED = [{ version: '1.0.0', status: 'published' }];

  it('a missing or invalid key is 401, and does nothing; devices need none, and may have a wrong one (§5.1, §5.3)', async () => {
    const tenant = await createTenant(node);
    const { secret } = tenant;
    await tenant.publish('1.0.0');
    const bearer = (text: string) => ({ authorization: `Bearer ${text}` });
    const wrong: Headers[] = [{}, { authorization: '' }, { authorization: secret }];
    wrong.push({ authorization: `Basic ${btoa(`key:${secret}`)}` }, { 'x-api-key': secret });
    wrong.push(...['', ADMIN_TOKEN, `${secret} ${secret}`, `"${secret}"`].map(bearer));
    wrong.push(
      ...[lowered(secret), altered(secret), 'a'.repeat(10_000), '\u00ff\u0080'].map(bearer),
    );
    for (const headers of wrong) await expectRefused(tenant, headers);
    expect(await tenant.releases()).toMatchObject(PUBLISHED);
    const path = `/api/v1/apps?api_key=${secret}&access_token=${secret}&key=${secret}`;
    expectError(await send(node, 'GET', path), 401, INVALID);
    for (const scheme of ['bearer', 'BEARER']) {
      const headers = { authorization: `${scheme} ${secret}` };
      expect((await send(node, 'GET', '/api/v1/apps', { headers })).status).toBe(200);
    }
    const headers = { authorization: 'Bearer nonsense' };
    const device = `/u/${tenant.app}/stable/linux/x86_64/0.1`;
    expect((await send(node, 'GET', device, { headers })).status).toBe(200);
  });

  it('a revoked key is 401 at once, on every endpoint, and no other key with it (§5.1)', async () => {
    const tenant = await createTenant(node);
    const other = await tenant.anotherKey();
    await tenant.publish('1.0.0');
    const revoked = await revoke(tenant);
    expect([revoked.status, revoked.body?.id]).toEqual([200, tenant.keyId]);
    await expectRefused(tenant, { authorization: `Bearer ${tenant.secret}` });
    const again = await revoke(tenant);
    expect([again.status, again.body]).toStrictEqual([200, revoked.body]);
    // What it published is as it was.
    expect(await other.releases()).toMatchObject(PUBLISHED);
    expect((await tenant.check('0.1')).status).toBe(200);
    expect((await other.publish('1.0.1')).status).toBe(201);
  });

  it('the secret begins with its prefix, is another one every time, and is shown once: neither list, audit, metrics nor log has it, nor its hash', async () => {
    const tenant = await createTenant(node);
    const { body } = await admin(node, 'POST', 'keys', { org: tenant.org, name: 'ci' });
    const { secret, prefix } = body as { secret: string; prefix: string };
    expect(secret).toMatch(/^sluice_[0-9a-f]{12}_[A-Za-z0-9_-]{43}$/);
    expect(prefix).toMatch(/^sluice_/);
    expect(secret.startsWith(prefix)).toBe(true);
    expect(tenant.secret.startsWith(prefix)).toBe(false);
    await tenant.publish('1.0.0');
    await tenant.control('1.0.0', { status: 'paused' });
    await tenant.manage('POST', 'releases', '{');
    await new Tenant(node, { secret: altered(tenant.secret) }).manage('GET', 'apps');
    await revoke(tenant);
    await tenant.manage('GET', 'apps');
    const shown = [
      (await new Tenant(node, { secret }).manage('GET', 'releases')).text,
      (await new Tenant(node, { secret }).manage('GET', 'apps')).text,
      (await admin(node, 'GET', `audit?org=${tenant.org}&limit=1000`)).text,
      (await admin(node, 'GET', `keys?org=${tenant.org}`)).text,
      (await send(node, 'GET', '/metrics')).text,
      node.output(),
    ];
    for (const each of [tenant.secret, secret]) {
      for (const text of shown) {
        expect(text.length).toBeGreaterThan(0);
        expect(text).not.toContain(each.slice(-43));
        expect(text).not.toContain(createHash('sha256').update(each).digest('hex'));
      }
    }
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
