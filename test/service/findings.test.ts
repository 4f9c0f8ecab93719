// Tests that every way in finds the same in a release, and where findings are told beside it: in the answer
// of what publishes, and in that to a change of a channel's settings (docs/contract.md 11.25, 18.4, 23).

import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Finding } from '../../src/contract/dry-run.ts';
import type { Artifact } from '../../src/contract/resource.ts';
import { classifyAssets } from '../../src/domain/release/asset/classify-assets.ts';
import { findingText } from '../../src/words/finding.ts';
import { expectError } from '../support/expect-error.ts';
import { asset, deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import type { Json } from '../support/published.ts';
import { PublisherShell } from '../support/publisher-shell.ts';
import { serviceSuite } from '../support/service-suite.ts';
import {
  ARTIFACT,
  admin,
  control,
  createTenant,
  manage,
  publish,
  send,
} from '../support/tenant.ts';

const HOST = 'https://dl.example.com/15';

/** A release of files, as each way in is told of it, and what stands on its channel before. */
type Case = {
  readonly files: readonly string[];
  /** Findings, without their messages. */
  readonly expected: readonly string[];
  readonly version?: string;
  readonly host?: string;
  /** Artifacts of 1.0.14, which is published before. */
  readonly before?: readonly Artifact[];
  /** Settings of the channel. */
  readonly settings?: Json;
};

const old = (name: string, parts: Partial<Artifact> = {}): Artifact => ({
  ...{ platform: 'darwin', arch: 'universal', url: `https://dl.example.com/14/${name}` },
  ...parts,
});
const MAC = 'Note-mac-universal.zip';
const sumOf = (name: string, algorithm: 'sha256' | 'sha512', encoding: 'hex' | 'base64') =>
  createHash(algorithm).update(contentOf(name)).digest(encoding);
const contentOf = (name: string) => `content of ${name}`;

const CASES: Readonly<Record<string, Case>> = {
  'a name of another version': {
    files: ['Note-1.0.14-mac-universal.zip'],
    expected: ['warning artifacts.0.url'],
  },
  'the address of an earlier version': {
    files: [MAC],
    before: [old(MAC, { url: `${HOST}/${MAC}` })],
    expected: ['error artifacts.0.url'],
  },
  'the checksum of an earlier version': {
    files: [MAC],
    before: [old('a.zip', { sha256: sumOf(MAC, 'sha256', 'hex') })],
    expected: ['error artifacts.0.sha256'],
  },
  'a build number that does not rise': {
    files: [MAC],
    before: [old('a.zip', { buildVersion: '400' })],
    expected: ['warning artifacts.0.buildVersion'],
  },
  'a minimum version for some only': {
    files: [MAC],
    settings: { minimumSupportedVersion: '1.0.15', defaultRollout: 30 },
    expected: ['warning rollout'],
  },
  'a channel that requires signatures': {
    files: [MAC],
    settings: { requireSignature: true },
    expected: ['error artifacts.0.signature'],
  },
  'a platform that is left out': {
    files: [MAC],
    before: [old('a.zip'), old('a.exe', { platform: 'windows', arch: 'x86_64' })],
    expected: ['warning artifacts'],
  },
  'a version below the newest': {
    version: '1.0.13',
    files: [MAC],
    before: [old('a.zip')],
    expected: ['warning version'],
  },
  'four parts': { version: '1.0.15.2', files: [MAC], expected: ['warning version'] },
  'no https': {
    host: 'http://dl.example.com/15',
    files: [MAC],
    expected: ['warning artifacts.0.url'],
  },
  'an appcast without it': { files: ['Note-arm64.msi'], expected: ['warning artifacts'] },
  'only a disk image': { files: ['Note-universal.dmg'], expected: ['warning artifacts'] },
  'no architecture': {
    files: ['Note-linux-arm64.AppImage', 'Note.deb'],
    expected: ['warning artifacts.1.arch'],
  },
  'two files for the same devices': {
    files: ['Note-linux-x64.deb', 'Other-linux-x64.deb'],
    expected: ['warning artifacts.1.format'],
  },
};

serviceSuite('findings', (node) => {
  const shell = new PublisherShell(node);

  /** Makes a tenant on whose channel a case can be played. */
  async function prepare({ before, settings }: Case): Promise<void> {
    shell.tenant = await createTenant(node);
    if (before !== undefined) await publish(node, shell.tenant, '1.0.14', { artifacts: before });
    if (settings === undefined) return;
    await admin(node, 'PATCH', 'channels', { app: shell.tenant.app, name: 'stable', ...settings });
  }

  function artifactsOf({ files, host = HOST }: Case): readonly Artifact[] {
    const targets = classifyAssets(files);
    return files.map((name, index) => ({
      ...{ platform: '', ...targets[index], url: `${host}/${name}` },
      sha256: sumOf(name, 'sha256', 'hex'),
    }));
  }

  function bodyOf(each: Case): Json {
    const version = each.version ?? '1.0.15';
    return { app: shell.tenant.app, channel: 'stable', version, artifacts: artifactsOf(each) };
  }

  const textsOf = (findings: unknown, each: Case) =>
    (findings as Finding[])
      .map((finding) => `${finding.severity} ${findingText(finding, artifactsOf(each))}`)
      .toSorted();

  async function byCommand(each: Case): Promise<unknown> {
    const { files, host = HOST, version = '1.0.15' } = each;
    const paths = files.map((name) => shell.write(name, contentOf(name)));
    const place = ['--app', shell.tenant.app, '--channel', 'stable', '--version', version];
    const args = ['release', 'publish', ...paths, ...place, '--url-base', host, '--json'];
    return JSON.parse((await shell.sluice(args)).stdout) as Json;
  }

  async function byImport(each: Case): Promise<unknown> {
    const { files, host = HOST, version = '1.0.15', settings } = each;
    const assets = files.map((name) => ({
      ...{ name, state: 'uploaded', browser_download_url: `${host}/${name}` },
      digest: `sha256:${sumOf(name, 'sha256', 'hex')}`,
    }));
    const entry = {
      tag_name: `v${version}`,
      draft: false,
      prerelease: false,
      created_at: '2026-01-01T00:00:00Z',
    };
    const file = shell.write('releases.json', JSON.stringify([{ ...entry, assets }]));
    const rollout = settings?.defaultRollout ?? 100;
    const args = [
      'import',
      '--app',
      shell.tenant.app,
      '--channel',
      'stable',
      '--github-json',
      file,
    ];
    const { stdout } = await shell.sluice([...args, '--rollout', String(rollout), '--json']);
    return (JSON.parse(stdout) as { releases: Json[] }).releases[0];
  }

  async function byWebhook({ files, host = HOST, version = '1.0.15' }: Case): Promise<Json> {
    const hook = await enableWebhook(node, shell.tenant);
    const assets = files.map((name) =>
      asset(name, {
        browser_download_url: `${host}/${name}`,
        digest: `sha256:${sumOf(name, 'sha256', 'hex')}`,
      }),
    );
    const { body } = await deliver(node, hook, releaseEvent(`v${version}`, { assets }));
    return body as Json;
  }

  it.each(Object.entries(CASES))('%s: every way in finds it (§23.8)', async (_what, each) => {
    await prepare(each);
    const tried = await manage(node, shell.tenant, 'POST', 'releases?dryRun=true', bodyOf(each));
    const found = tried.body?.findings as Finding[];
    expect(found.map(({ severity, path }) => `${severity} ${path}`)).toEqual(each.expected);
    const texts = textsOf(found, each);
    const isStopped = texts.some((text) => text.startsWith('error '));

    const posted = await manage(node, shell.tenant, 'POST', 'releases?findings=true', bodyOf(each));
    expect([posted.status, posted.body?.findings]).toEqual([201, found]);

    await prepare(each);
    const published = (await byCommand(each)) as Json;
    expect(textsOf(published.findings, each)).toEqual(expect.arrayContaining(texts));
    expect(published.outcome).toBe(isStopped ? 'stopped' : 'published');

    await prepare(each);
    const imported = (await byImport(each)) as Json;
    expect(textsOf(imported.findings, each)).toEqual(texts);
    expect(imported.outcome).toMatch(isStopped ? /^stopped/ : /^published$/);

    await prepare(each);
    const announced = await byWebhook(each);
    expect(announced.outcome).toBe('created');
    for (const finding of found) {
      expect(announced.reason).toContain(findingText(finding, artifactsOf(each)));
    }
  });

  it('`sluice release promote` stops at an error, and goes on with --force (§23.8)', async () => {
    const each = { files: [MAC], expected: [] };
    await publish(node, shell.tenant, '1.0.14', { artifacts: artifactsOf(each) });
    const beta = { channel: 'beta', artifacts: artifactsOf(each) };
    await publish(node, shell.tenant, '1.0.15', beta);
    const way = ['--app', shell.tenant.app, '--from', 'beta', '--to', 'stable'];
    const args = ['release', 'promote', ...way, '--version', '1.0.15'];
    const stopped = await shell.sluice(args);
    expect([stopped.code, stopped.stderr]).toEqual([1, '']);
    expect(stopped.stdout).toMatch(/^error: Note-mac-universal\.zip: url: Is a file of 1\.0\.14/m);
    expect(stopped.stdout).toMatch(/^stopped: .+\(1 error: --force publishes all the same\)$/m);
    expect(await shell.releases()).toHaveLength(2);
    expect(await shell.json(...args, '--force')).toMatchObject({
      ...{ outcome: 'promoted', release: { channel: 'stable' } },
      findings: [{ severity: 'error' }],
    });
  });

  it('a package of changes is an error, or left out with its name (§23.3)', async () => {
    const each = { files: ['Note-1.0.15-delta.nupkg'], expected: [] };
    const artifacts = [{ platform: 'windows', url: `${HOST}/${each.files[0]}` }];
    const body = { ...bodyOf(each), artifacts };
    const tried = await manage(node, shell.tenant, 'POST', 'releases?dryRun=true', body);
    expect(tried.body?.findings).toMatchObject([{ severity: 'error', path: 'artifacts.0.url' }]);
    const posted = await manage(node, shell.tenant, 'POST', 'releases?findings=true', body);
    expect(posted.body?.findings).toEqual(tried.body?.findings);
    const full = 'Note-1.0.14-full.nupkg';
    const files = [...each.files, full.replace('14', '15')];
    await prepare(each);
    const { passedOver } = (await byCommand({ ...each, files })) as { passedOver: Json[] };
    expect(passedOver).toMatchObject([{ file: expect.stringContaining('delta') }]);
    await prepare(each);
    expect(await byImport({ ...each, files })).toMatchObject({ passedOver: each.files });
    await prepare(each);
    expect((await byWebhook({ ...each, files })).reason).toContain('delta');
  });

  it('`findings=true` refuses nothing, and other values are 400 (§23.8)', async () => {
    const each = { files: [MAC], expected: [] };
    const call = (query: string, body = bodyOf(each), path = 'releases') =>
      manage(node, shell.tenant, 'POST', `${path}${query}`, body);
    for (const value of ['', 'yes', 'TRUE', '1']) {
      const wrong = 'findings: Must be one of true, false';
      expectError(await call(`?findings=${value}`), 400, wrong);
    }
    const name = { app: shell.tenant.app, from: 'stable', to: 'beta', version: '1.0.15' };
    expectError(
      await call('?findings=maybe', name, 'releases/promote'),
      400,
      'findings: Must be one of true, false',
    );
    expect((await call('?findings=false')).body).not.toHaveProperty('findings');
    const repeated = await call('?findings=true');
    expectError(repeated, 409, 'Version already exists on this app and channel');
    await control(node, shell.tenant, '1.0.15', { status: 'paused' });
    const promoted = await call('?findings=true', { ...name, rollout: 5 }, 'releases/promote');
    expect([promoted.status, promoted.body?.findings]).toEqual([
      201,
      [{ path: 'from', severity: 'warning', message: 'It is paused on stable' }],
    ]);
  });

  it('a repeated call is told what speaks against the release that stands (§11.18, §23.8)', async () => {
    const { version: _, ...each } = CASES['only a disk image'] as Case;
    const headers = {
      authorization: `Bearer ${shell.tenant.secret}`,
      'idempotency-key': 'once',
    };
    const call = () =>
      send(node, 'POST', '/api/v1/releases?findings=true', { body: bodyOf(each), headers });
    const [first, again] = [await call(), await call()];
    expect(again).toMatchObject({ status: 201, body: first.body });
    expect(first.body?.findings).toHaveLength(1);
  });

  it('a call that waits for an approval is told as well (§23.8, §33.1)', async () => {
    const each = { ...(CASES['only a disk image'] as Case), settings: { approvals: 'one' } };
    await prepare(each);
    const { status, body } = await manage(
      ...([node, shell.tenant, 'POST', 'releases?findings=true', bodyOf(each)] as const),
    );
    expect(status).toBe(202);
    expect(body?.findings).toMatchObject([{ path: 'channel' }, { path: 'artifacts' }]);
  });

  it('a minimum version that not every device is offered is in the answer to the settings (§11.25)', async () => {
    const set = async (change: object, name = 'stable') => {
      const { status, body } = await admin(node, 'PATCH', 'channels', {
        ...{ app: shell.tenant.app, name },
        ...change,
      });
      expect(status).toBe(200);
      return body?.findings;
    };
    const unmet = (words: string) => [
      {
        path: 'minimumSupportedVersion',
        severity: 'warning',
        message: expect.stringMatching(words),
      },
    ];
    const { tenant } = shell;
    await publish(node, tenant, '1.0.0');
    const artifacts = [{ ...ARTIFACT, url: 'https://dl.example.com/2/app.AppImage' }];
    await publish(node, tenant, '2.0.0', { rollout: 30, artifacts });
    expect(await set({ minimumSupportedVersion: '1' })).toBeUndefined();
    expect(await set({ minimumSupportedVersion: '2' })).toEqual(unmet('2.0.0 is at 30 %'));
    expect(await set({ defaultRollout: 10 })).toEqual(unmet('2.0.0 is at 30 %'));
    expect(await set({ minimumSupportedVersion: '3.0.0' })).toBeUndefined();
    expect(await set({ minimumSupportedVersion: '2.0.0' })).toEqual(unmet('2.0.0 is at 30 %'));
    expect(await set({ minimumSupportedVersion: '2.0.0', follows: 'stable' }, 'beta')).toEqual(
      unmet('2.0.0 is at 30 %'),
    );
    await control(node, tenant, '2.0.0', { rollout: 100 });
    expect(await set({ minimumSupportedVersion: '2.0.0' })).toBeUndefined();
    expect(await set({ defaultRollout: 20 }, 'beta')).toBeUndefined();
    await publish(node, tenant, '2.0.0', { channel: 'beta', rollout: 20, artifacts });
    expect(await set({ defaultRollout: 30 }, 'beta')).toEqual(unmet('2.0.0 is at 20 %'));
  });
});
