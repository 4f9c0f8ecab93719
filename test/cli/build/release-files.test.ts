// Tests which files of a build become artifacts, with what is in them, and why the others do not, on folders
// laid out as build tools leave them (docs/operating/commands.md).

import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import type { Artifact } from '../../../src/contract/resource.ts';
import { announcedArtifacts } from '../../../src/publishing/announced-artifacts.ts';
import { addressOf, BuildFolder } from '../../support/build-folder.ts';
import {
  BUILT,
  ELECTRON_BUILDER,
  ELECTRON_FORGE,
  type Folder,
  SPARKLE,
  TAURI,
  tauriSignature,
  VELOPACK,
} from '../../support/build-folders.ts';
import { rowsOf } from '../../support/rows-of.ts';

const folder = new BuildFolder();
const read = (files: Folder, version = BUILT) => folder.read(files, version);

function lineOf(artifact: Artifact): string {
  const name = decodeURIComponent(basename(String(artifact.url)));
  const ending = /app\.tar\.gz$|[^.]+$/.exec(name)?.[0].toLowerCase();
  const format = artifact.format ?? (/-setup\.exe$/i.test(name) ? 'nsis' : ending);
  const signed = artifact.signature === undefined ? [] : ['signed'];
  const { minimumSystemVersion: system, buildVersion: build } = artifact;
  const more = [...signed, system, build].filter((each) => each !== undefined);
  return [name, artifact.platform, artifact.arch ?? '-', format, ...more].join(' ');
}

const UNPACKED = 'an app that is not packed';
const WORKPLACE = 'a folder that the build tool works with';
const BESIDE = 'belongs to another file, by its name';

it.each<[tool: string, Folder, artifacts: readonly string[], others: string]>([
  [
    'electron-builder',
    ELECTRON_BUILDER,
    [
      'My-App-1.4.0.AppImage linux x86_64 appimage',
      'My-App-1.4.0-arm64.AppImage linux aarch64 appimage',
      'my-app_1.4.0_amd64.deb linux x86_64 deb',
      'My-App-Setup-1.4.0.exe windows - nsis',
      'My-App-1.4.0-arm64-mac.zip darwin aarch64 zip 12.0',
      'My-App-1.4.0-arm64.dmg darwin aarch64 dmg 12.0',
    ],
    `${UNPACKED}: dist/linux-unpacked | dist/mac-arm64/My App.app | dist/win-unpacked
     ${BESIDE}: dist/My App Setup 1.4.0.exe.blockmap | dist/My App-1.4.0-arm64-mac.zip.blockmap
     ${BESIDE}: dist/My App-1.4.0-arm64.dmg.blockmap | dist/builder-debug.yml
     ${BESIDE}: dist/builder-effective-config.yaml
     ${WORKPLACE}: dist/.icon-ico`,
  ],
  [
    'tauri',
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
    `${UNPACKED}: bundle/appimage/My App.AppDir | bundle/deb/My App_1.4.0_amd64
     ${UNPACKED}: bundle/rpm/My App-1.4.0-1.x86_64 | bundle/macos/My App.app
     its name tells no platform: bundle/appimage/build_appimage.sh | bundle/dmg/bundle_dmg.sh
     no format is known by its ending: bundle/dmg/icon.icns
     ${WORKPLACE}: bundle/appimage_deb | bundle/share`,
  ],
  [
    'electron-forge',
    ELECTRON_FORGE,
    [
      'My App-darwin-arm64-1.4.0.zip darwin aarch64 zip',
      'My App-1.4.0 Setup.exe windows x86_64 exe',
      'my_app-1.4.0-full.nupkg windows x86_64 nupkg',
      'my-app_1.4.0_amd64.deb linux x86_64 deb',
      'my-app-1.4.0-1.x86_64.rpm linux x86_64 rpm',
    ],
    `${UNPACKED}: out/My App-darwin-arm64 | out/My App-win32-x64`,
  ],
  [
    'velopack',
    VELOPACK,
    ['MyApp-1.4.0-full.nupkg windows - nupkg', 'MyApp-win-Setup.exe windows - nsis'],
    `of version 1.3.0, as RELEASES says: Releases/MyApp-1.3.0-full.nupkg
     no full package: Releases/MyApp-1.4.0-delta.nupkg
     an app that is not installed; Velopack says Portable: Releases/MyApp-win-Portable.zip`,
  ],
  [
    'sparkle',
    SPARKLE,
    ['MyApp-1.4.0.zip darwin - zip signed 10.13 140'],
    `of version 1.3.0, as appcast.xml says: updates/MyApp-1.3.0.zip
     ${BESIDE}: updates/MyApp140-130.delta
     ${WORKPLACE}: updates/old_updates`,
  ],
])('folder of %s: artifacts and others (Command line)', async (_, files, artifacts, others) => {
  const found = await read(files);
  expect(found.artifacts.map(lineOf).toSorted()).toEqual([...artifacts].toSorted());
  const reasons = rowsOf(others).map(([path, reason]) => [path, reason.replace('; Vel', ': Vel')]);
  expect([found.passedOver, found.findings]).toEqual([Object.fromEntries(reasons), []]);
});

it('what a pattern names is the same as the folder, and a version is so in any spelling (Command line)', async () => {
  const { artifacts } = await read(ELECTRON_BUILDER);
  const dist = join(folder.path, 'dist');
  const names = readdirSync(dist).filter((name) => !name.startsWith('.'));
  const paths = names.map((name) => join(dist, name));
  expect((await folder.read({}, `v${BUILT}`, paths)).artifacts).toEqual(artifacts);
});

it('a portable program comes after the installer that a manifest lists: devices get the first (Command line)', async () => {
  const files = { ...ELECTRON_BUILDER, 'dist/My App 1.4.0.exe': 'portable' };
  const lines = (await read(files)).artifacts.map(lineOf);
  expect(lines.filter((line) => line.includes(' windows '))).toEqual([
    ...['My-App-Setup-1.4.0.exe windows - nsis', 'My App 1.4.0.exe windows - exe'],
  ]);
});

const TWO = ['My App-1.4.0-arm64-mac.zip', 'My App-1.4.0-mac.zip'] as const;
const SAME = createHash('sha512').update('the same').digest('base64');
const ENTRIES = TWO.map((name) => `  - url: ${name}\n    sha512: ${SAME}\n    size: 8\n`).join('');
/** Two files that have one content. */
const TWINS: Folder = {
  'dist/latest-mac.yml': `version: ${BUILT}\nfiles:\n${ENTRIES}`,
  ...{ [`dist/${TWO[0]}`]: 'the same', [`dist/${TWO[1]}`]: 'the same' },
};
const APP = 'Notes-1.4.0.AppImage';
const UPDATE = `version: 1.4.0\nfiles:\n  - url: ${APP}\n`;
const withUpdate = (text: string): Folder => ({ [APP]: 'app', 'latest-linux.yml': text });
const DIFFERS = `${APP} is another file than latest-linux.yml says: its content differs`;

it.each<[what: string, Folder, words: string | RegExp]>([
  [
    'a damaged byte where another file has the content that it should have',
    { ...TWINS, [`dist/${TWO[1]}`]: 'the sane' },
    `${TWO[1]} is another file than latest-mac.yml says: its content differs`,
  ],
  ['another sum', withUpdate(`${UPDATE}    sha512: AAAA\n`), DIFFERS],
  ['another size', withUpdate(`${UPDATE}    size: 7\n`), DIFFERS],
  [
    'another version',
    withUpdate('version: 1.2.2\nfiles: []\n'),
    'is of version 1.2.2, not of 1.4.0',
  ],
  ['no version', withUpdate('files: []\n'), 'it has no version'],
  ['no YAML', withUpdate('a: ['), 'cannot read'],
  [
    'two files of one name',
    { ...ELECTRON_FORGE, 'out/make/squirrel.windows/arm64/my_app-1.4.0-full.nupkg': 'for ARM' },
    /two files have the name my_app-1\.4\.0-full\.nupkg, .*arm64.*x64.*; give one of /,
  ],
])('%s stops the command, in words (Command line)', async (_, files, words) => {
  await expect(read(files)).rejects.toThrow(words);
});

it('two files may have one content, and each is for its own devices (Command line)', async () => {
  const { artifacts } = await read(TWINS);
  expect(artifacts).toMatchObject([{ arch: 'aarch64' }, { arch: 'x86_64' }]);
});

it('an update file gives the lowest system version as it is written, and absolute addresses (Command line)', async () => {
  const url = `https://cdn.example.com/x/${APP}`;
  const text = `version: 1.4.0\nfiles:\n  - url: ${url}\n    size: 3\nminimumSystemVersion: 10.10\n`;
  const { artifacts } = await read(withUpdate(text));
  expect(artifacts).toMatchObject([{ url, minimumSystemVersion: '10.10', size: 3 }]);
});

/** What build tools leave, with a manifest that tells nothing: of each kind of file, installed or not. */
const NAMES = `Notes-1.2.3.AppImage | Notes-1.2.3-arm64.AppImage | notes_1.2.3_amd64.deb | checksums.txt |
  notes_1.2.3_amd64.deb.sig | Notes Setup 1.2.3.exe | Notes Setup 1.2.3.exe.blockmap | RELEASES |
  Notes-1.2.3-arm64-mac.zip | Notes-1.2.3.dmg | Notes_1.2.3_x64_en-US.msi | builder-debug.yml |
  Notes_1.2.3_x64_en-US.msi.sig | Notes_aarch64.app.tar.gz | notes_1.2.3_linux_amd64.tar.gz |
  notes_1.2.3_darwin_all.tar.gz | notes-x86_64-unknown-linux-gnu.tar.xz | notes-installer.sh |
  notes-x86_64-unknown-linux-gnu.tar.xz.sha256 | notes-x86_64-pc-windows-msvc.zip | source.tar.gz |
  artifacts.json | Notes-1.2.3-full.nupkg | Notes-1.2.3-delta.nupkg | Notes-win-Portable.zip`;

it('the files of a build are those that a webhook publishes, with their checksums (Command line)', async () => {
  const names = NAMES.split(/\s*\|\s*/);
  const contentOf = (name: string) =>
    name.endsWith('.sig') ? tauriSignature(name.slice(0, -4)) : `of ${name}`;
  const files = Object.fromEntries(names.map((name) => [name, contentOf(name)]));
  const { artifacts } = await read({ ...files, 'artifacts.json': '[]' }, '1.2.3');
  const assets = names.map((name) => ({
    ...{ name, url: addressOf(name), isUploaded: true },
    ...{ size: undefined, digest: undefined, createdAt: undefined },
  }));
  const announced = announcedArtifacts(assets).artifacts;
  const targetOf = ({ platform, arch, url }: Artifact) => ({ platform, arch, url });
  expect(artifacts.map(targetOf)).toEqual(announced.map(targetOf));
  expect(artifacts).toHaveLength(14);
  for (const { size, sha512, sha256, sha1, signature, url } of artifacts) {
    const name = decodeURIComponent(basename(String(url)));
    const hash = (kind: string) => createHash(kind).update(`of ${name}`);
    expect([name, size, sha512, sha256, sha1, signature]).toEqual([
      ...[name, `of ${name}`.length, hash('sha512').digest('base64')],
      hash('sha256').digest('hex'),
      hash('sha1').digest('hex'),
      names.includes(`${name}.sig`) ? tauriSignature(name) : undefined,
    ]);
  }
});
