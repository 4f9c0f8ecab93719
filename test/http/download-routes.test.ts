// Tests downloads for people (docs/contract.md 22): which file an address leads to, what a User-Agent tells,
// and the page that a browser gets where there is none.

import { describe, expect, it } from 'vitest';
import { release, targeting } from '../domain/sample.ts';
import { DeviceSide, serving } from '../support/device-side.ts';
import { artifacts, at } from '../support/released.ts';
import { rowsOf } from '../support/rows-of.ts';
import type { FakeAnswer } from './fake-exchange.ts';

const PATH = '/download/acme/stable';
const NONE = '404';
const LINUX = 'Mozilla/5.0 (X11; Linux x86_64)';

describe('the release (§22)', () => {
  const [early, none] = [targeting({ matchLabels: { ring: ['a'] } }), targeting({})];

  it.each([
    ['is the highest', ['darwin 2.dmg', {}], '2.dmg'],
    ['is at 100 %', ['darwin 2.dmg', { rolloutPct: 99 }], '1.dmg'],
    ['has no targeting', ['darwin 2.dmg', { targets: early }], '1.dmg'],
    ['may have an empty one, as none (§2.3)', ['darwin 2.dmg', { targets: none }], '2.dmg'],
    ['is published', ['darwin 2.dmg', { status: 'paused' }], '1.dmg'],
    ['is not followed', ['darwin 2.dmg', { followed: true }], '1.dmg'],
    ['has a file', ['windows a.msi', {}], '1.dmg'],
  ] as const)('%s', async (_, newer, file) => {
    const side = serving({ '1.0.0': 'darwin 1.dmg', '1.1.0': newer });
    expect(await side.file(`${PATH}/darwin`)).toBe(file);
  });

  it('is kept by caches for a minute, and is neither an offer nor a check-in', async () => {
    const side = serving({ '1.0.0': 'darwin 1.dmg' });
    const { status, headers } = await side.ask(`${PATH}/macOS`);
    expect([status, headers.get('location'), headers.get('cache-control')]).toEqual([
      ...[302, at('1.dmg'), 'public, max-age=60'],
    ]);
    expect(side.checked).toEqual([]);
  });
});

describe('the file (§22)', () => {
  const side = new DeviceSide([
    release('1.0.0', {
      artifacts: [
        ...artifacts(`darwin/universal a.zip, darwin/x64 b.dmg, darwin/arm64 c.dmg, windows d.msi,
          windows e-setup.exe, linux/x64 f.tar.gz, linux/x64 g.rpm, linux/x64 h.deb,
          linux/arm64 i.AppImage, freebsd j.zip, freebsd/x64 k.zip, freebsd/arm64 l.zip,
          openbsd m, openbsd n.tgz.dgst, openbsd o.tar.gz`),
        { platform: 'linux', format: 'appimage' },
      ],
    }),
  ]);

  // A file that names its architecture goes before one that names none, a known format before none.
  it.each(
    rowsOf(`
    a.zip: darwin | darwin/riscv64
    b.dmg: darwin?format=dmg | darwin/x86_64?format=
    c.dmg: darwin/arm64
    e-setup.exe: windows
    d.msi: win32/x64?format=MSI
    h.deb: linux
    g.rpm: linux?format=rpm
    i.AppImage: linux/aarch64
    k.zip: freebsd
    l.zip: freebsd/arm64
    j.zip: freebsd/riscv64
    o.tar.gz: openbsd
    404: linux/aarch64?format=deb | netbsd
    `),
  )('for %s is %s: arch goes before format', async (path, file) => {
    expect(await side.file(`${PATH}/${path}`)).toBe(file);
  });
});

describe('without a platform the User-Agent tells it (§22)', () => {
  const platforms = 'windows a.exe, darwin b.dmg, linux c.AppImage';
  const arm = 'linux/arm64 arm64.AppImage';
  const linux = `linux/x64 x64.AppImage, linux/arm64 arm64.AppImage, linux/armhf armhf.AppImage,
    linux/i386 i386.AppImage`;

  it.each([
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64)', 'a.exe', platforms],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)', 'b.dmg', platforms],
    [LINUX, 'c.AppImage', platforms],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X)', NONE, platforms],
    ['Mozilla/5.0 (Linux; Android 14)', NONE, platforms],
    ['curl/8.5.0', NONE, platforms],
    ['Mozilla/5.0 (X11; Ubuntu; Linux aarch64; rv:140.0) Gecko/20100101', 'arm64.AppImage', linux],
    ['Mozilla/5.0 (X11; Linux armv7l) AppleWebKit/537.36', 'armhf.AppImage', linux],
    ['Mozilla/5.0 (X11; Linux armv8l; rv:128.0)', 'armhf.AppImage', linux],
    ['Mozilla/5.0 (X11; Linux i686; rv:128.0)', 'i386.AppImage', linux],
    ['Mozilla/5.0 (X11; Linux i686 on x86_64; rv:128.0)', 'x64.AppImage', linux],
    [LINUX, 'x64.AppImage', linux],
    ['Lynx/2.9 Linux', 'x64.AppImage', linux],
    // What the machine cannot run is no download, but some browsers say x86_64 everywhere.
    ['Mozilla/5.0 (X11; Linux i686)', NONE, arm],
    ['Mozilla/5.0 (X11; Linux riscv64)', NONE, arm],
    [LINUX, 'arm64.AppImage', arm],
  ])('%s leads to %s', async (agent, file, text) => {
    const side = serving({ '1.0.0': text });
    const asked = { headers: { 'user-agent': agent } };
    expect(await side.file(PATH, asked)).toBe(file);
    expect((await side.ask(PATH, asked)).headers.get('vary')).toContain('User-Agent');
  });
});

describe('where there is no file (§22)', () => {
  const side = serving({
    '1.0.0': `windows/x64 a.exe, windows/x64 a-delta.nupkg, darwin/universal b.dmg,
      <b>"& c.tar.gz`,
  });
  const browse = (path: string, agent = LINUX) =>
    side.ask(`/download/acme/${path}`, {
      headers: { 'user-agent': agent, accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    });
  const links = (path: string, { text }: FakeAnswer) =>
    [...text.matchAll(/href="([^"]*)">([^<]*)</g)].map(([, to = '', name]) => {
      const page = `http://h/download/acme/${path}`;
      const { pathname, search } = new URL(to.replaceAll('&amp;', '&'), page);
      return `${pathname}${search} ${name}`;
    });

  it.each(['stable', 'stable/linux', 'stable/linux/arm64', 'stable/darwin/arm64?format=pkg'])(
    'a browser at %s has a page in words with the files that there are',
    async (path) => {
      const answer = await browse(path);
      expect(answer.status).toBe(404);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': expect.stringMatching(/^default-src 'none'/),
        'cache-control': 'no-store',
        vary: expect.stringMatching(/\bAccept$/),
      });
      expect(links(path, answer)).toEqual([
        `${PATH}/windows/x86_64?format=exe Windows, x86_64, exe`,
        `${PATH}/darwin/universal?format=dmg macOS, universal, dmg`,
        `${PATH}/%3Cb%3E%22%26?format=tar.gz &lt;b&gt;&quot;&amp;, tar.gz`,
      ]);
      expect(answer.text).not.toMatch(/<(?:script|img|link|style|b)\b|src=/);
    },
  );

  it.each([
    ['stable', LINUX, 'There is no file for Linux that is asked for.'],
    ['stable', 'Unheard-of/1.0', 'Your browser does not tell what your device is.'],
    ['%3Cscript%3E', LINUX, 'There is no download at this address: Unknown channel.'],
  ])('the page of %s says to %s: %s', async (path, agent, sentence) => {
    const { status, text } = await browse(path, agent);
    expect([status, text]).toEqual([404, expect.stringContaining(`<p>${sentence}</p>`)]);
  });

  it('a link of the page leads to its file; a program is refused with an Error body', async () => {
    expect(await side.file(`${PATH}/windows/x86_64?format=exe`)).toBe('a.exe');
    const { status, text } = await side.ask(`${PATH}/linux`);
    expect([status, text]).toEqual([404, '{"error":"No download"}']);
  });
});
