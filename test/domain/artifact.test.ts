// Tests which artifact of a release a device takes (docs/contract.md 13.8).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Artifact } from '../../src/contract/resource.ts';
import {
  extensionOf,
  foldArch,
  foldPlatform,
  indexArtifacts,
  selectArtifact,
} from '../../src/domain/decision/artifact.ts';

/** Returns the url of the artifact for a device; platform and arch may have any spelling. */
function pick(artifacts: readonly Artifact[], platform: string, arch?: string): string | undefined {
  const index = indexArtifacts(artifacts);
  return selectArtifact(index, foldPlatform(platform), foldArch(arch))?.url;
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
  const archGroups = [
    ['x64', 'amd64', 'x86_64', 'X64', 'AMD64', 'X86_64'],
    ['arm64', 'aarch64', 'ARM64', 'AArch64'],
    ['ia32', 'x86', 'i386', 'i686', 'IA32', 'I386'],
    ['armv7', 'ARMv7'],
    ['universal', 'Universal'],
    ['riscv64'],
  ];
  const platformGroups = [
    ['macos', 'mac', 'osx', 'darwin', 'macOS', 'Darwin', 'OSX'],
    ['win32', 'win', 'windows', 'Windows', 'WIN32'],
    ['linux', 'Linux'],
    ['haiku', 'Haiku'],
  ];

  it.each(archGroups)('arch %s and its other spellings are one', (...spellings) => {
    expect(new Set(spellings.map(foldArch)).size).toBe(1);
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
    expect(new Set(archGroups.map(([first]) => foldArch(first))).size).toBe(archGroups.length);
    const platforms = platformGroups.map(([first]) => foldPlatform(first ?? ''));
    expect(new Set(platforms).size).toBe(platformGroups.length);
  });

  it('folding twice is folding once', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(foldArch(foldArch(text))).toBe(foldArch(text));
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
