// Tests over HTTP how credentials of devices that speak DDI are made and ended (docs/contract.md 34.42): by
// keys and by owners, what is answered once only, the bounds, and the audit. The rights are in the tables of
// narrowed-keys.test.ts and console-rights.test.ts.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { type Answer, admin, type Json, type Tenant } from '../support/tenant.ts';

const TOKEN = /^[\w-]{32}$/;
const DEVICES_MAX = 500;

serviceSuite('credentials of devices that speak DDI', (node) => {
  const tenant = suiteTenant(node);

  const tokensOf = (of: Tenant, deviceIds: unknown, app = of.app) =>
    of.manage('POST', 'ddi/tokens', { app, deviceIds });
  const listed = async (of: Tenant) =>
    (await admin(node, 'GET', `ddi-credentials?app=${of.app}`)).body as Record<string, Json[]>;
  const texts = ({ body }: Answer): string[] =>
    ((body?.tokens ?? []) as Json[]).map(({ token }) => String(token));

  it('device tokens come in the order of the ids, the same each time, by ref and by id (§34.42)', async () => {
    const made = await tokensOf(tenant, ['b', 'a', 'b']);
    expect([made.status, made.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const [b = '', a = ''] = texts(made);
    expect([a, b]).toEqual([expect.stringMatching(TOKEN), expect.stringMatching(TOKEN)]);
    expect(a).not.toBe(b);
    expect(made.body?.tokens).toEqual([
      { deviceId: 'b', token: b },
      { deviceId: 'a', token: a },
      { deviceId: 'b', token: b },
    ]);
    expect(texts(await tokensOf(tenant, ['a'], tenant.appId))).toEqual([a]);
    const other = await tenant.anotherApp();
    expect(texts(await tokensOf(tenant, ['a'], other.app))).not.toEqual([a]);
  });

  it('a call names 1 to 500 devices (§34.42)', async () => {
    const ids = (count: number) => Array.from({ length: count }, (_, index) => `device-${index}`);
    expect(texts(await tokensOf(tenant, ids(DEVICES_MAX)))).toHaveLength(DEVICES_MAX);
    for (const wrong of [[], ids(DEVICES_MAX + 1), ['.'], ['a'.repeat(129)], [1], 'a', undefined]) {
      expectError(await tokensOf(tenant, wrong), 400, expect.stringMatching(/^deviceIds/));
    }
  });

  it('an app has two secrets, and new tokens are made with the newer (§34.42)', async () => {
    const of = await tenant.anotherApp();
    const { app } = of;
    const [first] = texts(await tokensOf(tenant, ['a'], app));
    const added = await admin(node, 'POST', 'ddi-secrets', { app });
    expect(added.status).toBe(201);
    const [second] = texts(await tokensOf(tenant, ['a'], app));
    expect(second).not.toBe(first);
    const many = 'Too many secrets of device tokens: remove one';
    expectError(await admin(node, 'POST', 'ddi-secrets', { app }), 409, many);
    const { id } = added.body ?? {};
    expect((await listed(of)).secrets).toHaveLength(2);
    const removed = await admin(node, 'POST', 'ddi-secrets/remove', { app, id });
    expect([removed.status, removed.body]).toEqual([200, { id }]);
    expect(texts(await tokensOf(tenant, ['a'], app))).toEqual([first]);
    const again = await admin(node, 'POST', 'ddi-secrets/remove', { app, id });
    expectError(again, 404, 'Unknown secret of device tokens');
  });

  it('an app has four gateway tokens, each shown once, until they are revoked (§34.42)', async () => {
    const of = await tenant.anotherApp();
    const { app } = of;
    const create = () => admin(node, 'POST', 'gateway-tokens', { app, name: 'plant 7' });
    const made = [await create(), await create(), await create(), await create()];
    for (const { status, body } of made) {
      expect([status, body?.token]).toEqual([201, expect.stringMatching(TOKEN)]);
    }
    expectError(await create(), 409, 'Too many gateway tokens: revoke one');
    const { id, token, ...rest } = made[0]?.body ?? {};
    expect(rest).toEqual({
      ...{ name: 'plant 7', createdAt: expect.any(String), createdBy: 'admin-token' },
      ...{ lastUsedAt: null, revokedAt: null },
    });
    const list = await listed(of);
    expect(list.gatewayTokens).toContainEqual({ id, ...rest });
    expect(JSON.stringify(list)).not.toContain(token);
    const revoke = (named: unknown) =>
      admin(node, 'POST', 'gateway-tokens/revoke', { app, id: named });
    expect((await revoke(id)).body).toEqual({ id, revokedAt: expect.any(String) });
    expect((await create()).status).toBe(201);
    expectError(await revoke('gwt_none'), 404, 'Unknown gateway token');
  });

  it('the audit says what was made and by whom, without a token, a secret or a device (§34.42)', async () => {
    const of = await tenant.anotherApp();
    const { app } = of;
    const made = await tokensOf(tenant, ['named-by-nothing', 'b'], app);
    const gateway = await admin(node, 'POST', 'gateway-tokens', { app, name: 'plant 7' });
    const { id } = gateway.body ?? {};
    await admin(node, 'POST', 'gateway-tokens/revoke', { app, id });
    const [{ id: secret } = {}] = (await listed(of)).secrets ?? [];
    await admin(node, 'POST', 'ddi-secrets/remove', { app, id: secret });
    const entries = (await tenant.audit('limit=5')).map(({ actor, action, subject }) => [
      ...[String(actor).replace(/:.*/, ''), action, subject],
    ]);
    expect(entries).toEqual([
      ['admin-token', 'ddi-secret.remove', app],
      ['admin-token', 'gateway-token.revoke', id],
      ['admin-token', 'gateway-token.create', id],
      ['key', 'device-token.make', app],
      ['key', 'ddi-secret.add', app],
    ]);
    const all = JSON.stringify(await tenant.audit('limit=5'));
    for (const hidden of [...texts(made), gateway.body?.token, 'named-by-nothing']) {
      expect(all).not.toContain(hidden);
    }
    expect(all).toContain('"devices":2');
  });
});
