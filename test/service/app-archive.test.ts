// Tests that an app is renamed, archived and brought back, and that an archived one takes nothing new while
// its devices are answered as before (docs/contract.md 11.23). What is under way meanwhile is tested in
// test/store/ledger/app-on-postgres.test.ts.

import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { asset, deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { serviceSuite, testTenant } from '../support/service-suite.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { ARTIFACT, admin } from '../support/tenant.ts';

const ARCHIVED = 'This app is archived: it takes no releases and no channels';

serviceSuite('an archived app', (node) => {
  const tenant = testTenant(node);

  const change = (body: object) => admin(node, 'PATCH', 'apps', { app: tenant.app, ...body });

  it('takes no release in any way, and no channel; a repeated call gets its first answer', async () => {
    await tenant.publish('1.0.0', { channel: 'beta' });
    const hook = await enableWebhook(node, tenant);
    const release = { app: tenant.app, channel: 'stable', version: '2.0.0', artifacts: [ARTIFACT] };
    const body = { ...release, version: '1.9.0' };
    const repeat = () => tenant.manage('POST', 'releases', body, { 'idempotency-key': 'build-17' });
    const first = await repeat();
    expect((await change({ archived: true })).body).toMatchObject({
      ref: tenant.app,
      archivedAt: expect.any(String),
    });
    const promotion = { app: tenant.app, version: '1.0.0', from: 'beta', to: 'stable' };
    for (const refused of [
      await tenant.manage('POST', 'releases', release),
      await tenant.manage('POST', 'releases?dryRun=true', release),
      await tenant.manage('POST', 'releases/promote', promotion),
      await admin(node, 'POST', 'releases', release),
      await admin(node, 'POST', 'releases/rehearse', release),
      await admin(node, 'POST', 'releases/promote', promotion),
      await admin(node, 'POST', 'channels', { app: tenant.app, name: 'nightly' }),
    ]) {
      expectError(refused, 409, ARCHIVED);
    }
    const delivered = await deliver(node, hook, releaseEvent('v3.0.0'));
    expect([delivered.status, delivered.text]).toEqual([200, expect.stringContaining(ARCHIVED)]);
    const again = await repeat();
    expect([again.status, again.body]).toEqual([201, first.body]);
    const versions = await tenant.versions();
    expect(versions).toEqual(['1.9.0', '1.0.0']);
  });

  it('answers devices, updaters, feeds and downloads as before, and its releases are steered, withdrawn, completed and called back', async () => {
    const url = 'https://downloads.example.com/app.AppImage';
    const artifacts = [{ ...ARTIFACT, url, sha512: 'x', size: 1234 }];
    await tenant.publish('1.0.0', { artifacts });
    await tenant.publish('3.0.0', { status: 'paused' });
    const hook = await enableWebhook(node, tenant);
    const announce = (action: string, assets: object[]) =>
      deliver(node, hook, releaseEvent('v2.0.0', { assets }, action));
    expect((await announce('published', [])).body).toMatchObject({ outcome: 'created' });
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
    expect(before.map(([, status]) => status)).toEqual([200, 200, 200, 200, 302]);
    await change({ archived: true, name: 'Notes of old' });
    expect(await answers()).toEqual(before);

    expect((await tenant.control('1.0.0', { status: 'paused' })).status).toBe(200);
    expect(await tenant.offered()).toBeNull();
    const completed = await announce('edited', [asset('notes-linux-amd64')]);
    expect(completed.body).toMatchObject({ outcome: 'duplicate', release: { version: '2.0.0' } });
    expect(await tenant.offered()).toBe('2.0.0');
    const calledBack = await announce('deleted', []);
    expect(calledBack.body?.reason).toContain('it is paused on stable');
    expect((await tenant.control('1.0.0', { status: 'published' })).status).toBe(200);
    expect(await tenant.offered()).toBe('1.0.0');
    const named = { app: tenant.app, channel: 'stable', version: '3.0.0' };
    expect((await tenant.manage('DELETE', 'releases', named)).status).toBe(200);
  });

  it('is brought back, and each step is audited once; the command line renames, archives and restores', async () => {
    await change({ archived: true });
    await change({ archived: true });
    await change({ archived: false, name: 'Notes' });
    await change({ name: 'Notes' });
    expect((await tenant.publish('1.0.0')).status).toBe(201);
    const listed = await admin(node, 'GET', `apps?org=${tenant.org}`);
    expect(listed.body?.apps).toMatchObject([{ name: 'Notes', archivedAt: null }]);
    const env = { SLUICE_URL: node.url, ADMIN_TOKEN };
    for (const words of [['rename', '--name', 'Pocket notes'], ['archive'], ['restore']]) {
      expect((await runSluiceHere(['app', ...words, '--app', tenant.app], env)).code).toBe(0);
    }
    expect(await tenant.audit('action=app.update')).toMatchObject([
      { subject: tenant.app, before: { archived: true }, after: { archived: false } },
      { after: { archived: true } },
      { after: { name: 'Pocket notes' } },
      { before: { name: 'Test app', archived: true }, after: { name: 'Notes', archived: false } },
      { before: { archived: false }, after: { archived: true } },
    ]);
  });

  it('is changed by a body of known fields', async () => {
    for (const [body, error] of [
      [{}, /^body: One of name, archived or ddiAuth is required/],
      [{ name: '' }, /^name: /],
      [{ name: 'a\u202eb' }, /^name: /],
      [{ archived: 'yes' }, /^archived: Must be true or false/],
      [{ ddiAuth: null }, /^ddiAuth: Must be one of/],
      [{ ref: 'other' }, /^ref: Unrecognized key/],
    ] as const) {
      expectError(await change(body), 400, expect.stringMatching(error));
    }
    expect(await tenant.audit('action=app.update')).toEqual([]);
  });
});
