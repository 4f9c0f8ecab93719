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

type Row = {
  readonly folder: Folder;
  /** Number of files that are published. */
  readonly taken: number;
  readonly damaged: Fault;
  readonly missing: Fault;
  readonly unsigned: Fault;
};

/** What is said of a file that is not what a list of the build says. */
const differs = (name: string, list: string) =>
  new RegExp(`${name} is another file than ${list} says: its content differs$`, 'm');
const SIGNED_ONLY = /signature: Is missing: the channel offers no device an unsigned artifact/;
const BESIDE_SIGNED = /signature: Is missing, and other artifacts for \S+ are signed/;
/** No file tells the content of another one, or what it is: the folder is published as it is. */
const NOT_TOLD = /^published: /m;
/** Folder whose tool does not sign: the channel asks for signatures. */
const ANY: Fault = ['', SIGNED_ONLY];
const BUNDLE = 'src-tauri/target/release/bundle';

const ROWS: Readonly<Record<string, Row>> = {
  'electron-builder (real)': {
    folder: realBuild('electron-builder'),
    taken: 2,
    damaged: [
      'dist/My App-1.4.0-arm64-mac.zip',
      differs('My App-1.4.0-arm64-mac.zip', 'latest-mac.yml'),
    ],
    missing: ['dist/latest-mac.yml', /^warning: latest-mac\.yml: Is missing, while .+ block map/m],
    unsigned: ANY,
  },
  'Electron Forge (real)': {
    folder: realBuild('Electron Forge'),
    taken: 4,
    damaged: ['out/make/deb/x64/my-app_1.4.0_amd64.deb', NOT_TOLD],
    missing: ['', NOT_TOLD],
    unsigned: ANY,
  },
  'cargo-packager (real)': {
    folder: realBuild('cargo-packager'),
    taken: 1,
    damaged: ['dist/my-app_1.4.0_amd64.deb', NOT_TOLD],
    missing: ['', NOT_TOLD],
    unsigned: ['dist/my-app_1.4.0_amd64.deb.sig', SIGNED_ONLY],
  },
  'Tauri (real)': {
    folder: realBuild('Tauri'),
    taken: 2,
    damaged: [`${BUNDLE}/deb/My App_1.4.0_amd64.deb`, NOT_TOLD],
    missing: ['', NOT_TOLD],
    unsigned: [`${BUNDLE}/deb/My App_1.4.0_amd64.deb.sig`, BESIDE_SIGNED],
  },
  'electron-builder': {
    folder: ELECTRON_BUILDER,
    taken: 6,
    damaged: ['dist/My App Setup 1.4.0.exe', differs('My App Setup 1.4.0.exe', 'latest.yml')],
    missing: [
      'dist/latest.yml',
      /^error: latest\.yml: Is missing, while My App Setup 1\.4\.0\.exe/m,
    ],
    unsigned: ANY,
  },
  'Electron Forge': {
    folder: ELECTRON_FORGE,
    taken: 5,
    damaged: [
      'out/make/squirrel.windows/x64/my_app-1.4.0-full.nupkg',
      differs('my_app-1.4.0-full.nupkg', 'RELEASES'),
    ],
    missing: ['out/make/squirrel.windows/x64/RELEASES', NOT_TOLD],
    unsigned: ANY,
  },
  Tauri: {
    folder: TAURI,
    taken: 7,
    damaged: ['bundle/msi/My App_1.4.0_x64_en-US.msi', NOT_TOLD],
    missing: ['', NOT_TOLD],
    unsigned: [
      'bundle/macos/My App.app.tar.gz.sig',
      /^warning: My App\.app\.tar\.gz: signature: Is missing: Tauri's updater/m,
    ],
  },
  Velopack: {
    folder: VELOPACK,
    taken: 2,
    damaged: ['Releases/MyApp-1.4.0-full.nupkg', differs('MyApp-1.4.0-full.nupkg', 'RELEASES')],
    missing: [
      'Releases/MyApp-1.4.0-full.nupkg',
      /^error: RELEASES: Names MyApp-1\.4\.0-full\.nupkg, which is missing: .+ its content\n(?!error)/m,
    ],
    unsigned: ANY,
  },
  Sparkle: {
    folder: SPARKLE,
    taken: 1,
    damaged: ['updates/MyApp-1.4.0.zip', differs('MyApp-1.4.0.zip', 'appcast.xml')],
    missing: [
      'updates/MyApp-1.4.0.zip',
      /: appcast\.xml: Names MyApp-1\.4\.0\.zip, which is missing: there is no file of that name; /,
    ],
    unsigned: ['updates/appcast.xml', SIGNED_ONLY],
  },
  goreleaser: {
    folder: GORELEASER,
    taken: 4,
    damaged: [
      'dist/notes_1.4.0_windows_amd64.zip',
      differs('notes_1.4.0_windows_amd64.zip', 'notes_1.4.0_checksums.txt'),
    ],
    missing: ['dist/notes_1.4.0_checksums.txt', NOT_TOLD],
    unsigned: ANY,
  },
  'cargo-dist': {
    folder: CARGO_DIST,
    taken: 3,
    damaged: [
      'target/distrib/notes-x86_64-pc-windows-msvc.zip',
      differs('notes-x86_64-pc-windows-msvc.zip', 'notes-x86_64-pc-windows-msvc.zip.sha256'),
    ],
    missing: ['target/distrib/notes-x86_64-pc-windows-msvc.zip.sha256', NOT_TOLD],
    unsigned: ANY,
  },
};

describe.each(Object.entries(ROWS))('the folder of %s', (_tool, row) => {
  const shell = new BuildShell();
  beforeEach(() => shell.lay(row.folder));

  /** Publishes the folder; returns the code and all that the command says. */
  const publish = async () => {
    const [root = ''] = Object.keys(row.folder)[0]?.split('/') ?? [];
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
    expect(table.trimEnd().split('\n')).toHaveLength(row.taken + 1);
  });

  it('with one damaged byte (Command line)', async () => {
    const [path, words] = row.damaged;
    const content = Buffer.from(row.folder[path] ?? '');
    // An appcast lists sizes, and no sums: a byte is lost.
    const isSized = path.startsWith('updates/');
    if (!isSized) content[content.length - 1] = (content.at(-1) ?? 0) ^ 1;
    shell.write(path, isSized ? content.subarray(1) : content);
    await expectSaid(words);
  });

  it('without a manifest, or a file that it lists (Command line)', async () => {
    const [path, words] = row.missing;
    if (path !== '') rmSync(join(shell.path, path));
    await expectSaid(words);
  });

  it('with a file unsigned (Command line)', async () => {
    const [path, words] = row.unsigned;
    shell.requireSignature = words === SIGNED_ONLY;
    const appcast = path.endsWith('.xml') ? String(row.folder[path]) : undefined;
    if (appcast !== undefined)
      shell.write(path, appcast.replace(/\ssparkle:edSignature="[^"]*"/g, ''));
    else if (path !== '') rmSync(join(shell.path, path));
    await expectSaid(words);
  });
});
