// Tests releases that their code host has retracted, and what else real repositories send: prefixes of
// tags, private repositories, files of other updaters (docs/contract.md 18.6 and 18.13 to 18.15).

import { beforeEach, describe, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { asset, deliver, enableWebhook, type Hook, releaseEvent } from '../support/github.ts';
import { auditOf, type Json, releasesOf } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  check,
  control,
  createTenant,
  manage,
  publish,
  type Tenant,
} from '../support/tenant.ts';

const LINUX = asset('notes-linux-amd64');
const EARLY = '2026-02-01T00:00:00Z';
const LATE = '2026-02-02T00:00:00Z';

serviceSuite('a code host that retracts a release', (node) => {
  let tenant: Tenant;
  let hook: Hook;
  beforeEach(async () => {
    tenant = await createTenant(node);
    hook = await enableWebhook(node, tenant);
  });

  /** Sends an event of v1.0.0 with a file. */
  function announce(action: string, release: Json = {}, more: Json = {}): Promise<Answer> {
    const event = releaseEvent('v1.0.0', { assets: [LINUX], ...release }, action);
    return deliver(node, hook, { ...event, ...more });
  }

  /** Announces a release of that tag. */
  function announceTag(tag: string, action = 'published', more: Json = {}): Promise<Answer> {
    return deliver(node, hook, { ...releaseEvent(tag, { assets: [LINUX] }, action), ...more });
  }

  async function statusOf(channel = 'stable', version = '1.0.0'): Promise<unknown> {
    const query = `app=${tenant.app}&channel=${channel}&version=${version}`;
    return (await releasesOf(node, tenant, query))[0]?.status;
  }

  /** Returns the statuses on stable and on beta. */
  const statuses = async () => [await statusOf('stable'), await statusOf('beta')];

  it.each(['deleted', 'unpublished'])(
    'pauses what was %s on every channel, audited, and answers ignored with the reason (§18.13)',
    async (action) => {
      await announce('published', { prerelease: true });
      await announce('released');
      // A draft that was unpublished is called back as well.
      const answer = await announce(action, { draft: action === 'unpublished' });
      const reason = ['stable', 'beta']
        .map((channel) => `The release was ${action}: it is paused on ${channel}`)
        .join('. ');
      expect([answer.status, answer.body]).toEqual([200, { outcome: 'ignored', reason }]);
      expect(await statuses()).toEqual(['paused', 'paused']);
      expect((await check(node, tenant, '0.9.0')).status).toBe(204);
      expect((await auditOf(node, tenant))[0]).toMatchObject({
        actor: 'integration:github',
        action: 'release.serve',
        before: { status: 'published' },
        after: { status: 'paused' },
        reason: `${action} by the code host`,
      });
      const again = await announce(action);
      expect(again.body?.reason).toContain('is not served on stable');
    },
  );

  it('holds the plan of what it pauses, and no later event lets it go on (§27.3)', async () => {
    const name = { app: tenant.app, channel: 'stable', version: '1.0.0' };
    await announce('published');
    // With guards it is not done at once, although the release is at 100 % already.
    const plan = { steps: [{ rollout: 100, holdMinutes: 60 }], guards: { failedPercent: 1 } };
    const put = await manage(node, tenant, 'PUT', 'releases/plan', { ...name, ...plan });
    expect(put.status, put.text).toBe(200);
    const planOf = async () => {
      const query = new URLSearchParams(name);
      return (await manage(node, tenant, 'GET', `releases/plan?${query}`)).body?.plan;
    };
    expect(await planOf()).toMatchObject({ status: 'running' });
    await announce('deleted');
    const held = { status: 'held', reason: 'The release was paused', nextAt: null };
    expect(await planOf()).toMatchObject(held);
    await announce('published');
    expect([await statusOf(), await planOf()]).toEqual(['paused', expect.objectContaining(held)]);
  });

  it('pauses a stable release that becomes a pre-release, or whose tag is renamed', async () => {
    await announce('published');
    const answer = await announce('prereleased', { prerelease: true });
    expect(answer.body).toEqual({
      outcome: 'ignored',
      reason: 'The release was prereleased: it is paused on stable',
    });
    expect(await statuses()).toEqual(['paused', undefined]);
    await announceTag('v2.0.0');
    const changes = { tag_name: { from: 'v2.0.0' } };
    const said = await announceTag('v2.0.1', 'edited', { changes });
    expect(said.body?.reason).toBe('The release was renamed: it is paused on stable');
    expect(await statusOf('stable', '2.0.0')).toBe('paused');
    expect(await statusOf('stable', '2.0.1')).toBeUndefined();
  });

  it('a new pre-release still lands on beta, in whatever order its events come', async () => {
    for (const action of ['prereleased', 'published', 'created', 'prereleased']) {
      await announce(action, { prerelease: true });
    }
    expect(await statuses()).toEqual([undefined, 'published']);
  });

  it('is published by hand only: no later event brings it back', async () => {
    await announce('published');
    await announce('deleted');
    for (const action of ['published', 'released', 'created', 'edited']) {
      await announce(action, { assets: [LINUX, asset('notes.dmg')] });
    }
    expect(await statusOf()).toBe('paused');
    const reason =
      'The code host has called it back: it stays paused until it is published by hand';
    expect((await announce('published')).body).toMatchObject({ outcome: 'duplicate', reason });
    await control(node, tenant, '1.0.0', { status: 'published' });
    expect((await check(node, tenant, '0.9.0')).body?.version).toBe('1.0.0');
  });

  it('an event that is older than the last one taken changes nothing', async () => {
    await announce('published', { updated_at: LATE });
    const old = await announce('unpublished', { updated_at: EARLY });
    expect(old.body?.reason).toBe('A later event was taken on stable: nothing changed');
    expect(await statusOf()).toBe('published');
    await announce('deleted', { updated_at: LATE });
    expect(await statusOf()).toBe('paused');
  });

  it('a redelivered pre-release event does not pause what was promoted since', async () => {
    await announce('prereleased', { prerelease: true, updated_at: EARLY });
    await announce('released', { updated_at: LATE });
    await announce('prereleased', { prerelease: true, updated_at: EARLY });
    expect(await statusOf()).toBe('published');
  });

  it('never touches a release that came through the API, or that is rolled back', async () => {
    await publish(node, tenant, '1.0.0');
    const reason = 'Action deleted announces no release';
    expect((await announce('deleted')).body).toEqual({ outcome: 'ignored', reason });
    expect(await statusOf()).toBe('published');
    await announceTag('v3.0.0');
    await control(node, tenant, '3.0.0', { status: 'rolled_back' });
    await announceTag('v3.0.0', 'deleted');
    expect(await statusOf('stable', '3.0.0')).toBe('rolled_back');
  });

  it('events of a deletion, at once and twice, pause it once', async () => {
    await announce('published');
    const answers = await Promise.all(
      ['deleted', 'unpublished', 'deleted', 'unpublished'].map((action) => announce(action)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await statusOf()).toBe('paused');
    expect(await auditOf(node, tenant, 'action=release.serve')).toHaveLength(1);
  });

  describe('and what else repositories send', () => {
    it('a name may stand before the version of a tag, or the ref of the app (§18.6)', async () => {
      const { app } = tenant;
      for (const [tag, version] of [
        ...[
          ['app-v1.2.0', '1.2.0'],
          ['v1.2.1', '1.2.1'],
          ['1.2.2', '1.2.2'],
          ['V1.2.3', '1.2.3'],
        ],
        ...[
          [`${app}-v1.3.0`, '1.3.0'],
          [`${app}@1.4.0`, '1.4.0'],
        ],
      ] as [string, string][]) {
        const { body } = await announceTag(tag);
        expect(body).toMatchObject({ outcome: 'created', release: { version } });
      }
      for (const tag of ['other-v1.0.0', 'vv1.0.0', `${app}-vv1.0.0`, 'app-v']) {
        const reason = `The tag ${tag} is no version`;
        expect((await announceTag(tag)).body).toEqual({ outcome: 'ignored', reason });
      }
    });

    it("a private repository's release is ignored with the reason (§18.15)", async () => {
      const answer = await announce('published', {}, { repository: { private: true } });
      expect(answer.body).toEqual({
        outcome: 'ignored',
        reason: 'The repository is private: no device could fetch its files',
      });
      expect(await statusOf()).toBeUndefined();
    });

    it('indexes of other updaters are no artifacts, and `all` is universal on macOS (§18.10)', async () => {
      const assets = [
        ...['RELEASES', 'RELEASES-linux-x64', 'releases.win.json', 'latest.yml'],
        ...['a.exe.blockmap', 'notes_darwin_all.zip', 'notes_linux_all.tar.gz'],
      ].map((name) => asset(name));
      const { body } = await announce('published', { assets });
      const artifacts = [{ platform: 'darwin', arch: 'universal' }, { platform: 'linux' }];
      expect(body).toMatchObject({ release: { artifacts } });
    });

    it('a field of the wrong type is 400 with its path', async () => {
      for (const updated_at of ['yesterday', 1]) {
        const answer = await announce('published', { updated_at });
        expectError(answer, 400, 'release.updated_at: Must be an RFC 3339 time');
      }
      const changed = await announce('edited', {}, { changes: { tag_name: 'v1' } });
      expectError(changed, 400, 'changes.tag_name: Expected an object');
    });
  });
});
