// Tests which artifact of a release a device takes (docs/contract.md 13.8).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Artifact } from '../../../../src/contract/resource.ts';
import {
  extensionOf,
  foldPlatform,
  indexArtifacts,
  selectArtifact,
} from '../../../../src/domain/decision/artifact/artifact.ts';
import { foldArch } from '../../../../src/domain/decision/artifact/fold-arch.ts';

/** Returns the url of the artifact for a device; platform and arch may have any spelling. */
function pick(artifacts: readonly Artifact[], platform: string, arch?: string): string | undefined {
  const folded = foldPlatform(platform);
  return selectArtifact(indexArtifacts(artifacts), folded, foldArch(arch, folded))?.url;
}

/** Returns the words of each line. */
function rowsOfWords(text: string): readonly (readonly string[])[] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(' '));
}

function artifact(url: string, platform: string, arch?: string, signature?: string): Artifact {
  return {
    platform,
    url,
    ...(arch === undefined ? {} : { arch }),
    ...(signature === undefined ? {} : { signature }),
  };
}

describe('aliases are folded on both sides, whatever the case', () => {
  const archGroups = rowsOfWords(`
    x64 amd64 x86_64 X64 AMD64 X86_64 x86-64 64-bit x86_64-v3 x86_64h ia32e em64t
    arm64 aarch64 ARM64 AArch64 arm_64 aarch_64 arm64-v8a arm64e armv8-a
    ia32 x86 i386 i486 i586 i686 IA32 I386 386 x86_32 ix86 pentium4
    arm arm32 arm_32
    armv7 ARMv7 armv7l arm-v7 armhf armeabi-v7a armv7hl armv7hnl armv7tnhl armv7s armv8hl earmv7hf
    armv6 arm-v6 armv6l armv6hl armv6k armv6kz earmv6hf
    armv5 arm-v5 armel armv5tel armv5tl armsf
    universal Universal universal2 noarch
    riscv64 riscv64gc riscv_64 rv64gc
    riscv32 rv32 rv32gc riscv32gc
    ppc64le powerpc64le ppc64el ppcle_64 ppc_64_le powerpcle64
    ppc64 powerpc64 ppc_64 ppc64be
    ppc powerpc ppc_32
    ppcle ppc32le powerpcle ppcle_32
    mips mips32 mips_32 mips32r2
    mipsle mipsel mips32le mips32el mipsel_32 mips_le
    mips64 mips_64 mips64r2
    mips64le mips64el mipsel_64 mipsle64 mips64r2el
    s390x s390_64 s390x_64 systemz
    s390 s390_32
    sparc sparc32 sparc_32
    sparc64 sparcv9 sparc_64 sparc64v
    ia64 itanium itanium_64 ia64w
    loong64 loongarch64 loongarch_64
    hexagon Hexagon
  `);
  const platformGroups = [
    ['macos', 'mac', 'osx', 'darwin', 'macOS', 'Darwin', 'OSX'],
    ['win32', 'win', 'windows', 'Windows', 'WIN32'],
    ['linux', 'Linux'],
    ['haiku', 'Haiku'],
  ];

  it.each(archGroups)('arch %s and its other spellings are one', (...spellings) => {
    expect(new Set(spellings.map((each) => foldArch(each, 'linux'))).size).toBe(1);
    for (const published of spellings) {
      for (const asked of spellings) {
        expect(pick([artifact('hit', 'linux', published)], 'linux', asked)).toBe('hit');
      }
    }
  });

  it.each(platformGroups)('platform %s and its other spellings are one', (...spellings) => {
    expect(new Set(spellings.map(foldPlatform)).size).toBe(1);
    for (const published of spellings) {
      for (const asked of spellings) {
        expect(pick([artifact('hit', published, 'x64')], asked, 'x64')).toBe('hit');
      }
    }
  });

  it('different archs and platforms stay apart', () => {
    const arches = archGroups.map(([first]) => foldArch(first, 'linux'));
    expect(new Set(arches).size).toBe(archGroups.length);
    const platforms = platformGroups.map(([first]) => foldPlatform(first ?? ''));
    expect(new Set(platforms).size).toBe(platformGroups.length);
  });

  it('what `arm` means depends on the platform: macOS and Windows run on no 32-bit one', () => {
    expect(
      ['darwin', 'macOS', 'win32'].map((on) => pick([artifact('hit', on, 'arm')], on, 'arm64')),
    ).toEqual(['hit', 'hit', 'hit']);
    expect(pick([artifact('hit', 'linux', 'arm')], 'linux', 'arm64')).toBeUndefined();
    expect(pick([artifact('hit', 'linux', 'arm')], 'linux', 'arm')).toBe('hit');
    expect(pick([artifact('hit', 'windows', 'arm32')], 'windows', 'arm64')).toBeUndefined();
  });

  it('folding twice is folding once', () => {
    const spelling = fc.constantFrom(
      ...archGroups.flat(),
      'arm32',
      'm1',
      'fat',
      'aarch32',
      'intel',
    );
    const anyName = fc.oneof(fc.string({ unit: 'binary' }), spelling);
    fc.assert(
      fc.property(anyName, fc.constantFrom('', 'darwin', 'linux', 'windows'), (text, on) => {
        expect(foldArch(foldArch(text, on), on)).toBe(foldArch(text, on));
        expect(foldPlatform(foldPlatform(text))).toBe(foldPlatform(text));
      }),
    );
  });
});

describe('exact platform and arch first, then arch `universal`, then the platform without arch', () => {
  const exact = artifact('exact', 'darwin', 'arm64');
  const universal = artifact('universal', 'darwin', 'universal');
  const platformWide = artifact('platform-wide', 'darwin');

  it.each([
    [[platformWide, universal, exact], 'exact'],
    [[exact, universal, platformWide], 'exact'],
    [[platformWide, universal], 'universal'],
    [[platformWide], 'platform-wide'],
  ])('case %#: the most specific one wins, whatever the publish order', (artifacts, url) => {
    expect(pick(artifacts, 'macos', 'aarch64')).toBe(url);
  });

  it('a signature does not outweigh a more specific arch', () => {
    const signed = artifact('signed', 'darwin', 'universal', 'sig');
    expect(pick([signed, exact], 'darwin', 'arm64')).toBe('exact');
  });

  it('another arch or another platform does not match', () => {
    expect(pick([exact], 'darwin', 'x64')).toBeUndefined();
    expect(pick([exact, universal, platformWide], 'linux', 'arm64')).toBeUndefined();
  });

  it('a release without artifacts matches nothing', () => {
    expect(pick([], 'darwin', 'arm64')).toBeUndefined();
    expect(pick([], 'darwin')).toBeUndefined();
  });

  it('names of object members are platforms and archs like any other', () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect(pick([exact], name, name)).toBeUndefined();
      expect(pick([artifact('hit', name, name)], name, name)).toBe('hit');
    }
  });
});

it.each<[readonly Artifact[], string | undefined, string]>([
  [[artifact('a', 'win32', 'x64'), artifact('b', 'windows', 'amd64', 'sig')], 'x86_64', 'b'],
  [[artifact('a', 'windows', 'x64'), artifact('b', 'windows', 'x64')], 'x64', 'a'],
  [[artifact('a', 'windows', 'x64', '1'), artifact('b', 'windows', 'x64', '2')], 'x64', 'a'],
  [[artifact('a', 'windows', 'x64', ''), artifact('b', 'windows', 'x64', 'sig')], 'x64', 'b'],
  [[artifact('a', 'windows'), artifact('b', 'windows', undefined, 'sig')], 'x64', 'b'],
  [[artifact('a', 'windows', 'universal'), artifact('b', 'windows')], undefined, 'b'],
  [[artifact('a', 'windows', 'universal'), artifact('b', 'windows', 'x64')], undefined, 'a'],
  [[artifact('a', 'windows', 'x64')], undefined, 'none'],
])(
  'case %#: a signed one first, then publish order; without arch the platform-wide one',
  (all, arch, url) => {
    expect(pick(all, 'windows', arch) ?? 'none').toBe(url);
  },
);

describe('the format of an address', () => {
  it.each([
    ['https://dl.example.com/app-1.2.0.AppImage', 'appimage'],
    ['https://dl.example.com/app.tar.gz?token=a.exe#b.dmg', 'gz'],
    ['https://dl.example.com/v1.2/app', ''],
    ['https://dl.example.com/app.', ''],
    ['https://dl.example.com', ''],
    ['no address.zip', ''],
  ])('%s: "%s"', (url, format) => {
    expect(extensionOf(url)).toBe(format);
  });
});
