// Folders as build tools leave them, for a version 1.4.0 of an app "My App": each file with its content, by
// its path.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Files of a folder, by their paths below it. */
export type Folder = Readonly<Record<string, string | Buffer>>;

/** Version that the folders are of. */
export const BUILT = '1.4.0';

/** Returns the content that a file has unless a folder gives it another. */
function contentOf(path: string): string {
  return `content of ${path}`;
}

function files(folder: string, names: readonly string[]): Folder {
  return Object.fromEntries(names.map((name) => [`${folder}${name}`, contentOf(folder + name)]));
}

function sum(algorithm: string, path: string, encoding: 'base64' | 'hex'): string {
  return createHash(algorithm).update(contentOf(path)).digest(encoding);
}

/** Returns an update file of electron-builder, which names files as it uploads them to GitHub. */
function updateFile(names: readonly string[], more = ''): string {
  const entries = names.map((name) => {
    const path = `dist/${name}`;
    const [sha512, size] = [sum('sha512', path, 'base64'), contentOf(path).length];
    return `  - url: ${name.replaceAll(' ', '-')}\n    sha512: ${sha512}\n    size: ${size}\n`;
  });
  return `version: ${BUILT}\nfiles:\n${entries.join('')}${more}releaseDate: '2026-01-02T03:04:05.678Z'\n`;
}

export const ELECTRON_BUILDER: Folder = {
  ...files('dist/', ['My App-1.4.0.AppImage', 'My App-1.4.0-arm64.AppImage']),
  ...files('dist/', [
    'my-app_1.4.0_amd64.deb',
    'builder-debug.yml',
    'builder-effective-config.yaml',
  ]),
  ...files('dist/', ['My App Setup 1.4.0.exe', 'My App Setup 1.4.0.exe.blockmap']),
  ...files('dist/', ['My App-1.4.0-arm64-mac.zip', 'My App-1.4.0-arm64-mac.zip.blockmap']),
  ...files('dist/', ['My App-1.4.0-arm64.dmg', 'My App-1.4.0-arm64.dmg.blockmap']),
  ...files('dist/linux-unpacked/', [
    'my-app',
    'icudtl.dat',
    'resources/app.asar',
    'tool-linux.zip',
  ]),
  ...files('dist/win-unpacked/', ['My App.exe', 'resources/elevate.exe']),
  ...files('dist/mac-arm64/', ['My App.app/Contents/Info.plist']),
  ...files('dist/.icon-ico/', ['icon.ico']),
  'dist/latest-linux.yml': updateFile(['My App-1.4.0.AppImage', 'my-app_1.4.0_amd64.deb']),
  'dist/latest-linux-arm64.yml': updateFile(['My App-1.4.0-arm64.AppImage']),
  'dist/latest.yml': `\uFEFF${updateFile(['My App Setup 1.4.0.exe'])}`,
  'dist/latest-mac.yml': updateFile(
    ['My App-1.4.0-arm64-mac.zip', 'My App-1.4.0-arm64.dmg'],
    'minimumSystemVersion: 12.0\n',
  ),
};

/** Returns what Tauri's bundler writes beside a file: a minisign file in base64. */
export function tauriSignature(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const lines = [
    'untrusted comment: signature from tauri secret key',
    `RUQ${'A'.repeat(97)}`,
    `trusted comment: timestamp:1767323045\tfile:${name}`,
    `${'A'.repeat(86)}==`,
  ];
  return Buffer.from(`${lines.join('\n')}\n`).toString('base64');
}

const TAURI_BUNDLES = [
  ...['appimage/My App_1.4.0_amd64.AppImage', 'deb/My App_1.4.0_amd64.deb'],
  ...['rpm/My App-1.4.0-1.x86_64.rpm', 'macos/My App.app.tar.gz'],
  ...['nsis/My App_1.4.0_x64-setup.exe', 'msi/My App_1.4.0_x64_en-US.msi'],
];

export const TAURI: Folder = {
  ...files('bundle/', TAURI_BUNDLES),
  ...Object.fromEntries(TAURI_BUNDLES.map((name) => [`bundle/${name}.sig`, tauriSignature(name)])),
  ...files('bundle/appimage/', ['My App.AppDir/AppRun', 'build_appimage.sh']),
  ...files('bundle/appimage_deb/', ['data/usr/bin/my-app']),
  ...files('bundle/deb/My App_1.4.0_amd64/', ['debian-binary', 'data/usr/bin/my-app-linux']),
  ...files('bundle/rpm/My App-1.4.0-1.x86_64/', ['usr/bin/my-app-linux']),
  ...files('bundle/macos/', ['My App.app/Contents/MacOS/my-app']),
  ...files('bundle/dmg/', ['My App_1.4.0_aarch64.dmg', 'bundle_dmg.sh', 'icon.icns']),
  ...files('bundle/share/', ['create-dmg/support/template.applescript']),
};

const SQUIRREL = 'out/make/squirrel.windows/x64/';
const FORGE_PACKAGE = `${SQUIRREL}my_app-1.4.0-full.nupkg`;

export const ELECTRON_FORGE: Folder = {
  ...files('out/My App-darwin-arm64/', [
    'My App.app/Contents/Info.plist',
    'LICENSES.chromium.html',
  ]),
  ...files('out/My App-win32-x64/', ['My App.exe', 'icudtl.dat', 'version']),
  ...files('out/make/', ['zip/darwin/arm64/My App-darwin-arm64-1.4.0.zip']),
  ...files(SQUIRREL, ['My App-1.4.0 Setup.exe', 'my_app-1.4.0-full.nupkg']),
  ...files('out/make/', ['deb/x64/my-app_1.4.0_amd64.deb', 'rpm/x64/my-app-1.4.0-1.x86_64.rpm']),
  [`${SQUIRREL}RELEASES`]: `\uFEFF${squirrelLine(FORGE_PACKAGE)}`,
};

function squirrelLine(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return `${sum('sha1', path, 'hex').toUpperCase()} ${name} ${contentOf(path).length}\r\n`;
}

const VELOPACK_PACKAGES = ['1.3.0-full', '1.4.0-delta', '1.4.0-full'].map(
  (name) => `Releases/MyApp-${name}.nupkg`,
);

export const VELOPACK: Folder = {
  ...Object.fromEntries(VELOPACK_PACKAGES.map((path) => [path, contentOf(path)])),
  ...files('Releases/', ['MyApp-win-Setup.exe', 'MyApp-win-Portable.zip']),
  'Releases/RELEASES': VELOPACK_PACKAGES.map(squirrelLine).join(''),
  'Releases/releases.win.json': `\uFEFF${JSON.stringify({
    Assets: VELOPACK_PACKAGES.map((path) => ({
      PackageId: 'MyApp',
      Version: /\d+\.\d+\.\d+/.exec(path)?.[0],
      Type: path.includes('delta') ? 'Delta' : 'Full',
      FileName: path.slice('Releases/'.length),
      SHA1: sum('sha1', path, 'hex').toUpperCase(),
      SHA256: sum('sha256', path, 'hex').toUpperCase(),
      Size: contentOf(path).length,
    })),
  })}`,
  'Releases/assets.win.json': JSON.stringify([
    { RelativeFileName: 'MyApp-1.4.0-full.nupkg', Type: 'Full' },
    { RelativeFileName: 'MyApp-1.4.0-delta.nupkg', Type: 'Delta' },
    { RelativeFileName: 'MyApp-win-Portable.zip', Type: 'Portable' },
    { RelativeFileName: 'MyApp-win-Setup.exe', Type: 'Installer' },
  ]),
};

/** Returns an item of an appcast, as `generate_appcast` writes it. */
function sparkleItem(version: string, build: string): string {
  const path = `updates/MyApp-${version}.zip`;
  return `<item>
      <title>${version}</title>
      <sparkle:version>${build}</sparkle:version>
      <sparkle:shortVersionString>${version}</sparkle:shortVersionString>
      <sparkle:minimumSystemVersion>10.13</sparkle:minimumSystemVersion>
      <enclosure url="https://downloads.example.com/notes/MyApp-${version}.zip"
        length="${contentOf(path).length}" type="application/octet-stream"
        sparkle:edSignature="signature of ${version}"/>
      <sparkle:deltas>
        <enclosure url="https://downloads.example.com/notes/MyApp140-130.delta" length="7"/>
      </sparkle:deltas>
    </item>`;
}

export const SPARKLE: Folder = {
  ...files('updates/', ['MyApp-1.4.0.zip', 'MyApp-1.3.0.zip', 'MyApp140-130.delta']),
  ...files('updates/old_updates/', ['MyApp-1.2.0.dmg']),
  'updates/appcast.xml': `\uFEFF<?xml version="1.0" standalone="yes"?>
<rss xmlns:sparkle="http://www.andymatuschak.org/xml-namespaces/sparkle" version="2.0">
  <channel>
    <title>My App</title>
    ${sparkleItem('1.4.0', '140')}
    ${sparkleItem('1.3.0', '130')}
  </channel>
</rss>
`,
};

function sumLine(path: string): string {
  return `${sum('sha256', path, 'hex')}  ${path.slice(path.lastIndexOf('/') + 1)}\n`;
}

const GORELEASER_ARCHIVES = [
  ...['notes_1.4.0_linux_amd64.tar.gz', 'notes_1.4.0_linux_arm64.tar.gz'],
  ...['notes_1.4.0_darwin_all.tar.gz', 'notes_1.4.0_windows_amd64.zip'],
].map((name) => `dist/${name}`);

const GORELEASER_LIST = [
  ...GORELEASER_ARCHIVES.map((path) => madeByGoreleaser('Archive', path)),
  madeByGoreleaser('Binary', 'dist/notes_linux_amd64_v1/notes'),
  madeByGoreleaser('Binary', 'dist/notes_windows_amd64_v1/notes.exe'),
];

function madeByGoreleaser(type: string, path: string): object {
  const [, goos, goarch] = /_(linux|darwin|windows)_([a-z0-9]+)/.exec(path) ?? [];
  return { name: path.slice(path.lastIndexOf('/') + 1), path, goos, goarch, type };
}

/** Folder of goreleaser 2: archives, their sums, and a folder for each program. */
export const GORELEASER: Folder = {
  ...files('', GORELEASER_ARCHIVES),
  ...files('dist/', ['config.yaml', 'CHANGELOG.md']),
  'dist/artifacts.json': JSON.stringify(GORELEASER_LIST),
  'dist/metadata.json': JSON.stringify({ project_name: 'notes', version: '1.4.0' }),
  ...files('dist/', ['notes_linux_amd64_v1/notes', 'notes_windows_amd64_v1/notes.exe']),
  'dist/notes_1.4.0_checksums.txt': GORELEASER_ARCHIVES.map(sumLine).join(''),
};

const CARGO_DIST_ARCHIVES = [
  ...['notes-x86_64-unknown-linux-gnu.tar.xz', 'notes-aarch64-apple-darwin.tar.xz'],
  'notes-x86_64-pc-windows-msvc.zip',
].map((name) => `target/distrib/${name}`);

/** Folder of cargo-dist: archives, a sum beside each, and the folders that it has packed. */
export const CARGO_DIST: Folder = {
  ...files('', CARGO_DIST_ARCHIVES),
  ...Object.fromEntries(CARGO_DIST_ARCHIVES.map((path) => [`${path}.sha256`, sumLine(path)])),
  ...files('target/distrib/', ['notes-installer.sh', 'source.tar.gz', 'dist-manifest.json']),
  ...files('target/distrib/', ['notes-x86_64-pc-windows-msvc/notes.exe']),
};

type RealBuild = {
  readonly version: string;
  readonly command: string;
  readonly files: Readonly<Record<string, { text?: string; base64?: string } | null>>;
};

/**
 * Returns the folder that a real tool has left for a tiny app: `real-builds.json` names its version and its
 * command. Files above 8 kB, and those in folders that are passed over, have another content.
 */
export function realBuild(tool: string): Folder {
  const text = readFileSync(new URL('real-builds.json', import.meta.url), 'utf8');
  const build = (JSON.parse(text) as Readonly<Record<string, RealBuild>>)[tool];
  if (build === undefined) throw new Error(`no build of ${tool}`);
  return Object.fromEntries(
    Object.entries(build.files).map(([path, file]) => [
      path,
      file?.base64 === undefined
        ? (file?.text ?? contentOf(path))
        : Buffer.from(file.base64, 'base64'),
    ]),
  );
}
