// Tests turning the GitHub webhook on and off, by the console API and by the command, and the places where
// its secret may and may not appear.

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { auditOf, type Json } from '../support/published.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { admin, createTenant, send, type Tenant } from '../support/tenant.ts';

const NONE = { tagPrefix: null, hold: false, expect: null };
const SECRET_FORM = /^[0-9a-f]{64}$/;

describeOnBackends('webhook settings', (backend) => {
  let node: ServingNode;
  let tenant: Tenant;
  beforeAll(async () => {
    node = await backend.start({
      SECRET_KEY: 'a key of the test',
      PUBLIC_URL: 'https://updates.example.com/sluice/',
    });
  });
  afterAll(() => node?.dispose());
  beforeEach(async () => {
    tenant = await createTenant(node);
  });

  async function sluice(...args: string[]): Promise<Json> {
    const env = { SLUICE_URL: node.url, ADMIN_TOKEN };
    const { code, stdout, stderr } = await runSluiceHere([...args, '--json'], env);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout) as Json;
  }

  function local(secret: unknown) {
    return { path: `/wh/github/${tenant.appId}`, secret: String(secret) };
  }

  async function show(): Promise<Json> {
    const answer = await admin(node, 'GET', `webhooks?app=${tenant.app}`);
    expect(answer.status).toBe(200);
    return answer.body as Json;
  }

  it('sluice webhook enable: the address and the secret, which verifies (Command line)', async () => {
    const hook = await sluice('webhook', 'enable', '--app', tenant.app, '--provider', 'github');
    expect(hook).toEqual({
      url: `https://updates.example.com/sluice/wh/github/${tenant.appId}`,
      secret: expect.stringMatching(SECRET_FORM),
    });
    const answer = await deliver(node, local(hook.secret), releaseEvent('v1.0.0'));
    expect(answer.body?.outcome).toBe('created');
  });

  it('sluice webhook disable: off, and deliveries are 404 (Command line)', async () => {
    const { secret } = await enableWebhook(node, tenant);
    expect(await sluice('webhook', 'disable', '--app', tenant.app)).toEqual({ enabled: false });
    const answer = await deliver(node, local(secret), releaseEvent('v1.0.0'));
    expect([answer.status, answer.body?.error]).toEqual([404, 'Unknown app']);
    expect(await show()).toMatchObject({ enabled: false, provider: 'github' });
  });

  it('sluice webhook show: on or off, the address and the last deliveries, without the secret', async () => {
    const off = await sluice('webhook', 'show', '--app', tenant.app);
    const url = `https://updates.example.com/sluice/wh/github/${tenant.appId}`;
    const none = { enabled: false, provider: null, createdAt: null };
    expect(off).toEqual({ ...none, url, webhooks: [], deliveries: [] });
    const { secret } = await enableWebhook(node, tenant);
    await deliver(node, local(secret), {}, { event: 'ping' });
    const on = await sluice('webhook', 'show', '--app', tenant.app);
    expect(on).toMatchObject({
      enabled: true,
      provider: 'github',
      url,
      createdAt: expect.any(String),
      deliveries: [{ event: 'ping', outcome: 'ignored' }],
    });
    expect(JSON.stringify(on)).not.toContain(secret);
  });

  it('enabling again changes the secret, also after it was off: the old one verifies nothing', async () => {
    const ping = async ({ secret }: { secret: string }) =>
      (await deliver(node, local(secret), {}, { event: 'ping' })).status;
    const first = await enableWebhook(node, tenant);
    const second = await enableWebhook(node, tenant);
    expect(second.secret).not.toBe(first.secret);
    expect([await ping(first), await ping(second)]).toEqual([401, 200]);
    await admin(node, 'POST', 'webhooks/disable', { app: tenant.appId });
    const third = await enableWebhook(node, { app: tenant.appId });
    expect([await ping(first), await ping(second), await ping(third)]).toEqual([401, 401, 200]);
  });

  it('is audited, without the secret; what changes nothing is not', async () => {
    const disable = () => admin(node, 'POST', 'webhooks/disable', { app: tenant.app });
    expect((await disable()).body).toEqual({ enabled: false });
    const hooks = [await enableWebhook(node, tenant), await enableWebhook(node, tenant)];
    await disable();
    await disable();
    const entries = await auditOf(node, tenant, 'action=webhook');
    expect(entries.map(({ actor, action, before }) => [actor, action, before])).toEqual([
      ['admin-token', 'webhook.disable', { provider: 'github', enabled: true, ...NONE }],
      ['admin-token', 'webhook.enable', { provider: 'github', enabled: true, ...NONE }],
      ['admin-token', 'webhook.enable', null],
    ]);
    const all = JSON.stringify(await auditOf(node, tenant));
    for (const { secret } of hooks) expect(all).not.toContain(secret);
  });

  it('what is wrong is 400 with the field, and an unknown app 404', async () => {
    const providers = 'provider: Must be one of github, gitea, forgejo';
    const secret = { app: 'a', provider: 'github', secret: 'x' };
    for (const [method, path, body, status, error] of [
      ['POST', 'webhooks', { provider: 'github' }, 400, 'app: Required'],
      ['POST', 'webhooks', { app: 'none', provider: 'gitlab' }, 400, providers],
      ['POST', 'webhooks', secret, 400, 'secret: Unrecognized key'],
      ['POST', 'webhooks', { app: 'none', provider: 'github' }, 404, 'Unknown app'],
      ['POST', 'webhooks/disable', {}, 400, 'app: Required'],
      ['POST', 'webhooks/disable', { app: 'none' }, 404, 'Unknown app'],
      ['GET', 'webhooks', undefined, 400, 'app: Required'],
      ['GET', 'webhooks?app=none', undefined, 404, 'Unknown app'],
    ] as const) {
      expectError(await admin(node, method, path, body), status, error);
    }
  });

  it('nobody gets in without the admin token', async () => {
    const body = { app: tenant.app, provider: 'github' };
    const headers = { authorization: `Bearer ${tenant.secret}` };
    for (const answer of [
      await send(node, 'POST', '/console/api/webhooks', { headers, body }),
      await send(node, 'POST', '/console/api/webhooks/disable', { headers, body }),
      await send(node, 'GET', '/console/api/webhooks', { headers }),
    ]) {
      expect(answer.status).toBe(401);
    }
  });

  it('the secret is in no output', async () => {
    const { secret } = await enableWebhook(node, tenant);
    await deliver(node, local(secret), releaseEvent('v1.0.0'));
    await deliver(node, local('wrong'), releaseEvent('v1.0.0'));
    expect(node.output()).not.toContain(secret);
    expect((await send(node, 'GET', '/metrics')).text).not.toContain(secret);
  });

  // Last: the node has another key afterwards, and then none.
  it('with another SECRET_KEY deliveries are 503, until a webhook is enabled again', async () => {
    const hook = await enableWebhook(node, tenant);
    await node.stop();
    node = await node.restart({ SECRET_KEY: 'another key' });
    const answer = await deliver(node, local(hook.secret), releaseEvent('v2.0.0'));
    expectError(answer, 503, expect.stringContaining('SECRET_KEY'));
    const isLogged = () => node.output().includes('webhook secret cannot be read');
    await eventually('the log says why', isLogged);
    const again = await enableWebhook(node, tenant);
    expect((await deliver(node, local(again.secret), releaseEvent('v2.0.0'))).status).toBe(200);
  });

  it.skipIf(backend.name === 'embedded')(
    'SECRET_KEY is needed on a real database: 409 without it, and no file is made',
    async () => {
      await node.stop();
      node = await node.restart({ SECRET_KEY: undefined });
      const body = { app: tenant.app, provider: 'github' };
      const answer = await admin(node, 'POST', 'webhooks', body);
      expectError(answer, 409, 'Webhooks cannot be enabled: SECRET_KEY is not set');
      expect(await show()).toMatchObject({ enabled: false });
      await expect(stat(join(node.dataDir, 'secret-key'))).rejects.toThrow('ENOENT');
      // Slack has no secret, and so needs no key.
      const slack = { kind: 'slack', name: 'ops', url: 'https://hooks.slack.com/services/1' };
      const added = await admin(node, 'POST', `destinations?org=${tenant.org}`, slack);
      const path = `destinations/${String((added.body as Json).id)}`;
      const url = 'https://hooks.slack.com/services/2';
      expect(await admin(node, 'PATCH', path, { url })).toMatchObject({
        status: 200,
        body: { url },
      });
      expectError(
        await admin(node, 'POST', `${path}/rotate`, {}),
        409,
        'Only a webhook has a secret',
      );
    },
  );
});
