// Tests the settings of webhooks, by the console API and by the command, and the places where a secret may
// and may not appear (docs/contract.md 18.16 and 18.18).

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { type CodeHost, deliverAs, enableCodeHost } from '../support/gitea.ts';
import { deliver, releaseEvent } from '../support/github.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { admin, createTenant, type Json, send, type Tenant } from '../support/tenant.ts';

const ADDRESS = 'https://updates.example.com/sluice/wh';
const BOTH = ['linux/x86_64', 'darwin/aarch64'];
const NONE = { tagPrefix: null, hold: false, expect: null };
/** A webhook that is enabled and has received nothing yet. */
const FRESH = {
  ...{ enabled: true, createdAt: expect.any(String), ...NONE },
  ...{ repository: null, otherRepository: null },
};

describeOnBackends('webhook settings', (backend) => {
  let node: ServingNode;
  let tenant: Tenant;
  let app: string;
  let appId: string;
  beforeAll(async () => {
    node = await backend.start({
      SECRET_KEY: 'a key of the test',
      PUBLIC_URL: 'https://updates.example.com/sluice/',
    });
    tenant = await createTenant(node);
  });
  afterAll(() => node?.dispose());
  beforeEach(async () => {
    ({ app, appId } = await tenant.at(node).anotherApp());
  });

  /** Enables a webhook; its path leads to this machine. */
  async function enable(provider: CodeHost['provider'] = 'github', settings: Json = {}) {
    const host = await enableCodeHost(node, app, provider, settings);
    expect(host.url).toBe(`${ADDRESS}/${provider}/${appId}`);
    return { ...host, path: `/wh/${provider}/${appId}` };
  }

  const ping = async (host: CodeHost) =>
    (await deliverAs(node, host, {}, { event: 'ping' })).status;
  const disable = async (provider?: string) =>
    (await admin(node, 'POST', 'webhooks/disable', { app, provider })).body;

  async function show(): Promise<{ webhooks: Json[] } & Json> {
    const answer = await admin(node, 'GET', `webhooks?app=${app}`);
    expect(answer.status).toBe(200);
    return answer.body as { webhooks: Json[] };
  }

  /** Returns what was done to the app's webhooks, newest first. */
  async function audit(): Promise<Json[]> {
    const entries = await tenant.audit('limit=1000&action=webhook');
    return entries.filter(({ subject }) => subject === app);
  }

  it('sluice webhook enable, show, update, disable: the secret verifies, and only enable tells it (Command line)', async () => {
    async function sluice(command: string, ...args: string[]): Promise<Json> {
      const env = { SLUICE_URL: node.url, ADMIN_TOKEN };
      const words = ['webhook', command, '--app', app, ...args, '--json'];
      const { code, stdout, stderr } = await runSluiceHere(words, env);
      expect(code, stderr).toBe(0);
      return JSON.parse(stdout) as Json;
    }
    const off = { enabled: false, provider: null, createdAt: null, webhooks: [], deliveries: [] };
    expect(await sluice('show')).toEqual({ ...off, url: `${ADDRESS}/github/${appId}` });
    const own = ['--provider', 'gitea'];
    const held = ['--tag-prefix', 'desk-', '--hold', '--expect', BOTH.join(',')];
    const made = await sluice('enable', ...own, ...held);
    const secret = String(made.secret);
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(made).toEqual({ url: `${ADDRESS}/gitea/${appId}`, secret });
    expect(await ping({ provider: 'gitea', path: `/wh/gitea/${appId}`, secret })).toBe(200);
    const on = await sluice('show');
    expect(on).toMatchObject({
      ...{ enabled: true, provider: 'gitea', url: made.url, createdAt: expect.any(String) },
      webhooks: [{ provider: 'gitea', tagPrefix: 'desk-', hold: true, expect: BOTH }],
      deliveries: [{ event: 'ping', outcome: 'ignored' }],
    });
    expect(JSON.stringify(on)).not.toContain(secret);
    const never = await sluice('update', ...own, '--tag-prefix', '', '--expect', '');
    expect(never).toMatchObject({ tagPrefix: null, hold: true, expect: null });
    expect(await sluice('update', ...own, '--no-hold')).toMatchObject({ hold: false });
    expect(await sluice('disable', ...own)).toEqual({ enabled: false });
    expect(await show()).toMatchObject({ enabled: false, provider: 'gitea' });
  });

  it('each code host has its own secret, address, settings and state, which stay when the secret is renewed (§18.16, §18.18)', async () => {
    const github = await enable('github');
    const settings = { tagPrefix: 'desk-', hold: true, expect: BOTH };
    const former = await enable('gitea', settings);
    const gitea = await enable('gitea');
    expect([await ping(former), await ping({ ...gitea, path: github.path })]).toEqual([401, 401]);
    const shown = await show();
    expect(shown).toMatchObject({ enabled: true, provider: 'github' });
    expect(shown.webhooks).toEqual([
      { ...FRESH, provider: 'github', url: github.url },
      { ...FRESH, provider: 'gitea', url: gitea.url, ...settings },
    ]);
    const body = { app, provider: 'gitea', hold: false };
    const changed = { provider: 'gitea', url: gitea.url, tagPrefix: 'desk-' };
    expect((await admin(node, 'PATCH', 'webhooks', body)).body).toEqual({ ...FRESH, ...changed });
    await admin(node, 'PATCH', 'webhooks', body);
    const outcomeOf = async (tag: string) =>
      (await deliverAs(node, gitea, releaseEvent(tag))).body?.outcome;
    expect(await outcomeOf('desk-1.0.0')).toBe('created');
    await admin(node, 'PATCH', 'webhooks', { ...body, tagPrefix: '' });
    expect(await outcomeOf('desk-1.0.1')).toBe('ignored');
    expect((await audit()).filter(({ action }) => action === 'webhook.update')).toMatchObject([
      { before: { tagPrefix: 'desk-' }, after: { tagPrefix: null } },
      {
        before: { provider: 'gitea', hold: true, expect: BOTH },
        after: { provider: 'gitea', hold: false, expect: null },
      },
    ]);
    expect(await disable('github')).toEqual({ enabled: true });
    expect([await ping(github), await ping(gitea)]).toEqual([404, 200]);
    expect(await show()).toMatchObject({ enabled: true, provider: 'gitea' });
    expect(await disable()).toEqual({ enabled: false });
    expect(await ping(gitea)).toBe(404);
  });

  it('a secret is in no audit and no output; what changes nothing is not audited', async () => {
    expect(await disable()).toEqual({ enabled: false });
    const hooks = [await enable(), await enable()];
    await disable();
    await disable();
    hooks.push(await enable());
    expect(await Promise.all(hooks.map(ping))).toEqual([401, 401, 200]);
    const was = { provider: 'github', enabled: true, ...NONE };
    const entries = await audit();
    expect(entries.map(({ actor, action, before }) => [actor, action, before])).toEqual([
      ['admin-token', 'webhook.enable', { ...was, enabled: false }],
      ['admin-token', 'webhook.disable', was],
      ['admin-token', 'webhook.enable', was],
      ['admin-token', 'webhook.enable', null],
    ]);
    await admin(node, 'PATCH', 'webhooks', { app, provider: 'github', hold: true });
    const whole = await tenant.audit();
    expect(whole.map(({ action }) => action)).toContain('webhook.update');
    const metrics = (await send(node, 'GET', '/metrics')).text;
    for (const { secret } of hooks) {
      expect(JSON.stringify(whole) + node.output() + metrics).not.toContain(secret);
    }
  });

  it('what is wrong is 400 with the field, and what is unknown 404', async () => {
    const hold = true;
    const providers = 'provider: Must be one of github, gitea, forgejo';
    for (const [call, body, status, error] of [
      ['POST webhooks', { app: undefined }, 400, 'app: Required'],
      ['POST webhooks', { app: 'none', provider: 'gitlab' }, 400, providers],
      ['POST webhooks', { secret: 'x' }, 400, 'secret: Unrecognized key'],
      ['POST webhooks', { app: 'none' }, 404, 'Unknown app'],
      ['POST webhooks', { expect: BOTH }, 400, 'expect: Only with hold'],
      ['POST webhooks', { hold, expect: [] }, 400, 'expect: Must have at least 1'],
      ['POST webhooks', { hold, expect: ['a/b/c'] }, 400, 'expect.0: Must be a platform'],
      ['POST webhooks', { hold: 'yes' }, 400, 'hold: '],
      ['POST webhooks', { tagPrefix: 'x'.repeat(101) }, 400, 'tagPrefix: Must have at most'],
      ['POST webhooks', { tagPrefix: 'a\u0000' }, 400, 'tagPrefix: '],
      ['PATCH webhooks', { hold, other: 1 }, 400, 'other: Unrecognized key'],
      ['PATCH webhooks', { hold }, 404, 'The app has no webhook of this code host'],
      ['POST webhooks/disable', { app: undefined }, 400, 'app: Required'],
      ['POST webhooks/disable', { app: 'none' }, 404, 'Unknown app'],
      ['GET webhooks', undefined, 400, 'app: Required'],
      ['GET webhooks?app=none', undefined, 404, 'Unknown app'],
    ] as const) {
      const [method = '', path = ''] = call.split(' ');
      const whole = body && { app, provider: 'github', ...body };
      const answer = await admin(node, method, path, whole);
      expectError(answer, status, expect.stringContaining(error));
    }
  });

  // Last: the node has another key afterwards, and then none.
  it('with another SECRET_KEY deliveries are 503, until a webhook is enabled again', async () => {
    const hook = await enable();
    await node.stop();
    node = await node.restart({ SECRET_KEY: 'another key' });
    const answer = await deliver(node, hook, releaseEvent('v2.0.0'));
    expectError(answer, 503, expect.stringContaining('SECRET_KEY'));
    const isLogged = () => node.output().includes('webhook secret cannot be read');
    await eventually('the log says why', isLogged);
    expect((await deliver(node, await enable(), releaseEvent('v2.0.0'))).status).toBe(200);
  });

  it.skipIf(backend.name === 'embedded')(
    'SECRET_KEY is needed on a real database: 409 without it, and no file is made',
    async () => {
      const add = (kind: string, url: string) =>
        admin(node, 'POST', `destinations?org=${tenant.org}`, { kind, name: kind, url });
      const hook = (await add('webhook', 'https://ops.example.com/hook')).body;
      await node.stop();
      node = await node.restart({ SECRET_KEY: undefined });
      for (const [path, body] of [
        ['webhooks', { app, provider: 'github' }],
        [`destinations/${String(hook?.id)}/rotate`, undefined],
      ] as const) {
        const answer = await admin(node, 'POST', path, body);
        expectError(answer, 409, 'Webhooks cannot be enabled: SECRET_KEY is not set');
      }
      expect(await show()).toMatchObject({ enabled: false });
      await expect(stat(join(node.dataDir, 'secret-key'))).rejects.toThrow('ENOENT');
      // Slack has no secret, and so needs no key.
      const added = await add('slack', 'https://hooks.slack.com/services/1');
      const path = `destinations/${String(added.body?.id)}`;
      const url = { url: 'https://hooks.slack.com/services/2' };
      expect((await admin(node, 'PATCH', path, url)).body).toMatchObject(url);
    },
  );
});
