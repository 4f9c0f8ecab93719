// Tests the command that publishes: from the files that build tools leave on the disk to a release, and the
// package of the command for machines without the service (docs/operating/commands.md).

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { tauriSignature } from '../support/build-folders.ts';
import { freePort } from '../support/free-port.ts';
import { asset, deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import { loopbackServer } from '../support/loopback-server.ts';
import { ADMIN_TOKEN } from '../support/node.ts';
import { type Json, releasesOf } from '../support/published.ts';
import { PublisherShell, URL_BASE } from '../support/publisher-shell.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, report } from '../support/tenant.ts';

const PACKAGE = fileURLToPath(new URL('../../dist/cli-package', import.meta.url));

/** What build tools leave in their folders, for a version 1.2.3 of an app "Notes". */
const FILE_SETS: Readonly<Record<string, readonly string[]>> = {
  'electron-builder': [
    ...['Notes-1.2.3.AppImage', 'Notes-1.2.3-arm64.AppImage', 'notes_1.2.3_amd64.deb'],
    ...['Notes Setup 1.2.3.exe', 'Notes Setup 1.2.3.exe.blockmap', 'Notes-1.2.3-arm64-mac.zip'],
    ...['Notes-1.2.3-mac.zip', 'Notes-1.2.3.dmg', 'builder-debug.yml'],
  ],
  'tauri build': [
    ...['Notes_1.2.3_amd64.AppImage', 'Notes_1.2.3_amd64.AppImage.sig', 'notes_1.2.3_amd64.deb'],
    ...['notes_1.2.3_amd64.deb.sig', 'Notes_1.2.3_x64-setup.exe', 'Notes_1.2.3_x64-setup.exe.sig'],
    ...['Notes_1.2.3_x64_en-US.msi', 'Notes_1.2.3_x64_en-US.msi.sig'],
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

/** Manifests of build tools that tell nothing. */
const MANIFESTS: Readonly<Record<string, string>> = {
  'artifacts.json': '[]',
  'releases.win.json': '{"Assets":[]}',
  'assets.win.json': '[]',
};

serviceSuite('the command that publishes', (node) => {
  const shell = new PublisherShell(node);

  it.each(Object.entries(FILE_SETS))(
    'the files of %s are what the webhook would have published, with their checksums, once (Command line)',
    async (_tool, names) => {
      const other = await createTenant(node);
      const files = names.map((name) => {
        const signature = name.endsWith('.sig') ? tauriSignature(name.slice(0, -4)) : undefined;
        return shell.write(name, MANIFESTS[name] ?? signature);
      });
      const publish = () => shell.json(...shell.publish(files));
      expect((await publish()).outcome).toBe('published');
      expect((await publish()).outcome).toBe('already published');
      const [published, ...others] = await shell.releases();
      expect(others).toEqual([]);
      const hook = await enableWebhook(node, other);
      const assets = names.map((name) =>
        asset(name, { browser_download_url: `${URL_BASE}/${encodeURIComponent(name)}` }),
      );
      const event = releaseEvent('v1.2.3', { assets });
      expect((await deliver(node, hook, event)).body).toMatchObject({ outcome: 'created' });
      const [announced] = await releasesOf(node, other);
      expect(targetsOf(published)).toEqual(targetsOf(announced));
      for (const artifact of (published?.artifacts ?? []) as Json[]) {
        const name = decodeURIComponent(basename(String(artifact.url)));
        const content = readFileSync(join(shell.folder, name));
        expect(artifact).toMatchObject({
          size: content.length,
          sha512: createHash('sha512').update(content).digest('base64'),
          sha256: createHash('sha256').update(content).digest('hex'),
        });
        expect('sha1' in artifact).toBe(name.endsWith('.nupkg'));
        const signed = names.includes(`${name}.sig`);
        expect(artifact.signature).toBe(signed ? tauriSignature(name) : undefined);
      }
    },
  );

  it('a flipped byte in a file is noticed: one line names the file, and nothing is published (Command line)', async () => {
    const files = [shell.write('notes-linux-x64.tar.gz'), shell.write('notes-win-x64.zip')];
    await shell.json(...shell.publish(files));
    const before = await shell.releases();
    shell.write('notes-win-x64.zip', 'content of notes-win-x64.ziq');
    const again = await shell.sluice(shell.publish(files));
    const words =
      'sluice: 1.2.3 is published already on stable, and its notes-win-x64.zip has another SHA-512\n';
    expect(again).toEqual({ code: 1, stdout: '', stderr: words });
    expect(await shell.releases()).toEqual(before);
  });

  it('a second run with other files or notes is refused in one line (Command line)', async () => {
    const args = (names: readonly string[], ...flags: string[]) =>
      shell.publish([...names.map((name) => shell.write(name))], ...flags);
    const both = ['a-linux.zip', 'b-windows.zip'];
    await shell.json(...args(both));
    await shell.expectEnd(args(['a-linux.zip']), 1, 'it has one file more: b-windows.zip');
    await shell.expectEnd(args([...both, 'c-macos.zip']), 1, 'it has no file c-macos.zip');
    const notes = shell.write('notes.md', 'other notes');
    await shell.expectEnd(args(both, '--notes', notes), 1, 'its notes are others');
  });

  it('a second run succeeds whatever became of the release since (Command line)', async () => {
    const args = shell.publish([shell.write('a-linux.zip')]);
    await shell.json(...args);
    await shell.json('release', 'pause', ...shell.name());
    const again = { outcome: 'already published', release: { status: 'paused' } };
    expect(await shell.json(...args)).toMatchObject(again);
  });

  describe('update files of electron-builder', () => {
    const app = 'Notes-1.2.3.AppImage';
    const sha512 = createHash('sha512').update(`content of ${app}`).digest('base64');

    it('give the lowest system version as it is written, and absolute addresses (Command line)', async () => {
      const url = 'https://cdn.example.com/x/Notes-1.2.3.AppImage';
      const files = `files:\n  - url: ${url}\n    sha512: ${sha512}\n    size: 31\n`;
      const update = `version: 1.2.3\n${files}minimumSystemVersion: 10.10\n`;
      const paths = [shell.write(app), shell.write('latest-linux.yml', update)];
      const withoutBase = shell.publish(paths).slice(0, -2);
      const { release } = await shell.json(...withoutBase);
      expect((release as Json).artifacts).toEqual([
        expect.objectContaining({ url, minimumSystemVersion: '10.10', sha512 }),
      ]);
    });

    it('that tell of something else, or nothing, end the command in one line (Command line)', async () => {
      const file = `version: 1.2.3\nfiles:\n  - url: ${app}\n`;
      for (const [text, words] of Object.entries({
        [`${file}    sha512: AAAA\n`]: 'differs',
        [`${file}    size: 7\n`]: 'differs',
        'version: 1.2.2\nfiles: []\n': 'is of version 1.2.2, not of 1.2.3',
        'files: []\n': 'it has no version',
        'a: [': 'cannot read',
      })) {
        const paths = [shell.write(app), shell.write('latest-linux.yml', text)];
        await shell.expectEnd(shell.publish(paths), 1, words);
      }
      expect(await shell.releases()).toEqual([]);
    });
  });

  it('--rollout, --label, --paused and --notes are what the release has (Command line)', async () => {
    const notes = shell.write('notes.md', '# Größer\n');
    const flags = ['--rollout', '7', '--label', 'ring=a,b', '--label', 'site=x', '--paused'];
    const args = shell.publish([shell.write('a-linux.zip')], ...flags, '--notes', notes);
    await shell.json(...args);
    const shown = await shell.json('release', 'show', ...shell.name());
    expect(shown).toMatchObject({
      release: { rolloutPct: 7, status: 'paused', notes: '# Größer\n' },
      targets: { matchLabels: { ring: ['a', 'b'], site: ['x'] } },
    });
  });

  it('without --label a release is for every device, and people can download it (Command line, §22)', async () => {
    await shell.json(...shell.publish([shell.write('Notes-1.2.3.msi')]));
    const shown = await shell.json('release', 'show', ...shell.name());
    expect(shown).toMatchObject({ release: { rolloutPct: 100 }, targets: null });
    const download = `${node.url}/download/${shell.tenant.app}/stable/windows`;
    const { status, headers } = await fetch(download, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([302, `${URL_BASE}/Notes-1.2.3.msi`]);
  });

  it('--label constructor=x or __proto__=x is a label as any other (Command line)', async () => {
    const keys = ['constructor', '__proto__'];
    const flags = keys.flatMap((key) => ['--label', `${key}=a`, '--label', `${key}=b,c`]);
    await shell.json(...shell.publish([shell.write('a-linux.zip')], ...flags));
    const { targets } = await shell.json('release', 'show', ...shell.name());
    const { matchLabels } = targets as { matchLabels: object };
    expect(Object.entries(matchLabels).toSorted()).toEqual(
      keys.map((key) => [key, ['a', 'b', 'c']]).toSorted(),
    );
  });

  it('--dry-run publishes nothing, tells findings and effect, and ends with 1 on an error (Command line)', async () => {
    await report(node, shell.tenant, [{ deviceId: 'd', version: '1.0.0', platform: 'linux' }]);
    const good = await shell.sluice(shell.publish([shell.write('a-linux.zip')], '--dry-run'));
    expect([good.code, good.stderr]).toEqual([0, '']);
    expect(good.stdout).toContain('effect: of 1 devices, 1 are newly offered');
    expect(good.stdout).toContain('rehearsed: ');
    const files = [
      shell.write('b-linux.AppImage'),
      shell.write('c-linux.deb'),
      shell.write('c-linux.deb.sig'),
    ];
    const bad = await shell.sluice(shell.publish(files, '--dry-run'));
    expect([bad.code, bad.stderr]).toEqual([1, '']);
    expect(bad.stdout).toMatch(/^error: b-linux\.AppImage: signature: Is missing/m);
    expect(await shell.releases()).toEqual([]);
  });

  it('what the names of the files leave in doubt is said, in a dry run and without (Command line)', async () => {
    const files = [shell.write('a.AppImage'), shell.write('b_1.2.3_arm64.deb')];
    for (const flags of [['--dry-run'], []]) {
      const { code, stdout } = await shell.sluice(shell.publish(files, ...flags));
      expect([code, stdout]).toEqual([
        0,
        expect.stringMatching(/^warning: a\.AppImage: arch: Is missing, while .+ \(aarch64\)/m),
      ]);
    }
  });

  it('findings are said before the call that publishes, whatever becomes of that (Command line)', async () => {
    const answer = {
      release: { version: '1.2.3', artifacts: [] },
      findings: [{ path: 'version', severity: 'warning', message: 'Is below 2.0.0' }],
    };
    const service = await loopbackServer((request, response) => {
      const isDryRun = request.url?.endsWith('?dryRun=true');
      response.writeHead(isDryRun ? 200 : 503, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isDryRun ? answer : { error: 'Out of order' }));
    });
    const SLUICE_URL = `http://127.0.0.1:${service.port}`;
    const args = shell.publish([shell.write('a-linux.zip')]);
    const { code, stdout, stderr } = await shell.sluice(args, { SLUICE_URL });
    service.close();
    expect([code, stderr]).toEqual([1, 'sluice: Out of order\n']);
    expect(stdout).toMatch(/^warning: version: Is below 2\.0\.0$/m);
  });

  it('what cannot work is one line: no file, an empty folder, two of a name, nothing for devices (Command line)', async () => {
    mkdirSync(join(shell.folder, 'empty'));
    const [one, two] = [shell.write('a-linux.zip'), shell.write('more/a-linux.zip')];
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [[join(shell.folder, 'nothing.zip')], /^sluice: no such file: .*nothing\.zip$/m],
      [[join(shell.folder, 'empty')], /^sluice: none of the files is for a device$/m],
      [[one, two], /^sluice: two files have the name a-linux\.zip, so that one address /m],
      [
        [shell.write('checksums.txt')],
        /^sluice: none of the files is for a device: checksums\.txt$/m,
      ],
      [[one], /^sluice: no such file: .*no-notes\.md$/m],
    ];
    for (const [files, words] of cases) {
      const more = words.source.includes('notes')
        ? ['--notes', join(shell.folder, 'no-notes.md')]
        : [];
      await shell.expectEnd(shell.publish(files, ...more), 1, words);
    }
  });

  it('a wrong usage is one line with code 2, without --url-base too (Command line)', async () => {
    const file = shell.write('a-linux.zip');
    const cases = [
      shell.publish([file]).slice(0, -2),
      shell.publish([]),
      [...shell.publish([file]).slice(0, -1), 'ftp://x'],
      [...shell.publish([file]).slice(0, -1), 'https://x/?a=b'],
      shell.publish([file], '--label', 'x'),
      shell.publish([file], '--rollout', 'ten'),
      ['release', 'rollout', '101', ...shell.name()],
      ['import', '--app', shell.tenant.app, '--channel', 'stable'],
    ];
    for (const args of cases) {
      const words = args === cases[0] ? '--url-base is missing' : /./;
      await shell.expectEnd(args, 2, words);
    }
  });

  it('no key, a wrong key, a key that may not, and no service: one line each (Command line)', async () => {
    const args = shell.publish([shell.write('a-linux.zip')]);
    const blind = await admin(node, 'POST', 'keys', {
      org: shell.tenant.org,
      name: 'r',
      may: ['read'],
    });
    const dead = `http://127.0.0.1:${await freePort()}`;
    const cases: readonly (readonly [NodeJS.ProcessEnv, string])[] = [
      [{ ADMIN_TOKEN, SLUICE_KEY: '' }, 'no API key: set SLUICE_KEY'],
      [{ SLUICE_KEY: 'sluice_wrong' }, 'Invalid or revoked API key'],
      [{ SLUICE_KEY: String(blind.body?.secret) }, 'This key may not publish'],
      [{ SLUICE_URL: dead }, `cannot reach the service at ${dead}`],
    ];
    for (const [env, words] of cases) {
      await shell.expectEnd(args, 1, words, env);
    }
  });

  it('a key that may publish is enough to publish, twice (Command line)', async () => {
    const limits = {
      org: shell.tenant.org,
      name: 'ci',
      may: ['publish'],
      apps: [shell.tenant.app],
    };
    const { body } = await admin(node, 'POST', 'keys', limits);
    shell.tenant = { ...shell.tenant, secret: String(body?.secret) };
    const args = shell.publish([shell.write('a-linux.zip')]);
    expect((await shell.json(...args)).outcome).toBe('published');
    expect((await shell.json(...args)).outcome).toBe('already published');
  });

  it('the package of the command is installed from its file alone, without a registry, and publishes (Command line)', async () => {
    const env = {
      PATH: process.env.PATH,
      HOME: shell.folder,
      SLUICE_URL: node.url,
      SLUICE_KEY: shell.tenant.secret,
    };
    const run = async (file: string, ...args: string[]) =>
      (await promisify(execFile)(file, args, { env, cwd: shell.folder })).stdout;
    const quiet = ['--silent', '--cache', join(shell.folder, 'cache')];
    const packed = await run('npm', 'pack', ...quiet, PACKAGE);
    expect(packed).toMatch(/^sluice-cli-\d+\.\d+\.\d+\.tgz\n$/);
    const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as object;
    expect(manifest).toMatchObject({ engines: { node: '>=20.19' } });
    const home = join(shell.folder, 'home');
    const file = join(shell.folder, packed.trim());
    await run('npm', 'install', ...quiet, '--offline', '--global', '--prefix', home, file);
    const command = join(home, 'bin', 'sluice');
    expect(await run(command, '--version')).toMatch(/^\d+\.\d+\.\d+ \(\S+\)\n$/);
    expect(await run(command, '--help')).toContain('\n  release ');
    const stdout = await run(command, ...shell.publish([shell.write('a-linux.zip')]));
    expect(stdout).toContain('published: ');
    await expect(run(command, 'doctor')).rejects.toThrow(
      /^sluice: doctor reads the settings of the service: run it where Sluice is installed, node dist/m,
    );
    const licences = readFileSync(join(PACKAGE, 'THIRD-PARTY-LICENSES'), 'utf8');
    expect(licences.match(/^(?:commander|js-yaml|xmlbuilder2|zod)$/gm)).toHaveLength(4);
  });
});

/** Returns the files of a release and what they are for. */
function targetsOf(release: Json | undefined): unknown[] {
  const artifacts = (release?.artifacts ?? []) as Json[];
  return artifacts.map(({ platform, arch, url }) => ({ platform, arch, url }));
}
