// Tests assets that are uploaded, and notes that are edited, after their release was announced: a release of
// the webhook that was never offered takes both, and no other release ever changes (docs/contract.md 18.8,
// 18.23). That a release of a key, or one that was offered, never changes, and that of many at once one
// completes it, is tested with the ledger.

import { beforeEach, describe, expect, it } from 'vitest';
import { asset, deliver, enableWebhook, type Hook, releaseEvent } from '../support/github.ts';
import { auditOf, type Json, releaseOf, releasesOf } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  check,
  control,
  createTenant,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

const LINUX = asset('notes-linux-amd64');
const URL_OF_LINUX = String(LINUX.browser_download_url);

serviceSuite('late assets', (node) => {
  let tenant: Tenant;
  let hook: Hook;
  beforeEach(async () => {
    tenant = await createTenant(node);
    hook = await enableWebhook(node, tenant);
  });

  function announce(action: string, assets: readonly Json[], more: Json = {}): Promise<Answer> {
    return deliver(node, hook, releaseEvent('v1.0.0', { assets, ...more }, action));
  }

  /** Returns the addresses of the one release. */
  async function urls(): Promise<unknown[]> {
    const [release] = await releasesOf(node, tenant);
    return ((release?.artifacts ?? []) as Json[]).map(({ url }) => url);
  }

  it.each(['published', 'released', 'edited', 'created'])(
    'the first later event with assets completes the release, devices get it at once: %s',
    async (action) => {
      const first = await announce('published', [], { body: 'first' });
      expect((await check(node, tenant, '0.9.0')).status).toBe(204);
      const sum = asset('notes-linux-amd64.sha256');
      const answer = await announce(action, [sum, LINUX], { body: 'second' });
      expect([answer.status, answer.body?.outcome]).toEqual([200, 'duplicate']);
      // Files and notes come late: time and share stay.
      expect(releaseOf(answer)).toEqual({
        ...{ ...releaseOf(first), notes: 'second' },
        artifacts: [{ platform: 'linux', arch: 'x86_64', url: URL_OF_LINUX, size: 1234 }],
      });
      const offer = await check(node, tenant, '0.9.0');
      expect(offer.body).toMatchObject({ version: '1.0.0', url: URL_OF_LINUX });
    },
  );

  it('is audited under the integration, once', async () => {
    await announce('published', []);
    await announce('edited', [LINUX]);
    await announce('edited', [LINUX]);
    expect(await auditOf(node, tenant, 'action=release.complete')).toEqual([
      {
        ...{ id: expect.any(String), at: expect.any(String), requestId: expect.any(String) },
        ...{ actor: 'integration:github', action: 'release.complete', reason: null },
        ...{ subject: `${tenant.app}/stable@1.0.0` },
        ...{ before: { artifacts: 0 }, after: { artifacts: 1 } },
      },
    ]);
  });

  it('what is not uploaded yet, or no artifact, completes nothing; a retraction or a draft neither', async () => {
    await announce('published', []);
    const unusable = [asset('notes-linux-amd64', { state: 'starter' }), asset('SHA256SUMS')];
    expect((await announce('released', unusable)).body?.outcome).toBe('duplicate');
    expect((await announce('edited', [LINUX], { draft: true })).body?.outcome).toBe('ignored');
    expect(await urls()).toEqual([]);
    await announce('released', [LINUX]);
    expect(await urls()).toEqual([URL_OF_LINUX]);
  });

  it.each(['unpublished', 'deleted'])('%s completes nothing', async (action) => {
    await announce('published', []);
    expect((await announce(action, [LINUX])).body?.outcome).toBe('ignored');
    expect(await urls()).toEqual([]);
  });

  it('a release that was never offered takes files that are new or others, and loses none (§18.8)', async () => {
    const mac = asset('notes.dmg');
    await announce('published', [LINUX]);
    const answer = await announce('edited', [mac]);
    const reason = expect.stringMatching(/^Completed with 2 artifacts\. /);
    expect(answer.body).toMatchObject({ outcome: 'duplicate', reason });
    const elsewhere = { ...LINUX, browser_download_url: `${URL_OF_LINUX}?again/notes-linux-amd64` };
    const replaced = await announce('released', [mac, elsewhere]);
    expect(replaced.body?.reason).toMatch(/^Files were replaced: it has 2 artifacts\. /);
    const all = [elsewhere.browser_download_url, mac.browser_download_url];
    expect(await urls()).toEqual(all);
    expect((await announce('edited', [elsewhere])).body?.outcome).toBe('ignored');
    expect(await urls()).toEqual(all);
  });

  it('an event that is older than the last one taken completes nothing (§18.14)', async () => {
    await announce('published', [], { updated_at: '2026-02-02T00:00:00Z' });
    await announce('edited', [LINUX], { updated_at: '2026-02-01T00:00:00Z' });
    expect(await urls()).toEqual([]);
    await announce('edited', [LINUX], { updated_at: '2026-02-02T00:00:00Z' });
    expect(await urls()).toEqual([URL_OF_LINUX]);
  });

  describe('notes that are edited before a device is offered the release (§18.23)', () => {
    const FIRST = { body: 'first', updated_at: '2026-02-02T00:00:00Z' };
    const SECOND = { body: 'second', updated_at: '2026-02-03T00:00:00Z' };

    /** Returns the notes of the one release. */
    const notes = async () => (await releasesOf(node, tenant))[0]?.notes;

    it.each(['edited', 'released', 'published'])(
      'arrive with %s, once, and devices get them',
      async (action) => {
        const feed = async () => (await send(node, 'GET', `/feed/${tenant.app}/stable`)).text;
        await announce('published', [LINUX], FIRST);
        expect(await feed()).toContain('first');
        const answer = await announce(action, [LINUX], SECOND);
        expect(answer.body).toMatchObject({ outcome: 'duplicate', release: { notes: 'second' } });
        expect(answer.body?.reason).toMatch(/^The notes were replaced(?:\. |$)/);
        expect(await feed()).toMatch(/^(?!.*first).*second/s);
        const again = await announce(action, [LINUX], SECOND);
        expect(again.body?.outcome).toBe(action === 'edited' ? 'ignored' : 'duplicate');
        expect(again.body?.reason ?? '').not.toContain('replaced');
        expect((await announce(action, [LINUX], FIRST)).body?.reason).toMatch(/^A later event was/);
        expect((await check(node, tenant, '0.9.0')).body).toMatchObject({ notes: 'second' });
        expect(await auditOf(node, tenant, 'action=release.complete')).toMatchObject([
          {
            ...{ actor: 'integration:github', before: { artifacts: 1, notes: 'first' } },
            after: { artifacts: 1, notes: 'second' },
          },
        ]);
      },
    );

    it('may be none any more, and are cut at their limit', async () => {
      await announce('published', [LINUX], FIRST);
      await announce('edited', [LINUX], { ...SECOND, body: null });
      expect(await notes()).toBe('');
      const answer = await announce('edited', [LINUX], { body: 'x'.repeat(256 * 1024 + 1) });
      expect(answer.body?.reason).toContain('The notes were cut to 256 KiB');
      expect(await notes()).toHaveLength(256 * 1024);
    });

    it('not afterwards, nor those of a release that came through the API', async () => {
      await announce('published', [LINUX], FIRST);
      expect((await check(node, tenant, '0.9.0')).body).toMatchObject({ notes: 'first' });
      const late = await announce('edited', [LINUX], SECOND);
      const reason = 'A device was offered it before: its files and notes stay as they were';
      expect(late.body).toEqual({ outcome: 'ignored', reason });
      expect((await announce('released', [LINUX], SECOND)).body).toMatchObject({
        ...{ outcome: 'duplicate', reason: expect.stringContaining(reason) },
      });
      expect((await check(node, tenant, '0.9.0')).body).toMatchObject({ notes: 'first' });
      tenant = await createTenant(node);
      hook = await enableWebhook(node, tenant);
      await publish(node, tenant, '1.0.0', { notes: 'of a key' });
      const answer = await announce('edited', [LINUX], SECOND);
      expect([answer.body?.outcome, await notes()]).toEqual(['ignored', 'of a key']);
    });

    it('of a held release too, which stays paused; not of one that a person approved', async () => {
      const settings = { app: tenant.app, provider: 'github', hold: true };
      expect((await admin(node, 'PATCH', 'webhooks', settings)).status).toBe(200);
      await announce('published', [LINUX], FIRST);
      await announce('edited', [LINUX], SECOND);
      const [held] = await releasesOf(node, tenant);
      expect(held).toMatchObject({ status: 'paused', notes: 'second' });
      await control(node, tenant, '1.0.0', { status: 'published' });
      const asks = { app: tenant.app, name: 'stable', approvals: 'one' };
      expect((await admin(node, 'PATCH', 'channels', asks)).status).toBe(200);
      const late = { body: 'third', updated_at: '2026-02-04T00:00:00Z' };
      const answer = await announce('edited', [LINUX], late);
      expect(answer.body).toMatchObject({
        outcome: 'ignored',
        reason: expect.stringContaining('approvals'),
      });
      expect(await notes()).toBe('second');
    });
  });

  it('a release that was rolled back is not completed', async () => {
    await announce('published', []);
    await control(node, tenant, '1.0.0', { status: 'rolled_back' });
    await announce('released', [LINUX]);
    expect(await urls()).toEqual([]);
  });

  it('a paused one is completed and stays paused; rollout and targeting still hold', async () => {
    await announce('published', []);
    await control(node, tenant, '1.0.0', { status: 'paused', rollout: 0 });
    const answer = await announce('released', [LINUX]);
    expect(answer.body?.release).toMatchObject({ status: 'paused', rolloutPct: 0 });
    expect(await urls()).toEqual([URL_OF_LINUX]);
    expect((await check(node, tenant, '0.9.0')).status).toBe(204);
  });
});
