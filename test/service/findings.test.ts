// Tests where findings are told beside a release over HTTP: on every way in, and in the answer to a change of a
// channel's settings (docs/contract.md 11.25, 18.4, 23). What is found, and that each way finds the same, is in
// test/domain/release/finding and test/publishing/ways-in.test.ts.

import { expect, it } from 'vitest';
import type { Finding } from '../../src/contract/dry-run.ts';
import { expectError } from '../support/expect-error.ts';
import { asset, deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import type { Json } from '../support/published.ts';
import { PublisherShell } from '../support/publisher-shell.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { ARTIFACT, admin, control, manage, publish, send } from '../support/tenant.ts';

const HOST = 'https://dl.example.com/15';
const MAC = 'Note-mac-universal.zip';
/** SHA-256 of the text `content`. */
const SUM = 'ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73';
const FILE = { platform: 'darwin', arch: 'universal', url: `${HOST}/${MAC}`, sha256: SUM };
/** Most updaters cannot install it. */
const IMAGE = { platform: 'darwin', arch: 'universal', url: `${HOST}/Note-universal.dmg` };

serviceSuite('findings', (node) => {
  const shell = new PublisherShell(node);
  const call = (query: string, more: Json = {}, path = 'releases') => {
    const name = { app: shell.tenant.app, channel: 'stable', version: '1.0.15' };
    const body = { ...name, artifacts: [FILE], ...more };
    return manage(node, shell.tenant, 'POST', `${path}${query}`, body);
  };
  const namesIn = (findings: unknown) =>
    (findings as Finding[]).map(({ severity, path }) => `${severity} ${path}`);

  it('every way in tells the file of an earlier version that is stored (§23.8)', async () => {
    const { app } = shell.tenant;
    const before = { artifacts: [{ ...FILE, url: 'https://dl.example.com/14/a.zip' }] };
    await admin(node, 'POST', 'channels', { app, name: 'late' });
    for (const channel of ['stable', 'beta', 'late']) {
      await publish(node, shell.tenant, '1.0.14', { ...before, channel });
    }
    const error = 'error artifacts.0.sha256';
    const tried = await call('?dryRun=true');
    expect(namesIn(tried.body?.findings)).toEqual([error]);
    const posted = await call('?findings=true', { channel: 'beta' });
    expect([posted.status, posted.body?.findings]).toEqual([201, tried.body?.findings]);

    const place = ['--app', app, '--channel', 'stable', '--json'];
    const stopped = async (...args: readonly string[]) =>
      JSON.parse((await shell.sluice([...args, ...place])).stdout) as Json & { releases: Json[] };
    const file = shell.write(MAC, 'content');
    const version = ['--version', '1.0.15'];
    const published = await stopped('release', 'publish', file, ...version, '--url-base', HOST);
    expect(published.outcome).toBe('stopped');
    expect(namesIn(published.findings)).toContain(error);
    const told = { tag_name: 'v1.0.15', draft: false, prerelease: false };
    const assets = [asset(MAC, { browser_download_url: FILE.url, digest: `sha256:${SUM}` })];
    const listed = JSON.stringify([{ ...told, created_at: '2026-01-01T00:00:00Z', assets }]);
    const imported = await stopped('import', '--github-json', shell.write('releases.json', listed));
    expect(namesIn(imported.releases[0]?.findings)).toEqual([error]);
    const hook = await enableWebhook(node, shell.tenant);
    const { body } = await deliver(node, hook, releaseEvent('v1.0.15', { assets }));
    expect(body).toMatchObject({ outcome: 'created' });
    const [found] = (tried.body as { findings: [Finding] }).findings;
    expect(body?.reason).toContain(`${MAC}: sha256: ${found.message}`);

    const way = ['--app', app, '--from', 'beta', '--to', 'late', ...version];
    const promote = ['release', 'promote', ...way];
    const refused = await shell.sluice(promote);
    expect([refused.code, refused.stderr]).toEqual([1, '']);
    expect(refused.stdout).toMatch(/^error: Note-mac-universal\.zip: sha256: /m);
    expect(refused.stdout).toMatch(/^stopped: .+\(1 error: --force publishes all the same\)$/m);
    expect(await shell.json(...promote, '--force')).toMatchObject({
      ...{ outcome: 'promoted', release: { channel: 'late' }, findings: [{ severity: 'error' }] },
    });
  });

  it('`findings=true` refuses nothing, and tells a repeated call the same (§11.18, §23.8)', async () => {
    expectError(await call('?findings=yes'), 400, 'findings: Must be one of true, false');
    expect((await call('?findings=false')).body).not.toHaveProperty('findings');
    const isThere = 'Version already exists on this app and channel';
    expectError(await call('?findings=true'), 409, isThere);
    await control(node, shell.tenant, '1.0.15', { status: 'paused' });
    const names = { from: 'stable', to: 'beta', channel: undefined, artifacts: undefined };
    const promoted = await call('?findings=true', { ...names, rollout: 5 }, 'releases/promote');
    const paused = { path: 'from', severity: 'warning', message: 'It is paused on stable' };
    expect([promoted.status, promoted.body?.findings]).toEqual([201, [paused]]);

    const body = {
      app: shell.tenant.app,
      channel: 'stable',
      version: '1.0.16',
      artifacts: [IMAGE],
    };
    const headers = { authorization: `Bearer ${shell.tenant.secret}`, 'idempotency-key': 'once' };
    const repeat = () => send(node, 'POST', '/api/v1/releases?findings=true', { body, headers });
    const [first, again] = [await repeat(), await repeat()];
    expect(namesIn(first.body?.findings)).toEqual(['warning artifacts']);
    expect(again).toMatchObject({ status: 201, body: first.body });
  });

  it('a call that waits for an approval is told as well (§23.8, §33.1)', async () => {
    const settings = { app: shell.tenant.app, name: 'stable', approvals: 'one' };
    await admin(node, 'PATCH', 'channels', settings);
    const { status, body } = await call('?findings=true', { artifacts: [IMAGE] });
    expect([status, namesIn(body?.findings)]).toEqual([
      202,
      ['warning channel', 'warning artifacts'],
    ]);
  });

  it('settings tell of a minimum version that not every device is offered (§11.25)', async () => {
    const { tenant } = shell;
    const set = async (change: Json, name = 'stable') => {
      const answer = await admin(node, 'PATCH', 'channels', { app: tenant.app, name, ...change });
      expect(answer.status).toBe(200);
      const findings = answer.body?.findings as [Finding] | undefined;
      const about = /\S+ is at \d+ %/;
      return (
        findings && [
          ...namesIn(findings),
          ...findings.map(({ message }) => about.exec(message)?.[0]),
        ]
      );
    };
    await publish(node, tenant, '1.0.0');
    const artifacts = [{ ...ARTIFACT, url: 'https://dl.example.com/2/app.AppImage' }];
    await publish(node, tenant, '2.0.0', { rollout: 30, artifacts });
    const unmet = (percent: number) => [
      ...['warning minimumSupportedVersion', `2.0.0 is at ${percent} %`],
    ];
    expect(await set({ minimumSupportedVersion: '1' })).toBeUndefined();
    expect(await set({ minimumSupportedVersion: '2' })).toEqual(unmet(30));
    expect(await set({ defaultRollout: 10 })).toEqual(unmet(30));
    expect(await set({ minimumSupportedVersion: '3.0.0' })).toBeUndefined();
    expect(await set({ minimumSupportedVersion: '2.0.0' })).toEqual(unmet(30));
    const followed = { minimumSupportedVersion: '2.0.0', follows: 'stable' };
    expect(await set(followed, 'beta')).toEqual(unmet(30));
    await control(node, tenant, '2.0.0', { rollout: 100 });
    expect(await set({ minimumSupportedVersion: '2.0.0' })).toBeUndefined();
    expect(await set({ defaultRollout: 20 }, 'beta')).toBeUndefined();
    // A release of its own stands in place of the one that it follows.
    await publish(node, tenant, '2.0.0', { channel: 'beta', rollout: 20, artifacts });
    expect(await set({ defaultRollout: 30 }, 'beta')).toEqual(unmet(20));
  });
});
