// Tests bad input to what updaters ask and publishers tell of formats (docs/contract.md 16 and 19 to 22): in
// every parameter an empty, repeated or oversized value, NUL and broken UTF-8; unknown apps, channels and
// files. Each has its promised answer.

import { get as httpGet } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { at, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { type Answer, admin, decisions, publish, send, type Tenant } from '../support/tenant.ts';

/** Expected status, and the message where there is one. */
type Expected = readonly [status: number, error?: string | RegExp];
/** What a value that says nothing is answered, and each kind of bad value. */
type Answers = {
  /** Answer to a request without the parameter, or with an empty one. */
  readonly empty?: Expected;
  readonly long?: Expected;
  readonly nul?: Expected;
  readonly broken?: Expected;
};

const LONG = 'x'.repeat(10_000);
const OK: Expected = [200];
const NOT_FOUND: Expected = [404, 'Not found'];
const UNKNOWN_FILE: Expected = [404, 'Unknown file'];
const NO_DOWNLOAD: Expected = [404, 'No download'];
const SUMS = { sha1: 'ab'.repeat(20), sha256: 'cd'.repeat(32), size: 1, sha512: 'x' };
const AT_MOST = (count: number) => `Must have at most ${count} characters`;

const malformed = (field: string): Expected => [400, `${field}: Malformed percent-encoding`];
const tooLong = (field: string, max: number) => ({
  long: [400, `${field}: ${AT_MOST(max)}`] as const,
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

const artifact = (platform: string, name: string) => ({
  ...{ platform, arch: 'x64', url: at(name), ...SUMS },
});
const ARTIFACTS = [
  artifact('linux', 'Notes.AppImage'),
  artifact('darwin', 'Notes.zip'),
  ...['Notes.nupkg', 'Notes.msix', 'Notes-setup.exe'].map((name) => artifact('windows', name)),
];

/** Addresses below `/{prefix}/{app}/{channel}`, each of which serves the release. */
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

/** Fields of artifacts: a good value, bad values of this one, and what is said of a bad one. */
const FIELDS: readonly (readonly [
  name: string,
  good: string,
  others: readonly string[],
  reason: string,
])[] = [
  [
    ...(['format', 'deb', ['AppImage', '.deb', 'x'.repeat(33)]] as const),
    "Must be a format's name of at most 32 characters",
  ],
  [
    ...(['sha256', SUMS.sha256] as const),
    [SUMS.sha256.slice(2), `${SUMS.sha256}\n\n`, 'xy'.repeat(32)],
    'Must be 64 hexadecimal digits',
  ],
  ['sha1', SUMS.sha1, [SUMS.sha256], 'Must be 40 hexadecimal digits'],
  [
    ...(['minimumSystemVersion', '10.15', ['10.x', '1.'.repeat(16).concat('1')]] as const),
    'Must (be dotted numbers|not be empty|have at most 32 characters|not contain NUL)',
  ],
  [
    ...(['buildVersion', '7', ['x'.repeat(65)]] as const),
    'Must (not be empty|have at most 64 characters|not contain NUL)',
  ],
];

/** Expects a status and an Error body below 500, and that the answer says nothing else. */
function expectAnswer({ status, body, text }: Answer, [wanted, error]: Expected, of: string): void {
  expect([of, status, text.slice(0, 200)]).toEqual([of, wanted, expect.any(String)]);
  if (wanted < 400) return;
  const message = error instanceof RegExp ? expect.stringMatching(error) : error;
  expect([of, body]).toStrictEqual([of, { error: message ?? expect.any(String) }]);
}

deviceSuite('bad input of updaters', (node) => {
  let tenant: Tenant;

  beforeAll(async () => {
    tenant = await tenantWith(node, ['1.1.0', { artifacts: ARTIFACTS }]);
  });

  function addressOf(path: string, { app } = tenant, channel = 'stable'): string {
    return path.replace('@', `${app}/${channel}`);
  }

  /** Requests an address and follows no redirect. */
  async function ask(address: string): Promise<Answer> {
    const response = await fetch(node.url + address, {
      redirect: 'manual',
      headers: { 'x-forwarded-for': `10.9.${Math.floor(Math.random() * 65_536) >> 8}.1` },
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json';
    const body = isJson && text !== '' ? JSON.parse(text) : undefined;
    return { status: response.status, headers: response.headers, body, text };
  }

  /** Requests an address with a byte in it that is no UTF-8, and returns the status. */
  function askRaw(address: string): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      const request = httpGet(`${node.url}/`, { path: address }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on('error', reject);
    });
  }

  it('the addresses of this table serve the release', async () => {
    await Promise.all(
      ALL.map(async (path) => {
        const expected = REDIRECTS.includes(path) ? 302 : 200;
        expect([path, (await ask(addressOf(path))).status]).toEqual([path, expected]);
      }),
    );
  });

  it('a parameter that cannot be read is 400, of a repeated one the last counts (§19.9, §20 to §22)', async () => {
    await Promise.all(
      PARAMETERS.flatMap(([path, name, good, { empty, long, nul, broken } = {}]) => {
        const fine: Expected = REDIRECTS.includes(path) ? [302] : OK;
        const cases: readonly (readonly [query: string, expected: Expected])[] = [
          [name, empty ?? fine],
          [`${name}=`, empty ?? fine],
          [`${name}=${good}`, fine],
          [`${name}=${LONG}`, long ?? fine],
          [`${name}=%00`, nul ?? fine],
          [`${name}=${good}%00`, nul ?? fine],
          [`${name}=%FF`, broken ?? fine],
          [`${name}=%C0%80`, broken ?? fine],
          [`${name}=${LONG}&${name}=${good}`, fine],
          [`${name}=%00&${name}=${good}`, fine],
          [`${name}=${good}&${name}=${LONG}`, long ?? fine],
          [`${name}=${good}&${name}=`, empty ?? fine],
        ];
        return cases.map(async ([query, expected]) => {
          const address = `${addressOf(path)}?${query}`;
          expectAnswer(await ask(address), expected, address.slice(0, 100));
        });
      }),
    );
  });

  it('a part of an address that cannot be read is 400, and one that names nothing 404 (§16.8, §21.4)', async () => {
    await Promise.all(
      PLACES.flatMap(([path, { empty = [404] as Expected, long = OK, nul = OK, broken = OK }]) =>
        (
          [
            ['', empty],
            [LONG, long],
            ['%00', nul],
            ['%FF', broken],
            ['%C0%80', broken],
            ['%', broken],
          ] as const
        ).map(async ([value, expected]) => {
          const address = addressOf(path).replace('*', value);
          expectAnswer(await ask(address), expected, address.slice(0, 100));
        }),
      ),
    );
  });

  it('a byte that is no UTF-8 is no fault of the service', async () => {
    const inPaths = PLACES.map(([path]) => addressOf(path).replace('*', '\xff'));
    const inQueries = PARAMETERS.map(([path, name]) => `${addressOf(path)}?${name}=\xff`);
    await Promise.all(
      [...inPaths, ...inQueries].map(async (address) => {
        expect([address, await askRaw(address)]).toEqual([address, expect.toSatisfy(isNoFault)]);
      }),
    );
  });

  it('an unknown app or channel is 404 and says which, broken percent-encoding 400 (§21.4)', async () => {
    const names = ['no-such', LONG, '%00', 'a%00', '%F0%9F%9A%80'];
    const broken: Expected = [400, /Malformed percent-encoding/];
    await Promise.all(
      ALL.flatMap((path) =>
        [
          ...names.map((name) => [name, [404, 'Unknown app'], [404, 'Unknown channel']] as const),
          ['', NOT_FOUND, NOT_FOUND] as const,
          ['%FF', broken, broken] as const,
        ].map(async ([name, app, channel]) => {
          const noApp = addressOf(path, { ...tenant, app: name });
          expectAnswer(await ask(noApp), app, noApp.slice(0, 60));
          const noChannel = addressOf(path, tenant, name);
          expectAnswer(await ask(noChannel), channel, noChannel.slice(0, 60));
        }),
      ),
    );
  });

  it('an address that is none names nothing (§16.8, §21, §22)', async () => {
    const machine: Expected = [400, /^platform: Expected/];
    for (const [path, expected] of [
      ...['releases.beta.json', 'releases.json', 'RELEASES', 'other.nupkg'].map(
        (name) => [`/velopack/@/${name}`, UNKNOWN_FILE] as const,
      ),
      ...['other.xml', 'Appcast.xml', 'appcast.xml%00'].map(
        (name) => [`/sparkle/@/${name}`, UNKNOWN_FILE] as const,
      ),
      ['/sparkle/@/appcast.xml/more', NOT_FOUND],
      ['/e/@/x64/other.yml', UNKNOWN_FILE],
      ['/e/@/x64/y/latest.yml', NOT_FOUND],
      ['/e/@/ia32/latest-linux.yml', [404, 'No release offered']],
      ...['darwin-x64', 'darwin-x64/1.0.0/releases', 'darwin-x64/1.0.0/RELEASES/more'].map(
        (rest) => [`/squirrel/@/${rest}`, NOT_FOUND] as const,
      ),
      ['/squirrel/@/darwin/1.0.0', machine],
      ['/squirrel/@/-/1.0.0', machine],
      ['/squirrel/@/linux-x64/1.0.0', [204]],
      ['/download/@/freebsd', NO_DOWNLOAD],
      ['/download/@/linux/x64/more', NOT_FOUND],
    ] as const) {
      expectAnswer(await ask(addressOf(path)), expected, path);
    }
  });

  it('another method is 405, and says which are allowed', async () => {
    await Promise.all(
      ALL.map(async (path) => {
        const { status, headers } = await send(node, 'POST', addressOf(path));
        expect([path, status, headers.get('allow')]).toEqual([path, 405, 'GET, HEAD']);
      }),
    );
  });

  describe('published', () => {
    it.each(FIELDS)(
      'a bad %s is 400 with its path, and nothing is published (§2.1)',
      async (name, good, others, reason) => {
        const bad = ['', LONG, '\u0000', `${good}\u0000`, '\ud800', 7, null, [good], {}, ...others];
        await Promise.all(
          bad.map(async (value) => {
            const artifacts = [ARTIFACTS[0], { ...ARTIFACTS[1], [name]: value }];
            const answer = await publish(node, tenant, '9.0.0', { artifacts });
            const wanted = typeof value === 'string' ? reason : 'Expected a string';
            const message = new RegExp(`^artifacts\\.1\\.${name}: (?:${wanted})`);
            expectAnswer(answer, [400, message], `${name} ${JSON.stringify(value).slice(0, 40)}`);
          }),
        );
      },
    );

    it('bytes that are no UTF-8 are no JSON', async () => {
      const { app } = tenant;
      const [before = '', after = ''] = JSON.stringify({
        ...{ app, channel: 'stable', version: '9.0.0' },
        artifacts: [{ ...ARTIFACTS[0], format: '@' }],
      }).split('@');
      const body = Buffer.concat([Buffer.from(before), Buffer.from([0xff]), Buffer.from(after)]);
      const headers = { authorization: `Bearer ${tenant.secret}` };
      const response = await fetch(`${node.url}/api/v1/releases`, {
        method: 'POST',
        headers,
        body,
      });
      const answer = [response.status, await response.json()];
      expect(answer).toStrictEqual([400, { error: 'Invalid JSON body' }]);
    });

    it('a bad `bundle` of a decisions call is 400 with its path (§20.2)', async () => {
      const device = { deviceId: 'd', version: '1.0.0', platform: 'linux', arch: 'x64' };
      const cases: readonly (readonly [value: unknown, expected: Expected])[] = [
        ['', OK],
        ['\u0000', OK],
        ['\ud800', OK],
        [LONG, [400, `devices.1.bundle: ${AT_MOST(32)}`]],
        [7, [400, 'devices.1.bundle: Expected a string']],
        [null, [400, 'devices.1.bundle: Expected a string']],
        [['deb'], [400, 'devices.1.bundle: Expected a string']],
      ];
      await Promise.all(
        cases.map(async ([bundle, expected], index) => {
          const other = { ...device, deviceId: `e${index}`, bundle };
          const first = { ...device, deviceId: `f${index}` };
          const answer = await decisions(node, tenant, [first, other]);
          expectAnswer(answer, expected, JSON.stringify(bundle).slice(0, 40));
        }),
      );
    });

    it('a bad `requireSignature` is 400 with its path', async () => {
      for (const requireSignature of ['', 'true', LONG, '\u0000', 1, null, [], {}]) {
        const change = { app: tenant.app, name: 'stable', requireSignature };
        const answer = await admin(node, 'PATCH', 'channels', change);
        expectAnswer(answer, [400, 'requireSignature: Expected a boolean'], `${requireSignature}`);
      }
    });
  });
});

function isNoFault(status: number): boolean {
  return status >= 200 && status < 500;
}
