// Tests which artifact of a release a device takes (docs/contract.md 13.8 and 20) beyond what
// decide-naively.test.ts has: the names of platforms and architectures, what is equal, and formats; above all
// that no client gets a file which it cannot install: Tauri's updater writes whatever it is served over what
// is installed.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFailure } from '../../../../src/contract/failure.ts';
import type { Artifact } from '../../../../src/contract/resource.ts';
import {
  canInstall,
  extensionOf,
  foldPlatform,
  indexArtifacts,
  selectArtifact,
} from '../../../../src/domain/decision/artifact/artifact.ts';
import {
  ANY_KIND,
  artifactFormat,
  formatRank,
  isDelta,
  kindOf,
  readKind,
} from '../../../../src/domain/decision/artifact/artifact-format.ts';
import { foldArch } from '../../../../src/domain/decision/artifact/fold-arch.ts';
import { rowsOf } from '../../../support/rows-of.ts';

function at(url: string): string | undefined {
  return artifactFormat({ url: `https://dl.example.com/${url}` });
}

describe('a delta', () => {
  it.each(
    rowsOf(`
    true: App-1.0.0-delta.nupkg | App-1.0.0-win-arm64-DELTA.NUPKG | a/App-delta.nupkg/download
    true: App-delta%2Enupkg | App%2ddelta.nupkg?x=1 | App-delta.nupkg#x64 | %zz-delta.nupkg
    true: App2.0-1.9.delta | App2.0-1.9.DELTA?x=1
    false: App-1.0.0-full.nupkg | App.1.0.0.nupkg | delta.nupkg | App-delta.exe | git-delta_1.0_amd64.deb
    false: App-full.nupkg?of=App-delta.nupkg | App-full.nupkg#-delta.nupkg | App-delta.nupkg.zip | delta
    `),
  )('is told by its name: %s: %s', (name, isOne) => {
    expect(String(isDelta({ url: `https://dl.example.com/${name}` }))).toBe(isOne);
  });

  it('is one whatever format it was given, unless it is of an updater of its own', () => {
    for (const format of ['nupkg', 'zip']) {
      expect(isDelta({ url: 'https://dl.example.com/App-delta.nupkg', format })).toBe(true);
      expect(isDelta({ url: 'https://dl.example.com/App.delta', format })).toBe(false);
    }
    expect(isDelta({})).toBe(false);
  });
});

describe('a format is read off the address', () => {
  it.each(
    rowsOf(`
    app.tar.gz: App.app.tar.gz
    zip: App-1.2.3-mac.zip
    appimage: app_1.2.3_amd64.AppImage
    appimage.tar.gz: app_1.2.3_amd64.AppImage.tar.gz
    deb: app_1.2.3_amd64.DEB | app.deb?token=x.zip#y.dmg | %zz.deb
    nsis: App_1.2.3_x64-setup.exe | App_1.2.3_x64-SETUP.EXE | app_setup.exe
    nsis: App%20Setup%201.2.3.exe | App Setup 1.2.3.exe
    exe: AppSetup.exe | Setup.exe | app.exe
    nsis.zip: App_1.2.3_x64-setup.nsis.zip
    msi: App_1.2.3_x64_en-US.msi
    msi.zip: App_1.2.3_x64_en-US.msi.zip
    nupkg: App-1.2.3-full.nupkg
    tar.gz: app.tar.gz
    pacman: app.pacman
    swu: gateway-1.2.3.swu | GATEWAY.SWU
    raucb: gateway_1.2.3_arm64.raucb
    flatpak: app.flatpak
    tar.zst: app.tar.zst
    7z: App-1.2.3-win-x64.7z
    undefined: latest/download?file=app.deb | app | deb | app.bin | 
    `),
  )('%s: %s', (name, format) => {
    expect(at(name) ?? 'undefined').toBe(format);
  });

  it('and what the publisher gave goes before it', () => {
    expect(artifactFormat({ format: 'deb', url: 'https://dl.example.com/a.AppImage' })).toBe('deb');
    expect(artifactFormat({ format: 'deb' })).toBe('deb');
    expect(artifactFormat({})).toBeUndefined();
  });
});

describe('a kind that a device tells', () => {
  it.each([
    ...rowsOf(`
    app: app | App.Tar.Gz
    appimage: appimage | APPIMAGE | appimage.tar.gz
    nsis: nsis | exe | nsis.zip
    msi: msi | msi.zip
    deb: deb
    rpm: rpm
    `),
    ...['unknown', 'UNKNOWN', '', '{{bundle_type}}', '.deb', 'de b', 'deb\0', 'd\u00e9b'].map(
      (text) => [text, ANY_KIND] as const,
    ),
    ['x'.repeat(32), 'x'.repeat(32)] as const,
  ])('%j is %j', (text, kind) => {
    expect(readKind('bundle', text)).toBe(kind);
  });

  it.each(['x'.repeat(33), '{'.repeat(10_000)])('of more than 32 characters is refused', (text) => {
    const read = readKind('bundle', text);
    expect(isFailure(read as object) && read).toMatchObject({
      failure: 'invalid',
      message: 'bundle: Must have at most 32 characters',
    });
  });
});

describe('among equals, formats that replace a running app come first', () => {
  it.each([
    ['darwin', 'app.tar.gz < zip < own < dmg < pkg'],
    ['windows', 'nsis = exe < nsis.zip < own < msi < msi.zip < msix'],
    [
      'linux',
      'appimage < appimage.tar.gz < own < tar.gz = tar.zst < deb < rpm < pacman < snap < flatpak',
    ],
    ['freebsd', 'pkg = tar.gz'],
  ])('%s: %s', (platform, order) => {
    const [first = '', ...rest] = order.split(/ (?=[<=])/);
    let before = formatRank(platform, first);
    for (const [sign, ...format] of rest.map((each) => each.split(' '))) {
      const rank = formatRank(platform, format[0]);
      expect([format, Math.sign(rank - before)]).toEqual([format, sign === '<' ? 1 : 0]);
      before = rank;
    }
    expect(formatRank(platform, 'own')).toBe(formatRank(platform, undefined));
  });
});

/** What tools build for one platform, by its name. */
const BUILT: Readonly<Record<string, readonly string[]>> = {
  linux: ['a.AppImage', 'a.deb', 'a.rpm', 'a.AppImage.tar.gz', 'a.tar.gz'],
  windows: ['a-setup.exe', 'a.msi', 'a-setup.nsis.zip', 'a.msi.zip', 'a.exe'],
  darwin: ['a.app.tar.gz', 'a.dmg', 'a.pkg', 'a.zip'],
};

/** What clients tell, and the platform on which they do. */
const TOLD = [
  ['linux', 'appimage'],
  ['linux', 'deb'],
  ['linux', 'rpm'],
  ['windows', 'nsis'],
  ['windows', 'msi'],
  ['darwin', 'app'],
  ['linux', 'unknown'],
  ['windows', ''],
  ['linux', '{{bundle_type}}'],
  ['darwin', '{{bundle_type}}'],
] as const;

type Built = Artifact & { readonly url: string };

function unsigned(platform: string, name: string): Built {
  return { platform, arch: 'x86_64', url: `https://dl.example.com/${name}` };
}

function signed(platform: string, name: string): Built {
  return { ...unsigned(platform, name), signature: 'sig' };
}

function kindOfUrl(url: string): string {
  return kindOf(artifactFormat({ url }) ?? '');
}

function offered(
  artifacts: readonly Artifact[],
  platform: string,
  told: string,
  mustBeSigned: boolean,
): Built | undefined {
  const kind = readKind('bundle', told);
  if (typeof kind !== 'string') throw new Error(kind.message);
  const index = indexArtifacts(artifacts);
  return selectArtifact(index, platform, 'x86_64', (artifact) =>
    canInstall({ kind, mustBeSigned }, artifact),
  ) as Built | undefined;
}

describe.each(TOLD)('on %s, a device that tells %j', (platform, told) => {
  const names = BUILT[platform] ?? [];
  const kind = readKind('bundle', told) as string;

  it('gets the same file of its kind in whatever order they were published', () => {
    const found = new Set<string>();
    for (const order of names.flatMap((_, at) => {
      const turned = [...names.slice(at), ...names.slice(0, at)];
      return [turned, turned.toReversed()];
    })) {
      const all = order.map((name) => signed(platform, name));
      const url = offered(all, platform, told, true)?.url ?? 'none';
      if (kind !== ANY_KIND) expect(kindOfUrl(url)).toBe(kind);
      found.add(artifactFormat({ url }) ?? 'none');
    }
    // Where two formats are equal, publish order decides between them.
    const equal = platform === 'windows' && kind !== 'msi' ? ['exe', 'nsis'] : [[...found][0]];
    expect([...found].sort()).toEqual(equal);
  });

  it('gets no other kind where its own is not signed, or not there', () => {
    const mine = names.filter((name) => kind === ANY_KIND || kindOfUrl(`x://x/${name}`) === kind);
    const all = names.map((name) =>
      mine.includes(name) ? unsigned(platform, name) : signed(platform, name),
    );
    expect(offered(all, platform, told, true)).toBeUndefined();
    const others = all.filter(({ signature }) => signature !== undefined);
    for (const isStrict of [true, false]) {
      expect(offered(others, platform, told, isStrict)).toBeUndefined();
    }
    const anyway = offered(all, platform, told, false);
    expect(mine.some((name) => anyway?.url.endsWith(name))).toBe(true);
  });

  it('gets an artifact without an address only where signatures are not required', () => {
    const bare: Artifact = { platform, arch: 'x86_64', format: kind || 'zip', signature: 'sig' };
    expect(offered([bare], platform, told, true)).toBeUndefined();
    expect(offered([bare], platform, told, false)).toBe(bare);
  });
});

describe('a signed artifact', () => {
  it('goes before the preferred format, and the preferred format before publish order; an empty one is none', () => {
    const empty = { ...unsigned('linux', 'a.deb'), signature: '' };
    expect(offered([empty], 'linux', 'deb', true)).toBeUndefined();
    const deb = signed('linux', 'a.deb');
    const image = unsigned('linux', 'a.AppImage');
    expect(offered([image, deb], 'linux', '', false)).toBe(deb);
    const signedImage = signed('linux', 'a.AppImage');
    expect(offered([deb, signedImage], 'linux', '', false)).toBe(signedImage);
  });

  it('for any arch is offered where the one for the arch is not signed', () => {
    const mine = unsigned('linux', 'a.AppImage');
    const { arch: _, ...any } = signed('linux', 'b.AppImage');
    expect(offered([mine, any], 'linux', 'appimage', true)).toBe(any);
    expect(offered([mine, any], 'linux', 'appimage', false)).toBe(mine);
  });

  it('whose name is another artifact with something added comes after all, whatever its place', () => {
    const archive = unsigned('linux', 'a.tar.gz');
    const sum = unsigned('linux', 'a.tar.gz.dgst');
    expect(offered([sum, archive], 'linux', '', false)).toBe(archive);
    const own: Built = { ...unsigned('linux', 'a.tar.gz.own'), format: 'own' };
    expect(offered([archive, own], 'linux', '', false)).toBe(own);
    const bare = unsigned('linux', 'a');
    expect(offered([archive, bare], 'linux', '', false)).toBe(bare);
  });
});

/** Returns the url of the artifact for a device; platform and arch may have any spelling. */
function pick(artifacts: readonly Artifact[], platform: string, arch?: string): string | undefined {
  const folded = foldPlatform(platform);
  return selectArtifact(indexArtifacts(artifacts), folded, foldArch(arch, folded))?.url;
}

function artifact(url: string, platform: string, arch?: string): Artifact {
  return { platform, url, ...(arch === undefined ? {} : { arch }) };
}

describe('aliases are folded on both sides, whatever the case', () => {
  const archGroups = `
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
  `
    .trim()
    .split(/\n\s*/)
    .map((line) => line.split(' '));
  const platformGroups = [
    ['macos', 'mac', 'osx', 'darwin', 'macOS', 'Darwin', 'OSX'],
    ['win32', 'win', 'windows', 'Windows', 'WIN32'],
    ['linux', 'Linux'],
    ['haiku', 'Haiku'],
  ];

  it.each(archGroups)('arch %s and its other spellings are one', (...spellings) => {
    expect(new Set(spellings.map((each) => foldArch(each, 'linux'))).size).toBe(1);
    const [first = '', last] = [spellings[0], spellings.at(-1)];
    expect(pick([artifact('hit', 'linux', first)], 'linux', last)).toBe('hit');
    expect(pick([artifact('hit', 'linux', last)], 'linux', first)).toBe('hit');
  });

  it.each(platformGroups)('platform %s and its other spellings are one', (...spellings) => {
    expect(new Set(spellings.map(foldPlatform)).size).toBe(1);
    for (const each of spellings) {
      expect(pick([artifact('hit', each, 'x64')], spellings[0] ?? '', 'x64')).toBe('hit');
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
    const others = ['arm32', 'm1', 'fat', 'aarch32', 'intel'];
    const spelling = fc.constantFrom(...archGroups.flat(), ...others);
    const anyName = fc.oneof(fc.string({ unit: 'binary' }), spelling);
    fc.assert(
      fc.property(anyName, fc.constantFrom('', 'darwin', 'linux', 'windows'), (text, on) => {
        expect(foldArch(foldArch(text, on), on)).toBe(foldArch(text, on));
        expect(foldPlatform(foldPlatform(text))).toBe(foldPlatform(text));
      }),
    );
  });
});

it('names of object members are platforms and archs like any other', () => {
  for (const name of ['__proto__', 'constructor', 'toString']) {
    expect(pick([artifact('miss', 'darwin', 'arm64')], name, name)).toBeUndefined();
    expect(pick([artifact('hit', name, name)], name, name)).toBe('hit');
  }
});

it.each(
  rowsOf(`
  appimage: https://dl.example.com/app-1.2.0.AppImage
  gz: https://dl.example.com/app.tar.gz?token=a.exe#b.dmg
  : https://dl.example.com/v1.2/app | https://dl.example.com/app. | https://dl.example.com | no address.zip
  `),
)('the ending of the address %s is "%s"', (url, ending) => {
  expect(extensionOf(url)).toBe(ending);
});
