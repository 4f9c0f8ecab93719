// Tests the formats of artifacts and which of them a device is offered, above all that no client gets a file
// which it cannot install: Tauri's updater writes whatever it is served over what is installed.

import { describe, expect, it } from 'vitest';
import { isFailure } from '../../../../src/contract/failure.ts';
import type { Artifact } from '../../../../src/contract/resource.ts';
import {
  canInstall,
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
    dmg: App.dmg
    pkg: App.pkg
    appimage: app_1.2.3_amd64.AppImage
    appimage.tar.gz: app_1.2.3_amd64.AppImage.tar.gz
    deb: app_1.2.3_amd64.DEB | app.deb?token=x.zip#y.dmg | %zz.deb
    rpm: app-1.2.3-1.x86_64.rpm
    pacman: app.pacman
    snap: app.snap
    flatpak: app.flatpak
    nsis: App_1.2.3_x64-setup.exe | App_1.2.3_x64-SETUP.EXE | app_setup.exe
    nsis: App%20Setup%201.2.3.exe | App Setup 1.2.3.exe
    exe: AppSetup.exe | Setup.exe | app.exe
    nsis.zip: App_1.2.3_x64-setup.nsis.zip
    msi: App_1.2.3_x64_en-US.msi
    msi.zip: App_1.2.3_x64_en-US.msi.zip
    msix: App.msix
    nupkg: App-1.2.3-full.nupkg
    apk: app.apk
    aab: app.aab
    ipa: app.ipa
    tar.gz: app.tar.gz
    tar.xz: app.tar.xz
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
    my-own.format+2: my-own.format+2
    `),
    ...[
      'unknown',
      'UNKNOWN',
      '',
      '{{bundle_type}}',
      '%7B%7Bbundle_type%7D%7D',
      '.deb',
      'de b',
      'deb\u0000',
      'd\u00e9b',
      '\ufffd',
    ].map((text) => [text, ANY_KIND] as const),
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
    ['darwin', ['app.tar.gz', 'zip', undefined, 'dmg', 'pkg']],
    ['windows', ['nsis', 'nsis.zip', undefined, 'msi', 'msi.zip', 'msix']],
    [
      'linux',
      [
        'appimage',
        'appimage.tar.gz',
        undefined,
        'tar.gz',
        'deb',
        'rpm',
        'pacman',
        'snap',
        'flatpak',
      ],
    ],
  ])('%s: %j', (platform, order) => {
    const ranks = order.map((format) => formatRank(platform, format));
    expect(ranks).toEqual([...ranks].sort((left, right) => left - right));
    expect(new Set(ranks).size).toBe(order.length);
    expect(formatRank(platform, 'own')).toBe(formatRank(platform, undefined));
  });

  it('on other platforms all are equal', () => {
    expect(formatRank('freebsd', 'pkg')).toBe(formatRank('freebsd', 'tar.gz'));
  });

  it('exe is as nsis, every tar as the others', () => {
    expect(formatRank('windows', 'exe')).toBe(formatRank('windows', 'nsis'));
    expect(formatRank('linux', 'tar.zst')).toBe(formatRank('linux', 'tar.gz'));
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

function signed(platform: string, name: string): Built {
  return { platform, arch: 'x86_64', url: `https://dl.example.com/${name}`, signature: 'sig' };
}

function unsigned(platform: string, name: string): Built {
  return { platform, arch: 'x86_64', url: `https://dl.example.com/${name}` };
}

function* ordersOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  if (items.length <= 1) yield items;
  for (const [index, item] of items.entries()) {
    for (const rest of ordersOf(items.toSpliced(index, 1))) yield [item, ...rest];
  }
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
    for (const order of ordersOf(names)) {
      const all = order.map((name) => signed(platform, name));
      const url = offered(all, platform, told, true)?.url ?? 'none';
      if (kind !== ANY_KIND) expect(kindOfUrl(url)).toBe(kind);
      found.add(artifactFormat({ url }) ?? 'none');
    }
    // Where two formats are equal, publish order decides between them.
    const equal = platform === 'windows' && kind !== 'msi' ? ['exe', 'nsis'] : [[...found][0]];
    expect([...found].sort()).toEqual(equal);
  });

  it('gets nothing where only other kinds were published', () => {
    const others = names.filter((name) => kind !== ANY_KIND && kindOfUrl(`x://x/${name}`) !== kind);
    const all = others.map((name) => signed(platform, name));
    expect(offered(all, platform, told, true)).toBeUndefined();
    expect(offered(all, platform, told, false)).toBeUndefined();
  });

  it('gets no other kind where its own is not signed', () => {
    const mine = names.filter((name) => kind === ANY_KIND || kindOfUrl(`x://x/${name}`) === kind);
    const all = names.map((name) =>
      mine.includes(name) ? unsigned(platform, name) : signed(platform, name),
    );
    expect(offered(all, platform, told, true)).toBeUndefined();
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
  it('goes before the preferred format, and the preferred format before publish order', () => {
    const deb = signed('linux', 'a.deb');
    const image = unsigned('linux', 'a.AppImage');
    expect(offered([image, deb], 'linux', '', false)).toBe(deb);
    const signedImage = signed('linux', 'a.AppImage');
    expect(offered([deb, signedImage], 'linux', '', false)).toBe(signedImage);
  });

  it('for any arch is offered where the one for the arch is not signed', () => {
    const mine = unsigned('linux', 'a.AppImage');
    const any: Built = {
      platform: 'linux',
      url: 'https://dl.example.com/b.AppImage',
      signature: 's',
    };
    expect(offered([mine, any], 'linux', 'appimage', true)).toBe(any);
    expect(offered([mine, any], 'linux', 'appimage', false)).toBe(mine);
  });

  it('whose name is another artifact with something added comes after all, whatever its place', () => {
    const archive = unsigned('linux', 'a.tar.gz');
    const sum = unsigned('linux', 'a.tar.gz.dgst');
    expect(offered([sum, archive], 'linux', '', false)).toBe(archive);
    const own: Built = { ...unsigned('linux', 'a.tar.gz.own'), format: 'own' };
    expect(offered([archive, own], 'linux', '', false)).toBe(own);
    const image = unsigned('linux', 'a.AppImage');
    expect(offered([image, unsigned('linux', 'a.AppImage.tar.gz')], 'linux', '', false)).toBe(
      image,
    );
    const bare = unsigned('linux', 'a');
    expect(offered([archive, bare], 'linux', '', false)).toBe(bare);
  });

  it('with an empty signature counts as unsigned', () => {
    const empty = { ...unsigned('linux', 'a.deb'), signature: '' };
    expect(offered([empty], 'linux', 'deb', true)).toBeUndefined();
  });
});
