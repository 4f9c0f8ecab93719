// Tests what is read from the name of an asset: the sample of real names beside this file, and names made
// from the templates of the tools that write them.

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyAsset } from '../../src/domain/release/classify-asset.ts';

type Sample = {
  readonly name: string;
  readonly expect: 'filtered' | null | { platform: string; arch: string | null };
  readonly strict: boolean;
};

const SAMPLES = JSON.parse(
  readFileSync(new URL('asset-names.json', import.meta.url), 'utf8'),
) as readonly Sample[];

/** Returns `windows/x86_64`, `windows` when the name has no arch, or `filtered`. */
function read(name: string): string {
  const target = classifyAsset(name);
  if (target === undefined) return 'filtered';
  return target.arch === undefined ? target.platform : `${target.platform}/${target.arch}`;
}

function wanted({ expect: said }: Sample): string {
  if (said === null || said === 'filtered') return 'filtered';
  return said.arch === null ? said.platform : `${said.platform}/${said.arch}`;
}

describe('classifyAsset', () => {
  it('reads at least 98 % of the real names that leave no doubt', () => {
    const strict = SAMPLES.filter((sample) => sample.strict);
    const wrong = strict.filter((sample) => read(sample.name) !== wanted(sample));
    const shown = wrong.map((sample) => `${sample.name}: ${read(sample.name)}`);
    expect(strict.length).toBeGreaterThan(50);
    expect(1 - wrong.length / strict.length, shown.join('\n')).toBeGreaterThanOrEqual(0.98);
  });

  it.each([
    // Tauri
    ['Acme.Notes_2.0.0-beta.1_x64_en-US.msi', 'windows/x86_64'],
    ['Acme.Notes_2.0.0_arm64-setup.exe', 'windows/aarch64'],
    ['Acme.Notes_2.0.0_x64_en-US.msi.zip', 'windows/x86_64'],
    ['Acme.Notes_aarch64.app.tar.gz', 'darwin/aarch64'],
    ['acme-notes_2.0.0_i386.deb', 'linux/i686'],
    ['acme-notes-2.0.0-1.aarch64.rpm', 'linux/aarch64'],
    ['acme-notes_2.0.0_armhf.AppImage', 'linux/armv7'],
    // electron-builder, also as GitHub renames it
    ['Acme Notes Setup 2.0.0.exe', 'windows'],
    ['Acme.Notes.Setup.2.0.0-x64.exe', 'windows/x86_64'],
    ['Acme.Notes-2.0.0-universal-mac.zip', 'darwin/universal'],
    ['Acme-Notes-2.0.0-armv7l.AppImage', 'linux/armv7'],
    ['acme-notes-2.0.0.pacman', 'linux'],
    ['Acme.Notes-2.0.0-mac.zip', 'darwin'],
    ['Acme-linux-x64.App.tar.gz', 'linux/x86_64'],
    ['Acme Notes 2.0.0.exe', 'windows'],
    ['Acme-Notes-Web-Setup-2.0.0.exe', 'windows'],
    ['acme-notes-2.0.0-x64.nsis.7z', 'windows/x86_64'],
    ['Acme-Notes-2.0.0-arm64.msi', 'windows/aarch64'],
    ['Acme-Notes-2.0.0-universal.pkg', 'darwin/universal'],
    ['Acme-Notes-2.0.0-x86_64.AppImage', 'linux/x86_64'],
    ['Acme-Notes-2.0.0-i386.AppImage', 'linux/i686'],
    ['acme-notes_2.0.0_armv7l.deb', 'linux/armv7'],
    ['acme-notes-2.0.0.armv7l.rpm', 'linux/armv7'],
    ['acme-notes-2.0.0-aarch64.pacman', 'linux/aarch64'],
    ['acme-notes_2.0.0_arm64.snap', 'linux/aarch64'],
    ['acme-notes-2.0.0-x64.freebsd', 'freebsd/x86_64'],
    // Electron Forge and Squirrel
    ['acme-darwin-universal-2.0.0.zip', 'darwin/universal'],
    ['acme-linux-armv7l-2.0.0.zip', 'linux/armv7'],
    ['acme-win32-ia32-2.0.0.zip', 'windows/i686'],
    ['acme-2.0.0-full.nupkg', 'windows'],
    ['acme-2.0.0-osx-full.nupkg', 'darwin'],
    // goreleaser
    ['acme_2.0.0_Windows_i386.zip', 'windows/i686'],
    ['acme_2.0.0_darwin_all.tar.gz', 'darwin/universal'],
    ['acme_2.0.0_linux_amd64v3.tar.gz', 'linux/x86_64'],
    ['acme_2.0.0_linux_amd64.apk', 'linux/x86_64'],
    ['acme-2.0.0-1-x86_64.pkg.tar.zst', 'linux/x86_64'],
    ['acme_2.0.0_darwin_amd64_v1.tar.gz', 'darwin/x86_64'],
    ['acme_2.0.0_linux_arm64_v8.tar.gz', 'linux/aarch64'],
    ['acme_2.0.0-1_arm64.deb', 'linux/aarch64'],
    ['acme-2.0.0.linux-amd64.tar.gz', 'linux/x86_64'],
    // cargo-dist and Rust triples
    ['acme-x86_64-pc-windows-msvc.msi', 'windows/x86_64'],
    ['acme-arm-unknown-linux-gnueabihf.tar.gz', 'linux/armv7'],
    ['acme-x86_64-pc-windows-gnu.zip', 'windows/x86_64'],
    ['acme-x86_64-unknown-linux-musl.tar.zst', 'linux/x86_64'],
    ['acme-armv7-unknown-linux-gnueabihf.tar.gz', 'linux/armv7'],
    ['acme-aarch64-linux-android.tar.gz', 'android/aarch64'],
    ['acme-x86_64-unknown-freebsd.tar.gz', 'freebsd/x86_64'],
    // dotnet runtime identifiers
    ['Acme.Cli-linux-musl-arm64.tar.gz', 'linux/aarch64'],
    ['Acme.Cli-win-x86.zip', 'windows/i686'],
    ['Acme.Cli-osx.12-arm64.zip', 'darwin/aarch64'],
    // systems of build machines
    ['acme-ubuntu-22.04-x64.tar.gz', 'linux/x86_64'],
    ['acme-ubuntu20.04-amd64.deb', 'linux/x86_64'],
    ['acme-macos-latest-x64.zip', 'darwin/x86_64'],
    ['acme-windows-2022-x64.zip', 'windows/x86_64'],
    // Android
    ['acme-armeabi-v7a-release.apk', 'android/armv7'],
    ['acme-x86_64-release.apk', 'android/x86_64'],
    // plain binaries and words written as one
    ['acme-linux64', 'linux/x86_64'],
    ['acme-linux32', 'linux/i686'],
    ['acme-macos13-arm64', 'darwin/aarch64'],
    ['acme_osxarm64', 'darwin/aarch64'],
    ['acme-win-64-bit.zip', 'windows/x86_64'],
    ['Acme-2.0.0-win_x86-64.zip', 'windows/x86_64'],
    ['Acme.macOS.Apple.Silicon.dmg', 'darwin/aarch64'],
    ['Acme-intel.dmg', 'darwin/x86_64'],
    ['acme-i686-w64-mingw32.zip', 'windows/i686'],
    ['acme.ipa', 'ios'],
    ['acme-release.apk', 'android'],
  ])('%s is %s', (name, target) => {
    expect(read(name)).toBe(target);
  });

  it.each([
    ['Twine-2.6.0-linux-x64.zip', 'linux/x86_64'],
    ['rewind-1.0.0-darwin-arm64.tar.gz', 'darwin/aarch64'],
    ['armory_1.0.0_linux_amd64.tar.gz', 'linux/x86_64'],
    ['charm-1.0.0-x64.deb', 'linux/x86_64'],
    ['MacroRecorder-1.0.0-win-x64.zip', 'windows/x86_64'],
    ['winston-darwin.tar.gz', 'darwin'],
    ['sbom-tool-linux-x64', 'linux/x86_64'],
    ['cyclonedx-win-x64.exe', 'windows/x86_64'],
    ['Acme-1.0.386-win.exe', 'windows'],
    ['Acme.Tool.v1.2.386.linux.x64.zip', 'linux/x86_64'],
    ['linuxkit-windows-amd64.exe', 'windows/x86_64'],
    ['acme-win32-x64.zip', 'windows/x86_64'],
    ['acme-win32.zip', 'windows'],
    ['Darwinia-1.0.0-linux-x64.tar.gz', 'linux/x86_64'],
    ['Windsor_1.2.3_amd64.deb', 'linux/x86_64'],
    ['Marmot-1.0-win.exe', 'windows'],
    ['Macaw_0.1.0_x64-setup.exe', 'windows/x86_64'],
    ['mac-cleaner_1.0.0_linux_arm64.tar.gz', 'linux/aarch64'],
    ['x64dbg-win.zip', 'windows'],
    ['rewind.zip', 'filtered'],
    ['armory.tar.gz', 'filtered'],
    ['acme-x86_64.tar.gz', 'filtered'],
  ])('only whole words count: %s is %s', (name, target) => {
    expect(read(name)).toBe(target);
  });

  it.each([
    ['acme-linux-ppc64le.tar.gz', 'linux/ppc64le'],
    ['acme-linux-s390x', 'linux/s390x'],
    ['acme_linux_armv6.tar.gz', 'linux/armv6'],
    ['acme-riscv64gc-unknown-linux-gnu.tar.gz', 'linux/riscv64'],
    ['acme_linux_mips64le.tar.gz', 'linux/mips64le'],
  ])(
    'an architecture that few ask for is still one, or the file would fit every device: %s',
    (name, target) => {
      expect(read(name)).toBe(target);
    },
  );

  it.each([
    ['Acme-1.0.0-x64-arm64.dmg', 'darwin/universal'],
    ['Acme_1.0.0.0_x86_x64_arm64.msixbundle', 'windows'],
  ])('a file for several architectures is not for the last one only: %s is %s', (name, target) => {
    expect(read(name)).toBe(target);
  });

  it.each([
    'acme-linux-amd64.tar.gz.sha512',
    'acme-linux-amd64.sig',
    'Acme-Setup-1.0.0.exe.blockmap',
    'Acme-1.0.0-mac.zip.blockmap',
    'latest.yml',
    'latest-linux.yml',
    'beta-mac.yml',
    'latest.json',
    'RELEASES',
    'SHA512SUMS',
    'SHA256SUMS-linux',
    'checksums.txt',
    'acme_1.0.0_checksums.txt.pem',
    'acme-linux-amd64.cdx.json',
    'acme-linux-amd64.sbom',
    'acme-linux-amd64-sbom.tar.gz',
    'Acme-1.0.0-delta.nupkg',
    'acme-1.0.0.tar.gz',
    'acme-1.0.0-linux-src.tar.gz',
    'Source code (zip)',
    'acme-dbgsym_1.0.0_amd64.deb',
    'Acme-1.0.0-mac-dSYM.zip',
    'Acme-win32-x64-symbols.zip',
    'acme-win-x64.pdb.gz',
    'acme-installer.sh',
    'README.md',
    'appcast.xml',
    '',
    '.',
    '...',
  ])('what nobody installs is filtered: %s', (name) => {
    expect(read(name)).toBe('filtered');
  });

  it('ignores case', () => {
    expect(read('ACME-LINUX-AMD64.TAR.GZ')).toBe('linux/x86_64');
    expect(read('ACME-LINUX-AMD64.TAR.GZ.SHA256')).toBe('filtered');
  });

  it('answers for any text, the same each time', () => {
    const part = fc.constantFrom('win', 'x86_64', 'linux', '.', '-', '_', 'tar', 'gz', '1', 'arm');
    const name = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(part).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(name, (text) => {
        const target = classifyAsset(text);
        expect(target === undefined || target.platform !== '').toBe(true);
        expect(classifyAsset(text)).toEqual(target);
      }),
    );
  });

  // Retried because the machine may be busy: a quadratic reading would fail every time.
  it('a name ten times as long takes about ten times as long, whatever it is made of', {
    retry: 3,
  }, () => {
    const time = (text: string): number => {
      const from = performance.now();
      classifyAsset(text);
      return performance.now() - from;
    };
    for (const unit of ['x86_', '.gz', '-a.1', '1.', 'win1', '(', 'linux-x64-']) {
      const [short, long] = [unit.repeat(2_000), unit.repeat(20_000)];
      const best = (text: string) => Math.min(time(text), time(text), time(text));
      // A quadratic reading takes 100 times as long; the constant is for the clock.
      expect(best(long), unit).toBeLessThan(40 * best(short) + 20);
    }
  });
});
