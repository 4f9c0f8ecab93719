// Tests update files of electron-updater (docs/contract.md 16): their names, what they list in which order,
// their layout, and which release they show. Each is read by the client's YAML parser.

import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import type { Artifact, TargetExpression } from '../../src/contract/resource.ts';
import type { SnapshotRelease } from '../../src/domain/decision/serving-snapshot.ts';
import { release, targeting } from '../domain/sample.ts';
import { artifacts, DeviceSide, SUMS } from '../support/device-side.ts';
import { at } from '../support/released.ts';

type Fields = Readonly<Record<string, unknown>>;

const NONE = '404';
const EXE = artifacts('windows/x64 app.exe');
const MAC = artifacts('darwin/arm64 app.zip');

/** Asks for update files of `acme` on stable. */
function filesOf(releases: readonly SnapshotRelease[]) {
  const side = new DeviceSide(releases);
  const ask = (file: string, headers = {}) => side.ask(`/e/acme/stable/${file}`, { headers });
  const read = async (file: string, headers = {}): Promise<Fields> => {
    const { status, text } = await ask(file, headers);
    return status === 200 ? (load(text) as Fields) : { version: String(status), text };
  };
  return {
    ask,
    read,
    version: async (file = 'latest.yml', headers = {}) => (await read(file, headers)).version,
    /** Names of the listed files; the status where there is no file. */
    names: async (file: string) => {
      const { files, version } = await read(file);
      if (files === undefined) return version;
      return (files as { url: string }[]).map(({ url }) => url.split('/').at(-1)).join(' ');
    },
  };
}

describe('names (§16.8)', () => {
  const LINUX = ['', '-arm64', '-arm', '-ia32'].map((arch) => `latest-linux${arch}.yml`);
  const ALL = artifacts('windows a.exe, darwin a.zip, linux a.AppImage');

  it.each(['latest.yml', 'latest-mac.yml', ...LINUX])('%s, and the channel’s own', async (file) => {
    const side = new DeviceSide([release('1.0.0', { artifacts: ALL })], { channel: 'beta' });
    for (const name of [file, file.replace('latest', 'beta')]) {
      const { status, headers } = await side.ask(`/e/acme/beta/${name}`);
      expect([name, status, headers.get('content-type')]).toEqual([
        ...[name, 200, 'text/yaml; charset=utf-8'],
      ]);
    }
  });

  it('latest-mac.yml is for macOS even on a channel of that name', async () => {
    const side = new DeviceSide([release('1.0.0', { artifacts: ALL })], { channel: 'latest-mac' });
    expect(await side.file('/e/acme/latest-mac/latest-mac.yml')).toBe('a.zip');
  });

  it.each(['noCache=1j8u3k2', 'a&b=%ZZ&=&noCache=1&noCache=2', 'label.x=1', ''])(
    'parameters other than labels change nothing: %s (§16.3)',
    async (query) => {
      const { ask } = filesOf([release('1.0.0', { artifacts: EXE })]);
      const [plain, asked] = [await ask('latest.yml'), await ask(`latest.yml?${query}`)];
      expect([asked.status, asked.text]).toEqual([200, plain.text]);
    },
  );
});

describe('the layout (§16.6)', () => {
  it('has the version, the files with checksum and size, the first of them on top, and the date', async () => {
    const { read } = filesOf([release('1.0.0', { artifacts: EXE, notes: 'Hello' })]);
    const { sha512, size } = SUMS;
    expect(await read('latest.yml')).toEqual({
      version: '1.0.0',
      files: [{ url: at('app.exe'), sha512, size }],
      ...{ path: at('app.exe'), sha512 },
      releaseNotes: 'Hello',
      releaseDate: '2026-01-02T03:04:05.678Z',
    });
  });

  it.each([
    ['v1.2', '1.2.0'],
    ['1.2.3-beta.1+5', '1.2.3-beta.1+5'],
    ['2026.01.15', '2026.1.15'],
    ['2027.0.0.1', '1.0.0'],
  ])(
    'above 1.0.0, %s is told as %s: a fourth part, which no client could read, falls through (§16.1)',
    async (text, told) => {
      const texts = [text, '1.0.0'];
      const { version } = filesOf(texts.map((each) => release(each, { artifacts: EXE })));
      expect(await version()).toBe(told);
    },
  );

  it.each<[checksums: Partial<Artifact>, told: Fields]>([
    [{ sha512: '00'.repeat(64) }, { sha512: `${'A'.repeat(86)}==` }],
    [{ sha512: SUMS.sha512 }, { sha512: SUMS.sha512 }],
    [{ sha512: '' }, { sha2: SUMS.sha256 }],
  ])('a checksum in hex becomes base64, and SHA-512 goes first: %j', async (checksums, told) => {
    const all = artifacts('windows a.exe', checksums);
    const { files } = await filesOf([release('1.0.0', { artifacts: all })]).read('latest.yml');
    expect(files).toEqual([{ url: at('a.exe'), size: SUMS.size, ...told }]);
  });
});

describe('what is listed (§16.7)', () => {
  it.each<[rule: string, published: readonly Artifact[], files: Record<string, string>]>([
    [
      'what has no checksum or no address is left out',
      [
        { platform: 'windows', url: at('bare.exe') },
        { platform: 'windows', sha512: SUMS.sha512 },
        ...artifacts('windows/arm64 arm64.exe'),
      ],
      { 'latest.yml': 'arm64.exe' },
    ],
    [
      'what runs on every arch is first, then x64, others, and arm64 last',
      artifacts(`windows/aarch64 arm64.exe, windows/i686 ia32.exe, windows/x86_64 x64.exe,
        windows all.exe, mac/arm64 arm64.zip, osx/universal universal.zip, darwin/amd64 x64.zip`),
      {
        'latest.yml': 'all.exe x64.exe ia32.exe arm64.exe',
        'latest-mac.yml': 'universal.zip x64.zip arm64.zip',
      },
    ],
    [
      'an installer comes before a portable build of the same arch, and no arch before another',
      artifacts(`windows App.1.0.0.exe, windows/x64 App.1.0.0-x64.exe,
        windows/x64 App_1.0.0_x64-setup.exe, windows App%20Setup%201.exe`),
      {
        'latest.yml': 'App%20Setup%201.exe App.1.0.0.exe App_1.0.0_x64-setup.exe App.1.0.0-x64.exe',
      },
    ],
    [
      'a Linux file has its own arch, then what runs on several, and no other',
      artifacts(`linux all.AppImage, linux/universal both.AppImage, linux/arm64 arm64.AppImage,
        linux/armv7 arm.AppImage, linux/ia32 ia32.deb, linux/x64 x64.rpm, linux/x64 x64.pacman`),
      {
        'latest-linux.yml': 'x64.rpm x64.pacman both.AppImage all.AppImage',
        'latest-linux-arm64.yml': 'arm64.AppImage both.AppImage all.AppImage',
        'latest-linux-arm.yml': 'arm.AppImage both.AppImage all.AppImage',
        'latest-linux-ia32.yml': 'ia32.deb both.AppImage all.AppImage',
      },
    ],
    [
      'formats that no updater of the platform installs are left out, also what tells no format',
      artifacts(`windows/x64 app.msi, windows/x64 download/42, windows/x64 app.exe,
        darwin/x64 app.dmg, darwin/x64 app.zip, darwin/x64 app.pkg, linux/x64 app.tar.gz,
        linux/x64 app.snap`),
      { 'latest.yml': 'app.exe', 'latest-mac.yml': 'app.zip', 'latest-linux.yml': NONE },
    ],
    [
      'an address that tells no format is taken when there is nothing better',
      artifacts('windows/x64 download/42'),
      { 'latest.yml': '42' },
    ],
    [
      'an address with an ending that nothing is known to install is not',
      artifacts('windows/x64 app.exe.dgst, darwin/x64 app.zip.hash'),
      { 'latest.yml': NONE, 'latest-mac.yml': NONE },
    ],
  ])('%s', async (_, published, files) => {
    const { names } = filesOf([release('1.0.0', { artifacts: published })]);
    for (const [file, listed] of Object.entries(files)) expect(await names(file)).toBe(listed);
  });

  it.each([
    ['windows/x64 a.exe, windows/arm64 aarch64.exe', 'latest.yml', 'a.exe aarch64.exe#arm64'],
    ['windows/x64 a.exe, windows/x64 b.exe', 'latest.yml', 'a.exe b.exe'],
    ['darwin/arm64 aarch64.zip', 'latest-mac.yml', 'aarch64.zip#arm64'],
    ['darwin/arm64 arm64.zip#x', 'latest-mac.yml', 'arm64.zip#x'],
    ['darwin/arm64 a.zip#x', 'latest-mac.yml', 'a.zip#x-arm64'],
  ])(
    'of %s, %s has the addresses %s, in which a client finds its arch',
    async (text, file, listed) => {
      const { names } = filesOf([release('1.0.0', { artifacts: artifacts(text) })]);
      expect(await names(file)).toBe(listed);
    },
  );
});

describe('the release (§16.1)', () => {
  it.each<[rule: string, parts: Partial<SnapshotRelease>, versions: Record<string, string>]>([
    ['is the highest', {}, { 'latest.yml': '2.0.0', 'latest-mac.yml': '1.0.0' }],
    [
      'has a file for the platform',
      { artifacts: MAC },
      { 'latest.yml': '1.0.0', 'latest-mac.yml': '2.0.0' },
    ],
    ['is for every device', { rolloutPct: 99 }, { 'latest.yml': '1.0.0' }],
  ])('%s, whatever the client runs', async (_, parts, versions) => {
    const before = release('1.0.0', { artifacts: [...EXE, ...MAC] });
    const { version } = filesOf([before, release('2.0.0', { artifacts: EXE, ...parts })]);
    for (const [file, told] of Object.entries(versions)) expect(await version(file)).toBe(told);
    expect(await version('latest-linux.yml')).toBe(NONE);
  });

  it('is 404 where none is eligible, and no cache may keep that (§16.4)', async () => {
    const { ask } = filesOf([release('1.0.0', { artifacts: EXE, rolloutPct: 0 })]);
    const { status, text, headers } = await ask('latest.yml');
    expect([status, text, headers.get('cache-control')]).toEqual([
      ...[404, '{"error":"No release offered"}', 'no-store'],
    ]);
  });

  const inValues = (key: string, value: string) =>
    ({ key, operator: 'In', values: [value] }) as const;
  it.each<[expression: TargetExpression, file: string, status: number]>([
    [inValues('$platform', 'win32'), 'latest.yml', 200],
    [inValues('$platform', 'win32'), 'latest-linux.yml', 404],
    [inValues('$arch', 'x64'), 'latest-linux.yml', 200],
    [inValues('$arch', 'x64'), 'latest-linux-arm64.yml', 404],
    [inValues('$arch', 'arm64'), 'arm64/latest.yml', 404],
    [inValues('$arch', 'x64'), 'x64/latest.yml', 200],
    [{ key: '$arch', operator: 'Exists', values: [] }, 'latest.yml', 404],
    [{ key: '$version', operator: 'VersionLt', values: ['9.0.0'] }, 'latest.yml', 404],
    [{ key: '$version', operator: 'DoesNotExist', values: [] }, 'latest.yml', 200],
  ])(
    'for %j is %s %d: $platform is the file’s, $arch where it names one, $version none (§16.3)',
    async (expression, file, status) => {
      const all = artifacts('windows/x64 a.exe, linux/x64 a.deb, linux/arm64 b.deb');
      const targets = targeting({ matchExpressions: [expression] });
      const { ask } = filesOf([release('1.0.0', { artifacts: all, targets })]);
      expect((await ask(file)).status).toBe(status);
    },
  );
});

describe('with the arch in the address (§16.12)', () => {
  const { names, read } = filesOf([
    release('1.0.0', { artifacts: artifacts('windows/x64 1-x64.exe, windows/arm64 1-arm64.exe') }),
    release('1.1.0', {
      artifacts: artifacts('windows/x64 2-x64.exe', { minimumSystemVersion: '10.0.17763' }),
    }),
    release('1.2.0', {
      artifacts: artifacts('linux/armv7 armv7.deb, linux/x64 x64.deb, linux/arm64 arm64.deb'),
    }),
  ]);

  it.each([
    ['latest.yml', '2-x64.exe'],
    ['x64/latest.yml', '2-x64.exe'],
    ['arm64/latest.yml', '1-arm64.exe'],
    ['riscv64/latest.yml', NONE],
    ['armv7l/latest-linux.yml', 'armv7.deb'],
    ['x64/latest-linux-arm64.yml', 'arm64.deb'],
  ])('%s counts and lists only what a client of that arch installs: %s', async (file, listed) => {
    expect(await names(file)).toBe(listed);
  });

  it('the minimum system is that of what is listed (§16.13)', async () => {
    const minimum = async (file: string) => (await read(file)).minimumSystemVersion;
    expect(await minimum('x64/latest.yml')).toBe('10.0.17763');
    expect(await minimum('arm64/latest.yml')).toBeUndefined();
  });
});
