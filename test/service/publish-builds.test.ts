// Tests the command that publishes on whole folders of builds, laid out file by file as their tools leave
// them (docs/operating/commands.md).

import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  BUILT,
  ELECTRON_BUILDER,
  ELECTRON_FORGE,
  type Folder,
  SPARKLE,
  TAURI,
  VELOPACK,
} from '../support/build-folders.ts';
import type { Json } from '../support/published.ts';
import { PublisherShell, URL_BASE } from '../support/publisher-shell.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin } from '../support/tenant.ts';

type Passed = { readonly file: string; readonly reason: string };

const UNPACKED = 'an app that is not packed';
const WORKPLACE = 'a folder that the build tool works with';
const BESIDE = 'belongs to another file, by its name';
const NO_PLATFORM = 'its name tells no platform';

/** Folders, each with the files that become artifacts and what is passed over. */
const BUILDS: Readonly<
  Record<string, readonly [Folder, readonly string[], Record<string, string>]>
> = {
  'electron-builder': [
    ELECTRON_BUILDER,
    [
      'My-App-1.4.0.AppImage linux x86_64 appimage',
      'My-App-1.4.0-arm64.AppImage linux aarch64 appimage',
      'my-app_1.4.0_amd64.deb linux x86_64 deb',
      'My-App-Setup-1.4.0.exe windows - nsis',
      'My-App-1.4.0-arm64-mac.zip darwin aarch64 zip 12.0',
      'My-App-1.4.0-arm64.dmg darwin aarch64 dmg 12.0',
    ],
    {
      'dist/.icon-ico': WORKPLACE,
      'dist/linux-unpacked': UNPACKED,
      'dist/mac-arm64/My App.app': UNPACKED,
      'dist/win-unpacked': UNPACKED,
      'dist/My App Setup 1.4.0.exe.blockmap': BESIDE,
      'dist/My App-1.4.0-arm64-mac.zip.blockmap': BESIDE,
      'dist/My App-1.4.0-arm64.dmg.blockmap': BESIDE,
      'dist/builder-debug.yml': BESIDE,
      'dist/builder-effective-config.yaml': BESIDE,
    },
  ],
  tauri: [
    TAURI,
    [
      'My App_1.4.0_amd64.AppImage linux x86_64 appimage signed',
      'My App_1.4.0_amd64.deb linux x86_64 deb signed',
      'My App-1.4.0-1.x86_64.rpm linux x86_64 rpm signed',
      'My App.app.tar.gz darwin aarch64 app.tar.gz signed',
      'My App_1.4.0_aarch64.dmg darwin aarch64 dmg',
      'My App_1.4.0_x64-setup.exe windows x86_64 nsis signed',
      'My App_1.4.0_x64_en-US.msi windows x86_64 msi signed',
    ],
    {
      'bundle/appimage/My App.AppDir': UNPACKED,
      'bundle/appimage/build_appimage.sh': NO_PLATFORM,
      'bundle/appimage_deb': WORKPLACE,
      'bundle/deb/My App_1.4.0_amd64': UNPACKED,
      'bundle/rpm/My App-1.4.0-1.x86_64': UNPACKED,
      'bundle/macos/My App.app': UNPACKED,
      'bundle/dmg/bundle_dmg.sh': NO_PLATFORM,
      'bundle/dmg/icon.icns': 'no format is known by its ending',
      'bundle/share': WORKPLACE,
    },
  ],
  'electron-forge': [
    ELECTRON_FORGE,
    [
      'My App-darwin-arm64-1.4.0.zip darwin aarch64 zip',
      'My App-1.4.0 Setup.exe windows x86_64 exe',
      'my_app-1.4.0-full.nupkg windows x86_64 nupkg',
      'my-app_1.4.0_amd64.deb linux x86_64 deb',
      'my-app-1.4.0-1.x86_64.rpm linux x86_64 rpm',
    ],
    { 'out/My App-darwin-arm64': UNPACKED, 'out/My App-win32-x64': UNPACKED },
  ],
  velopack: [
    VELOPACK,
    ['MyApp-1.4.0-full.nupkg windows - nupkg', 'MyApp-win-Setup.exe windows - nsis'],
    {
      'Releases/MyApp-1.3.0-full.nupkg': 'of version 1.3.0, as RELEASES says',
      'Releases/MyApp-1.4.0-delta.nupkg': 'no full package',
      'Releases/MyApp-win-Portable.zip': 'an app that is not installed: Velopack says Portable',
    },
  ],
  sparkle: [
    SPARKLE,
    ['MyApp-1.4.0.zip darwin - zip signed 10.13 140'],
    {
      'updates/MyApp-1.3.0.zip': 'of version 1.3.0, as appcast.xml says',
      'updates/MyApp140-130.delta': BESIDE,
      'updates/old_updates': WORKPLACE,
    },
  ],
};

serviceSuite('the command that publishes builds', (node) => {
  const shell = new PublisherShell(node);

  /** Writes a folder, and returns the paths of what is at its root. */
  const lay = (folder: Folder): string[] => {
    for (const [path, content] of Object.entries(folder)) shell.write(path, content);
    const roots = new Set(Object.keys(folder).map((path) => path.split('/')[0] ?? ''));
    return [...roots].map((root) => join(shell.folder, root));
  };

  const publish = (paths: readonly string[], ...more: string[]) => [
    ...['release', 'publish', ...paths, '--app', shell.tenant.app, '--channel', 'stable'],
    ...['--version', BUILT, '--url-base', URL_BASE, ...more],
  ];

  const passedOver = (answer: Json) =>
    Object.fromEntries(
      (answer.passedOver as Passed[]).map(({ file, reason }) => [
        relative(shell.folder, file),
        reason,
      ]),
    );

  it.each(Object.entries(BUILDS))(
    'the folder of %s becomes a staged release, and what is left out is said (Command line)',
    async (_tool, [folder, artifacts, others]) => {
      const answer = await shell.json(...publish(lay(folder), '--rollout', '10'));
      expect([answer.outcome, passedOver(answer)]).toEqual(['published', others]);
      const [release] = await shell.releases();
      expect(release).toMatchObject({ version: BUILT, rolloutPct: 10 });
      expect(linesOf(release).toSorted()).toEqual([...artifacts].toSorted());
    },
  );

  it('what a pattern names is the same as the folder itself (Command line)', async () => {
    lay(ELECTRON_BUILDER);
    const dist = join(shell.folder, 'dist');
    const names = new Set(Object.keys(ELECTRON_BUILDER).map((path) => path.split('/')[1] ?? ''));
    const paths = [...names]
      .filter((name) => !name.startsWith('.'))
      .map((name) => join(dist, name));
    await shell.json(...publish(paths, '--paused'));
    const again = await shell.json(...publish([dist]));
    expect(again.outcome).toBe('already published');
  });

  it('for people there is one table, then each thing that was passed over, and no signature that was used (Command line)', async () => {
    const { code, stdout } = await shell.sluice(publish(lay(TAURI)));
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]?.split(/\s+/)).toEqual([
      'FILE',
      'PLATFORM',
      'ARCH',
      'FORMAT',
      'SIGNED',
      'SIZE',
    ]);
    expect(lines[1]).toMatch(/^My App_1\.4\.0_amd64\.AppImage +linux +x86_64 +appimage +yes +\d+$/);
    expect(stdout).toMatch(/^passed over: .*My App\.AppDir: an app that is not packed$/m);
    expect(stdout).not.toContain('.sig');
  });

  it('a portable program comes after the installer that a manifest lists: devices get the first (Command line)', async () => {
    await shell.json(...publish(lay({ ...ELECTRON_BUILDER, 'dist/My App 1.4.0.exe': 'portable' })));
    const [release] = await shell.releases();
    expect(linesOf(release).filter((line) => line.includes(' windows '))).toEqual([
      ...['My-App-Setup-1.4.0.exe windows - nsis', 'My App 1.4.0.exe windows - exe'],
    ]);
  });

  it('a name that is another one in the address is shown with both (Command line)', async () => {
    const { stdout } = await shell.sluice(publish(lay(ELECTRON_BUILDER)));
    expect(stdout).toMatch(/^My App Setup 1\.4\.0\.exe \(at My-App-Setup-1\.4\.0\.exe\) +windows/m);
  });

  describe('is stopped in words by', () => {
    it.each([
      [ELECTRON_BUILDER, 'dist/My App Setup 1.4.0.exe', 'latest.yml'],
      [VELOPACK, 'Releases/MyApp-1.4.0-full.nupkg', 'RELEASES'],
      [SPARKLE, 'updates/MyApp-1.4.0.zip', 'appcast.xml'],
    ])('one damaged byte (Command line)', async (folder, path, manifest) => {
      const paths = lay(folder);
      const end = manifest === 'appcast.xml' ? '!!' : '!';
      shell.write(path, `${folder[path]?.slice(0, -1)}${end}`);
      const words = `${basename(path)} is another file than ${manifest} says: its content differs`;
      await shell.expectEnd(publish(paths), 1, words);
      expect(await shell.releases()).toEqual([]);
    });

    it('one damaged byte, also where another file has the content that it should have (Command line)', async () => {
      const sum = createHash('sha512').update('the same').digest('base64');
      const names = ['My App-1.4.0-arm64-mac.zip', 'My App-1.4.0-mac.zip'];
      const entries = names.map((name) => `  - url: ${name}\n    sha512: ${sum}\n    size: 8\n`);
      const paths = lay({
        'dist/latest-mac.yml': `version: ${BUILT}\nfiles:\n${entries.join('')}`,
        'dist/My App-1.4.0-arm64-mac.zip': 'the same',
        'dist/My App-1.4.0-mac.zip': 'the sane',
      });
      const words =
        'My App-1.4.0-mac.zip is another file than latest-mac.yml says: its content differs';
      await shell.expectEnd(publish(paths), 1, words);
      shell.write('dist/My App-1.4.0-mac.zip', 'the same');
      const { files } = await shell.json(...publish(paths));
      expect(files).toMatchObject([{ arch: 'aarch64' }, { arch: 'x86_64' }]);
    });

    it('an entry whose file is missing, unless it is forced (Command line)', async () => {
      const paths = lay(ELECTRON_BUILDER);
      rmSync(join(shell.folder, 'dist', 'My App-1.4.0-arm64-mac.zip'));
      const words =
        /^error: latest-mac\.yml: Names My-App-1\.4\.0-arm64-mac\.zip, which is missing: /m;
      const stopped = await shell.sluice(publish(paths));
      expect([stopped.code, stopped.stderr]).toEqual([1, '']);
      expect(stopped.stdout).toMatch(words);
      expect(stopped.stdout).toMatch(/^stopped: .*\(1 error: --force publishes all the same\)$/m);
      expect(await shell.releases()).toEqual([]);
      const forced = await shell.sluice(publish(paths, '--force'));
      expect([forced.code, forced.stderr]).toEqual([0, '']);
      expect(forced.stdout).toMatch(words);
      expect(await shell.releases()).toHaveLength(1);
    });

    it('an unsigned bundle on a channel that requires signatures (Command line)', async () => {
      const channel = { app: shell.tenant.app, name: 'stable', requireSignature: true };
      await admin(node, 'PATCH', 'channels', channel);
      const paths = lay(TAURI);
      rmSync(join(shell.folder, 'bundle/nsis/My App_1.4.0_x64-setup.exe.sig'));
      const { code, stdout } = await shell.sluice(publish(paths));
      expect(code).toBe(1);
      expect(stdout).toMatch(
        /^error: My App_1\.4\.0_x64-setup\.exe: signature: Is missing: the channel offers/m,
      );
      expect(await shell.releases()).toEqual([]);
    });

    it('makers that give two files one name (Command line)', async () => {
      const paths = lay(ELECTRON_FORGE);
      const other = 'out/make/squirrel.windows/arm64/my_app-1.4.0-full.nupkg';
      shell.write(other, 'the package for ARM');
      const words =
        /two files have the name my_app-1\.4\.0-full\.nupkg, .*arm64.*x64.*; give one of /;
      await shell.expectEnd(publish(paths), 1, words);
      expect(await shell.releases()).toEqual([]);
    });

    it('a folder with more than 1,000 files and folders (Command line)', async () => {
      for (let index = 0; index < 1001; index++) shell.write(`many/${index}`);
      const words = 'more than 1000 files and folders: name the folder of the installers';
      await shell.expectEnd(publish([join(shell.folder, 'many')]), 1, words);
    });
  });

  it('a version is the same in another spelling, and notes begin after their byte order mark (Command line)', async () => {
    const paths = lay(ELECTRON_BUILDER);
    const notes = shell.write('notes.md', '\uFEFF# What is new\n');
    const args = publish(paths, '--notes', notes).map((arg) => (arg === BUILT ? `v${BUILT}` : arg));
    await shell.json(...args);
    expect((await shell.releases())[0]).toMatchObject({ notes: '# What is new\n' });
    expect((await shell.json(...args)).outcome).toBe('already published');
  });

  it('all that is missing is said at once, before a file is read (Command line)', async () => {
    const args = publish(lay(TAURI)).filter((arg) => arg !== '--url-base' && arg !== URL_BASE);
    const env = { SLUICE_KEY: '', SLUICE_URL: '' };
    await shell.expectEnd(args, 1, /^sluice: no API key: set SLUICE_KEY; /, env);
    await shell.expectEnd(args, 1, /; no address of the service: set SLUICE_URL, /, env);
    await shell.expectEnd(args, 1, /; --url-base is missing: /, env);
  });
});

/** Returns a line for each artifact of a release. */
function linesOf(release: Json | undefined): string[] {
  return ((release?.artifacts ?? []) as Json[]).map((artifact) => {
    const name = decodeURIComponent(basename(String(artifact.url)));
    const ending = /app\.tar\.gz$|[^.]+$/.exec(name)?.[0].toLowerCase();
    const format = artifact.format ?? (/-setup\.exe$/i.test(name) ? 'nsis' : ending);
    const signed = artifact.signature === undefined ? [] : ['signed'];
    const { minimumSystemVersion: system, buildVersion: build } = artifact;
    const more = [...signed, system, build].filter((each) => each !== undefined);
    return [name, artifact.platform, artifact.arch ?? '-', format, ...more].join(' ');
  });
}
