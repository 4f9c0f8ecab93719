// Tests what is read from the name of an asset by itself: the two samples of real names beside this file, and
// names made from the templates of the tools that write them. What files tell of each other is tested in
// asset-siblings.test.ts.

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { artifactFormat } from '../../../src/domain/decision/artifact/artifact-format.ts';
import { classifyAsset } from '../../../src/domain/release/asset/classify-assets.ts';
import { rowsOf } from '../../support/rows-of.ts';

/** Names, what is read from them, and whether they leave no doubt. */
const SAMPLES =
  sample<readonly [name: string, target: string, isStrict: boolean]>('asset-names.json');
/** Names, what is read from them, and the format of an address that ends so. */
const SAMPLES_WITH_FORMATS = sample<readonly [name: string, target: string, format?: string]>(
  'asset-names-with-formats.json',
);

function sample<Row>(file: string): readonly Row[] {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as readonly Row[];
}

/** Returns `windows/x86_64`, `windows` when the name has no arch, or `filtered`. */
function read(name: string): string {
  const target = classifyAsset(name);
  if (target === undefined) return 'filtered';
  return target.arch === undefined ? target.platform : `${target.platform}/${target.arch}`;
}

describe('classifyAsset', () => {
  it('reads at least 98 % of the real names that leave no doubt', () => {
    const strict = SAMPLES.filter(([, , isStrict]) => isStrict);
    const wrong = strict.filter(([name, target]) => read(name) !== target);
    const shown = wrong.map(([name]) => `${name}: ${read(name)}`);
    expect(strict.length).toBeGreaterThan(50);
    expect(1 - wrong.length / strict.length, shown.join('\n')).toBeGreaterThanOrEqual(0.98);
  });

  it('reads every real name of the second sample, with its format', () => {
    const found = SAMPLES_WITH_FORMATS.map(([name, target]) => {
      const url = `https://dl.example.com/${encodeURIComponent(name)}`;
      const format = target === 'filtered' ? undefined : artifactFormat({ url });
      return [name, read(name), ...(format === undefined ? [] : [format])];
    });
    expect(found).toHaveLength(147);
    expect(found).toEqual(SAMPLES_WITH_FORMATS);
  });

  // Of Tauri, electron-builder (also as GitHub renames it), Electron Forge, Squirrel, goreleaser, cargo-dist,
  // .NET, Android, build machines, and plain binaries.
  it.each(
    rowsOf(`
    android: acme-release.apk
    android/aarch64: acme-aarch64-linux-android.tar.gz
    darwin: Acme.Notes-2.0.0-mac.zip | acme-2.0.0-osx-full.nupkg
    darwin/aarch64: Acme.Notes_aarch64.app.tar.gz | Acme.Cli-osx.12-arm64.zip | acme-macos13-arm64
    darwin/aarch64: acme_osxarm64 | Acme.macOS.Apple.Silicon.dmg
    darwin/universal: acme-darwin-universal-2.0.0.zip | acme_2.0.0_darwin_all.tar.gz
    darwin/x86_64: acme_2.0.0_darwin_amd64_v1.tar.gz | acme-macos-latest-x64.zip | Acme-intel.dmg
    freebsd/x86_64: acme-notes-2.0.0-x64.freebsd | acme-x86_64-unknown-freebsd.tar.gz
    ios: acme.ipa
    linux: acme-notes-2.0.0.pacman
    linux/aarch64: acme_2.0.0-1_arm64.deb | Acme.Cli-linux-musl-arm64.tar.gz
    linux/armv7: acme-notes_2.0.0_armhf.AppImage | Acme-Notes-2.0.0-armv7l.AppImage
    linux/armv7: acme-linux-armv7l-2.0.0.zip | acme-arm-unknown-linux-gnueabihf.tar.gz
    linux/i686: acme-notes_2.0.0_i386.deb | Acme-Notes-2.0.0-i386.AppImage | acme-linux32
    linux/x86_64: acme_2.0.0_linux_amd64v3.tar.gz | acme_2.0.0_linux_amd64.apk
    linux/x86_64: acme-ubuntu20.04-amd64.deb | acme-linux64
    windows: Acme Notes Setup 2.0.0.exe | Acme Notes 2.0.0.exe | Acme-Notes-Web-Setup-2.0.0.exe
    windows: acme-2.0.0-full.nupkg
    windows/i686: acme-win32-ia32-2.0.0.zip | acme_2.0.0_Windows_i386.zip | Acme.Cli-win-x86.zip
    windows/x86_64: Acme.Notes.Setup.2.0.0-x64.exe | acme-notes-2.0.0-x64.nsis.7z
    windows/x86_64: acme-windows-2022-x64.zip | acme-win-64-bit.zip | Acme-2.0.0-win_x86-64.zip
    `),
  )('%s is %s', (name, target) => {
    expect(read(name)).toBe(target);
  });

  it.each(
    rowsOf(`
    darwin/aarch64: rewind-1.0.0-darwin-arm64.tar.gz
    darwin/x86_64: ios-webkit-debug-proxy-1.9.1-mac-x64.zip
    linux/x86_64: delta-0.16.5-x86_64-unknown-linux-gnu.tar.gz | license-v1.2.3-linux-amd64
    linux/x86_64: protoc-gen-go.v1.36.0-devel.linux.amd64.tar.gz | Snoop.6.1.1.signed.linux.x64.zip
    filtered: rewind.zip | armory.tar.gz | acme-x86_64.tar.gz
    filtered: acme-dbgsym_1.0.0_amd64.deb | Acme-1.0.0-mac-dSYM.zip | huge-linux-x64-part1.zip
    linux/aarch64: mac-cleaner_1.0.0_linux_arm64.tar.gz
    linux/x86_64: charm-1.0.0-x64.deb | sbom-tool-linux-x64 | Acme.Tool.v1.2.386.linux.x64.zip
    windows: Acme-1.0.386-win.exe | acme-win32.zip | Marmot-1.0-win.exe | x64dbg-win.zip
    windows/x86_64: MacroRecorder-1.0.0-win-x64.zip | cyclonedx-win-x64.exe
    `),
  )('only whole words count: %s is %s', (name, target) => {
    expect(read(name)).toBe(target);
  });

  it.each(
    rowsOf(`
    linux/armv5: caddy_2.7.6_linux_armv5.tar.gz
    linux/armv6: acme_linux_armv6.tar.gz | buildx-v0.12.0.linux-arm-v6
    linux/armv7: rclone-v1.65.0-linux-arm-v7.zip | uv-arm-unknown-linux-musleabihf.tar.gz
    linux/armv7: tool-1.0.0-1.fc36.armv7hl.rpm | tool_1.0.0_linux_armv7hf.tar.gz
    linux/csky: tool-1.0.0-csky-unknown-linux-gnu.tar.gz
    linux/loong64: mihomo-linux-loong64-abi1-v1.18.0.gz
    linux/mips64: tool_1.0.0_linux_mips64_softfloat.tar.gz
    linux/mipsle: rclone-v1.65.0-linux-mipsle.rpm | tool-linux-mips32le.tar.gz
    linux/ppc64le: acme-linux-ppc64le.tar.gz | protoc-22.2-linux-ppcle_64.zip
    linux/quux: core-linux-quux.zip | core_linux_quux_1.2.3.zip | core-1.2.3-quux-linux.zip
    linux/quux: core_1.2.3_quux.deb | Core-1.2.3-quux.AppImage
    linux/riscv64: acme-riscv64gc-unknown-linux-gnu.tar.gz
    linux/s390x: acme-linux-s390x | protoc-22.2-linux-s390_64.zip | protoc-22.2-linux-s390x.zip
    aix/ppc64: node-v20.1.0-aix-ppc64.tar.gz
    `),
  )(
    'an architecture that is rare or not known is one, or the file would fit all: %s is %s',
    (name, target) => {
      expect(read(name)).toBe(target);
    },
  );

  it.each(
    rowsOf(`
    darwin: yt-dlp_macos_legacy | pcsx2-v1.7.5-macos-Qt.tar.xz
    linux: notes_linux_all.tar.gz
    linux: linux_krokiet | PrismLauncher-Linux-Qt6-Portable-8.0.tar.gz | tool-1.0.0-linux-static.tar.gz
    windows: ComfyUI_windows_portable_nvidia.7z | Notes-1.2.3-windows-setup.exe | sayit-v1.7-win-sc.zip
    `),
  )('an ordinary word where architectures stand is none: %s is %s', (name, target) => {
    expect(read(name)).toBe(target);
  });

  it.each(
    rowsOf(`
    darwin/aarch64: OBS-Studio-31.0.0-macOS-Apple.dmg | vtracer-mac-m1 | camel-k-1.2.3-mac-arm64bit.tar.gz
    darwin/aarch64: SpotifyARM64.dmg
    darwin/universal: Godot_v3.5-stable_osx.fat.zip
    darwin/x86_64: Godot_v3.2-stable_osx.64.zip | vtracer-mac-intel | gaze_macos_amd_v1.2.1.zip
    linux/aarch64: LocalSend-1.14.0-linux-arm-64.deb | ffmpeg-master-latest-linuxarm64-lgpl.tar.xz
    linux/universal: tool_1.0.0_all.deb | tool-1.0.0-1.noarch.rpm | tool-1.0.0-1-any.pkg.tar.zst
    linux/x86_64: cpython-3.12.0+20231002-x86_64_v3-unknown-linux-musl-pgo+lto-full.tar.zst
    android/armv7: LocalSend-1.14.0-android-arm32v7.apk | Hiddify-Android-arm7.apk
    windows/aarch64: LLVM-22.1.8-woa64.exe | shotcut-win_ARM-26.8.1.zip | cowsay_2.0.4_Windows_arm.zip
    windows/i686: cppcryptfsctl32.exe | praat7001_win-intel32.zip | spicetify-2.44.0-windows-x32.zip
    windows/x86_64: AWS_SAM_CLI_64_PY3.msi | meson-1.12.0-64.msi | pe-sieve64.exe | Git-2.43.0-64-bit.exe
    windows/x86_64: Sandman.Version.1.9.2.64.Bit.Windows.zip | activate-windows-clang64.exe
    `),
  )('what people write for an architecture is read: %s is %s', (name, target) => {
    expect(read(name)).toBe(target);
  });

  it.each([
    ['Acme-1.0.0-x64-arm64.dmg', 'darwin/universal'],
    ['Acme_1.0.0.0_x86_x64_arm64.msixbundle', 'windows'],
  ])('a file for several architectures is not for the last one only: %s is %s', (name, target) => {
    expect(read(name)).toBe(target);
  });

  it.each([
    ['', 'filtered'] as const,
    ...rowsOf(`
    filtered: acme-linux-amd64.tar.gz.sha512 | acme-linux-amd64.sig
    filtered: Acme-Setup-1.0.0.exe.blockmap | Acme-1.0.0-mac.zip.blockmap | latest.yml
    filtered: latest-linux.yml | beta-mac.yml | latest.json | RELEASES | SHA512SUMS
    filtered: acme-linux-amd64.cdx.json | acme-linux-amd64.sbom | acme-linux-amd64-sbom.tar.gz
    filtered: Acme-1.0.0-delta.nupkg | acme-1.0.0.tar.gz | acme-1.0.0-linux-src.tar.gz
    filtered: Acme-win32-x64-symbols.zip | acme-win-x64.pdb.gz | acme-installer.sh | README.md
    filtered: appcast.xml | . | ... | RELEASES-linux-x64 | releases.win.json
    filtered: tool-linux-amd64.zip.dgst | tool-linux-amd64.hash | tool-linux-amd64.sha3 | SHA2-256SUMS
    filtered: tool-linux-amd64-headers.tar.gz | tool-linux-amd64-debug | electron-v30.0.0-linux-x64-debug.zip
    filtered: app-arm64-v8a-debug.apk | libtool-dev_1.0.0_amd64.deb | tool-devel-1.0.0-1.x86_64.rpm
    filtered: Game-win.zip.001 | Game-win.z01 | Game-linux.tar.gz.partaa | Game-win.part2.rar
    filtered: tool-1.0.0-py3-none-win_amd64.whl | tool-linux-x64.vsix | tool-1.0.0.x86_64_linux.bottle.tar.gz
    filtered: bitwarden.2024.1.0.nupkg | OBS-Studio-31.0.0-Ubuntu-24.04-x86_64-dbsym.ddeb
    filtered: gateway.swu.sha256 | gateway-1.2.3.raucb.dgst | gateway.swu.001 | gateway-debug.swu
    filtered: tool-x86_64-apple-darwin-update | LICENSE-linux | ventoy-1.0.96-livecd-linux.iso
    `),
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

  it('a long name is read in time that grows as it does: a quadratic reading would not end', () => {
    for (const unit of ['x86_', '.gz', '-a.1', '1.', 'win1', '(', 'linux-x64-']) {
      expect(classifyAsset(unit.repeat(50_000))).toEqual(classifyAsset(unit.repeat(2000)));
    }
  });
});
