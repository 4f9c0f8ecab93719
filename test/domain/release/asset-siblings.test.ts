// Tests what the files of a release tell of each other: the architecture of those that name none, and which
// file belongs to another one.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyAssets } from '../../../src/domain/release/asset/classify-assets.ts';

/** Releases as build tools name them, with what each file is for. */
const RELEASES: Readonly<Record<string, string>> = {
  'electron-builder names every architecture but x64': `
    App-2.0.0.AppImage: linux/x86_64
    App-2.0.0-arm64.AppImage: linux/aarch64
    App-2.0.0-armv7l.AppImage: linux/armv7
    App Setup 2.0.0.exe: windows/x86_64
    App-Setup-2.0.0-arm64.exe: windows/aarch64
    App 2.0.0.exe: windows/x86_64
    App-2.0.0.dmg: darwin/x86_64
    App-2.0.0-arm64.dmg: darwin/aarch64
    App-2.0.0-mac.zip: darwin/x86_64
    App-2.0.0-arm64-mac.zip: darwin/aarch64
    App-2.0.0-win.zip: windows/x86_64
    App-2.0.0-ia32-win.zip: windows/i686`,
  'an installer beside those of each architecture holds several': `
    App Setup 2.0.0.exe: windows
    App Setup 2.0.0-x64.exe: windows/x86_64
    App Setup 2.0.0-arm64.exe: windows/aarch64`,
  'update files tell it on Linux, where each is for one': `
    App Setup 2.0.0.exe: windows
    App-2.0.0.AppImage: linux/x86_64
    latest-linux.yml: filtered
    latest.yml: filtered`,
  'the update file for arm64 alone': `
    App-2.0.0.AppImage: linux/aarch64
    latest-linux-arm64.yml: filtered`,
  'update files of another channel, and packages for both': `
    App-2.0.0.AppImage: linux/x86_64
    app_2.0.0_amd64.deb: linux/x86_64
    app_2.0.0_arm64.deb: linux/aarch64
    beta-linux.yml: filtered
    beta-linux-arm64.yml: filtered`,
  "Tauri's archive is of the disk image's architecture": `
    App.app.tar.gz: darwin/aarch64
    App_1.5.0_aarch64.dmg: darwin/aarch64
    App_1.5.0_amd64.AppImage: linux/x86_64`,
  'where there are two disk images, nobody knows': `
    App.app.tar.gz: darwin
    App_1.5.0_aarch64.dmg: darwin/aarch64
    App_1.5.0_x64.dmg: darwin/x86_64`,
  'a universal disk image': `
    App.app.tar.gz: darwin/universal
    App_1.5.0_universal.dmg: darwin/universal`,
  'another format for one architecture, which is the most common one': `
    App-2.0.0.AppImage: linux/x86_64
    app_2.0.0_amd64.deb: linux/x86_64`,
  'another format for one that is not: the file may be for the most common one': `
    App-2.0.0.AppImage: linux
    app_2.0.0_arm64.deb: linux/aarch64`,
  'a word that stands where others name theirs': `
    core-linux-32.zip: linux/i686
    core-linux-64.zip: linux/x86_64
    core-linux-arm32-v5.zip: linux/armv5
    core-linux-quux.zip: linux/quux
    tool-hexagonal-linux.tar.gz: linux/hexagonal
    tool-amd64-linux.tar.gz: linux/x86_64
    tool-gui-linux.tar.gz: linux`,
  'win32 is every Windows, and 32 bits beside win64': `
    tool-win32.exe: windows/i686
    tool-win64.exe: windows/x86_64
    other-win32.exe: windows`,
  'a package for Android without an architecture holds all': `
    app-release.apk: android
    app-arm64-v8a-release.apk: android/aarch64
    app-armeabi-v7a-release.apk: android/armv7`,
  'files of other products and platforms tell nothing': `
    linux_czkawka_cli: linux/x86_64
    linux_czkawka_cli_arm64: linux/aarch64
    linux_krokiet: linux
    tool-mac.tar.gz: darwin
    tool-linux-arm64.tar.gz: linux/aarch64`,
  'a name with something added is of a file that belongs to the other': `
    tool-linux-amd64: linux/x86_64
    tool-linux-amd64.2: filtered
    tool-linux-amd64.zip: linux/x86_64`,
};

const NAMES = Object.values(RELEASES).flatMap((release) => rows(release).map(([name]) => name));

function rows(release: string): (readonly [name: string, target: string])[] {
  return release
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/: (?=\S+$)/) as [string, string]);
}

function read(names: readonly string[]): readonly string[] {
  return classifyAssets(names).map((target) => {
    if (target === undefined) return 'filtered';
    return target.arch === undefined ? target.platform : `${target.platform}/${target.arch}`;
  });
}

describe('classifyAssets', () => {
  it.each(Object.entries(RELEASES))('%s', (_what, release) => {
    const expected = rows(release);
    const found = read(expected.map(([name]) => name));
    expect(expected.map(([name], index) => [name, found[index]])).toEqual(expected);
  });

  it('tells the same in whatever order the files come, and of none that it is for more devices than by itself', () => {
    const alone = new Map(NAMES.map((name) => [name, read([name])[0] ?? '']));
    fc.assert(
      fc.property(fc.shuffledSubarray(NAMES), (names) => {
        const sorted = names.toSorted();
        const bySorted = new Map(read(sorted).map((target, index) => [sorted[index], target]));
        const found = read(names);
        expect(found).toEqual(names.map((name) => bySorted.get(name)));
        const widened = found.filter((target, index) => {
          const before = alone.get(names[index] ?? '') ?? '';
          return target !== 'filtered' && target !== before && !target.startsWith(`${before}/`);
        });
        expect(widened).toEqual([]);
      }),
    );
  });

  it('reads very many names in time: a quadratic comparison would not end', () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `tool${index}-linux-arm64.zip`);
    expect(classifyAssets(names)).toHaveLength(10_000);
  });
});
