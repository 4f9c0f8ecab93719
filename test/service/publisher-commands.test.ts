// Tests the commands of publishers: from the files that build tools leave on the disk to a release, steering,
// importing, and the package of the command for machines without the service (docs/operating.md, Command
// line).

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { asset, deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { auditOf, type Json, releasesOf as listed } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { type CommandResult, runSluiceHere } from '../support/sluice-command.ts';
import { admin, check, createTenant, report, type Tenant } from '../support/tenant.ts';

const ONE_LINE = /^sluice: [^\n]+\n$/;
const BASE = 'https://downloads.example.com/notes';
const PACKAGE = fileURLToPath(new URL('../../dist/cli-package', import.meta.url));
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** What build tools leave in their folders, for a version 1.2.3 of an app "Notes". */
const FILE_SETS: Readonly<Record<string, readonly string[]>> = {
  'electron-builder': [
    ...['Notes-1.2.3.AppImage', 'Notes-1.2.3-arm64.AppImage', 'notes_1.2.3_amd64.deb'],
    ...['Notes Setup 1.2.3.exe', 'Notes Setup 1.2.3.exe.blockmap', 'Notes-1.2.3-arm64-mac.zip'],
    ...['Notes-1.2.3-mac.zip', 'Notes-1.2.3.dmg', 'builder-debug.yml'],
  ],
  'tauri build': [
    ...['Notes_1.2.3_amd64.AppImage', 'Notes_1.2.3_amd64.AppImage.sig', 'notes_1.2.3_amd64.deb'],
    ...['Notes_1.2.3_x64-setup.exe', 'Notes_1.2.3_x64-setup.exe.sig', 'Notes_1.2.3_x64_en-US.msi'],
    ...['Notes_aarch64.app.tar.gz', 'Notes_aarch64.app.tar.gz.sig', 'Notes_1.2.3_aarch64.dmg'],
  ],
  goreleaser: [
    ...['notes_1.2.3_linux_amd64.tar.gz', 'notes_1.2.3_linux_arm64.tar.gz', 'checksums.txt'],
    ...['notes_1.2.3_darwin_all.tar.gz', 'notes_1.2.3_windows_amd64.zip', 'artifacts.json'],
  ],
  'cargo-dist': [
    ...['notes-x86_64-unknown-linux-gnu.tar.xz', 'notes-x86_64-unknown-linux-gnu.tar.xz.sha256'],
    ...['notes-aarch64-apple-darwin.tar.xz', 'notes-x86_64-pc-windows-msvc.zip'],
    ...['notes-installer.sh', 'source.tar.gz', 'dist-manifest.json'],
  ],
  velopack: [
    ...['Notes-1.2.3-full.nupkg', 'Notes-1.2.3-delta.nupkg', 'Notes-win-Setup.exe', 'RELEASES'],
    ...['releases.win.json', 'assets.win.json', 'Notes-win-Portable.zip'],
  ],
};

serviceSuite("publishers' commands", (node) => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-publisher-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function sluice(tenant: Tenant, ...args: string[]): Promise<CommandResult> {
    return runSluiceHere(args, { SLUICE_URL: node.url, SLUICE_KEY: tenant.secret });
  }

  async function sluiceJson(tenant: Tenant, ...args: string[]): Promise<Json> {
    const { code, stdout, stderr } = await sluice(tenant, ...args, '--json');
    expect([code, stderr], stdout).toEqual([0, '']);
    return JSON.parse(stdout) as Json;
  }

  function write(name: string, content: string | Buffer = `content of ${name}`): string {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  }

  function publishArgs(tenant: Tenant, files: readonly string[], ...more: string[]): string[] {
    const named = ['--app', tenant.app, '--channel', 'stable', '--version', '1.2.3'];
    return ['release', 'publish', ...files, ...named, '--url-base', BASE, ...more];
  }

  const releasesOf = (tenant: Tenant) => listed(node, tenant);

  /** Expects a command to end so, with nothing on stdout and one line on stderr. */
  function expectEnd(result: CommandResult, code: number, words: RegExp | string): void {
    expect([result.code, result.stdout]).toEqual([code, '']);
    expect(result.stderr).toMatch(ONE_LINE);
    expect(result.stderr).toMatch(words);
  }

  describe.each(Object.entries(FILE_SETS))('the files of %s', (_tool, names) => {
    it('are what the webhook would have published, each with its size and checksums, once (Command line)', async () => {
      const [tenant, other] = [await createTenant(node), await createTenant(node)];
      const files = names.map((name) => write(name));
      const publish = () => sluiceJson(tenant, ...publishArgs(tenant, files));
      expect((await publish()).outcome).toBe('published');
      expect((await publish()).outcome).toBe('already published');
      const [published, ...others] = await releasesOf(tenant);
      expect(others).toEqual([]);
      const hook = await enableWebhook(node, other);
      const assets = names.map((name) =>
        asset(name, { browser_download_url: `${BASE}/${encodeURIComponent(name)}` }),
      );
      const event = releaseEvent('v1.2.3', { assets });
      expect((await deliver(node, hook, event)).body).toMatchObject({ outcome: 'created' });
      const [announced] = await releasesOf(other);
      expect(targetsOf(published)).toEqual(targetsOf(announced));
      for (const artifact of (published?.artifacts ?? []) as Json[]) {
        const name = decodeURIComponent(basename(String(artifact.url)));
        const content = readFileSync(join(folder, name));
        expect(artifact).toMatchObject({
          size: content.length,
          sha512: createHash('sha512').update(content).digest('base64'),
          sha256: createHash('sha256').update(content).digest('hex'),
        });
        expect('sha1' in artifact).toBe(name.endsWith('.nupkg'));
        const signed = names.includes(`${name}.sig`);
        expect(artifact.signature).toBe(signed ? `content of ${name}.sig` : undefined);
      }
    });
  });

  it('a flipped byte in a file is noticed: one line names the file, and nothing is published (Command line)', async () => {
    const tenant = await createTenant(node);
    const files = [write('notes-linux-x64.tar.gz'), write('notes-win-x64.zip')];
    await sluiceJson(tenant, ...publishArgs(tenant, files));
    const before = await releasesOf(tenant);
    write('notes-win-x64.zip', 'content of notes-win-x64.ziq');
    const again = await sluice(tenant, ...publishArgs(tenant, files));
    const words =
      'sluice: 1.2.3 is published already on stable, and its notes-win-x64.zip has another SHA-512\n';
    expect(again).toEqual({ code: 1, stdout: '', stderr: words });
    expect(await releasesOf(tenant)).toEqual(before);
  });

  it('a second run with other files or notes is refused in one line (Command line)', async () => {
    const tenant = await createTenant(node);
    const publish = (names: readonly string[], ...flags: string[]) =>
      sluice(tenant, ...publishArgs(tenant, [...names.map((name) => write(name))], ...flags));
    const both = ['a-linux.zip', 'b-windows.zip'];
    expect((await publish(both)).code).toBe(0);
    expectEnd(await publish(['a-linux.zip']), 1, 'it has one file more: b-windows.zip');
    expectEnd(await publish([...both, 'c-macos.zip']), 1, 'it has no file c-macos.zip');
    const notes = write('notes.md', 'other notes');
    expectEnd(await publish(both, '--notes', notes), 1, 'its notes are others');
  });

  it('a second run succeeds whatever became of the release since (Command line)', async () => {
    const tenant = await createTenant(node);
    const args = publishArgs(tenant, [write('a-linux.zip')]);
    await sluiceJson(tenant, ...args);
    await sluiceJson(tenant, 'release', 'pause', ...nameArgs(tenant));
    expect(await sluiceJson(tenant, ...args)).toMatchObject({
      outcome: 'already published',
      release: { status: 'paused' },
    });
  });

  describe('update files of electron-builder', () => {
    const app = 'Notes-1.2.3.AppImage';
    const sha512 = createHash('sha512').update(`content of ${app}`).digest('base64');

    it('give the lowest system version as it is written, and absolute addresses (Command line)', async () => {
      const tenant = await createTenant(node);
      const url = 'https://cdn.example.com/x/Notes-1.2.3.AppImage';
      const files = `files:\n  - url: ${url}\n    sha512: ${sha512}\n    size: 31\n`;
      const update = `version: 1.2.3\n${files}minimumSystemVersion: 10.10\n`;
      const paths = [write(app), write('latest-linux.yml', update)];
      const withoutBase = publishArgs(tenant, paths).slice(0, -2);
      const { release } = await sluiceJson(tenant, ...withoutBase);
      expect((release as Json).artifacts).toEqual([
        expect.objectContaining({ url, minimumSystemVersion: '10.10', sha512 }),
      ]);
    });

    it.each([
      ['another content', `version: 1.2.3\nfiles:\n  - url: ${app}\n    sha512: AAAA\n`, 'differs'],
      ['another size', `version: 1.2.3\nfiles:\n  - url: ${app}\n    size: 7\n`, 'differs'],
      ['another version', `version: 1.2.2\nfiles: []\n`, 'is of version 1.2.2, not of 1.2.3'],
      ['no version', `files: []\n`, 'it has no version'],
      ['no YAML', `a: [`, 'cannot read'],
    ])('that tell of %s end the command in one line (Command line)', async (_what, text, words) => {
      const tenant = await createTenant(node);
      const paths = [write(app), write('latest-linux.yml', text)];
      expectEnd(await sluice(tenant, ...publishArgs(tenant, paths)), 1, words);
      expect(await releasesOf(tenant)).toEqual([]);
    });
  });

  it('--rollout, --label, --paused and --notes are what the release has (Command line)', async () => {
    const tenant = await createTenant(node);
    const notes = write('notes.md', '# Größer\n');
    const flags = ['--rollout', '7', '--label', 'ring=a,b', '--label', 'site=x', '--paused'];
    const args = publishArgs(tenant, [write('a-linux.zip')], ...flags, '--notes', notes);
    await sluiceJson(tenant, ...args);
    const shown = await sluiceJson(tenant, 'release', 'show', ...nameArgs(tenant));
    expect(shown).toMatchObject({
      release: { rolloutPct: 7, status: 'paused', notes: '# Größer\n' },
      targets: { matchLabels: { ring: ['a', 'b'], site: ['x'] } },
    });
  });

  it('without --label a release is for every device, and people can download it (Command line, §22)', async () => {
    const tenant = await createTenant(node);
    await sluiceJson(tenant, ...publishArgs(tenant, [write('Notes-1.2.3.msi')]));
    const shown = await sluiceJson(tenant, 'release', 'show', ...nameArgs(tenant));
    expect(shown).toMatchObject({ release: { rolloutPct: 100 }, targets: null });
    const download = `${node.url}/download/${tenant.app}/stable/windows`;
    const { status, headers } = await fetch(download, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([302, `${BASE}/Notes-1.2.3.msi`]);
  });

  it('--label constructor=x or __proto__=x is a label as any other (Command line)', async () => {
    const tenant = await createTenant(node);
    const keys = ['constructor', '__proto__'];
    const flags = keys.flatMap((key) => ['--label', `${key}=a`, '--label', `${key}=b,c`]);
    await sluiceJson(tenant, ...publishArgs(tenant, [write('a-linux.zip')], ...flags));
    const { targets } = await sluiceJson(tenant, 'release', 'show', ...nameArgs(tenant));
    const { matchLabels } = targets as { matchLabels: object };
    expect(Object.entries(matchLabels).toSorted()).toEqual(
      keys.map((key) => [key, ['a', 'b', 'c']]).toSorted(),
    );
  });

  it('--dry-run publishes nothing, tells findings and effect, and ends with 1 on an error (Command line)', async () => {
    const tenant = await createTenant(node);
    await report(node, tenant, [{ deviceId: 'd', version: '1.0.0', platform: 'linux' }]);
    const good = await sluice(tenant, ...publishArgs(tenant, [write('a-linux.zip')], '--dry-run'));
    expect([good.code, good.stderr]).toEqual([0, '']);
    expect(good.stdout).toContain('effect: of 1 devices, 1 get an offer and 0 lose theirs');
    expect(good.stdout).toContain('rehearsed: ');
    const files = [write('b-linux.AppImage'), write('c-linux.deb'), write('c-linux.deb.sig')];
    const bad = await sluice(tenant, ...publishArgs(tenant, files, '--dry-run'));
    expect([bad.code, bad.stderr]).toEqual([1, '']);
    expect(bad.stdout).toMatch(/^error: artifacts\.\d/m);
    expect(await releasesOf(tenant)).toEqual([]);
  });

  it('what cannot work is one line: no file, a folder, two of a name, nothing for devices (Command line)', async () => {
    const tenant = await createTenant(node);
    mkdirSync(join(folder, 'more'));
    const [one, two] = [write('a-linux.zip'), write('more/a-linux.zip')];
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [[join(folder, 'nothing.zip')], /^sluice: no such file: .*nothing\.zip$/m],
      [[join(folder, 'more')], /^sluice: not a file: .*more$/m],
      [[one, two], /^sluice: two files have the name a-linux\.zip: /m],
      [[write('checksums.txt')], /^sluice: none of the files is for a device: checksums\.txt$/m],
      [[one], /^sluice: no such file: .*no-notes\.md$/m],
    ];
    for (const [files, words] of cases) {
      const more = words.source.includes('notes') ? ['--notes', join(folder, 'no-notes.md')] : [];
      expectEnd(await sluice(tenant, ...publishArgs(tenant, files, ...more)), 1, words);
    }
  });

  it('a wrong usage is one line with code 2, without --url-base too (Command line)', async () => {
    const tenant = await createTenant(node);
    const file = write('a-linux.zip');
    const cases = [
      publishArgs(tenant, [file]).slice(0, -2),
      publishArgs(tenant, []),
      [...publishArgs(tenant, [file]).slice(0, -1), 'ftp://x'],
      [...publishArgs(tenant, [file]).slice(0, -1), 'https://x/?a=b'],
      publishArgs(tenant, [file], '--label', 'x'),
      publishArgs(tenant, [file], '--rollout', 'ten'),
      ['release', 'rollout', '101', ...nameArgs(tenant)],
      ['import', '--app', tenant.app, '--channel', 'stable'],
    ];
    for (const args of cases) {
      const words = args === cases[0] ? '--url-base is missing' : /./;
      expectEnd(await sluice(tenant, ...args), 2, words);
    }
  });

  it('no key, a wrong key, a key that may not, and no service: one line each (Command line)', async () => {
    const tenant = await createTenant(node);
    const args = publishArgs(tenant, [write('a-linux.zip')]);
    const blind = await admin(node, 'POST', 'keys', { org: tenant.org, name: 'r', may: ['read'] });
    const dead = `http://127.0.0.1:${await freePort()}`;
    const cases: readonly (readonly [NodeJS.ProcessEnv, string])[] = [
      [{ ADMIN_TOKEN, SLUICE_KEY: '' }, 'no API key: set SLUICE_KEY'],
      [{ SLUICE_KEY: 'sluice_wrong' }, 'Invalid or revoked API key'],
      [{ SLUICE_KEY: String(blind.body?.secret) }, 'This key may not publish'],
      [{ SLUICE_URL: dead }, `cannot reach the service at ${dead}`],
    ];
    for (const [env, words] of cases) {
      const given = { SLUICE_URL: node.url, SLUICE_KEY: tenant.secret, ...env };
      expectEnd(await runSluiceHere(args, given), 1, words);
    }
  });

  it('a key that may publish is enough to publish, twice (Command line)', async () => {
    const tenant = await createTenant(node);
    const limits = { org: tenant.org, name: 'ci', may: ['publish'], apps: [tenant.app] };
    const { body } = await admin(node, 'POST', 'keys', limits);
    const key = { ...tenant, secret: String(body?.secret) };
    const args = publishArgs(tenant, [write('a-linux.zip')]);
    expect((await sluiceJson(key, ...args)).outcome).toBe('published');
    expect((await sluiceJson(key, ...args)).outcome).toBe('already published');
  });

  it('rollout, pause, resume, deprecate and rollback steer, with a reason for the audit (Command line)', async () => {
    const tenant = await createTenant(node);
    await sluiceJson(tenant, ...publishArgs(tenant, [write('a-linux.zip')], '--rollout', '5'));
    const steer = async (...args: string[]) => {
      const { release } = await sluiceJson(tenant, 'release', ...args, ...nameArgs(tenant));
      const { rolloutPct, status } = release as Json;
      return [rolloutPct, status];
    };
    expect(await steer('rollout', '40')).toEqual([40, 'published']);
    expect(await steer('pause', '--reason', 'too many crashes')).toEqual([40, 'paused']);
    const [entry] = await auditOf(node, tenant);
    expect(entry).toMatchObject({ reason: 'too many crashes' });
    expect(await steer('resume', '--dry-run')).toEqual([40, 'published']);
    expect((await check(node, tenant, '1.0.0', { platform: 'linux' })).status).toBe(204);
    expect(await steer('resume')).toEqual([40, 'published']);
    expect(await steer('deprecate')).toEqual([40, 'deprecated']);
    expect(await steer('resume')).toEqual([40, 'published']);
    expect(await steer('rollback')).toEqual([40, 'rolled_back']);
  });

  it('promote, withdraw, list and show (Command line)', async () => {
    const tenant = await createTenant(node);
    await sluiceJson(tenant, ...publishArgs(tenant, [write('a-linux.zip')]));
    const moved = ['--app', tenant.app, '--from', 'stable', '--to', 'beta', '--version', '1.2.3'];
    expect(await sluiceJson(tenant, 'release', 'promote', ...moved, '--paused')).toMatchObject({
      release: { channel: 'beta', status: 'paused' },
    });
    const listed = await sluice(tenant, 'release', 'list', '--app', tenant.app);
    const [head = '', ...rows] = listed.stdout.trimEnd().split('\n');
    expect(head).toMatch(/^VERSION +APP +CHANNEL +STATUS +ROLLOUT +FILES +PUBLISHED$/);
    expect(rows.map((row) => row.indexOf(tenant.app))).toEqual(
      [0, 0].map(() => head.indexOf('APP')),
    );
    expect(listed.stdout).not.toContain('\u001b');
    const beta = ['--app', tenant.app, '--channel', 'beta', '--version', '1.2.3'];
    expect(await sluiceJson(tenant, 'release', 'withdraw', ...beta)).toMatchObject({
      release: { channel: 'beta', version: '1.2.3' },
    });
    const gone = await sluice(tenant, 'release', 'show', ...beta);
    expect([gone.code, gone.stderr]).toEqual([1, 'sluice: Unknown release\n']);
    expect(await sluiceJson(tenant, 'release', 'list', '--channel', 'stable')).toMatchObject({
      total: 1,
    });
  });

  it('explain: what a device gets, and why not the others (Command line)', async () => {
    const tenant = await createTenant(node);
    await sluiceJson(tenant, ...publishArgs(tenant, [write('a-linux.zip')], '--rollout', '0'));
    await report(node, tenant, [{ deviceId: 'd 1', version: '1.0.0', platform: 'linux' }]);
    const args = ['explain', '--app', tenant.app, '--device', 'd 1'];
    const { stdout } = await sluice(tenant, ...args);
    expect(stdout).toContain('outside-cohort: nothing');
    expect(stdout).toMatch(/^1\.2\.3 +stable +outside-cohort +\d+ +0/m);
    expect(await sluiceJson(tenant, ...args)).toMatchObject({ decision: { update: null } });
  });

  it("import: a repository's releases, oldest first, at 100 %, and again without harm (Command line)", async () => {
    const tenant = await createTenant(node);
    const at = (day: number) => `2026-01-0${day}T00:00:00Z`;
    const entry = (tag: string, day: number, more: Json = {}) => ({
      ...{ tag_name: tag, draft: false, prerelease: false, body: tag, created_at: at(1) },
      published_at: at(day),
      assets: [
        { name: 'a-linux.zip', state: 'uploaded', size: 3, browser_download_url: `${BASE}/a.zip` },
        { name: 'sums.txt', state: 'uploaded', size: 3, browser_download_url: `${BASE}/s` },
      ],
      ...more,
    });
    const all = [
      entry('v2.0.0', 4),
      entry('nightly', 3),
      entry('v2.0.0-rc.1', 3, { prerelease: true }),
      entry('app-v1.0.0', 2),
      entry('v9.0.0', 5, { draft: true }),
    ];
    const file = write('releases.json', JSON.stringify(all));
    const args = ['import', '--app', tenant.app, '--channel', 'stable', '--github-json', file];
    const outcomes = async () => (await sluiceJson(tenant, ...args)).releases as Json[];
    expect((await outcomes()).map(({ version, outcome }) => [version, outcome])).toEqual([
      ['1.0.0', 'published'],
      ['nightly', 'passed over: its tag is no version'],
      ['v2.0.0-rc.1', 'passed over: a prerelease is not for stable'],
      ['2.0.0', 'published'],
      ['v9.0.0', 'passed over: a draft'],
    ]);
    expect((await outcomes()).map(({ outcome }) => outcome)).toContain('already there');
    const releases = await releasesOf(tenant);
    expect(releases.map(({ version, rolloutPct }) => [version, rolloutPct])).toEqual([
      ['2.0.0', 100],
      ['1.0.0', 100],
    ]);
    expect(releases[0]?.artifacts).toEqual([{ platform: 'linux', url: `${BASE}/a.zip`, size: 3 }]);
  });

  it('import: what an update file names, and files that are none in one line (Command line)', async () => {
    const tenant = await createTenant(node);
    const update = `version: 1.2.3\nfiles:\n  - url: ${BASE}/a-linux.AppImage\n    sha512: abc=\n`;
    const named = ['import', '--app', tenant.app, '--channel', 'stable'];
    const file = write('latest-linux.yml', update);
    expect(await sluiceJson(tenant, ...named, '--latest-yml', file)).toEqual({
      releases: [{ version: '1.2.3', outcome: 'published' }],
    });
    const wrong = [
      ['--latest-yml', write('a.yml', 'version: 1.0.0\nfiles:\n  - url: a-linux.AppImage\n')],
      ['--latest-yml', join(folder, 'none.yml')],
      ['--github-json', write('a.json', '{}')],
      ['--github-json', write('b.json', '[{"tag_name": 1}]')],
      ['--github-json', write('c.json', 'not json')],
      ['--github-json', join(folder, 'none.json')],
    ];
    for (const flags of wrong) {
      expectEnd(await sluice(tenant, ...named, ...flags), 1, /./);
    }
  });

  it('org, app, channel and key list: tables for people, one document for scripts (Command line)', async () => {
    const tenant = await createTenant(node);
    const env = { SLUICE_URL: node.url, ADMIN_TOKEN };
    const lists: readonly (readonly [string[], string, Json])[] = [
      [['org', 'list'], 'organizations', { id: tenant.org }],
      [['app', 'list', '--org', tenant.org], 'apps', { ref: tenant.app }],
      [['channel', 'list', '--app', tenant.app], 'channels', { name: 'beta', follows: null }],
      [['key', 'list', '--org', tenant.org], 'keys', { id: tenant.keyId, apps: null }],
    ];
    for (const [args, as, row] of lists) {
      const { code, stdout, stderr } = await runSluiceHere([...args, '--json'], env);
      expect([code, stderr]).toEqual([0, '']);
      expect((JSON.parse(stdout) as Record<string, Json[]>)[as]).toContainEqual(
        expect.objectContaining(row),
      );
      const table = await runSluiceHere(args, env);
      expect(table.stdout).toMatch(/^[A-Z][A-Z ]+\n/);
      expect(table.stdout).toContain(String(Object.values(row)[0]));
    }
  });

  it('the package of the command runs where none of the native packages of the service are (Command line)', async () => {
    const tenant = await createTenant(node);
    const home = join(folder, 'package');
    cpSync(PACKAGE, home, { recursive: true });
    const { dependencies, bin } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
      bin: { sluice: string };
    };
    expect(Object.keys(dependencies)).toEqual(['commander', 'js-yaml', 'zod']);
    mkdirSync(join(home, 'node_modules'));
    for (const name of Object.keys(dependencies)) {
      symlinkSync(join(MODULES, name), join(home, 'node_modules', name));
    }
    const run = (...args: string[]) =>
      new Promise<string>((resolve, reject) => {
        const env = { PATH: process.env.PATH, SLUICE_URL: node.url, SLUICE_KEY: tenant.secret };
        execFile(process.execPath, [join(home, bin.sluice), ...args], { env }, (error, stdout) =>
          error === null ? resolve(stdout) : reject(error),
        );
      });
    const stdout = await run(...publishArgs(tenant, [write('a-linux.zip')]));
    expect(stdout).toContain('published: ');
    expect(await run('--version')).toMatch(/^\d+\.\d+\.\d+\n$/);
    await expect(run('serve')).rejects.toThrow();
  });
});

function nameArgs(tenant: Tenant): string[] {
  return ['--app', tenant.app, '--channel', 'stable', '--version', '1.2.3'];
}

/** Returns the files of a release and what they are for. */
function targetsOf(release: Json | undefined): unknown[] {
  const artifacts = (release?.artifacts ?? []) as Json[];
  return artifacts.map(({ platform, arch, url }) => ({ platform, arch, url }));
}
