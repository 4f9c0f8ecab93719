// Tests requests of updaters that cannot be read (docs/contract.md 16 and 19 to 22): in every parameter and part
// of an address an empty, repeated or oversized value, NUL and broken UTF-8; unknown apps, channels and files.

import { expect, it } from 'vitest';
import { release } from '../domain/sample.ts';
import { artifacts, DeviceSide } from '../support/device-side.ts';

/** Expected status, and the message where there is one. */
type Expected = readonly [status: number, error?: string | RegExp];
/** Answer to a parameter that is left out or empty, and to each kind of bad value. */
type Answers = {
  readonly empty?: Expected;
  readonly long?: Expected;
  readonly nul?: Expected;
  readonly broken?: Expected;
};

const LONG = 'x'.repeat(10_000);
const NOT_FOUND: Expected = [404, 'Not found'];
const UNKNOWN_FILE: Expected = [404, 'Unknown file'];
const NO_DOWNLOAD: Expected = [404, 'No download'];

const malformed = (field: string): Expected => [400, `${field}: Malformed percent-encoding`];
const tooLong = (field: string, max: number) => ({
  long: [400, `${field}: Must have at most ${max} characters`] as const,
});
/** A text of at most `max` characters without NUL. */
const text = (field: string, max = 64) => ({
  ...tooLong(field, max),
  nul: [400, `${field}: Must not contain NUL or broken characters`] as const,
});
/** A text whose form is checked before its length. */
const formed = (error: string | RegExp, broken: Expected = [400, error]) => ({
  ...{ nul: [400, error] as const, broken },
});
const version = (field: string, broken?: Expected) => ({
  long: [400, `${field}: Invalid version`] as const,
  ...formed(`${field}: Invalid version`, broken),
});
const file = (field: string) => ({
  ...{ long: UNKNOWN_FILE, nul: UNKNOWN_FILE, broken: malformed(field) },
});

/** Addresses, `@` for the app and channel, each of which serves the release. */
const ROUTES = {
  u: '/u/@/linux/x64/1.0.0',
  e: '/e/@/x64/latest-linux.yml',
  squirrel: '/squirrel/@/darwin-x64/1.0.0',
  msix: '/squirrel/@/win32-x64/msix/1.0.0',
  releases: '/squirrel/@/win32-x64/1.0.0/RELEASES',
  velopack: '/velopack/@/releases.win.json',
  package: '/velopack/@/Notes.nupkg',
  sparkle: '/sparkle/@/appcast.xml',
  winSparkle: '/sparkle/@/appcast-windows.xml',
  download: '/download/@/linux',
  downloadArch: '/download/@/linux/x64',
} as const;
const ALL = Object.values(ROUTES);
const REDIRECTS: readonly string[] = [ROUTES.package, ROUTES.download, ROUTES.downloadArch];

/** Parameters of queries; what is not said is 200, or 302 on a route that sends on. */
const PARAMETERS: readonly (readonly [path: string, name: string, good: string, Answers?])[] = [
  [ROUTES.u, 'bundle', 'appimage', tooLong('bundle', 32)],
  [ROUTES.u, 'bundle_type', 'appimage', tooLong('bundle', 32)],
  ...ALL.map((path) => [path, 'device', 'd'] as const),
  [ROUTES.velopack, 'stagingId', 'd'],
  [ROUTES.velopack, 'localVersion', '1.0.0', version('localVersion')],
  [ROUTES.velopack, 'id', 'Notes', text('id', 128)],
  [ROUTES.velopack, 'os', 'win', text('os')],
  [ROUTES.velopack, 'arch', 'x64', text('arch')],
  [ROUTES.sparkle, 'arch', 'x64', text('arch')],
  [ROUTES.winSparkle, 'arch', 'x64', text('arch')],
  [
    ...([ROUTES.velopack, 'rid', 'win-x64'] as const),
    { ...tooLong('rid', 64), ...formed(/^rid: Expected a runtime identifier/) },
  ],
  [
    ...([ROUTES.download, 'format', 'appimage'] as const),
    { ...tooLong('format', 32), nul: NO_DOWNLOAD, broken: NO_DOWNLOAD },
  ],
];

/** Segments of paths: `*` is where the bad value goes; an empty one is 404 where nothing else is said. */
const PLACES: readonly (readonly [path: string, Answers])[] = [
  ['/e/@/*/latest-linux.yml', { ...text('arch'), broken: malformed('arch') }],
  ['/e/@/x64/*', file('file')],
  ...['*/1.0.0', '*/msix/1.0.0', '*/1.0.0/RELEASES'].flatMap((rest): [string, Answers][] => {
    const path = `/squirrel/@/${rest}`;
    const machine = { empty: [400, /^platform: Expected/], broken: malformed('platform') } as const;
    return [
      [path.replace('*', '*-x64'), { ...text('platform'), ...machine }],
      [path.replace('*', 'darwin-*'), { ...text('arch'), ...machine }],
      [
        path.replace('*', 'darwin-x64').replace('1.0.0', '*'),
        version('version', malformed('version')),
      ],
    ];
  }),
  ['/velopack/@/releases.*.json', file('name')],
  ['/velopack/@/*', file('path')],
  ['/sparkle/@/*', file('file')],
  ['/download/@/*', { ...text('platform'), broken: malformed('path') }],
  ['/download/@/*/x64', { ...text('platform'), broken: malformed('path') }],
  ['/download/@/linux/*', { ...text('arch'), broken: malformed('path') }],
];

const side = new DeviceSide([
  release('1.1.0', {
    artifacts: artifacts(`linux/x64 Notes.AppImage, darwin/x64 Notes.zip, windows/x64 Notes.nupkg,
      windows/x64 Notes.msix, windows/x64 Notes-setup.exe`),
  }),
]);

function addressOf(path: string, app = 'acme', channel = 'stable'): string {
  return path.replace('@', `${app}/${channel}`);
}

/** Expects a status, and of a refusal its Error body. */
async function expectAnswer(address: string, [wanted, error]: Expected): Promise<void> {
  const answer = await side.ask(address);
  expect([address.slice(0, 100), answer.status]).toEqual([address.slice(0, 100), wanted]);
  if (wanted < 400) return;
  const message = error instanceof RegExp ? expect.stringMatching(error) : error;
  expect(JSON.parse(answer.text)).toStrictEqual({ error: message ?? expect.any(String) });
}

it.each(PARAMETERS)(
  '%s?%s= that cannot be read is 400, of a repeated one the last counts (§19.9, §21.4)',
  async (path, name, good, answers = {}) => {
    const fine: Expected = [REDIRECTS.includes(path) ? 302 : 200];
    const { empty = fine, long = fine, nul = fine, broken = fine } = answers;
    for (const [query, expected] of [
      [name, empty],
      [`${name}=`, empty],
      [`${name}=${good}`, fine],
      [`${name}=${LONG}`, long],
      [`${name}=%00`, nul],
      [`${name}=${good}%00`, nul],
      [`${name}=%FF`, broken],
      [`${name}=%C0%80`, broken],
      [`${name}=${LONG}&${name}=${good}`, fine],
      [`${name}=%00&${name}=${good}`, fine],
      [`${name}=${good}&${name}=${LONG}`, long],
      [`${name}=${good}&${name}=`, empty],
    ] as const) {
      await expectAnswer(`${addressOf(path)}?${query}`, expected);
    }
  },
);

it.each(PLACES)(
  'a part of %s that cannot be read is 400, and one that names nothing 404 (§16.8, §21.4)',
  async (path, answers) => {
    const { empty = [404], long = [200], nul = [200], broken = [200] }: Answers = answers;
    const bad = ['%FF', '%C0%80', '%'].map((value) => [value, broken] as const);
    for (const [value, expected] of [['', empty], [LONG, long], ['%00', nul], ...bad] as const) {
      await expectAnswer(addressOf(path).replace('*', value), expected);
    }
  },
);

it.each(ALL)(
  'at %s an unknown app or channel is 404 and says which, broken percent-encoding 400 (§21.4)',
  async (path) => {
    for (const name of ['no-such', LONG, '%00', 'a%00', '%F0%9F%9A%80']) {
      await expectAnswer(addressOf(path, name), [404, 'Unknown app']);
      await expectAnswer(addressOf(path, 'acme', name), [404, 'Unknown channel']);
    }
    for (const [name, expected] of [
      ['', NOT_FOUND],
      ['%FF', [400, /Malformed percent-encoding/]],
    ] as const) {
      await expectAnswer(addressOf(path, name), expected);
      await expectAnswer(addressOf(path, 'acme', name), expected);
    }
  },
);

it.each<[path: string, expected: Expected]>([
  ...['releases.beta.json', 'releases.json', 'RELEASES', 'other.nupkg'].map(
    (name): [string, Expected] => [`/velopack/@/${name}`, UNKNOWN_FILE],
  ),
  ...['other.xml', 'Appcast.xml', 'appcast.xml%00'].map((name): [string, Expected] => [
    ...([`/sparkle/@/${name}`, UNKNOWN_FILE] as const),
  ]),
  ['/sparkle/@/appcast.xml/more', NOT_FOUND],
  ...['stable.txt', 'beta.yml', 'latest', 'latest-linux-x64.yml', 'x%00.yml', 'LATEST.yml'].map(
    (name): [string, Expected] => [`/e/@/${name}`, UNKNOWN_FILE],
  ),
  ...['latest.yml/more', 'x64/other.yml'].map((name): [string, Expected] => [
    ...([`/e/@/${name}`, UNKNOWN_FILE] as const),
  ]),
  ['/e/@/x64/y/latest.yml', NOT_FOUND],
  ['/e/@/ia32/latest-linux.yml', [404, 'No release offered']],
  ...['darwin-x64', 'darwin-x64/1.0.0/releases', 'darwin-x64/1.0.0/RELEASES/more'].map(
    (rest): [string, Expected] => [`/squirrel/@/${rest}`, NOT_FOUND],
  ),
  ['/squirrel/@/darwin/1.0.0', [400, /^platform: Expected/]],
  ['/squirrel/@/-/1.0.0', [400, /^platform: Expected/]],
  ['/squirrel/@/linux-x64/1.0.0', [204]],
  ['/download/@/freebsd', NO_DOWNLOAD],
  ['/download/@/linux/x64/more', NOT_FOUND],
])('%s names nothing (§16.8, §21, §22)', async (path, expected) => {
  await expectAnswer(addressOf(path), expected);
});

it.each(ALL)('%s answers no other method than GET and HEAD (§4)', async (path) => {
  const { status, headers } = await side.ask(addressOf(path), { method: 'POST' });
  expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});
