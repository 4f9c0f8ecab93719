// Tests that every way in finds the same in a release, and where findings are told beside it: in the answer
// of what publishes, and in that to a change of a channel's settings (docs/contract.md 11.25, 18.4, 23). Each
// finding is tested in test/domain/release/finding.

import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { expect, it } from 'vitest';
import type { Finding } from '../../src/contract/dry-run.ts';
import { classifyAssets } from '../../src/domain/release/asset/classify-assets.ts';
import { findingText } from '../../src/words/finding.ts';
import { BuildFolder } from '../support/build-folder.ts';
import { expectError } from '../support/expect-error.ts';
import { asset, deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { serviceSuite, testTenant } from '../support/service-suite.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { ARTIFACT, admin, type Json } from '../support/tenant.ts';

/** A release of files, the content of each of which is its name. */
type Case = {
  readonly version: string;
  readonly host: string;
  readonly files: readonly string[];
  /** Artifacts of the releases that stand on the channel before, by version, and its settings. */
  readonly before: Readonly<Record<string, readonly Json[]>>;
  readonly settings: Json;
  /** Findings, without their messages. */
  readonly expected: readonly string[];
  readonly passedOver: readonly string[];
  /** What `release promote` prints. */
  readonly promoted: readonly RegExp[];
};

const sumOf = (name: string) => createHash('sha256').update(name).digest('hex');
const [HTTP, HOST] = ['http://dl.example.com/15', 'https://dl.example.com/14'];
const IMAGE = { platform: 'darwin', arch: 'universal', url: `${HOST}/Note-universal.dmg` };

const FULL_OF_FAULTS: Case = {
  version: '1.0.15.2',
  host: HTTP,
  files: [
    ...['Note-mac-universal.zip', 'Note-linux-x64.deb', 'Other-linux-x64.deb', 'Note.rpm'],
    ...['Note-linux-arm64.AppImage', 'Note-1.0.14-arm64.msi'],
  ],
  before: {
    '1.0.14': [
      { platform: 'darwin', url: `${HTTP}/Note-mac-universal.zip`, buildVersion: '400' },
      { platform: 'linux', url: `${HOST}/a.deb`, sha256: sumOf('Note-linux-x64.deb') },
    ],
    '2.0.0': [{ platform: 'windows', arch: 'x86_64', url: `${HOST}/a.exe` }],
  },
  settings: { requireSignature: true, minimumSupportedVersion: '1.0.15', defaultRollout: 30 },
  expected: [
    ...[0, 1, 2, 3, 4, 5].map((index) => `error artifacts.${index}.signature`),
    ...['error artifacts.0.url', 'error artifacts.1.sha256', 'warning version', 'warning version'],
    'warning artifacts.2.format',
    ...[0, 1, 2, 3, 4, 5].map((index) => `warning artifacts.${index}.url`),
    ...['warning artifacts.5.url', 'warning artifacts.3.arch'],
    ...['warning artifacts.0.buildVersion', 'warning artifacts', 'warning artifacts'],
    'warning rollout',
  ],
  passedOver: [],
  promoted: [
    /^error: Note-mac-universal\.zip: url: Is a file of 1\.0\.14/m,
    /^stopped: .+\(8 errors: --force publishes all the same\)$/m,
  ],
};
const OF_A_WARNING: Case = {
  ...{ version: '1.0.15', host: HOST, files: ['Note-universal.dmg', 'Note-1.0.15-delta.nupkg'] },
  ...{ before: {}, settings: { defaultRollout: 100 } },
  ...{ expected: ['warning artifacts'], passedOver: ['Note-1.0.15-delta.nupkg'] },
  promoted: [/^promoted: /m],
};
/** A channel for each way in; what is tried alone and the webhook are on `stable`. */
const CHANNELS = ['stable', 'posted', 'built', 'imported', 'promoted'];

serviceSuite('findings', (node) => {
  const folder = new BuildFolder();
  const tenant = testTenant(node);
  const run = (args: readonly string[]) =>
    runSluiceHere(args, { SLUICE_URL: node.url, SLUICE_KEY: tenant.secret });
  const call = (query: string, more: Json = {}, path = 'releases') => {
    const name = { app: tenant.app, channel: 'stable', version: '1.0.15' };
    const body = { ...name, artifacts: [ARTIFACT], ...more };
    return tenant.manage('POST', `${path}${query}`, body);
  };
  const namesIn = (findings: unknown) =>
    (findings as Finding[]).map(({ severity, path }) => `${severity} ${path}`);

  async function prepare({ before, settings }: Case): Promise<void> {
    const { app } = tenant;
    for (const name of CHANNELS) {
      if (name !== 'stable') await admin(node, 'POST', 'channels', { app, name });
      for (const [version, artifacts] of Object.entries(before)) {
        await call('', { channel: name, version, artifacts, rollout: 30 });
      }
      await tenant.setChannel({ ...settings }, name);
    }
  }

  async function sluice(channel: string, ...args: readonly string[]): Promise<Json> {
    const place = ['--app', tenant.app, '--channel', channel, '--json'];
    return JSON.parse((await run([...args, ...place])).stdout) as Json;
  }

  function byCommand({ version, host, files }: Case): Promise<Json> {
    const paths = files.map((name) => folder.write(name, name));
    const more = ['--version', version, '--url-base', host];
    return sluice('built', 'release', 'publish', ...paths, ...more);
  }

  const assetsOf = ({ files, host }: Case) =>
    files.map((name) =>
      asset(name, { browser_download_url: `${host}/${name}`, digest: `sha256:${sumOf(name)}` }),
    );

  async function byImport(each: Case): Promise<Json> {
    const tag = { tag_name: `v${each.version}`, draft: false, prerelease: false };
    const listed = [{ ...tag, created_at: '2026-01-01T00:00:00Z', assets: assetsOf(each) }];
    const file = folder.write('releases.json', JSON.stringify(listed));
    const more = ['--github-json', file, '--rollout', String(each.settings.defaultRollout)];
    return ((await sluice('imported', 'import', ...more)).releases as [Json])[0];
  }

  async function byWebhook(each: Case): Promise<Json | undefined> {
    const hook = await enableWebhook(node, tenant);
    const event = releaseEvent(`v${each.version}`, { assets: assetsOf(each) });
    return (await deliver(node, hook, event)).body;
  }

  it.each([
    ['full of faults', FULL_OF_FAULTS],
    ['with a warning', OF_A_WARNING],
  ])('a release %s: every way in finds the same (§23.8)', async (_, each) => {
    const { version, host, files, expected, passedOver } = each;
    await prepare(each);
    const targets = classifyAssets(files);
    const artifacts = files.flatMap((name, index) => {
      const file = { url: `${host}/${name}`, sha256: sumOf(name) };
      return targets[index] === undefined ? [] : [{ ...targets[index], ...file }];
    });
    const tried = await call('?dryRun=true', { version, artifacts });
    expect(namesIn(tried.body?.findings)).toEqual(expected);
    const textsOf = (findings: unknown) =>
      (findings as Finding[]).map((one) => findingText(one, artifacts)).toSorted();
    const texts = textsOf(tried.body?.findings);
    const isStopped = expected.some((finding) => finding.startsWith('error'));

    const posted = await call('?findings=true', { version, artifacts, channel: 'posted' });
    expect([posted.status, posted.body?.findings]).toEqual([201, tried.body?.findings]);
    const built = await byCommand(each);
    expect(textsOf(built.findings)).toEqual(expect.arrayContaining(texts));
    expect(built.outcome).toBe(isStopped ? 'stopped' : 'published');
    expect((built.passedOver as { file: string }[]).map(({ file }) => basename(file))).toEqual(
      passedOver,
    );
    const imported = await byImport(each);
    expect(textsOf(imported.findings)).toEqual(texts);
    expect(imported.outcome).toMatch(isStopped ? /^stopped/ : /^published$/);
    expect(imported.passedOver ?? []).toEqual(passedOver);
    const announced = await byWebhook(each);
    expect(announced?.outcome).toBe('created');
    for (const text of [...texts, ...passedOver]) expect(announced?.reason).toContain(text);

    // `sluice release promote` stops at an error as well, and goes on with --force.
    const way = ['--app', tenant.app, '--from', 'posted', '--to', 'promoted'];
    const args = ['release', 'promote', ...way, '--version', version];
    const { code, stdout, stderr } = await run(args);
    expect([code, stderr]).toEqual([isStopped ? 1 : 0, '']);
    for (const words of each.promoted) expect(stdout).toMatch(words);
    if (!isStopped) return;
    const forced = JSON.parse((await run([...args, '--force', '--json'])).stdout) as Json;
    expect([forced.outcome, namesIn(forced.findings)]).toEqual(['promoted', expected]);
  });

  it('`findings=true` refuses nothing, and counts when a call repeats or waits (§11.18, §23.8, §33.1)', async () => {
    for (const value of ['', 'yes', 'TRUE', '1']) {
      const wrong = 'findings: Must be one of true, false';
      expectError(await call(`?findings=${value}`), 400, wrong);
    }
    expect((await call('?findings=false')).body).not.toHaveProperty('findings');
    const isThere = 'Version already exists on this app and channel';
    expectError(await call('?findings=true'), 409, isThere);
    await tenant.control('1.0.15', { status: 'paused' });
    const names = { from: 'stable', to: 'beta', channel: undefined, artifacts: undefined };
    const promoted = await call('?findings=true', { ...names, rollout: 5 }, 'releases/promote');
    const paused = { path: 'from', severity: 'warning', message: 'It is paused on stable' };
    expect([promoted.status, promoted.body?.findings]).toEqual([201, [paused]]);

    const place = { app: tenant.app, channel: 'stable' };
    const body = { ...place, version: '1.0.16', artifacts: [IMAGE] };
    const once = { 'idempotency-key': 'once' };
    const repeat = () => tenant.manage('POST', 'releases?findings=true', body, once);
    const [first, again] = [await repeat(), await repeat()];
    expect(namesIn(first.body?.findings)).toEqual(['warning artifacts']);
    expect(again).toMatchObject({ status: 201, body: first.body });

    const other = { ...IMAGE, url: `${HOST}/other.dmg` };
    await tenant.setChannel({ approvals: 'one' });
    const waiting = await call('?findings=true', { version: '1.0.17', artifacts: [other] });
    const asked = ['warning channel', 'warning artifacts'];
    expect([waiting.status, namesIn(waiting.body?.findings)]).toEqual([202, asked]);
  });

  it('settings tell of a minimum version that not every device is offered (§11.25)', async () => {
    const set = async (change: Json, name = 'stable') => {
      const answer = await admin(node, 'PATCH', 'channels', { app: tenant.app, name, ...change });
      expect(answer.status).toBe(200);
      return (answer.body?.findings ?? []) as Finding[];
    };
    const unmet = [
      { path: 'minimumSupportedVersion', message: expect.stringContaining('2.0.0 is at 30 %') },
    ];
    await tenant.publish('1.0.0');
    const artifacts = [{ ...ARTIFACT, url: 'https://dl.example.com/2/app.AppImage' }];
    await tenant.publish('2.0.0', { rollout: 30, artifacts });
    expect(await set({ minimumSupportedVersion: '1' })).toEqual([]);
    expect(await set({ minimumSupportedVersion: '2' })).toMatchObject(unmet);
    expect(await set({ defaultRollout: 10 })).toMatchObject(unmet);
    const followed = { minimumSupportedVersion: '2.0.0', follows: 'stable' };
    expect(await set(followed, 'beta')).toMatchObject(unmet);
    await tenant.control('2.0.0', { rollout: 100 });
    expect(await set({ defaultRollout: 20 }, 'beta')).toEqual([]);
  });
});
