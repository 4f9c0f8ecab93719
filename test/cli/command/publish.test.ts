// Tests the command that publishes a build: what it sends, what it says, and when it stops
// (docs/operating/commands.md). Which files become artifacts is tested in ../build/release-files.test.ts.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Artifact } from '../../../src/contract/resource.ts';
import { BUILT, ELECTRON_BUILDER, type Folder, TAURI } from '../../support/build-folders.ts';
import { BuildShell, URL_BASE } from '../../support/build-shell.ts';
import { freePort } from '../../support/free-port.ts';
import type { Json } from '../../support/tenant.ts';

const DRY_RUN = 'POST releases?dryRun=true';
const SUM = Buffer.alloc(64, 7).toString('base64');
const TWO_FILES = /^sluice: two files have the name a-linux\.zip, so that one address /m;

describe('release publish', () => {
  const shell = new BuildShell();
  const file = () => shell.write('a-linux.zip');
  const empty = () => String(mkdirSync(join(shell.path, 'empty/x'), { recursive: true }));

  /** Writes a folder, and returns the arguments that publish it. */
  const publish = (folder: Folder, ...more: string[]) =>
    shell.publish(shell.lay(folder), '--version', BUILT, ...more);

  it('sends what the flags say, in a dry run and then in earnest (Command line)', async () => {
    const notes = shell.write('notes.md', '\uFEFF# Größer\n');
    const labels = ['ring=a,b', 'site=x', 'constructor=a', '__proto__=a', '__proto__=b,c'];
    const flags = ['--rollout', '7', '--paused', ...labels.flatMap((label) => ['--label', label])];
    expect(await shell.json(...shell.publish([file()], ...flags, '--notes', notes))).toMatchObject({
      outcome: 'published',
    });
    expect(shell.asked.map(({ call }) => call)).toEqual([DRY_RUN, 'POST releases']);
    const [dryRun, sent] = shell.asked.map(({ body }) => JSON.parse(body) as Json);
    expect(sent).toEqual(dryRun);
    expect(sent).toMatchObject({
      ...{ app: 'notes', channel: 'stable', version: '1.2.3', notes: '# Größer\n' },
      ...{ rollout: 7, status: 'paused' },
      artifacts: [{ platform: 'linux', url: `${URL_BASE}/a-linux.zip`, size: 22 }],
    });
    const { targets } = sent as { targets: { matchLabels: object } };
    expect(Object.entries(targets.matchLabels)).toEqual([
      ['ring', ['a', 'b']],
      ['site', ['x']],
      ['constructor', ['a']],
      ['__proto__', ['a', 'b', 'c']],
    ]);
  });

  it('sends nothing of what the flags leave to the channel (Command line)', async () => {
    await shell.json(...shell.publish([file()]));
    const sent = Object.keys(JSON.parse(String(shell.asked[1]?.body)) as Json);
    expect(sent).toEqual(['app', 'channel', 'version', 'artifacts']);
  });

  it('for people prints one table, then what was passed over, and no signature that was used (Command line)', async () => {
    const { code, stdout } = await shell.sluice(publish(TAURI));
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^FILE +PLATFORM +ARCH +FORMAT +SIGNED +SIZE$/);
    expect(lines[1]).toMatch(/^My App_1\.4\.0_amd64\.AppImage +linux +x86_64 +appimage +yes +\d+$/);
    expect(stdout).toMatch(/^passed over: .*My App\.AppDir: an app that is not packed$/m);
    expect(stdout).not.toContain('.sig');
    shell.releases = [];
    const renamed = /^My App Setup 1\.4\.0\.exe \(at My-App-Setup-1\.4\.0\.exe\) +windows/m;
    expect((await shell.sluice(publish(ELECTRON_BUILDER))).stdout).toMatch(renamed);
  });

  describe('of what is published already', () => {
    const both = () => ['a-linux.zip', 'b-windows.zip'].map((name) => shell.write(name));
    const changed = () => [...both(), shell.write('b-windows.zip', 'content of b-windows.ziq')];

    it('succeeds, whatever became of the release and however its version is written (Command line)', async () => {
      const args = shell.publish(both());
      await shell.json(...args);
      Object.assign(shell.releases[0] ?? {}, { status: 'paused', version: 'v1.2.3' });
      const again = { outcome: 'already published', release: { status: 'paused' } };
      expect(await shell.json(...args)).toMatchObject(again);
      expect(shell.releases).toHaveLength(1);
    });

    it('succeeds where an earlier command has published it without a SHA-1 (Command line)', async () => {
      const args = shell.publish(both());
      await shell.json(...args);
      const [release = {}] = shell.releases;
      const artifacts = release.artifacts as readonly Artifact[];
      Object.assign(release, { artifacts: artifacts.map(({ sha1: _, ...rest }) => rest) });
      expect(await shell.json(...args)).toMatchObject({ outcome: 'already published' });
    });

    it.each<[what: string, files: () => string[], words: string, notes?: string]>([
      ['a flipped byte', () => changed(), 'its b-windows.zip has another SHA-512'],
      ['a file less', () => both().slice(0, 1), 'it has one file more: b-windows.zip'],
      ['a file more', () => [...both(), shell.write('c-macos.zip')], 'it has no file c-macos.zip'],
      ['other notes', both, 'its notes are others', 'other notes'],
    ])('names %s, and publishes nothing (Command line)', async (_, files, words, text) => {
      await shell.json(...shell.publish(both()));
      const notes = text === undefined ? [] : ['--notes', shell.write('notes.md', text)];
      const line = `sluice: 1.2.3 is published already on stable, and ${words}\n`;
      const again = await shell.sluice(shell.publish(files(), ...notes));
      expect(again).toEqual({ code: 1, stdout: '', stderr: line });
      expect(shell.releases).toHaveLength(1);
    });
  });

  describe('with findings', () => {
    it('--dry-run publishes nothing, tells findings and effect, and ends with 1 on an error (Command line)', async () => {
      const good = await shell.sluice(shell.publish([file()], '--dry-run'));
      expect([good.code, good.stderr]).toEqual([0, '']);
      expect(good.stdout).toContain('effect: of 1 devices, 1 are newly offered 1.2.3');
      expect(good.stdout).toContain('rehearsed: ');
      const names = ['b-linux.AppImage', 'c-linux.deb', 'c-linux.deb.sig'];
      const files = names.map((name) => shell.write(name));
      const bad = await shell.sluice(shell.publish(files, '--dry-run'));
      expect([bad.code, bad.stderr]).toEqual([1, '']);
      expect(bad.stdout).toMatch(/^error: b-linux\.AppImage: signature: Is missing/m);
      expect(shell.asked.map(({ call }) => call)).toEqual([DRY_RUN, DRY_RUN]);
    });

    it('what the names of the files leave in doubt is said (Command line)', async () => {
      const files = [shell.write('a.AppImage'), shell.write('b_1.2.3_arm64.deb')];
      for (const flags of [['--dry-run'], []]) {
        const { code, stdout } = await shell.sluice(shell.publish(files, ...flags));
        expect(stdout).toMatch(/^warning: a\.AppImage: arch: Is missing, while .+ \(aarch64\)/m);
        expect(code).toBe(0);
      }
    });

    it('an error stops the command, unless it is forced (Command line)', async () => {
      const { 'dist/My App-1.4.0-arm64-mac.zip': _, ...folder } = ELECTRON_BUILDER;
      const words =
        /^error: latest-mac\.yml: Names My-App-1\.4\.0-arm64-mac\.zip, which is missing: /m;
      const stopped = await shell.sluice(publish(folder));
      expect([stopped.code, stopped.stderr, shell.releases]).toEqual([1, '', []]);
      expect(stopped.stdout).toMatch(words);
      expect(stopped.stdout).toMatch(/^stopped: .*\(1 error: --force publishes all the same\)$/m);
      const forced = await shell.sluice(publish(folder, '--force'));
      expect([forced.code, forced.stderr, shell.releases.length]).toEqual([0, '', 1]);
      expect(forced.stdout).toMatch(words);
    });

    it('says them before the call that publishes, whatever becomes of that (Command line)', async () => {
      const findings = [{ path: 'version', severity: 'warning', message: 'Is below 2.0.0' }];
      shell.instead = ({ call }) =>
        call === DRY_RUN
          ? [200, { release: { version: '1.2.3', artifacts: [] }, findings }]
          : [503, { error: 'Out of order' }];
      const { code, stdout, stderr } = await shell.sluice(shell.publish([file()]));
      expect([code, stderr]).toEqual([1, 'sluice: Out of order\n']);
      expect(stdout).toMatch(/^warning: version: Is below 2\.0\.0$/m);
    });
  });

  it.each<[what: string, args: () => string[], words: RegExp]>([
    ['no file', () => [join(shell.path, 'no.zip')], /^sluice: no such file: .*no\.zip$/m],
    ['a name that turns', () => ['x\u202e.exe'], /no such file: x\\u202e\.exe$/m],
    ['an empty folder', () => [empty()], /^sluice: none of the files is for a device$/m],
    ['two files of a name', () => [file(), shell.write('more/a-linux.zip')], TWO_FILES],
    ['nothing for devices', () => [shell.write('checksums.txt')], /for a device: checksums\.txt$/m],
    ['no notes', () => [file(), '--notes', 'none.md'], /^sluice: no such file: none\.md$/m],
  ])('%s is one line, and nothing is asked (Command line)', async (_, args, words) => {
    await shell.expectEnd(shell.publish(args()), 1, words);
    expect(shell.asked).toEqual([]);
  });

  it('all that is missing is said at once, before a file is read (Command line)', async () => {
    const args = publish(TAURI).filter((arg) => arg !== '--url-base' && arg !== URL_BASE);
    const env = { SLUICE_KEY: '', SLUICE_URL: '' };
    const address = 'no address of the service: set SLUICE_URL, else http://\\S+ is asked';
    const words = `^sluice: no API key: set SLUICE_KEY; ${address}; --url-base is missing: `;
    await shell.expectEnd(args, 1, new RegExp(words), env);
    await shell.expectEnd(args, 2, '--url-base is missing: the files would have no address');
    // A service that is not there is one line that names its address.
    const SLUICE_URL = `http://127.0.0.1:${await freePort()}`;
    const away = `cannot reach the service at ${SLUICE_URL}`;
    await shell.expectEnd(shell.publish([file()]), 1, away, { SLUICE_URL });
  });

  describe('with an update file', () => {
    const update = (more = '') => {
      const entry = `  - url: ${URL_BASE}/a.AppImage\n    sha512: ${SUM}\n`;
      return shell.write('latest-linux.yml', `version: 1.2.3\nfiles:\n${entry}${more}`);
    };

    it('has addresses of its own files alone, and for some devices asks how many get it here (Command line)', async () => {
      const args = (text = '') => shell.publish([update(text), shell.write('b-linux.zip')]);
      const words = '--url-base is missing: 1 of the files would have no address';
      await shell.expectEnd(args().slice(0, -2), 2, words);
      const staged =
        '--rollout is missing: latest-linux.yml offers the version to 10 % of devices (stagingPercentage)';
      await shell.expectEnd(args('stagingPercentage: 10\n'), 2, staged);
    });
  });
});
