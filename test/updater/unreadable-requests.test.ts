// Tests requests of updaters that cannot be read (docs/contract.md 16 and 19 to 22): in every parameter and
// part of an address an empty, repeated or oversized value, NUL and broken UTF-8; unknown apps, channels and
// files.

import { expect, it } from 'vitest';
import { serving } from '../support/device-side.ts';
import { rowsOf } from '../support/rows-of.ts';

/** Message of a refusal; '' where the value is taken, or sent on. */
type Message = string | RegExp;

const LONG = 'x'.repeat(10_000);
const [U, V, S] = ['/u/@/linux/x64/1.0.0', '/velopack/@/releases.win.json', '/sparkle/@'];
const [FILE, NONE, GONE] = ['Unknown file', 'No download', 'Not found'];
const RID = /^rid: Expected a runtime identifier/;
const MACHINE = /^platform: Expected/;
const NUL = 'Must not contain NUL or broken characters';
const most = (field: string, count = 64) => `${field}: Must have at most ${count} characters`;
const nul = (field: string) => `${field}: ${NUL}`;
const broken = (field: string) => `${field}: Malformed percent-encoding`;
const invalid = (field: string) => `${field}: Invalid version`;

/** Addresses that serve the release: `@` stands for the app and channel. */
const ALL = [
  ...[U, '/e/@/x64/latest-linux.yml', '/squirrel/@/darwin-x64/1.0.0'],
  ...['/squirrel/@/win32-x64/msix/1.0.0', '/squirrel/@/win32-x64/1.0.0/RELEASES'],
  ...[V, '/velopack/@/Notes.nupkg', `${S}/appcast.xml`, `${S}/appcast-windows.xml`],
  ...['/download/@/linux', '/download/@/linux/x64'],
];

/** Parameters: a good value, and what is said of one that is too long, has a NUL, or is no UTF-8. */
const PARAMETERS: readonly (readonly [string, good: string, Message, Message, Message])[] = [
  ...ALL.map((path) => [`${path}?device=`, 'd', '', '', ''] as const),
  [`${U}?bundle=`, 'appimage', most('bundle', 32), '', ''],
  [`${U}?bundle_type=`, 'appimage', most('bundle', 32), '', ''],
  [`${V}?stagingId=`, 'd', '', '', ''],
  [`${V}?localVersion=`, '1.0.0', ...three(invalid('localVersion'))],
  [`${V}?id=`, 'Notes', most('id', 128), nul('id'), ''],
  [`${V}?os=`, 'win', most('os'), nul('os'), ''],
  [`${V}?arch=`, 'x64', most('arch'), nul('arch'), ''],
  [`${V}?rid=`, 'win-x64', most('rid'), RID, RID],
  [`${S}/appcast.xml?arch=`, 'x64', most('arch'), nul('arch'), ''],
  [`${S}/appcast-windows.xml?arch=`, 'x64', most('arch'), nul('arch'), ''],
  ['/download/@/linux?format=', 'appimage', most('format', 32), NONE, NONE],
];

/** Parts of paths (`*`), and what is said of one that is too long, has a NUL, is no UTF-8, or is empty. */
const PARTS: readonly (readonly [string, Message, Message, Message, empty: Message])[] = [
  ['/e/@/*/latest-linux.yml', most('arch'), nul('arch'), broken('arch'), GONE],
  ['/e/@/x64/*', FILE, FILE, broken('file'), GONE],
  ['/squirrel/@/*-x64/1.0.0', most('platform'), nul('platform'), broken('platform'), MACHINE],
  ['/squirrel/@/darwin-*/msix/1.0.0', most('arch'), nul('arch'), broken('platform'), MACHINE],
  ['/squirrel/@/darwin-x64/*', invalid('version'), invalid('version'), broken('version'), GONE],
  [
    '/squirrel/@/*-x64/1.0.0/RELEASES',
    most('platform'),
    nul('platform'),
    broken('platform'),
    MACHINE,
  ],
  [
    '/squirrel/@/darwin-x64/*/RELEASES',
    invalid('version'),
    invalid('version'),
    broken('version'),
    GONE,
  ],
  [
    '/squirrel/@/darwin-x64/msix/*',
    invalid('version'),
    invalid('version'),
    broken('version'),
    GONE,
  ],
  ['/velopack/@/releases.*.json', FILE, FILE, broken('name'), GONE],
  ['/velopack/@/*', FILE, FILE, broken('path'), GONE],
  [`${S}/*`, FILE, FILE, broken('file'), GONE],
  ['/download/@/*', most('platform'), nul('platform'), broken('path'), GONE],
  ['/download/@/*/x64', most('platform'), nul('platform'), broken('path'), GONE],
  ['/download/@/linux/*', most('arch'), nul('arch'), broken('path'), GONE],
];

function three(message: string) {
  return [message, message, message] as const;
}

const side = serving({
  '1.1.0': `linux/x64 Notes.AppImage, darwin/x64 Notes.zip, windows/x64 Notes.nupkg,
    windows/x64 Notes.msix, windows/x64 Notes-setup.exe`,
});

function addressOf(path: string, app = 'acme', channel = 'stable'): string {
  return path.replace('@', `${app}/${channel}`);
}

/** Expects a refusal with this message, 404 for what is unknown and else 400; '' expects an answer. */
async function expectAnswer(address: string, message: Message): Promise<void> {
  const { status, text } = await side.ask(address);
  if (message === '') return expect([200, 302], address.slice(0, 100)).toContain(status);
  const isUnknown = typeof message === 'string' && /^(?:Unknown|No|Not) /.test(message);
  expect(status, address.slice(0, 100)).toBe(isUnknown ? 404 : 400);
  const error = typeof message === 'string' ? message : expect.stringMatching(message);
  expect(JSON.parse(text)).toStrictEqual({ error });
}

it.each(PARAMETERS)(
  '%s… that cannot be read is 400, of a repeated one the last counts (§19.9, §21.4)',
  async (path, good, long, withNul, noText) => {
    const name = path.slice(path.indexOf('?') + 1);
    for (const [value, message] of [
      ['', ''],
      [good, ''],
      [LONG, long],
      ['%00', withNul],
      [`${good}%00`, withNul],
      ['%FF', noText],
      [`${LONG}&${name}${good}`, ''],
      [`%00&${name}${good}`, ''],
      [`${good}&${name}${LONG}`, long],
      [`${good}&${name}`, ''],
    ] as const) {
      await expectAnswer(addressOf(path) + value, message);
    }
    await expectAnswer(addressOf(path).slice(0, -1), '');
  },
);

it.each(PARTS)(
  'a part of %s that cannot be read is 400, and one that names nothing 404 (§16.8, §21.4)',
  async (path, long, withNul, noText, empty) => {
    const bad = ['%FF', '%'].map((value) => [value, noText] as const);
    for (const [value, message] of [['', empty], [LONG, long], ['%00', withNul], ...bad] as const) {
      await expectAnswer(addressOf(path).replace('*', value), message);
    }
  },
);

it.each(ALL)(
  'at %s an unknown app or channel is 404 and says which, broken percent-encoding 400 (§4, §21.4)',
  async (path) => {
    const { status, headers } = await side.ask(addressOf(path), { method: 'POST' });
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    for (const [name, app, channel] of [
      ...['no-such', LONG, '%00', 'a%00', '%F0%9F%9A%80'].map(
        (each) => [each, 'Unknown app', 'Unknown channel'] as const,
      ),
      ['', GONE, GONE],
      ['%FF', /Malformed percent-encoding/, /Malformed percent-encoding/],
    ] as const) {
      await expectAnswer(addressOf(path, name), app);
      await expectAnswer(addressOf(path, 'acme', name), channel);
    }
  },
);

it.each(
  rowsOf(`
  Unknown file: /velopack/@/releases.beta.json | /velopack/@/releases.json | /velopack/@/RELEASES
  Unknown file: /velopack/@/other.nupkg | /sparkle/@/other.xml | /sparkle/@/Appcast.xml
  Unknown file: /e/@/latest-linux-x64.yml | /e/@/LATEST.yml | /e/@/latest.yml/more
  Unknown file: /sparkle/@/appcast.xml%00 | /e/@/stable.txt | /e/@/beta.yml | /e/@/latest
  Unknown file: /e/@/x64/other.yml
  Not found: /sparkle/@/appcast.xml/more | /e/@/x64/y/latest.yml | /squirrel/@/darwin-x64
  Not found: /download/@/linux/x64/more
  No release offered: /e/@/ia32/latest-linux.yml
  No download: /download/@/freebsd
  `),
)('%s is %s (§16.8, §21, §22)', (path, message) => expectAnswer(addressOf(path), message));

it.each(['darwin', '-'])('%s is no machine (§21.1)', (machine) =>
  expectAnswer(addressOf(`/squirrel/@/${machine}/1.0.0`), MACHINE),
);
