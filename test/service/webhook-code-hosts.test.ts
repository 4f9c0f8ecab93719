// Tests Gitea and Forgejo as code hosts beside GitHub, and the settings of a webhook: a prefix of the tags,
// and releases that are held (docs/contract.md 18.16 to 18.19).

import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import {
  type CodeHost,
  deliverAs,
  enableCodeHost,
  giteaAsset,
  giteaEvent,
} from '../support/gitea.ts';
import { asset, deliver, releaseEvent } from '../support/github.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { auditOf, type Json, releasesOf } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { admin, check, control, createTenant, send, type Tenant } from '../support/tenant.ts';

const LINUX = 'notes-linux-amd64';
const MAC = 'Notes_aarch64.dmg';
const BOTH = ['linux/x86_64', 'darwin/aarch64'];
const NONE = {
  ...{ tagPrefix: null, hold: false, expect: null },
  ...{ repository: null, otherRepository: null },
};

serviceSuite('code hosts', (node) => {
  let tenant: Tenant;
  beforeEach(async () => {
    tenant = await createTenant(node);
  });

  const enable = (provider: CodeHost['provider'], settings?: Json) =>
    enableCodeHost(node, tenant.app, provider, settings);

  async function found(channel = 'stable', version = '1.0.0'): Promise<Json | undefined> {
    const query = `app=${tenant.app}&channel=${channel}&version=${version}`;
    return (await releasesOf(node, tenant, query))[0];
  }

  async function statusOf(channel?: string, version?: string): Promise<unknown> {
    return (await found(channel, version))?.status;
  }

  async function files(): Promise<string[]> {
    const { artifacts = [] } = (await found()) as { artifacts?: { url: string }[] };
    return artifacts.map(({ url }) => url.slice(url.lastIndexOf('/') + 1)).toSorted();
  }

  const entries = () => auditOf(node, tenant);

  async function show(): Promise<{ webhooks: Json[]; deliveries: Json[] } & Json> {
    const answer = await admin(node, 'GET', `webhooks?app=${tenant.app}`);
    expect(answer.status).toBe(200);
    return answer.body as { webhooks: Json[]; deliveries: Json[] };
  }

  describe.each(['gitea', 'forgejo'] as const)('%s', (provider) => {
    let host: CodeHost;
    beforeEach(async () => {
      host = await enable(provider);
    });

    const say = (action: string, release: Json = {}, repository: Json = {}) =>
      deliverAs(node, host, giteaEvent(action, 'v1.0.0', release, repository));

    it.each([false, true])('publishes what it announces, in a form: %s (§18.17)', async (form) => {
      expect(host.path).toBe(`/wh/${provider}/${tenant.appId}`);
      const event = giteaEvent('published', 'v1.0.0', { assets: [giteaAsset(LINUX)] });
      const answer = await deliverAs(node, host, event, { form });
      expect([answer.status, answer.body?.outcome]).toEqual([200, 'created']);
      expect(answer.body?.release).toMatchObject({ version: '1.0.0', channel: 'stable' });
      expect((await check(node, tenant, '0.9.0')).body?.version).toBe('1.0.0');
      expect((await deliverAs(node, host, event, { form })).body?.outcome).toBe('duplicate');
      const [newest] = await entries();
      expect(newest?.actor).toBe(`integration:${provider}`);
      const { deliveries } = await show();
      expect(deliveries.map((each) => [each.provider, each.outcome])).toEqual([
        [provider, 'duplicate'],
        [provider, 'created'],
      ]);
    });

    it('a draft that is published is announced as updated (§18.17)', async () => {
      expect((await say('published', { draft: true })).body?.outcome).toBe('ignored');
      const assets = [giteaAsset(LINUX)];
      expect((await say('updated', { assets })).body?.outcome).toBe('created');
      expect((await found())?.notes).toBe('Notes of the release.');
      expect((await say('updated', { assets, body: 'other' })).body?.outcome).toBe('duplicate');
      expect((await found())?.notes).toBe('other');
    });

    it('files that are attached later complete the release (§18.8)', async () => {
      await say('published');
      const answer = await say('updated', { assets: [giteaAsset(LINUX), giteaAsset(MAC)] });
      expect(answer.body?.outcome).toBe('duplicate');
      expect(await files()).toEqual([MAC, LINUX].toSorted());
    });

    it('what becomes a pre-release, or is deleted, is paused (§18.13, §18.17)', async () => {
      await say('published', { assets: [giteaAsset(LINUX)] });
      const demoted = await say('updated', { prerelease: true });
      const reason = 'The release was prereleased: it is paused on stable';
      expect(demoted.body).toEqual({ outcome: 'ignored', reason });
      expect(await statusOf()).toBe('paused');
      await say('published', { prerelease: true });
      await deliverAs(node, host, giteaEvent('updated', 'v1.1.0', { prerelease: true }));
      expect(await statusOf('beta', '1.1.0')).toBe('published');
      await deliverAs(node, host, giteaEvent('deleted', 'v1.1.0', { prerelease: true }));
      expect(await statusOf('beta', '1.1.0')).toBe('paused');
    });

    it('a private repository, another event and another action are ignored', async () => {
      for (const answer of [
        await say('published', {}, { private: true }),
        await say('reviewed'),
        await deliverAs(node, host, {}, { event: 'push' }),
        await deliverAs(node, host, {}, { event: 'ping' }),
      ]) {
        expect([answer.status, answer.body?.outcome]).toEqual([200, 'ignored']);
      }
    });

    it('a signature that is none, half, another, or of GitHub is 401, naming the header (§18.17)', async () => {
      const name = provider === 'gitea' ? 'X-Gitea-Signature' : 'X-Forgejo-Signature';
      for (const signature of ['', 'sha256=ab', 'ab'.repeat(32), 'ab'.repeat(16)]) {
        const headers = { [name.toLowerCase()]: signature };
        const answer = await deliverAs(node, host, giteaEvent('published', 'v1.0.0'), { headers });
        expectError(answer, 401, `Missing or wrong ${name}`);
      }
      expect((await show()).deliveries).toEqual([]);
    });

    it('without the name of the event it is 400', async () => {
      const name = provider === 'gitea' ? 'X-Gitea-Event' : 'X-Forgejo-Event';
      const json = '{}';
      const digest = createHmac('sha256', host.secret).update(json).digest('hex');
      const headers = { [name.replace('Event', 'Signature')]: digest };
      const answer = await send(node, 'POST', host.path, { body: json, headers });
      expectError(answer, 400, `${name}: Required`);
    });
  });

  describe('one for each code host', () => {
    it('has its own secret, address and state; each goes off alone, or all together (§18.16)', async () => {
      const github = await enable('github');
      const gitea = await enable('gitea', { tagPrefix: 'desk-' });
      expect(gitea.secret).not.toBe(github.secret);
      const stolen = { ...gitea, path: github.path };
      expect((await deliverAs(node, stolen, {}, { event: 'ping' })).status).toBe(401);
      expect((await deliver(node, github, {}, { event: 'ping' })).status).toBe(200);
      const shown = await show();
      expect(shown).toMatchObject({ enabled: true, provider: 'github' });
      const usual = { enabled: true, createdAt: expect.any(String), ...NONE };
      const urlOf = (provider: string) => expect.stringContaining(`/wh/${provider}/app_`);
      expect(shown.webhooks).toEqual([
        { ...usual, provider: 'github', url: urlOf('github') },
        { ...usual, provider: 'gitea', url: urlOf('gitea'), tagPrefix: 'desk-' },
      ]);
      const off = { app: tenant.app, provider: 'github' };
      expect((await admin(node, 'POST', 'webhooks/disable', off)).body).toEqual({ enabled: true });
      expect((await deliver(node, github, {}, { event: 'ping' })).status).toBe(404);
      expect((await deliverAs(node, gitea, {}, { event: 'ping' })).status).toBe(200);
      expect(await show()).toMatchObject({ enabled: true, provider: 'gitea' });
      const all = await admin(node, 'POST', 'webhooks/disable', { app: tenant.app });
      expect(all.body).toEqual({ enabled: false });
      expect((await deliverAs(node, gitea, {}, { event: 'ping' })).status).toBe(404);
    });

    it('two that mirror each other publish a release once', async () => {
      const [github, gitea] = [await enable('github'), await enable('gitea')];
      const forgejo = await enable('forgejo');
      const assets = [asset(LINUX)];
      const event = giteaEvent('published', 'v1.0.0', { assets });
      const answers = await Promise.all([
        deliver(node, github, releaseEvent('v1.0.0', { assets })),
        deliverAs(node, gitea, event),
        deliverAs(node, forgejo, event),
      ]);
      const outcomes = answers.map(({ body }) => body?.outcome).toSorted();
      expect(outcomes).toEqual(['created', 'duplicate', 'duplicate']);
    });
  });

  describe('a prefix of the tags', () => {
    it('and what follows it is the version, with it or without (§18.6, §18.18)', async () => {
      const tags = {
        ...{ 'desk-1.0.0': 'desk-', 'desk-v1.0.1': 'desk-', 'DESK-1.0.2': 'desk-' },
        ...{ 'release/v1.0.3': 'release/', 'v1.0.4': 'desk-' },
      };
      for (const [tag, tagPrefix] of Object.entries(tags)) {
        const host = await enable('github', { tagPrefix });
        const { body } = await deliver(node, host, releaseEvent(tag, { assets: [asset(LINUX)] }));
        expect(body?.release).toMatchObject({ version: tag.slice(-5) });
      }
    });

    it('another app of the repository is ignored, and an empty prefix is none', async () => {
      const host = await enable('github', { tagPrefix: 'desk-' });
      const event = releaseEvent('server-1.0.0', { assets: [asset(LINUX)] });
      const reason = 'The tag server-1.0.0 is no version';
      expect((await deliver(node, host, event)).body?.reason).toBe(reason);
      const body = { app: tenant.app, provider: 'github', tagPrefix: '' };
      expect((await admin(node, 'PATCH', 'webhooks', body)).body?.tagPrefix).toBe(null);
      expect((await deliver(node, host, releaseEvent('desk-1.0.0'))).body?.outcome).toBe('ignored');
    });
  });

  describe('releases that are held', () => {
    function announce(host: CodeHost, names: readonly string[], action = 'published') {
      const assets = names.map((name) => asset(name));
      return deliver(node, host, releaseEvent('v1.0.0', { assets }, action));
    }

    it('land paused, take files from any event, and are published by hand (§18.19)', async () => {
      const host = await enable('github', { hold: true });
      expect((await announce(host, [LINUX])).body?.release).toMatchObject({ status: 'paused' });
      expect((await check(node, tenant, '0.9.0')).status).toBe(204);
      await announce(host, [LINUX, MAC], 'edited');
      // Events add, and never remove.
      await announce(host, [LINUX], 'edited');
      expect(await files()).toEqual([MAC, LINUX].toSorted());
      expect(await statusOf()).toBe('paused');
      await control(node, tenant, '1.0.0', { status: 'published' });
      expect((await check(node, tenant, '0.9.0')).body?.version).toBe('1.0.0');
      await announce(host, [LINUX, MAC, 'notes.msi'], 'edited');
      expect(await files()).toEqual([MAC, LINUX].toSorted());
    });

    it('publish themselves once everything that is expected is there, be it at once (§18.19)', async () => {
      const host = await enable('github', { hold: true, expect: BOTH });
      await announce(host, [LINUX]);
      expect(await statusOf()).toBe('paused');
      const answer = await announce(host, [MAC], 'edited');
      expect(answer.body?.release).toMatchObject({ status: 'published' });
      expect((await check(node, tenant, '0.9.0')).body?.version).toBe('1.0.0');
      const [newest] = await entries();
      expect(newest).toMatchObject({ action: 'release.complete', actor: 'integration:github' });
      const { app } = await createTenant(node);
      const other = await enableCodeHost(node, app, 'github', { hold: true, expect: BOTH });
      const whole = await announce(other, [LINUX, MAC]);
      expect(whole.body?.release).toMatchObject({ status: 'published' });
    });

    it('a file is what is waited for in every spelling, and for every architecture it runs on (§18.19)', async () => {
      for (const [name, expected] of Object.entries({
        ...{ 'Notes_universal.dmg': 'darwin/aarch64', 'Notes.dmg': 'macos/arm64' },
        ...{ 'Notes_aarch64.dmg': 'darwin', 'notes-linux-amd64': 'linux/x64' },
      })) {
        const { app } = await createTenant(node);
        const settings = { hold: true, expect: [expected] };
        const host = await enableCodeHost(node, app, 'github', settings);
        const { body } = await announce(host, [name]);
        expect([name, body?.release]).toMatchObject([name, { status: 'published' }]);
      }
    });

    it('who pauses one, with a key or as the code host, publishes it by hand (§18.19)', async () => {
      const host = await enable('github', { hold: true, expect: BOTH });
      await announce(host, [LINUX]);
      expect((await control(node, tenant, '1.0.0', { status: 'paused' })).status).toBe(200);
      await announce(host, [LINUX, MAC], 'edited');
      expect([await statusOf(), await files()]).toEqual(['paused', [MAC, LINUX].toSorted()]);

      const called = await createTenant(node);
      const other = await enableCodeHost(node, called.app, 'github', { hold: true, expect: BOTH });
      await announce(other, [LINUX]);
      await announce(other, [LINUX], 'unpublished');
      await announce(other, [LINUX, MAC]);
      expect(await releasesOf(node, called)).toMatchObject([{ status: 'paused' }]);
    });

    it('any order of the events leads to the same release (§18.19)', async () => {
      const steps: [names: string[], action: string][] = [
        [[LINUX], 'created'],
        [[LINUX, MAC], 'published'],
        [[MAC, 'notes.msi'], 'released'],
        [[LINUX], 'created'],
      ];
      const settings = { hold: true, expect: [...BOTH, 'windows'] };
      const inOrder = async (order: typeof steps) => {
        const one = await createTenant(node);
        const host = await enableCodeHost(node, one.app, 'github', settings);
        for (const [names, action] of order) await announce(host, names, action);
        expect(await releasesOf(node, one)).toMatchObject([
          { status: 'published', artifacts: [{}, {}, {}] },
        ]);
      };
      // The last step is the first again: twelve orders of the four differ.
      const orders = new Map(permutations(steps).map((order) => [JSON.stringify(order), order]));
      expect(orders.size).toBe(12);
      for (const order of orders.values()) await inOrder(order);
    });
  });

  describe('settings', () => {
    it('stay when the secret is renewed, and change without a new one, audited (§18.16)', async () => {
      const settings = { tagPrefix: 'desk-', hold: true, expect: BOTH };
      const first = await enable('forgejo', settings);
      const second = await enable('forgejo');
      expect((await show()).webhooks).toMatchObject([settings]);
      expect((await deliverAs(node, first, {}, { event: 'ping' })).status).toBe(401);
      const body = { app: tenant.app, provider: 'forgejo', hold: false };
      const answer = await admin(node, 'PATCH', 'webhooks', body);
      expect(answer.body).toEqual({
        ...{ provider: 'forgejo', enabled: true, createdAt: expect.any(String) },
        url: expect.stringContaining('/wh/forgejo/'),
        ...{ ...NONE, tagPrefix: 'desk-' },
      });
      await admin(node, 'PATCH', 'webhooks', body);
      expect((await deliverAs(node, second, {}, { event: 'ping' })).status).toBe(200);
      const mine = (await entries()).filter(({ action }) => action === 'webhook.update');
      expect(mine).toMatchObject([
        {
          subject: tenant.app,
          before: { provider: 'forgejo', hold: true, expect: BOTH },
          after: { provider: 'forgejo', hold: false, expect: null },
        },
      ]);
      expect(JSON.stringify(mine)).not.toContain(second.secret);
    });

    it('of many changes at once each is made, and none is torn', async () => {
      await enable('github', { hold: true });
      await Promise.all(
        Array.from({ length: 12 }, (_, at) =>
          admin(node, 'PATCH', 'webhooks', {
            ...{ app: tenant.app, provider: 'github' },
            ...(at % 2 === 0 ? { hold: true, expect: BOTH } : { hold: false, tagPrefix: 'x-' }),
          }),
        ),
      );
      const [webhook] = (await show()).webhooks;
      expect([true, false]).toContain(webhook?.hold);
      expect(webhook?.expect).toEqual(webhook?.hold ? BOTH : null);
      expect(webhook?.tagPrefix).toBe('x-');
    });

    it('that are wrong are 400 with the field, or 404', async () => {
      const hold = true;
      for (const [call, body, status, error] of [
        ['POST webhooks', { expect: BOTH }, 400, 'expect: Only with hold'],
        ['POST webhooks', { hold, expect: [] }, 400, 'expect: Must have at least 1'],
        ['POST webhooks', { hold, expect: ['a/b/c'] }, 400, 'expect.0: Must be a platform'],
        ['POST webhooks', { hold, expect: [''] }, 400, 'expect.0: Must not be empty'],
        ['POST webhooks', { hold: 'yes' }, 400, 'hold: '],
        ['POST webhooks', { tagPrefix: 'x'.repeat(101) }, 400, 'tagPrefix: Must have at most'],
        ['POST webhooks', { tagPrefix: 'a\u0000' }, 400, 'tagPrefix: '],
        ['PATCH webhooks', { hold, other: 1 }, 400, 'other: Unrecognized key'],
        ['PATCH webhooks', { hold }, 404, 'The app has no webhook of this code host'],
        ['POST webhooks/disable', { provider: 'gitlab' }, 400, 'provider: Must be one of'],
      ] as const) {
        const [method = '', path = ''] = call.split(' ');
        const whole = { app: tenant.app, provider: 'github', ...body };
        const answer = await admin(node, method, path, whole);
        expectError(answer, status, expect.stringContaining(error));
      }
    });

    it('sluice webhook enable, update, disable: the same from the command line', async () => {
      async function sluice(...args: string[]): Promise<Json> {
        const env = { SLUICE_URL: node.url, ADMIN_TOKEN };
        const { code, stdout, stderr } = await runSluiceHere(['webhook', ...args, '--json'], env);
        expect(code, stderr).toBe(0);
        return JSON.parse(stdout) as Json;
      }
      const own = ['--app', tenant.app, '--provider', 'gitea'];
      const held = ['--tag-prefix', 'desk-', '--hold', '--expect', BOTH.join(',')];
      const made = await sluice('enable', ...own, ...held);
      expect(made.url).toMatch(/\/wh\/gitea\/app_/);
      expect((await show()).webhooks).toMatchObject([
        { provider: 'gitea', tagPrefix: 'desk-', hold: true, expect: BOTH },
      ]);
      const never = await sluice('update', ...own, '--tag-prefix', '', '--expect', '');
      expect(never).toMatchObject({ tagPrefix: null, hold: true, expect: null });
      expect(await sluice('update', ...own, '--no-hold')).toMatchObject({ hold: false });
      expect(await sluice('disable', ...own)).toEqual({ enabled: false });
    });
  });
});

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, at) =>
    permutations(items.toSpliced(at, 1)).map((rest) => [item, ...rest]),
  );
}
