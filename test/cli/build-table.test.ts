// Tests what becomes of whole folders of builds, four left by the real tools and seven laid out as their
// tools leave them: as they are, with a damaged byte, without a manifest, and with a file unsigned
// (docs/operating/commands.md). The service is one that answers with its findings alone.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  BUILT,
  CARGO_DIST,
  ELECTRON_BUILDER,
  ELECTRON_FORGE,
  type Folder,
  GORELEASER,
  realBuild,
  SPARKLE,
  TAURI,
  VELOPACK,
} from '../support/build-folders.ts';
import { BuildShell } from '../support/build-shell.ts';

/** A file of the folder, and what the command says when it is damaged, missing or unsigned. */
type Fault = readonly [path: string, words: RegExp];
type Row = readonly [
  tool: string,
  folder: Folder,
  /** Number of files that are published. */
  taken: number,
  damaged: Fault,
  missing: Fault,
  unsigned: Fault,
];

/** What is said of a file that is not what a list of the build says. */
const differs = (path: string, list: string): Fault => {
  const words = `${path.split('/').at(-1)} is another file than ${list} says: its content differs$`;
  return [path, new RegExp(words, 'm')];
};
const SIGNED_ONLY = /signature: Is missing: the channel offers no device an unsigned artifact/;
const BESIDE_SIGNED = /signature: Is missing, and other artifacts for \S+ are signed/;
/** No file tells the content of another one, or what it is: the folder is published as it is. */
const notTold = (path = ''): Fault => [path, /^published: /m];
/** Folder whose tool does not sign: the channel asks for signatures. */
const ANY: Fault = ['', SIGNED_ONLY];
const BUNDLE = 'src-tauri/target/release/bundle/deb/My App_1.4.0_amd64.deb';
const DEB = 'dist/my-app_1.4.0_amd64.deb';
const SQUIRREL = 'out/make/squirrel.windows/x64';
const FULL = 'Releases/MyApp-1.4.0-full.nupkg';
const ZIP = 'target/distrib/notes-x86_64-pc-windows-msvc.zip';
const NO_MAC_LIST = /^warning: latest-mac\.yml: Is missing, while .+ block map/m;
const NO_LIST = /^error: latest\.yml: Is missing, while My App Setup 1\.4\.0\.exe/m;
const NO_TAURI_SIGNATURE =
  /^warning: My App\.app\.tar\.gz: signature: Is missing: Tauri's updater/m;
const NO_FULL =
  /^error: RELEASES: Names MyApp-1\.4\.0-full\.nupkg, which is missing: .+ its content\n(?!error)/m;
const NO_ZIP =
  /: appcast\.xml: Names MyApp-1\.4\.0\.zip, which is missing: there is no file of that name; /;

const ROWS: readonly Row[] = [
  [
    ...(['electron-builder (real)', realBuild('electron-builder'), 2] as const),
    differs('dist/My App-1.4.0-arm64-mac.zip', 'latest-mac.yml'),
    ...([['dist/latest-mac.yml', NO_MAC_LIST], ANY] as const),
  ],
  [
    ...(['Electron Forge (real)', realBuild('Electron Forge'), 4] as const),
    ...([notTold('out/make/deb/x64/my-app_1.4.0_amd64.deb'), notTold(), ANY] as const),
  ],
  [
    ...(['cargo-packager (real)', realBuild('cargo-packager'), 1] as const),
    ...([notTold(DEB), notTold(), [`${DEB}.sig`, SIGNED_ONLY]] as const),
  ],
  [
    ...(['Tauri (real)', realBuild('Tauri'), 2] as const),
    ...([notTold(BUNDLE), notTold(), [`${BUNDLE}.sig`, BESIDE_SIGNED]] as const),
  ],
  [
    ...(['electron-builder', ELECTRON_BUILDER, 6] as const),
    differs('dist/My App Setup 1.4.0.exe', 'latest.yml'),
    ...([['dist/latest.yml', NO_LIST], ANY] as const),
  ],
  [
    ...(['Electron Forge', ELECTRON_FORGE, 5] as const),
    differs(`${SQUIRREL}/my_app-1.4.0-full.nupkg`, 'RELEASES'),
    ...([notTold(`${SQUIRREL}/RELEASES`), ANY] as const),
  ],
  [
    ...(['Tauri', TAURI, 7, notTold('bundle/msi/My App_1.4.0_x64_en-US.msi'), notTold()] as const),
    ['bundle/macos/My App.app.tar.gz.sig', NO_TAURI_SIGNATURE],
  ],
  ['Velopack', VELOPACK, 2, differs(FULL, 'RELEASES'), [FULL, NO_FULL], ANY],
  [
    ...(['Sparkle', SPARKLE, 1, differs('updates/MyApp-1.4.0.zip', 'appcast.xml')] as const),
    ...([
      ['updates/MyApp-1.4.0.zip', NO_ZIP],
      ['updates/appcast.xml', SIGNED_ONLY],
    ] as const),
  ],
  [
    ...(['goreleaser', GORELEASER, 4] as const),
    differs('dist/notes_1.4.0_windows_amd64.zip', 'notes_1.4.0_checksums.txt'),
    ...([notTold('dist/notes_1.4.0_checksums.txt'), ANY] as const),
  ],
  [
    ...(['cargo-dist', CARGO_DIST, 3] as const),
    ...([differs(ZIP, `${ZIP.split('/').at(-1)}.sha256`), notTold(`${ZIP}.sha256`), ANY] as const),
  ],
];

describe.each(ROWS)('the folder of %s', (_tool, folder, taken, damaged, missing, unsigned) => {
  const shell = new BuildShell();
  beforeEach(() => shell.lay(folder));

  /** Publishes the folder; returns the code and all that the command says. */
  const publish = async () => {
    const [root = ''] = Object.keys(folder)[0]?.split('/') ?? [];
    const place = ['--app', 'notes', '--channel', 'stable', '--version', BUILT, '--rollout', '10'];
    const args = ['release', 'publish', join(shell.path, root), ...place];
    const result = await shell.sluice([...args, '--url-base', 'https://dl.example.com']);
    return { code: result.code, text: result.stdout + result.stderr };
  };

  /** Expects words, and that they stop the command unless they are no error. */
  const expectSaid = async (words: RegExp) => {
    const { code, text } = await publish();
    expect(text).toMatch(words);
    const isStopped = !/^\^(?:published|warning)/.test(words.source);
    expect(code, text).toBe(isStopped ? 1 : 0);
  };

  it('goes to a staged release in one command, and what is passed over is said (Command line)', async () => {
    const { code, text } = await publish();
    expect(code, text).toBe(0);
    expect(text).not.toMatch(/^error: /m);
    expect(text).toMatch(/^published: notes 1\.4\.0 on stable \(published, 10 %\)$/m);
    const [table = ''] = text.split(/^(?:passed over|findings|warning): /m);
    expect(table.trimEnd().split('\n')).toHaveLength(taken + 1);
  });

  it('with one damaged byte (Command line)', async () => {
    const [path, words] = damaged;
    const content = Buffer.from(folder[path] ?? '');
    // An appcast lists sizes, and no sums: a byte is lost.
    const isSized = path.startsWith('updates/');
    if (!isSized) content[content.length - 1] = (content.at(-1) ?? 0) ^ 1;
    shell.write(path, isSized ? content.subarray(1) : content);
    await expectSaid(words);
  });

  it('without a manifest, or a file that it lists (Command line)', async () => {
    const [path, words] = missing;
    if (path !== '') rmSync(join(shell.path, path));
    await expectSaid(words);
  });

  it('with a file unsigned (Command line)', async () => {
    const [path, words] = unsigned;
    shell.requireSignature = words === SIGNED_ONLY;
    const signature = /\ssparkle:edSignature="[^"]*"/g;
    if (path.endsWith('.xml')) shell.write(path, String(folder[path]).replace(signature, ''));
    else if (path !== '') rmSync(join(shell.path, path));
    await expectSaid(words);
  });
});
