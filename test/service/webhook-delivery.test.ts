// Tests the outcome of deliveries of GitHub's release webhook (docs/contract.md 4.11, 6 and 18), on a running
// service.

import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import {
  asset,
  deliver,
  enableWebhook,
  type Hook,
  recordedPayloads,
  releaseEvent,
} from '../support/github.ts';
import { auditOf, type Json, releasesOf } from '../support/published.ts';
import { exchangeRaw, requestHead } from '../support/raw-exchange.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  check,
  createTenant,
  publish,
  randomId,
  send,
  type Tenant,
} from '../support/tenant.ts';

const NO_ARTIFACTS = 'artifacts: There are no files: no device can be offered it';

serviceSuite('GitHub webhook', (node) => {
  let tenant: Tenant;
  let hook: Hook;
  beforeEach(async () => {
    tenant = await createTenant(node);
    hook = await enableWebhook(node, tenant);
  });

  const releases = () => releasesOf(node, tenant);
  const audit = () => auditOf(node, tenant);

  async function deliveries(): Promise<Json[]> {
    const answer = await admin(node, 'GET', `webhooks?app=${tenant.app}`);
    return (answer.body as { deliveries: Json[] }).deliveries;
  }

  /** Sends an event of GitHub's webhook. */
  const announce = (...event: Parameters<typeof releaseEvent>) =>
    deliver(node, hook, releaseEvent(...event));

  function expectIgnored(answer: Answer): void {
    expect(answer.body).toEqual({ outcome: 'ignored', reason: expect.any(String) });
    expect(answer.status).toBe(200);
  }

  describe('events', () => {
    it('published: lands on stable, with its notes, its artifacts and the release in the answer (§6.1)', async () => {
      const assets = [
        asset('notes-linux-amd64.tar.gz'),
        asset('notes-linux-amd64.tar.gz.sha256'),
        asset('Notes_1.2.3_x64-setup.exe', { size: 0 }),
        asset('notes.app.tar.gz', { state: 'starter' }),
      ];
      const event = releaseEvent('v1.2.3', { assets, body: '# Größe\n\nFaster ✓' });
      const answer = await deliver(node, hook, event);
      expect(answer.status).toBe(200);
      const base = 'https://github.com/acme/notes/releases/download/x';
      const x64 = { arch: 'x86_64' };
      expect(answer.body).toEqual({
        outcome: 'created',
        reason:
          'Not uploaded: notes.app.tar.gz. ' +
          'Left out, since no device installs them: notes-linux-amd64.tar.gz.sha256',
        release: {
          ...{ id: expect.stringMatching(/^rel_/), createdAt: expect.any(String) },
          ...{ app: tenant.app, channel: 'stable', version: '1.2.3' },
          ...{ notes: '# Größe\n\nFaster ✓', status: 'published', rolloutPct: 100 },
          artifacts: [
            { ...x64, platform: 'linux', url: `${base}/notes-linux-amd64.tar.gz`, size: 1234 },
            { ...x64, platform: 'windows', url: `${base}/Notes_1.2.3_x64-setup.exe`, size: 0 },
          ],
        },
      });
      expect(await releases()).toEqual([answer.body?.release]);
      const offer = await check(node, tenant, '1.0.0');
      expect(offer.body).toMatchObject({ version: '1.2.3', notes: '# Größe\n\nFaster ✓' });
    });

    it('a pre-release lands on beta, by its flag and not by its tag (§6.1, §18.7)', async () => {
      const answer = await announce('2.0.0', { prerelease: true });
      expect(answer.body).toMatchObject({ outcome: 'created', release: { channel: 'beta' } });
      const stable = await announce('2.0.0-rc.1');
      expect(stable.body).toMatchObject({ outcome: 'created', release: { channel: 'stable' } });
    });

    it.each(['published', 'created', 'released', 'prereleased'])(
      '%s publishes, and once more is a duplicate with the release (§18.5)',
      async (action) => {
        const first = await announce('v1.0.0', {}, action);
        expect(first.body).toMatchObject({ outcome: 'created', release: { version: '1.0.0' } });
        const again = await announce('v1.0.0', {}, action);
        expect(again.status).toBe(200);
        expect(again.body).toMatchObject({ outcome: 'duplicate', release: first.body?.release });
        expect(await releases()).toHaveLength(1);
      },
    );

    it('every event of one click but the first is a duplicate, in whatever spelling (§18.5)', async () => {
      const actions = ['created', 'released', 'published', 'prereleased'];
      const outcomes: unknown[] = [];
      for (const [index, action] of actions.entries()) {
        const tag = ['v1.2', '1.2.0', 'V1.2', '1.2.0.0'][index] ?? '';
        outcomes.push((await announce(tag, {}, action)).body?.outcome);
      }
      expect(outcomes).toEqual(['created', 'duplicate', 'duplicate', 'duplicate']);
      expect(await releases()).toMatchObject([{ version: '1.2' }]);
    });

    it('a release published through the API is a duplicate, and stays as it is (§18.8)', async () => {
      await publish(node, tenant, '1.0.0', { artifacts: [], notes: 'ours' });
      const theirs = { assets: [asset('a-linux-amd64')], body: 'theirs' };
      const { body } = await announce('v1.0.0', theirs);
      const release = { notes: 'ours', artifacts: [] };
      expect(body).toMatchObject({ outcome: 'duplicate', release });
    });

    it('a pre-release that is promoted lands on stable as well (§18.7)', async () => {
      const assets = [asset('notes-linux-amd64')];
      await announce('v3.0.0', { prerelease: true, assets }, 'prereleased');
      const answer = await announce('v3.0.0', { assets }, 'released');
      expect(answer.body).toMatchObject({ outcome: 'created', release: { channel: 'stable' } });
      expect((await releases()).map(({ channel }) => channel)).toEqual(['stable', 'beta']);
      expect((await check(node, tenant, '1.0.0')).body?.version).toBe('3.0.0');
      expect((await check(node, tenant, '1.0.0', { channel: 'beta' })).body?.version).toBe('3.0.0');
    });

    it('a draft is ignored, as is a tag that is no version, with a reason (§6.1, §18.6)', async () => {
      for (const action of ['created', 'published', 'edited']) {
        expectIgnored(await announce('v1.0.0', { draft: true }, action));
      }
      for (const tag of [
        ...['nightly', 'app@1.2.3', 'release-1.2', 'vv1.0.0', '', 'v', `1.${'0'.repeat(80)}`],
      ]) {
        expectIgnored(await announce(tag));
      }
      expect(await releases()).toEqual([]);
    });

    it('edited and archived are ignored, before the release is there and afterwards (§18.5)', async () => {
      const actions = ['edited', 'archived'];
      const assets = [asset('notes-linux-amd64')];
      for (const action of actions) expectIgnored(await announce('v1.0.0', { assets }, action));
      expect(await releases()).toEqual([]);
      await announce('v1.0.0', { assets });
      const before = await releases();
      expectIgnored(await announce('v1.0.0', { assets }, 'edited'));
      expectIgnored(await announce('v1.0.0', { assets, body: 'other' }, 'archived'));
      expect(await releases()).toEqual(before);
    });

    it('an app without the channel ignores it with a reason (§18.7)', async () => {
      const ref = `app-${randomId()}`;
      const channels = ['stable'];
      await admin(node, 'POST', 'apps', { org: tenant.org, ref, name: 'A', channels });
      const only = await enableWebhook(node, { app: ref });
      expectIgnored(await deliver(node, only, releaseEvent('v1.0.0', { prerelease: true })));
    });

    it('ping, other events and unread bodies are ignored with a reason (§18.3)', async () => {
      const ping = await deliver(node, hook, { zen: 'Keep it simple.' }, { event: 'ping' });
      expect(ping.body).toEqual({ outcome: 'ignored', reason: 'ping' });
      for (const event of ['push', 'workflow_run', 'constructor']) {
        expectIgnored(await deliver(node, hook, { any: 'thing' }, { event }));
      }
    });

    it("the channel's default share holds for what the webhook publishes", async () => {
      const body = { app: tenant.app, name: 'stable', defaultRollout: 0 };
      await admin(node, 'PATCH', 'channels', body);
      const answer = await announce('v1.0.0');
      expect(answer.body).toMatchObject({ release: { rolloutPct: 0 } });
    });
  });

  describe('bodies', () => {
    it('of more than 25 MB are 413 before their first byte', async () => {
      const signature = `X-Hub-Signature-256: sha256=${'0'.repeat(64)}`;
      const lines = [`Content-Length: ${25 * 2 ** 20 + 1}`, signature];
      const [answer] = await exchangeRaw(node, [requestHead(`POST ${hook.path}`, ...lines)]);
      expect(answer?.status).toBe(413);
    });

    it.each(recordedPayloads('release').map((payload, index) => ({ payload, index })))(
      "GitHub's recorded payload $index ($payload.action) is understood, as JSON and as a form",
      async ({ payload }) => {
        const isNew = ['published', 'created', 'released', 'prereleased'].includes(payload.action);
        const first = await deliver(node, hook, payload);
        expect(first.body?.outcome).toBe(isNew ? 'created' : 'ignored');
        const again = await deliver(node, hook, payload, { form: true });
        expect(again.body?.outcome).toBe(isNew ? 'duplicate' : 'ignored');
        const channel = payload.release.prerelease ? 'beta' : 'stable';
        const landed = (await releases()).map((each) => [each.channel, each.version, each.notes]);
        expect(landed).toEqual(isNew ? [[channel, '0.0.1', '']] : []);
        // Events name archives of the source (`zipball_url`), which are no assets.
        expect(payload.release).toHaveProperty('zipball_url');
        expect((await releases()).flatMap(({ artifacts }) => artifacts)).toEqual([]);
      },
    );

    it('a form is what a new hook of GitHub sends: every character survives', async () => {
      const body = 'a+b & c=d%20 ✓\r\n"größe"';
      const answer = await deliver(node, hook, releaseEvent('v1.0.0', { body }), { form: true });
      expect(answer.body).toMatchObject({ outcome: 'created', release: { notes: body } });
    });

    it('what is no release event is 400 and names the field', async () => {
      const oddUrl = asset('a', { browser_download_url: '/x' });
      const wrong: [payload: unknown, message: string][] = [
        ['{', 'Invalid JSON body'],
        ['', 'Invalid JSON body'],
        [[], 'body: Expected an object'],
        [{ release: releaseEvent('v1.0.0').release }, 'action: Required'],
        [{ action: 'published' }, 'release: Required'],
        [releaseEvent('v1', { tag_name: 7 }), 'release.tag_name: Expected a string'],
        [releaseEvent('v1', { draft: undefined }), 'release.draft: Required'],
        [releaseEvent('v1', { prerelease: 'no' }), 'release.prerelease: Expected a boolean'],
        [releaseEvent('v1', { body: 7 }), 'release.body: Expected a string'],
        [releaseEvent('v1', { assets: {} }), 'release.assets: Expected an array'],
        [
          releaseEvent('v1', { assets: [asset('a', { size: -1 })] }),
          'release.assets.0.size: Must be at least 0',
        ],
        [
          releaseEvent('v1', { assets: [asset('a'), oddUrl] }),
          'release.assets.1.browser_download_url: Must be an absolute http(s) URL',
        ],
      ];
      for (const [payload, message] of wrong) {
        const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
        const digest = createHmac('sha256', hook.secret).update(text).digest('hex');
        const headers = { 'x-hub-signature-256': `sha256=${digest}` };
        expectError(await deliver(node, hook, text, { headers }), 400, message);
      }
      expect(await releases()).toEqual([]);
      expect((await deliveries()).reverse()).toMatchObject(
        wrong.map(([, reason]) => ({ outcome: 'refused', reason })),
      );
    });

    it('a form without a payload, or with one that is no JSON, or without X-GitHub-Event is 400', async () => {
      const headers = { 'content-type': 'Application/X-WWW-Form-Urlencoded; charset=utf-8' };
      expectError(await deliver(node, hook, 'a=b', { headers }), 400, 'payload: Required');
      expectError(
        await deliver(node, hook, 'payload=%7B', { headers }),
        400,
        'payload: Invalid JSON',
      );
      const nameless = { headers: { 'x-github-event': undefined } };
      const answer = await deliver(node, hook, releaseEvent('v1.0.0'), nameless);
      expectError(answer, 400, 'X-GitHub-Event: Required');
    });

    it('says what a dry run of the release would find, in its words (§18.4, §23.3)', async () => {
      const both = [asset('Notes-2.0.0-x64.exe'), asset('notes-linux-amd64.tar.gz')];
      await announce('v2.0.0', { assets: both });
      const names = ['a-linux-quux.zip', 'A.Notes.AppImage', 'b-linux-arm64.deb'];
      const { body } = await announce('v1.5.0', { assets: names.map((name) => asset(name)) });
      expect(String(body?.reason).split('. ')).toEqual([
        expect.stringMatching(/^version: Is below 2\.0\.0, the newest published release /),
        'a-linux-quux.zip: arch: Is not known: only devices that tell quux are offered this file',
        expect.stringMatching(
          /^A\.Notes\.AppImage: arch: Is missing, while other artifacts for linux /,
        ),
        'artifacts: windows/x86_64 has no file, but 2.0.0 had one',
      ]);
      const again = await announce('v1.5.0', { assets: names.map((name) => asset(name)) });
      expect(again.body).toMatchObject({ outcome: 'duplicate', reason: body?.reason });
    });

    it('keeps the first 200 artifacts of a release, and says that it did', async () => {
      const assets = Array.from({ length: 210 }, (_, index) => asset(`a${index}-linux-amd64`));
      const answer = await announce('v1.0.0', { assets });
      expect(answer.body?.reason).toContain('10 assets');
      expect(answer.body).toHaveProperty('release.artifacts.length', 200);
    });

    it('cuts notes beyond 256 KiB between two characters, and says that it did', async () => {
      const event = releaseEvent('v1.0.0', { body: '語'.repeat(125_000) });
      const { body } = await deliver(node, hook, event);
      expect(body).toMatchObject({ outcome: 'created', reason: expect.stringContaining('256') });
      const notes = '語'.repeat(Math.floor((256 * 1024) / 3));
      expect(body?.release).toMatchObject({ notes });
    });

    it('replaces what no database holds instead of losing the release', async () => {
      const answer = await announce('v1.0.0', { body: 'a\u0000b\ud800c' });
      expect(answer.body).toMatchObject({
        outcome: 'created',
        release: { notes: 'a\ufffdb\ufffdc' },
      });
    });
  });

  describe('signatures', () => {
    const text = JSON.stringify(releaseEvent('v6.6.6'));
    const hmac = (algorithm: string, secret = hook.secret) =>
      createHmac(algorithm, secret).update(text).digest('hex');

    it('what is not signed right is 401, and writes nothing at all (§18.2)', async () => {
      const digest = hmac('sha256');
      const before = await audit();
      const sha1 = `sha1=${hmac('sha1')}`;
      const wrong: [title: string, body: string, signature: string | undefined, old?: string][] = [
        ['missing', text, undefined],
        ['SHA-1 only', text, undefined, sha1],
        ['SHA-1 in its place', text, sha1],
        ['too short', text, `sha256=${digest.slice(2)}`],
        ['too long', text, `sha256=${digest}00`],
        ['empty', text, ''],
        ['no hex', text, `sha256=${'z'.repeat(64)}`],
        ['another secret', text, `sha256=${hmac('sha256', 'other')}`],
        ['tampered', text.replace('6.6.6', '6.6.7'), `sha256=${digest}`],
        ['a space more', `${text} `, `sha256=${digest}`],
        ['empty body', '', `sha256=${digest}`],
      ];
      for (const [title, body, signature, old] of wrong) {
        const headers = { 'x-hub-signature-256': signature, 'x-hub-signature': old };
        for (const event of ['release', 'ping']) {
          const answer = await deliver(node, hook, body, { headers, event });
          expect([answer.status, answer.body], title).toEqual([
            401,
            { error: expect.stringContaining('X-Hub-Signature-256') },
          ]);
        }
      }
      expect(await releases()).toEqual([]);
      expect(await deliveries()).toEqual([]);
      expect(await audit()).toEqual(before);
      const right = { 'x-hub-signature-256': `sha256=${digest}` };
      expect((await deliver(node, hook, text, { headers: right })).status).toBe(200);
    });

    it("another app's secret is a wrong one", async () => {
      const { secret } = await enableWebhook(node, await createTenant(node));
      const answer = await deliver(node, { ...hook, secret }, releaseEvent('v1.0.0'));
      expect(answer.status).toBe(401);
    });
  });

  describe('addresses', () => {
    it('the app is named by its id or by its ref (§2.4)', async () => {
      expect(hook.path).toBe(`/wh/github/${tenant.appId}`);
      const byRef = { ...hook, path: `/wh/github/${tenant.app}` };
      const answer = await deliver(node, byRef, releaseEvent('v1.0.0'));
      expect(answer.body?.outcome).toBe('created');
    });

    it('an unknown app and one without a webhook are 404, whatever the signature (§18.2)', async () => {
      const other = await createTenant(node);
      for (const app of ['none', 'app_00000000000000000000000000', '%00', other.app, other.appId]) {
        const path = `/wh/github/${app}`;
        const answer = await deliver(node, { path, secret: 'x' }, releaseEvent('v1.0.0'));
        expect([answer.status, answer.body], app).toEqual([404, { error: 'Unknown app' }]);
      }
    });

    it('another provider is 404, another method 405', async () => {
      const path = hook.path.replace('github', 'gitlab');
      const answer = await deliver(node, { ...hook, path }, releaseEvent('v1.0.0'));
      expect(answer.status).toBe(404);
      expect((await send(node, 'GET', hook.path)).status).toBe(405);
    });
  });

  describe('records', () => {
    it("the audit's actor is the integration (§18.11)", async () => {
      await announce('v1.0.0');
      const [entry] = await audit();
      expect(entry).toMatchObject({
        actor: 'integration:github',
        action: 'release.publish',
        subject: `${tenant.app}/stable@1.0.0`,
        before: null,
        after: { version: '1.0.0' },
      });
    });

    it('the last deliveries are kept with what became of them, newest first, at most 50', async () => {
      const guid = '72d3162e-cc78-11e3-81ab-4c9367dc0958';
      const headers = { 'x-github-delivery': guid };
      await deliver(node, hook, {}, { event: 'ping' });
      await deliver(node, hook, releaseEvent('v1.0.0'), { headers });
      await announce('v1.0.0', {}, 'deleted');
      const [deleted, created, ping] = await deliveries();
      expect(created).toEqual({
        ...{ id: expect.any(String), at: expect.stringMatching(/^\d{4}-.*Z$/) },
        ...{ provider: 'github', event: 'release', action: 'published', guid },
        ...{ outcome: 'created', reason: NO_ARTIFACTS, version: '1.0.0' },
      });
      expect(deleted).toMatchObject({ action: 'deleted', outcome: 'ignored' });
      expect(ping).toMatchObject({ event: 'ping', action: null, reason: 'ping', version: null });
      for (let index = 0; index < 52; index++) {
        await deliver(node, hook, {}, { event: `e${index}` });
      }
      const kept = (await deliveries()).map(({ event }) => event);
      expect(kept).toEqual(Array.from({ length: 50 }, (_, index) => `e${51 - index}`));
    });
  });
});
