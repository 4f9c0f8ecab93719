// Tests update files of electron-updater (docs/contract.md 16): their names, what they list in which order,
// their layout, and which release they show. Each is read by the client's YAML parser.

import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import type { Artifact, TargetExpression } from '../../src/contract/resource.ts';
import { release, targeting } from '../domain/sample.ts';
import { DeviceSide, serving } from '../support/device-side.ts';
import { artifacts, at, SUMS } from '../support/released.ts';

type Fields = Readonly<Record<string, unknown>>;
type Operator = TargetExpression['operator'];

const NONE = '404';
const PATH = '/e/acme/stable';

async function read(side: DeviceSide, file = 'latest.yml'): Promise<Fields> {
  const { status, text } = await side.ask(`${PATH}/${file}`);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return load(text) as Fields;
}

describe('names (§16.8)', () => {
  const all = { '1.0.0': 'windows a.exe, darwin a.zip, linux a.AppImage' };
  const linux = ['', '-arm64', '-arm', '-ia32'].map((arch) => `latest-linux${arch}.yml`);

  it.each(['latest.yml', 'latest-mac.yml', ...linux])('%s, and the channel’s own', async (file) => {
    const side = serving(all, { channel: 'beta' });
    for (const name of [file, file.replace('latest', 'beta')]) {
      expect((await side.ask(`/e/acme/beta/${name}`)).status).toBe(200);
    }
  });

  it('latest-mac.yml is for macOS even on a channel of that name; parameters change nothing (§16.3)', async () => {
    const side = serving(all, { channel: 'latest-mac' });
    for (const query of ['', '?noCache=1j8u3k2', '?a&b=%ZZ&=&noCache=1&noCache=2&label.x=1']) {
      expect(await side.file(`/e/acme/latest-mac/latest-mac.yml${query}`)).toBe('a.zip');
    }
  });
});

describe('the layout (§16.6)', () => {
  it('has the version, the files with checksum and size, the first of them on top, and the date', async () => {
    const { sha512, size } = SUMS;
    // Who is in a rollout was decided here: the client is told no share.
    const side = serving({ '1.0.0': ['windows a.exe', { notes: 'Hello', rolloutPct: 99 }] });
    expect(await read(side, 'latest.yml?device=device-0')).toEqual({
      version: '1.0.0',
      files: [{ url: at('a.exe'), sha512, size }],
      ...{ path: at('a.exe'), sha512 },
      releaseNotes: 'Hello',
      releaseDate: '2026-01-02T03:04:05.678Z',
    });
  });

  it.each([
    ['v1.2', '1.2.0'],
    ['1.2.3-beta.1+5', '1.2.3-beta.1+5'],
    ['2026.01.15', '2026.1.15'],
    ['2027.0.0.1', '1.0.0'],
  ])('%s above 1.0.0 is %s: what SemVer cannot say falls through (§16.1)', async (text, told) => {
    const { version } = await read(serving({ '1.0.0': 'windows a.exe', [text]: 'windows b.exe' }));
    expect(version).toBe(told);
  });

  it.each<[checksums: Partial<Artifact>, told: Fields]>([
    [{ sha512: '00'.repeat(64) }, { sha512: `${'A'.repeat(86)}==` }],
    [{ sha512: SUMS.sha512 }, { sha512: SUMS.sha512 }],
    [{ sha512: '' }, { sha2: SUMS.sha256 }],
  ])('a checksum in hex becomes base64, and SHA-512 goes first: %j', async (checksums, told) => {
    const all = artifacts('windows a.exe', checksums);
    const { files } = await read(new DeviceSide([release('1.0.0', { artifacts: all })]));
    expect(files).toEqual([{ url: at('a.exe'), size: SUMS.size, ...told }]);
  });
});

describe('what is listed (§16.7)', () => {
  it.each<[rule: string, published: string, files: Record<string, string>]>([
    [
      'what runs on every arch is first, then x64, others, and arm64 last',
      `windows/aarch64 arm64.exe, windows/i686 ia32.exe, windows/x86_64 x64.exe, windows all.exe,
        mac/arm64 arm64.zip, osx/universal universal.zip, darwin/amd64 x64.zip`,
      {
        'latest.yml': 'all.exe x64.exe ia32.exe arm64.exe',
        'latest-mac.yml': 'universal.zip x64.zip arm64.zip',
      },
    ],
    [
      'an installer comes before a portable build of the same arch, and no arch before another',
      'windows A.exe, windows/x64 A-x64.exe, windows/x64 A_x64-setup.exe, windows A%20Setup%201.exe',
      { 'latest.yml': 'A%20Setup%201.exe A.exe A_x64-setup.exe A-x64.exe' },
    ],
    [
      'a Linux file has its own arch, then what runs on several, and no other',
      `linux all.AppImage, linux/universal both.AppImage, linux/arm64 arm64.AppImage,
        linux/armv7 arm.AppImage, linux/ia32 ia32.deb, linux/x64 x64.rpm, linux/x64 x64.pacman`,
      {
        'latest-linux.yml': 'x64.rpm x64.pacman both.AppImage all.AppImage',
        'latest-linux-arm64.yml': 'arm64.AppImage both.AppImage all.AppImage',
        'latest-linux-arm.yml': 'arm.AppImage both.AppImage all.AppImage',
        'latest-linux-ia32.yml': 'ia32.deb both.AppImage all.AppImage',
      },
    ],
    [
      'formats that no updater of the platform installs are left out, also what tells no format',
      `windows/x64 a.msi, windows/x64 download/42, windows/x64 a.exe, darwin/x64 a.dmg,
        darwin/x64 a.zip, darwin/x64 a.pkg, linux/x64 a.tar.gz, linux/x64 a.snap`,
      { 'latest.yml': 'a.exe', 'latest-mac.yml': 'a.zip', 'latest-linux.yml': NONE },
    ],
    [
      'an address without a format is taken where nothing is better, one with an unknown format not',
      'windows/x64 download/42, windows/x64 a.exe.dgst, darwin/x64 a.zip.hash',
      { 'latest.yml': 'download/42', 'latest-mac.yml': NONE },
    ],
    [
      'an arch that a client would not find in an address is added to it',
      'windows/x64 a.exe, windows/x64 b.exe, windows/arm64 aarch64.exe, darwin/arm64 a.zip#x',
      // `path`, which older clients read, has an address as it was published.
      { 'latest.yml': 'a.exe b.exe aarch64.exe#arm64', 'latest-mac.yml': 'a.zip#x-arm64 a.zip#x' },
    ],
  ])('%s', async (_, published, files) => {
    const side = serving({ '1.0.0': published });
    for (const [file, listed] of Object.entries(files)) {
      expect(await side.file(`${PATH}/${file}`)).toBe(listed);
    }
  });

  it('what has no checksum or no address is left out', async () => {
    const bare = { platform: 'windows', url: at('bare.exe') };
    const unsent = { platform: 'windows', format: 'exe', sha512: SUMS.sha512 };
    const all = [bare, unsent, ...artifacts('windows/arm64 arm64.exe')];
    const side = new DeviceSide([release('1.0.0', { artifacts: all })]);
    expect(await side.file(`${PATH}/latest.yml`)).toBe('arm64.exe');
  });
});

describe('the release', () => {
  it.each([
    ['the highest', { '2.0.0': 'windows 2.exe' }, '2.exe', '1.zip'],
    ['one with a file for the platform', { '2.0.0': 'darwin 2.zip' }, '1.exe', '2.zip'],
    ['for every device', { '2.0.0': ['windows 2.exe', { rolloutPct: 99 }] }, '1.exe', '1.zip'],
  ] as const)('is %s, whatever the client runs (§16.1)', async (_, newer, windows, mac) => {
    const side = serving({ '1.0.0': 'windows 1.exe, darwin 1.zip', ...newer });
    expect(await side.file(`${PATH}/latest.yml`)).toBe(windows);
    expect(await side.file(`${PATH}/latest-mac.yml`)).toBe(mac);
    expect(await side.file(`${PATH}/latest-linux.yml`)).toBe(NONE);
  });

  it.each<[file: string, status: number, key: string, Operator, value?: string]>([
    ['latest.yml', 200, '$platform', 'In', 'win32'],
    ['latest-linux.yml', 200, '$arch', 'In', 'x64'],
    ['x64/latest.yml', 404, '$arch', 'In', 'arm64'],
    ['latest.yml', 404, '$arch', 'Exists'],
    ['latest.yml', 404, '$version', 'VersionLt', '9.0.0'],
    ['latest.yml', 200, '$version', 'DoesNotExist'],
  ])('in %s is %d for %s %s %s (§16.3, §16.12)', async (file, status, key, operator, value) => {
    const expression = { key, operator, values: value === undefined ? [] : [value] };
    const targets = targeting({ matchExpressions: [expression] });
    const all = 'windows/x64 a.exe, linux/x64 a.deb, linux/arm64 b.deb';
    const side = serving({ '1.0.0': [all, { targets }] });
    expect((await side.ask(`${PATH}/${file}`)).status).toBe(status);
  });
});

describe('with the arch in the address (§16.12)', () => {
  const system = { minimumSystemVersion: '10.0.17763' };
  const side = serving({
    '1.0.0': 'windows/x64 1-x64.exe, windows/arm64 1-arm64.exe',
    '1.1.0': ['', { artifacts: artifacts('windows/x64 2-x64.exe', system) }],
    '1.2.0': 'linux/armv7 armv7.deb, linux/x64 x64.deb, linux/arm64 arm64.deb',
  });

  it.each([
    ['latest.yml', '2-x64.exe', '10.0.17763'],
    ['x64/latest.yml', '2-x64.exe', '10.0.17763'],
    ['arm64/latest.yml', '1-arm64.exe', undefined],
    ['armv7l/latest-linux.yml', 'armv7.deb', undefined],
    ['x64/latest-linux-arm64.yml', 'arm64.deb', undefined],
  ])('%s lists only %s, with its minimum system (§16.13)', async (file, listed, minimum) => {
    expect(await side.file(`${PATH}/${file}`)).toBe(listed);
    expect((await read(side, file)).minimumSystemVersion).toBe(minimum);
  });

  it('an arch that no artifact is for has no file, and no cache may keep that (§16.4)', async () => {
    const { status, text, headers } = await side.ask(`${PATH}/riscv64/latest.yml`);
    expect([status, text]).toEqual([404, '{"error":"No release offered"}']);
    expect(headers.get('cache-control')).toBe('no-store');
  });
});
