// Tests that an app is renamed, archived and brought back, and that an archived one takes nothing new while
// its devices are answered as before (docs/contract.md 11.23).

import { beforeEach, describe, expect, it } from 'vitest';
import { asset, deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { member } from '../support/person.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import {
  ARTIFACT,
  admin,
  check,
  control,
  createTenant,
  manage,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

const ARCHIVED = 'This app is archived: it takes no releases and no channels';

type Rows = readonly Record<string, unknown>[];

serviceSuite('an archived app', (node) => {
  let tenant: Tenant;
  beforeEach(async () => {
    tenant = await createTenant(node);
  });

  const change = (body: object) => admin(node, 'PATCH', 'apps', { app: tenant.app, ...body });
  const audit = async () => {
    const { body } = await admin(node, 'GET', `audit?org=${tenant.org}&action=app.update`);
    return (body as { entries: Rows }).entries;
  };

  it('takes no release in any way, and no channel', async () => {
    await publish(node, tenant, '1.0.0', { channel: 'beta' });
    const hook = await enableWebhook(node, tenant);
    expect((await change({ archived: true })).body).toMatchObject({
      ref: tenant.app,
      archivedAt: expect.any(String),
    });
    const release = { app: tenant.app, channel: 'stable', version: '2.0.0', artifacts: [ARTIFACT] };
    const promotion = { app: tenant.app, version: '1.0.0', from: 'beta', to: 'stable' };
    const refused = [
      await publish(node, tenant, '2.0.0'),
      await manage(node, tenant, 'POST', 'releases?dryRun=true', release),
      await manage(node, tenant, 'POST', 'releases/promote', promotion),
      await admin(node, 'POST', 'releases', release),
      await admin(node, 'POST', 'releases/rehearse', release),
      await admin(node, 'POST', 'releases/promote', promotion),
      await admin(node, 'POST', 'channels', { app: tenant.app, name: 'nightly' }),
    ];
    for (const { status, body } of refused) expect([status, body?.error]).toEqual([409, ARCHIVED]);
    const delivered = await deliver(node, hook, releaseEvent('v3.0.0'));
    expect([delivered.status, delivered.text]).toEqual([200, expect.stringContaining(ARCHIVED)]);
    const { body } = await manage(node, tenant, 'GET', `releases?app=${tenant.app}`);
    expect((body as { releases: Rows }).releases.map(({ version }) => version)).toEqual(['1.0.0']);
  });

  it('answers its devices as before, and its releases can be steered', async () => {
    await publish(node, tenant, '1.0.0');
    await publish(node, tenant, '1.1.0', { rollout: 10 });
    await change({ archived: true });
    expect((await check(node, tenant, '0.9.0')).status).toBe(200);
    expect((await control(node, tenant, '1.1.0', { rollout: 100 })).status).toBe(200);
    expect((await check(node, tenant, '1.0.0')).body).toMatchObject({ version: '1.1.0' });
    expect((await control(node, tenant, '1.1.0', { status: 'rolled_back' })).status).toBe(200);
    expect((await check(node, tenant, '1.1.0')).body).toMatchObject({ version: '1.0.0' });
  });

  it('updaters, feeds and downloads get what they got before', async () => {
    const url = 'https://downloads.example.com/app.AppImage';
    const artifacts = [{ ...ARTIFACT, url, sha512: 'x', size: 1234 }];
    await publish(node, tenant, '1.0.0', { artifacts });
    const place = `${tenant.app}/stable`;
    const paths = [
      ...[`/u/${place}/linux/x86_64/0.9.0`, `/e/${place}/latest-linux.yml`, `/feed/${place}`],
      ...[`/feed/${place}/rss.xml`, `/download/${place}/linux/x86_64`],
    ];
    const answer = async (path: string) => {
      const got = await fetch(node.url + path, { redirect: 'manual' });
      return [path, got.status, got.headers.get('location'), await got.text()];
    };
    const answers = () => Promise.all(paths.map(answer));
    const before = await answers();
    expect(before.map(([, status]) => status)).not.toContain(404);
    await change({ archived: true, name: 'Notes of old' });
    expect(await answers()).toEqual(before);
  });

  it('its releases are paused, resumed and withdrawn as before', async () => {
    await publish(node, tenant, '1.0.0');
    await publish(node, tenant, '2.0.0', { status: 'paused' });
    await change({ archived: true });
    expect((await control(node, tenant, '1.0.0', { status: 'paused' })).status).toBe(200);
    expect((await check(node, tenant, '0.9.0')).status).toBe(204);
    expect((await control(node, tenant, '1.0.0', { status: 'published' })).status).toBe(200);
    expect((await check(node, tenant, '0.9.0')).status).toBe(200);
    const named = { app: tenant.app, channel: 'stable', version: '2.0.0' };
    const withdrawn = await manage(node, tenant, 'DELETE', 'releases', named);
    expect(withdrawn.status).toBeLessThan(300);
  });

  it('what its code host has announced before is completed and called back', async () => {
    const hook = await enableWebhook(node, tenant);
    const announce = (action: string, assets: Rows) =>
      deliver(node, hook, releaseEvent('v1.0.0', { assets }, action));
    expect((await announce('published', [])).body).toMatchObject({ outcome: 'created' });
    await change({ archived: true });
    const completed = await announce('edited', [asset('notes-linux-amd64')]);
    expect(completed.body).toMatchObject({ outcome: 'duplicate', release: { version: '1.0.0' } });
    expect((await check(node, tenant, '0.9.0')).body).toMatchObject({ version: '1.0.0' });
    const calledBack = await announce('deleted', []);
    expect(calledBack.body?.reason).toContain('it is paused on stable');
    expect((await check(node, tenant, '0.9.0')).status).toBe(204);
  });

  it('a call that is repeated after the archiving gets its first answer', async () => {
    const body = { app: tenant.app, channel: 'stable', version: '1.0.0', artifacts: [ARTIFACT] };
    const headers = {
      ...{ authorization: `Bearer ${tenant.secret}`, 'idempotency-key': 'build-17' },
    };
    const call = () => send(node, 'POST', '/api/v1/releases', { body, headers });
    const first = await call();
    await change({ archived: true });
    const again = await call();
    expect([again.status, again.body]).toEqual([201, first.body]);
  });

  it('is brought back, and each step is audited once', async () => {
    await change({ archived: true });
    await change({ archived: true });
    await change({ archived: false, name: 'Notes' });
    await change({ name: 'Notes' });
    expect((await publish(node, tenant, '1.0.0')).status).toBe(201);
    expect(await audit()).toMatchObject([
      {
        subject: tenant.app,
        before: { name: 'Test app', archived: true },
        after: { name: 'Notes', archived: false },
      },
      { before: { archived: false }, after: { archived: true } },
    ]);
    const { body } = await admin(node, 'GET', `apps?org=${tenant.org}`);
    expect((body as { apps: Rows }).apps).toMatchObject([{ name: 'Notes', archivedAt: null }]);
  });

  it('a publish that meets the archiving is before it or refused', async () => {
    for (let round = 0; round < 10; round += 1) {
      const version = `1.0.${round}`;
      const [published] = await Promise.all([
        publish(node, tenant, version),
        change({ archived: true }),
      ]);
      expect([201, 409]).toContain(published.status);
      const { body } = await admin(node, 'GET', `audit?org=${tenant.org}&limit=2`);
      const { entries } = body as { entries: Rows };
      const order = entries.map(({ action }) => action);
      if (published.status === 201) expect(order).toEqual(['app.update', 'release.publish']);
      else expect(order[0]).toBe('app.update');
      await change({ archived: false });
    }
  });

  it('the command line renames, archives and restores', async () => {
    const env = { SLUICE_URL: node.url, ADMIN_TOKEN };
    const run = (...words: string[]) => runSluiceHere(['app', ...words, '--app', tenant.app], env);
    expect((await run('rename', '--name', 'Pocket notes')).code).toBe(0);
    expect((await run('archive')).code).toBe(0);
    expect((await publish(node, tenant, '1.0.0')).status).toBe(409);
    expect((await run('restore')).code).toBe(0);
    expect((await publish(node, tenant, '1.0.0')).status).toBe(201);
    expect((await audit()).map(({ after }) => after)).toEqual([
      { archived: false },
      { archived: true },
      { name: 'Pocket notes' },
    ]);
  });

  describe('is changed by owners of its organization alone', () => {
    it.each([
      ['viewer', 403],
      ['publisher', 403],
    ] as const)('a %s is refused', async (role, status) => {
      const person = await member(node, tenant.org, role);
      const answer = await person.call('PATCH', 'apps', { app: tenant.app, archived: true });
      expect(answer.status).toBe(status);
    });

    it('an owner of another organization finds nothing', async () => {
      const other = await member(node, (await createTenant(node)).org, 'owner');
      for (const app of [tenant.app, tenant.appId]) {
        const answer = await other.call('PATCH', 'apps', { app, archived: true });
        expect(answer.status).toBe(404);
      }
      expect(await audit()).toEqual([]);
    });

    it.each([
      [{}, 'body: One of name or archived is required'],
      [{ name: '' }, 'name: '],
      [{ name: 'a\u202eb' }, 'name: '],
      [{ archived: 'yes' }, 'archived: Must be true or false'],
      [{ ref: 'other' }, 'ref: Unrecognized key'],
    ])('%j is 400 and names the field', async (body, message) => {
      const answer = await change(body);
      expect(answer.status).toBe(400);
      expect(String(answer.body?.error).startsWith(message)).toBe(true);
    });
  });
});
