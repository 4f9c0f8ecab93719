// Tests deliveries of release webhooks to a running service: what they store, what devices get of it, which
// are refused, and what is listed of them (docs/contract.md 4.11, 6 and 18). What each event makes of a
// release is tested in test/publishing, what is read from it in test/http.

import { beforeAll, describe, expect, it } from 'vitest';
import type { WebhookProvider } from '../../src/contract/choice.ts';
import { expectError } from '../support/expect-error.ts';
import {
  type CodeHost,
  deliverAs,
  enableCodeHost,
  giteaAsset,
  giteaEvent,
} from '../support/gitea.ts';
import { asset, deliver, releaseEvent } from '../support/github.ts';
import { exchangeRaw, requestHead } from '../support/raw-exchange.ts';
import { serviceSuite, suiteTenant } from '../support/service-suite.ts';
import { type Answer, admin, type Json, releaseOf, send, type Tenant } from '../support/tenant.ts';

const LINUX = asset('notes-linux-amd64');
const MAC = asset('notes-darwin-arm64.zip');

serviceSuite('webhook deliveries', (node) => {
  const owner = suiteTenant(node);

  /** Makes another app with a webhook. */
  async function listen(provider: WebhookProvider = 'github', settings: Json = {}) {
    const app = await owner.anotherApp();
    return { app, hook: await enableCodeHost(node, app.app, provider, settings) };
  }

  /** Sends GitHub's event of v1.0.0. */
  const tell = (hook: CodeHost, action: string, release: Json = {}, more: Json = {}) =>
    deliver(node, hook, { ...releaseEvent('v1.0.0', release, action), ...more });

  const releases = (app: Tenant) => app.releases(`app=${app.app}&per_page=100`);

  /** Returns status and files of the releases of an app, newest first. */
  async function standing(app: Tenant): Promise<unknown[]> {
    return (await releases(app)).map(({ channel, status, artifacts }) => {
      const names = (artifacts as Json[]).map(({ url }) => String(url).split('/').at(-1));
      return [channel, status, ...names];
    });
  }

  async function audit({ app }: Tenant, action: string): Promise<Json[]> {
    const entries = await owner.audit(`limit=1000&action=${action}`);
    return entries.filter(({ subject }) => String(subject).startsWith(`${app}/`));
  }

  async function show({ app }: Tenant): Promise<{ webhooks: Json[]; deliveries: Json[] }> {
    const { body } = await admin(node, 'GET', `webhooks?app=${app}`);
    return body as { webhooks: Json[]; deliveries: Json[] };
  }

  describe('a release', () => {
    const NOTES = '# Größe\n\nFaster ✓\ufffd';
    const guid = '72d3162e-cc78-11e3-81ab-4c9367dc0958';
    const digest = `sha256:${'CD'.repeat(32)}`;
    const setup = asset('Notes_1.2.3_x64-setup.exe', { size: 0, digest });
    const starting = asset('notes.app.tar.gz', { state: 'starter' });
    const event = releaseEvent('v1.2.3', {
      ...{
        assets: [LINUX, asset('SHA256SUMS'), setup, starting],
        body: '# Größe\n\nFaster ✓\u0000',
      },
    });
    const reason =
      'Not uploaded: notes.app.tar.gz. Left out, since no device installs them: SHA256SUMS';
    let app: Tenant;
    let hook: CodeHost;
    let answer: Answer;
    beforeAll(async () => {
      ({ app, hook } = await listen());
      answer = await deliver(node, hook, event, { headers: { 'x-github-delivery': guid } });
    });

    it('lands on stable, is answered, offered and audited (§6.1, §18.11)', async () => {
      const x64 = { arch: 'x86_64' };
      const release = {
        ...{ id: expect.stringMatching(/^rel_/), createdAt: expect.any(String) },
        ...{ app: app.app, channel: 'stable', version: '1.2.3', notes: NOTES },
        ...{ status: 'published', rolloutPct: 100 },
        artifacts: [
          { ...x64, platform: 'linux', url: LINUX.browser_download_url, size: 1234 },
          { ...x64, platform: 'windows', url: setup.browser_download_url, size: 0 },
        ],
      };
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ outcome: 'created', reason, release });
      expect(await releases(app)).toEqual([answer.body?.release]);
      const offer = await app.check('1.0.0');
      expect(offer.body).toMatchObject({ version: '1.2.3', notes: NOTES });
      expect(await audit(app, 'release.publish')).toMatchObject([
        {
          ...{ actor: 'integration:github', subject: `${app.app}/stable@1.2.3` },
          ...{ before: null, after: { version: '1.2.3' } },
        },
      ]);
    });

    it('has the sum that the code host told in update files, and in no other answer (§2.1)', async () => {
      const device = { deviceId: 'a', version: '0.9.0', platform: 'windows', arch: 'x64' };
      const feed = await send(node, 'GET', `/feed/${app.app}/stable`);
      for (const { text } of [
        feed,
        await send(node, 'GET', `/feed/${app.app}/stable/rss.xml`),
        await app.check('0.9.0', { platform: 'windows', arch: 'x64' }),
        await app.decisions([device], { channel: 'stable' }),
      ]) {
        expect(text).toContain('setup.exe');
        expect(text).not.toMatch(/sha256|(?:cd){32}/i);
      }
      expect(feed.body?.releases).toEqual([answer.body?.release]);
      const { text } = await send(node, 'GET', `/e/${app.app}/stable/latest.yml`);
      expect(text).toMatch(/^ +sha2: '?(?:cd){32}/m);
    });

    it('is listed with its deliveries, newest first, whether these name the app by its id or ref (§2.4, §18.2)', async () => {
      expect(hook.path).toBe(`/wh/github/${app.appId}`);
      const byRef = { ...hook, path: `/wh/github/${app.app}` };
      const { body } = await deliver(node, byRef, event, { form: true });
      expect(body).toEqual({ outcome: 'duplicate', reason, release: answer.body?.release });
      await deliver(node, hook, {}, { event: 'ping' });
      const [ping, again, created] = (await show(app)).deliveries;
      expect(ping).toMatchObject({ event: 'ping', action: null, reason: 'ping', version: null });
      expect(again).toMatchObject({ outcome: 'duplicate', version: '1.2.3' });
      expect(created).toEqual({
        ...{ id: expect.any(String), at: expect.stringMatching(/^\d{4}-.*Z$/) },
        ...{ provider: 'github', event: 'release', action: 'published', guid },
        ...{ outcome: 'created', reason, version: '1.2.3' },
      });
    });
  });

  it.each([
    ['gitea', true],
    ['forgejo', false],
  ] as const)(
    '%s publishes, completes and calls back, in a form: %s (§18.11, §18.17)',
    async (provider, form) => {
      const { app, hook } = await listen(provider);
      expect(hook.path).toBe(`/wh/${provider}/${app.appId}`);
      for (const [action, assets, outcome] of [
        ['published', [], 'created'],
        ['updated', [giteaAsset('notes-linux-amd64')], 'duplicate'],
        ['deleted', [], 'ignored'],
      ] as const) {
        const event = giteaEvent(action, 'v1.0.0', { assets });
        expect((await deliverAs(node, hook, event, { form })).body?.outcome).toBe(outcome);
      }
      expect(await standing(app)).toEqual([['stable', 'paused', 'notes-linux-amd64']]);
      expect(await audit(app, 'release')).toMatchObject(
        ['serve', 'complete', 'publish'].map((deed) => ({
          ...{ actor: `integration:${provider}`, action: `release.${deed}` },
        })),
      );
    },
  );

  it('what is not signed right is 401 and writes nothing, what cannot be read is 400 and listed (§18.2)', async () => {
    const { app, hook } = await listen();
    const other = await listen();
    const before = await owner.audit();
    const unsigned = await tell({ ...hook, secret: other.hook.secret }, 'published');
    expectError(unsigned, 401, 'Missing or wrong X-Hub-Signature-256');
    expect(await owner.audit()).toEqual(before);
    expect([await releases(app), (await show(app)).deliveries]).toEqual([[], []]);
    expectError(await deliver(node, hook, '{'), 400, 'Invalid JSON body');
    const refused = { outcome: 'refused', reason: 'Invalid JSON body' };
    expect((await show(app)).deliveries).toMatchObject([refused]);
  });

  it('unknown apps, providers and methods are 404 or 405, and more than 25 MB 413 (§18.2, §18.9)', async () => {
    const { hook } = await listen();
    for (const app of [owner.app, owner.appId, 'none', '%00']) {
      const path = `/wh/github/${app}`;
      expectError(await tell({ ...hook, path }, 'published'), 404, 'Unknown app');
    }
    const gitlab = { ...hook, path: hook.path.replace('github', 'gitlab') };
    expect((await tell(gitlab, 'published')).status).toBe(404);
    expect((await send(node, 'GET', hook.path)).status).toBe(405);
    const signature = `X-Hub-Signature-256: sha256=${'0'.repeat(64)}`;
    const lines = [`Content-Length: ${25 * 2 ** 20 + 1}`, signature];
    const [answer] = await exchangeRaw(node, [requestHead(`POST ${hook.path}`, ...lines)]);
    expect(answer?.status).toBe(413);
  });

  it('the channel has its say: its other releases, its share, and that it asks for approvals (§18.4, §18.7, §18.23)', async () => {
    const { app, hook } = await listen();
    const say = (tag: string, body: string, action = 'published') =>
      deliver(node, hook, releaseEvent(tag, { assets: [LINUX], body }, action));
    await app.setChannel({ defaultRollout: 0 });
    expect(releaseOf(await say('v2.0.0', 'first'))).toMatchObject({ rolloutPct: 0 });
    const reason = expect.stringMatching(
      /^version: Is below 2\.0\.0, the newest published release /,
    );
    expect((await say('v1.5.0', '')).body).toMatchObject({ outcome: 'created', reason });
    await app.setChannel({ approvals: 'one' });
    expect((await say('v2.0.0', 'second', 'edited')).body).toEqual({
      outcome: 'ignored',
      reason:
        'The channel asks for approvals, and it is published: its files and notes stay as they were',
    });
    expect((await releases(app)).map(({ notes }) => notes)).toEqual(['', 'first']);
  });

  it('late files and notes reach devices at once, until one was offered them (§18.8, §18.23)', async () => {
    const { app, hook } = await listen();
    const first = releaseOf(await tell(hook, 'published', { body: 'first' }));
    expect((await app.check('0.9.0')).status).toBe(204);
    const late = { assets: [LINUX], body: 'second' };
    const answer = await tell(hook, 'edited', late);
    const artifact = { platform: 'linux', arch: 'x86_64', url: LINUX.browser_download_url };
    const release = { ...first, notes: 'second', artifacts: [{ ...artifact, size: 1234 }] };
    expect([answer.status, releaseOf(answer)]).toEqual([200, release]);
    await tell(hook, 'edited', late);
    expect(await audit(app, 'release.complete')).toMatchObject([
      {
        ...{ actor: 'integration:github', subject: `${app.app}/stable@1.0.0`, reason: null },
        before: { artifacts: 0, notes: 'first' },
        after: { artifacts: 1, notes: 'second' },
      },
    ]);
    const feed = (await send(node, 'GET', `/feed/${app.app}/stable`)).text;
    expect(feed).toMatch(/^(?!.*first).*second/s);
    expect((await app.check('0.9.0')).body).toMatchObject({ notes: 'second' });
    const offered = await tell(hook, 'edited', { assets: [LINUX, MAC], body: 'third' });
    const reason = 'A device was offered it before: its files and notes stay as they were';
    expect(offered.body).toEqual({ outcome: 'ignored', reason });
    expect((await app.check('0.9.0')).body).toMatchObject({ notes: 'second' });
  });

  it('what is called back is paused with its plan until it is made anew or by hand (§18.13, §18.20, §27.3)', async () => {
    const { app, hook } = await listen();
    const old = { id: 1, published_at: '2026-02-01T10:00:00Z', assets: [LINUX] };
    await tell(hook, 'published', old);
    // With guards it is not done at once, although the release is at 100 % already.
    const plan = { steps: [{ rollout: 100, holdMinutes: 60 }], guards: { failedPercent: 1 } };
    const name = { app: app.app, channel: 'stable', version: '1.0.0' };
    const put = await app.manage('PUT', 'releases/plan', { ...name, ...plan });
    expect([put.status, await app.plan('1.0.0')]).toMatchObject([
      200,
      { plan: { status: 'running' } },
    ]);
    await Promise.all(['deleted', 'unpublished'].map((action) => tell(hook, action, old)));
    expect((await app.check('0.9.0')).status).toBe(204);
    expect(await audit(app, 'release.serve')).toMatchObject([
      {
        ...{ actor: 'integration:github', before: { status: 'published' } },
        ...{ after: { status: 'paused' }, reason: expect.stringMatching(/ed by the code host$/) },
      },
    ]);
    const held = { status: 'held', reason: 'The release was paused', nextAt: null };
    expect(await app.plan('1.0.0')).toMatchObject({ plan: held });
    const assets = [{ ...LINUX, size: 2222 }];
    const anew = { id: 2, published_at: '2026-02-02T10:00:00Z', assets };
    await tell(hook, 'published', anew);
    expect((await app.check('0.9.0')).body).toMatchObject({ size: 2222 });
    expect(await audit(app, 'release.complete')).toMatchObject([
      {
        before: { artifacts: 1, status: 'paused' },
        ...{ after: { artifacts: 1, status: 'published' }, reason: 'made anew by the code host' },
      },
    ]);
    await tell(hook, 'deleted', anew);
    expect((await app.check('0.9.0')).status).toBe(204);
    await app.control('1.0.0', { status: 'published' });
    expect(await app.offered()).toBe('1.0.0');
  });

  it('a held release publishes itself when it is complete (§18.19)', async () => {
    const settings = { hold: true, expect: ['linux/x86_64', 'darwin/aarch64'] };
    const { app, hook } = await listen('github', settings);
    const first = await tell(hook, 'published', { assets: [LINUX] });
    expect(releaseOf(first)).toMatchObject({ status: 'paused' });
    expect((await app.check('0.9.0')).status).toBe(204);
    await tell(hook, 'edited', { assets: [MAC] });
    expect(await standing(app)).toEqual([['stable', 'published', LINUX.name, MAC.name]]);
    expect(await app.offered()).toBe('1.0.0');
  });

  it('releases of another repository are ignored, which is shown, until it is enabled again (§18.24)', async () => {
    const { app, hook } = await listen();
    const notes = { repository: { id: 7, full_name: 'acme/notes' } };
    const tools = { repository: { id: 8, full_name: 'acme/tools' } };
    await deliver(node, hook, { zen: 'x', ...notes }, { event: 'ping' });
    expect((await tell(hook, 'published', {}, notes)).body?.outcome).toBe('created');
    const reason =
      'It is of acme/tools, and this webhook takes acme/notes: enable the webhook again to change that';
    expect((await tell(hook, 'deleted', {}, tools)).body).toEqual({ outcome: 'ignored', reason });
    expect((await deliver(node, hook, tools, { event: 'ping' })).body?.reason).toBe(reason);
    expect(await standing(app)).toEqual([['stable', 'published']]);
    const { webhooks, deliveries } = await show(app);
    const otherRepository = { name: 'acme/tools', at: expect.any(String) };
    expect(webhooks).toMatchObject([{ repository: 'acme/notes', otherRepository }]);
    expect(deliveries.slice(0, 2)).toMatchObject([{ reason }, { reason }]);
    const again = await enableCodeHost(node, app.app, 'github');
    expect((await show(app)).webhooks).toMatchObject([{ repository: null, otherRepository: null }]);
    expect((await tell(again, 'released', {}, tools)).body?.outcome).toBe('duplicate');
    expect((await show(app)).webhooks).toMatchObject([{ repository: 'acme/tools' }]);
  });
});
