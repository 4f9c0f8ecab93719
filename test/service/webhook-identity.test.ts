// Tests that an event concerns the release of its id, and not whatever stands at the tag: stray drafts,
// releases that are deleted and made anew, files that are replaced, in any order and at once
// (docs/contract.md 18.8, 18.13 and 18.20 to 18.22). All orders of whole lives: `receive-release.test.ts`.

import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type CodeHost,
  deliverAs,
  enableCodeHost,
  giteaAsset,
  giteaEvent,
} from '../support/gitea.ts';
import { asset, deliver, releaseEvent } from '../support/github.ts';
import { auditOf, type Json, releaseOf, releasesOf } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { type Answer, check, control, createTenant, send, type Tenant } from '../support/tenant.ts';

/** First life of the tag, and the one that it gets when its release was deleted and made anew. */
const OLD = { id: 101, published_at: '2026-02-01T10:00:00Z' };
const NEW = { id: 102, published_at: '2026-02-02T10:00:00Z' };
const NAME = 'notes-linux-amd64.AppImage';

type Addressed = { readonly url: string };
type Say = (action: string, release: Json, tag?: string) => Promise<Answer>;

/** Each code host: how a release is announced, deleted, and what it calls a file of a life. */
const HOSTS = {
  github: {
    file: (size: number, created_at: string) =>
      asset(NAME, { size, created_at, digest: `sha256:${'0'.repeat(60)}${size}` }),
    send:
      (node: Addressed, host: CodeHost): Say =>
      (action, release, tag = 'v1.0.0') =>
        deliver(node, host, releaseEvent(tag, release, action)),
  },
  gitea: {
    file: (size: number, created_at: string) => giteaAsset(NAME, { size, created_at }),
    send:
      (node: Addressed, host: CodeHost): Say =>
      (action, release, tag = 'v1.0.0') =>
        deliverAs(node, host, giteaEvent(action, tag, release)),
  },
} as const;

serviceSuite('events of releases with ids', (node) => {
  describe.each(['github', 'gitea'] as const)('from %s', (provider) => {
    const { file, send: sender } = HOSTS[provider];
    const [FIRST, SECOND] = [file(1111, OLD.published_at), file(2222, NEW.published_at)];
    let tenant: Tenant;
    let say: Say;
    beforeEach(async () => {
      tenant = await createTenant(node);
      say = sender(node, await enableCodeHost(node, tenant.app, provider));
    });

    const announceOld = (action = 'published') => say(action, { ...OLD, assets: [FIRST] });
    const announceNew = (action = 'published') => say(action, { ...NEW, assets: [SECOND] });
    /** Gitea tells no files of what it has deleted. */
    const deleteOld = () => say('deleted', { ...OLD, assets: [] });

    async function standing(query?: string): Promise<unknown> {
      const [release, ...more] = await releasesOf(node, tenant, query);
      expect(more).toEqual([]);
      const sizes = ((release?.artifacts ?? []) as Json[]).map(({ size }) => size);
      return release && [release.status, ...sizes];
    }

    it('a stray draft of the tag that is deleted changes nothing (§18.20)', async () => {
      await announceOld();
      const draft = { id: 100, draft: true, published_at: null, assets: [] };
      const { body } = await say('deleted', draft);
      const reason = 'The release on stable is another one: nothing changed';
      expect(body).toEqual({ outcome: 'ignored', reason });
      expect(await standing()).toEqual(['published', 1111]);
    });

    it('what was deleted before it was announced is not created, and the next one is (§18.21)', async () => {
      const first = await deleteOld();
      expect(first.body).toMatchObject({ outcome: 'ignored' });
      const late = await announceOld();
      const reason = 'The code host has deleted this release, or called it back since';
      expect(late.body).toEqual({ outcome: 'ignored', reason });
      expect(await standing()).toBeUndefined();
      expect((await announceNew()).body?.outcome).toBe('created');
      expect(await standing()).toEqual(['published', 2222]);
    });

    it('a release that is made anew takes the place of the deleted one, which may be told late (§18.20)', async () => {
      await announceOld();
      await deleteOld();
      expect(await standing()).toEqual(['paused', 1111]);
      const { body } = await announceNew();
      const reason = 'Made anew by the code host: it has 1 artifact, and it is published again';
      expect(body).toMatchObject({ outcome: 'duplicate', reason });
      expect(await standing()).toEqual(['published', 2222]);
      for (const late of [deleteOld, announceOld, deleteOld]) await late();
      expect(await standing()).toEqual(['published', 2222]);
      expect((await check(node, tenant, '0.9.0')).body?.version).toBe('1.0.0');
      const [newest] = await auditOf(node, tenant, 'action=release.complete');
      expect(newest).toMatchObject({
        before: { artifacts: 1, status: 'paused' },
        after: { artifacts: 1, status: 'published' },
        reason: 'made anew by the code host',
      });
    });

    it('files that a device was offered stay: made anew with others, it stays paused and says why (§18.22)', async () => {
      await announceOld();
      expect((await check(node, tenant, '0.9.0')).status).toBe(200);
      await deleteOld();
      const { body } = await announceNew();
      expect(body).toMatchObject({
        outcome: 'duplicate',
        reason:
          'A device was offered it before: its files and notes stay as they were, and it stays paused',
        release: { status: 'paused', artifacts: [{ size: 1111 }] },
      });
      // With the same files it goes on.
      await say('published', { ...NEW, id: 103, assets: [FIRST] });
      expect(await standing()).toEqual(['published', 1111]);
    });

    it('what somebody paused stays paused when it is made anew (§18.20)', async () => {
      await announceOld();
      await deleteOld();
      expect((await control(node, tenant, '1.0.0', { status: 'paused' })).status).toBe(200);
      await announceNew();
      expect(await standing()).toEqual(['paused', 2222]);
    });

    it('a file that is replaced before anybody was offered it counts (§18.8)', async () => {
      await announceOld();
      const action = provider === 'github' ? 'edited' : 'updated';
      const { body } = await say(action, { ...OLD, assets: [SECOND] });
      const reason = 'Files were replaced: it has 1 artifact';
      expect(body).toMatchObject({ outcome: 'duplicate', reason });
      expect(await standing()).toEqual(['published', 2222]);
      // An event of before says the older file.
      await announceOld();
      expect(await standing()).toEqual(['published', 2222]);
      await check(node, tenant, '0.9.0');
      const later = file(3333, '2026-02-03T10:00:00Z');
      const offered = await say('released', { ...OLD, assets: [later] });
      if (provider === 'github') {
        expect(offered.body?.reason).toBe(
          'A device was offered it before: its files and notes stay as they were',
        );
      }
      expect(await standing()).toEqual(['published', 2222]);
    });

    it('in any order of two lives, and at once, the release of today stands (§18.20)', async () => {
      const old = { ...OLD, assets: [FIRST] };
      const events: readonly (readonly [action: string, release: Json])[] = [
        ...([
          ['published', old],
          ['published', old],
          ['deleted', { ...OLD, assets: [] }],
        ] as const),
        ...([0, 1].map(() => ['published', { ...NEW, assets: [SECOND] }]) as [string, Json][]),
      ];
      const order = fc.shuffledSubarray([...events], { minLength: events.length });
      for (const [minor, steps] of fc.sample(order, 8).entries()) {
        const send = ([action, release]: (typeof events)[number]) =>
          say(action, release, `v2.${minor}.0`);
        if (minor % 2 === 0) await Promise.all(steps.map(send));
        else for (const step of steps) await send(step);
        expect(await standing(`version=2.${minor}.0`), JSON.stringify(steps)).toEqual([
          'published',
          2222,
        ]);
      }
    });
  });

  it('Gitea makes a release anew with its id when the tag was kept (§18.21)', async () => {
    const tenant = await createTenant(node);
    const { file, send: sender } = HOSTS.gitea;
    const say = sender(node, await enableCodeHost(node, tenant.app, 'gitea'));
    await say('published', { ...OLD, assets: [file(1111, OLD.published_at)] });
    await say('deleted', { ...OLD, assets: [] });
    // From Gitea 1.26 on the time is the one of this publication; before, only the files tell.
    const uploaded = new Date(Date.now() + 5000).toISOString();
    const { body } = await say('updated', { ...OLD, assets: [file(2222, uploaded)] });
    expect(releaseOf({ body } as Answer)).toMatchObject({ status: 'published' });
    await say('deleted', { ...OLD, assets: [] });
    await say('updated', { ...NEW, id: OLD.id, assets: [] });
    const [release] = await releasesOf(node, tenant);
    expect(release).toMatchObject({ status: 'published', artifacts: [] });
    await say('deleted', { ...OLD, assets: [] });
    expect((await releasesOf(node, tenant))[0]?.status).toBe('published');
  });

  it("a mirror's events leave the release of the other code host alone (§18.20)", async () => {
    const tenant = await createTenant(node);
    const github = HOSTS.github.send(node, await enableCodeHost(node, tenant.app, 'github'));
    const gitea = HOSTS.gitea.send(node, await enableCodeHost(node, tenant.app, 'gitea'));
    const assets = [HOSTS.github.file(1111, OLD.published_at)];
    await github('published', { ...OLD, assets });
    await gitea('published', { ...OLD, assets: [HOSTS.gitea.file(2222, NEW.published_at)] });
    await gitea('deleted', { ...OLD, assets: [] });
    const [release] = await releasesOf(node, tenant);
    expect(release).toMatchObject({ status: 'published', artifacts: [{ size: 1111 }] });
  });

  it('an id that is none is 400 with its path', async () => {
    const tenant = await createTenant(node);
    const say = HOSTS.github.send(node, await enableCodeHost(node, tenant.app, 'github'));
    for (const [release, message] of [
      [{ id: 'x' }, 'release.id: Expected a number'],
      [{ published_at: 'today' }, 'release.published_at: Must be an RFC 3339 time'],
      [
        { assets: [asset('a', { created_at: 'today' })] },
        'release.assets.0.created_at: Must be an RFC 3339 time',
      ],
    ] as const) {
      const answer = await say('published', release);
      expect([answer.status, answer.body?.error]).toEqual([400, message]);
    }
    expect((await send(node, 'GET', '/healthz')).status).toBe(200);
  });
});
