// Tests the command that publishes a build: what it sends, what it says, and when it stops
// (docs/operating/commands.md). Which files become artifacts is tested in ../build/release-files.test.ts.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BUILT, ELECTRON_BUILDER, type Folder, TAURI } from '../../support/build-folders.ts';
import { BuildShell } from '../../support/build-shell.ts';
import { URL_BASE } from '../../support/command-shell.ts';
import { freePort } from '../../support/free-port.ts';
import type { Json } from '../../support/published.ts';

const DRY_RUN = 'POST releases?dryRun=true';
const SUM = Buffer.alloc(64, 7).toString('base64');

describe('release publish', () => {
  const shell = new BuildShell();
  const file = () => shell.write('a-linux.zip');

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

    it('succeeds, whatever became of the release and however its version is written (Command line)', async () => {
      const args = shell.publish(both());
      await shell.json(...args);
      Object.assign(shell.releases[0] ?? {}, { status: 'paused', version: 'v1.2.3' });
      const again = { outcome: 'already published', release: { status: 'paused' } };
      expect(await shell.json(...args)).toMatchObject(again);
      expect(shell.releases).toHaveLength(1);
    });

    it.each<[what: string, files: () => string[], flags: readonly string[], words: string]>([
      [
        'a flipped byte',
        () => [...both(), shell.write('b-windows.zip', 'content of b-windows.ziq')],
        [],
        'its b-windows.zip has another SHA-512',
      ],
      ['a file less', () => both().slice(0, 1), [], 'it has one file more: b-windows.zip'],
      [
        'a file more',
        () => [...both(), shell.write('c-macos.zip')],
        [],
        'it has no file c-macos.zip',
      ],
      ['other notes', both, ['--notes'], 'its notes are others'],
    ])(
      'names %s in one line, and publishes nothing (Command line)',
      async (_, files, flags, words) => {
        await shell.json(...shell.publish(both()));
        const notes = flags.length === 0 ? [] : [...flags, shell.write('notes.md', 'other notes')];
        const line = `sluice: 1.2.3 is published already on stable, and ${words}\n`;
        const again = await shell.sluice(shell.publish(files(), ...notes));
        expect(again).toEqual({ code: 1, stdout: '', stderr: line });
        expect(shell.releases).toHaveLength(1);
      },
    );
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

    it.each([[['--dry-run']], [[]]])(
      'what the names of the files leave in doubt is said with %j (Command line)',
      async (flags) => {
        const files = [shell.write('a.AppImage'), shell.write('b_1.2.3_arm64.deb')];
        const { code, stdout } = await shell.sluice(shell.publish(files, ...flags));
        const warning = /^warning: a\.AppImage: arch: Is missing, while .+ \(aarch64\)/m;
        expect([code, stdout]).toEqual([0, expect.stringMatching(warning)]);
      },
    );

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

  it.each<[what: string, files: () => string[], words: RegExp]>([
    ['no file', () => [join(shell.path, 'no.zip')], /^sluice: no such file: .*no\.zip$/m],
    ['a name that turns', () => ['x\u202e.exe'], /no such file: x\\u202e\.exe$/m],
    [
      'an empty folder',
      () => [String(mkdirSync(join(shell.path, 'empty/x'), { recursive: true }))],
      /^sluice: none of the files is for a device$/m,
    ],
    [
      'two files of a name',
      () => [file(), shell.write('more/a-linux.zip')],
      /^sluice: two files have the name a-linux\.zip, so that one address /m,
    ],
    [
      'nothing for devices',
      () => [shell.write('checksums.txt')],
      /^sluice: none of the files is for a device: checksums\.txt$/m,
    ],
  ])('%s is one line, and nothing is asked (Command line)', async (_, files, words) => {
    await shell.expectEnd(shell.publish(files()), 1, words);
    expect(shell.asked).toEqual([]);
  });

  it('notes that are not there are one line (Command line)', async () => {
    const args = shell.publish([file()], '--notes', join(shell.path, 'no-notes.md'));
    await shell.expectEnd(args, 1, /^sluice: no such file: .*no-notes\.md$/m);
  });

  it('all that is missing is said at once, before a file is read (Command line)', async () => {
    const args = publish(TAURI).filter((arg) => arg !== '--url-base' && arg !== URL_BASE);
    const env = { SLUICE_KEY: '', SLUICE_URL: '' };
    const address = 'no address of the service: set SLUICE_URL, else http://\\S+ is asked';
    const words = `^sluice: no API key: set SLUICE_KEY; ${address}; --url-base is missing: `;
    await shell.expectEnd(args, 1, new RegExp(words), env);
    await shell.expectEnd(args, 2, '--url-base is missing: the files would have no address');
  });

  it('no service is one line that names its address (Command line)', async () => {
    const SLUICE_URL = `http://127.0.0.1:${await freePort()}`;
    const words = `cannot reach the service at ${SLUICE_URL}`;
    await shell.expectEnd(shell.publish([file()]), 1, words, { SLUICE_URL });
  });

  describe('with an update file', () => {
    const update = (more = '') => {
      const entry = `  - url: ${URL_BASE}/a.AppImage\n    sha512: ${SUM}\n`;
      return shell.write('latest-linux.yml', `version: 1.2.3\nfiles:\n${entry}${more}`);
    };

    it('has addresses of its files, not of the others beside it (Command line)', async () => {
      const args = shell.publish([update(), shell.write('b-linux.zip')]).slice(0, -2);
      const words = '--url-base is missing: 1 of the files would have no address';
      await shell.expectEnd(args, 2, words);
    });

    it('for some of the devices asks how many get it here (Command line)', async () => {
      const args = shell.publish([update('stagingPercentage: 10\n'), shell.write('b-linux.zip')]);
      const words =
        '--rollout is missing: latest-linux.yml offers the version to 10 % of devices (stagingPercentage)';
      await shell.expectEnd(args, 2, words);
    });
  });
});
