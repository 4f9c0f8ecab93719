// Tests bad input to what updaters ask and publishers tell of formats (docs/contract.md 16 and 19 to 22): in
// every parameter an empty, repeated or oversized value, NUL and broken UTF-8; unknown apps, channels and
// files. Each has its promised answer.

import { get as httpGet } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { deviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  createTenant,
  decisions,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

/** Expected status, and the message where there is one. */
type Expected = readonly [status: number, error?: string | RegExp];
/** What a value that says nothing is answered, and each kind of bad value. */
type Parameter = {
  readonly route: string;
  readonly path: string;
  readonly name: string;
  readonly good: string;
  /** Answer to a request without the parameter, or with an empty one. */
  readonly empty?: Expected;
  readonly long?: Expected;
  readonly nul?: Expected;
  readonly broken?: Expected;
};
type Place = Omit<Parameter, 'name' | 'good'> & { readonly status: number };

const LONG = 'x'.repeat(10_000);
const OK: Expected = [200];
const NONE: Expected = [204];
const NOT_FOUND: Expected = [404, 'Not found'];
const UNKNOWN_FILE: Expected = [404, 'Unknown file'];
const SUMS = { sha1: 'ab'.repeat(20), sha256: 'cd'.repeat(32), size: 1, sha512: 'x' };
const MALFORMED = 'Malformed percent-encoding';
const NO_NUL = 'Must not contain NUL or broken characters';
const AT_MOST = (count: number) => `Must have at most ${count} characters`;

const ARTIFACTS = [
  { platform: 'linux', arch: 'x64', url: at('Notes.AppImage'), ...SUMS },
  { platform: 'darwin', arch: 'x64', url: at('Notes.zip'), ...SUMS },
  { platform: 'windows', arch: 'x64', url: at('Notes.nupkg'), ...SUMS },
  { platform: 'windows', arch: 'x64', url: at('Notes.msix'), ...SUMS },
  { platform: 'windows', arch: 'x64', url: at('Notes-setup.exe'), ...SUMS },
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
const REDIRECTS: readonly string[] = [ROUTES.package, ROUTES.download, ROUTES.downloadArch];

/** Parameters of queries; what is not said is 200, or 302 on a route that sends on. */
const PARAMETERS: readonly Parameter[] = [
  ...['bundle', 'bundle_type'].map((name) => ({
    route: '§20.2',
    path: ROUTES.u,
    name,
    good: 'appimage',
    long: [400, `bundle: ${AT_MOST(32)}`] as const,
  })),
  ...Object.values(ROUTES).map((path) => ({ route: '§19.9', path, name: 'device', good: 'd' })),
  { route: '§19.2', path: ROUTES.velopack, name: 'stagingId', good: 'd' },
  {
    route: '§21.3',
    path: ROUTES.velopack,
    name: 'localVersion',
    good: '1.0.0',
    long: [400, 'localVersion: Invalid version'],
    nul: [400, 'localVersion: Invalid version'],
    broken: [400, 'localVersion: Invalid version'],
  },
  {
    route: '§21.3',
    path: ROUTES.velopack,
    name: 'id',
    good: 'Notes',
    long: [400, `id: ${AT_MOST(128)}`],
    nul: [400, `id: ${NO_NUL}`],
  },
  {
    route: '§21.3',
    path: ROUTES.velopack,
    name: 'os',
    good: 'win',
    long: [400, `os: ${AT_MOST(64)}`],
    nul: [400, `os: ${NO_NUL}`],
  },
  ...[ROUTES.velopack, ROUTES.sparkle, ROUTES.winSparkle].map((path) => ({
    route: '§21',
    path,
    name: 'arch',
    good: 'x64',
    long: [400, `arch: ${AT_MOST(64)}`] as const,
    nul: [400, `arch: ${NO_NUL}`] as const,
  })),
  {
    route: '§21.3',
    path: ROUTES.velopack,
    name: 'rid',
    good: 'win-x64',
    long: [400, `rid: ${AT_MOST(64)}`],
    nul: [400, /^rid: Expected a runtime identifier/],
    broken: [400, /^rid: Expected a runtime identifier/],
  },
  {
    route: '§22',
    path: ROUTES.download,
    name: 'format',
    good: 'appimage',
    long: [400, `format: ${AT_MOST(32)}`],
    nul: [404, 'No download'],
    broken: [404, 'No download'],
  },
];

/** Segments of paths: `*` is where the bad value goes; an empty one is 404 everywhere. */
const PLACES: readonly Omit<Place, 'status'>[] = [
  {
    route: '§16.12 arch',
    path: '/e/@/*/latest-linux.yml',
    long: [400, `arch: ${AT_MOST(64)}`],
    nul: [400, `arch: ${NO_NUL}`],
    broken: [400, `arch: ${MALFORMED}`],
  },
  {
    route: '§16.8 file',
    path: '/e/@/x64/*',
    long: UNKNOWN_FILE,
    nul: UNKNOWN_FILE,
    broken: [400, `file: ${MALFORMED}`],
  },
  ...['/squirrel/@/*/1.0.0', '/squirrel/@/*/msix/1.0.0', '/squirrel/@/*/1.0.0/RELEASES'].flatMap(
    (path): Omit<Place, 'status'>[] => [
      {
        route: '§21.4 platform',
        path: path.replace('*', '*-x64'),
        empty: [400, /^platform: Expected/],
        long: [400, `platform: ${AT_MOST(64)}`],
        nul: [400, `platform: ${NO_NUL}`],
        broken: [400, `platform: ${MALFORMED}`],
      },
      {
        route: '§21.4 arch',
        path: path.replace('*', 'darwin-*'),
        empty: [400, /^platform: Expected/],
        long: [400, `arch: ${AT_MOST(64)}`],
        nul: [400, `arch: ${NO_NUL}`],
        broken: [400, `platform: ${MALFORMED}`],
      },
      {
        route: '§21.4 version',
        path: path.replace('*', 'darwin-x64').replace('1.0.0', '*'),
        long: [400, 'version: Invalid version'],
        nul: [400, 'version: Invalid version'],
        broken: [400, `version: ${MALFORMED}`],
      },
    ],
  ),
  {
    route: '§21.3 name',
    path: '/velopack/@/releases.*.json',
    long: UNKNOWN_FILE,
    nul: UNKNOWN_FILE,
    broken: [400, `name: ${MALFORMED}`],
  },
  {
    route: '§21.3 package',
    path: '/velopack/@/*',
    long: UNKNOWN_FILE,
    nul: UNKNOWN_FILE,
    broken: [400, `path: ${MALFORMED}`],
  },
  {
    route: '§21.5 file',
    path: '/sparkle/@/*',
    long: UNKNOWN_FILE,
    nul: UNKNOWN_FILE,
    broken: [400, `file: ${MALFORMED}`],
  },
  ...['/download/@/*', '/download/@/*/x64'].map((path) => ({
    route: '§22 platform',
    path,
    long: [400, `platform: ${AT_MOST(64)}`] as const,
    nul: [400, `platform: ${NO_NUL}`] as const,
    broken: [400, `path: ${MALFORMED}`] as const,
  })),
  {
    route: '§22 arch',
    path: '/download/@/linux/*',
    long: [400, `arch: ${AT_MOST(64)}`],
    nul: [400, `arch: ${NO_NUL}`],
    broken: [400, `path: ${MALFORMED}`],
  },
];

/** Fields of artifacts: values that are bad in no other field, and what is said of a bad one. */
const FIELDS = [
  {
    name: 'format',
    good: 'deb',
    others: ['AppImage', '.deb', 'x'.repeat(33)],
    reason: "Must be a format's name of at most 32 characters",
  },
  {
    name: 'sha256',
    good: SUMS.sha256,
    others: [SUMS.sha256.slice(2), `${SUMS.sha256}\n`, 'xy'.repeat(32)],
    reason: 'Must be 64 hexadecimal digits',
  },
  {
    name: 'sha1',
    good: SUMS.sha1,
    others: [SUMS.sha256],
    reason: 'Must be 40 hexadecimal digits',
  },
  {
    name: 'minimumSystemVersion',
    good: '10.15',
    others: ['10.x', '1.'.repeat(16).concat('1')],
    reason: /Must (be dotted numbers|not be empty|have at most 32 characters|not contain NUL)/,
  },
  {
    name: 'buildVersion',
    good: '7',
    others: ['x'.repeat(65)],
    reason: /Must (not be empty|have at most 64 characters|not contain NUL)/,
  },
] as const;

function at(name: string): string {
  return `https://dl.example.com/${name}`;
}

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
    tenant = await createTenant(node);
    const answer = await publish(node, tenant, '1.1.0', { artifacts: ARTIFACTS });
    expect(answer.status, answer.text).toBe(201);
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
      Object.values(ROUTES).map(async (path) => {
        const expected = REDIRECTS.includes(path) ? 302 : 200;
        expect([path, (await ask(addressOf(path))).status]).toEqual([path, expected]);
      }),
    );
  });

  it('a parameter that cannot be read is 400, of a repeated one the last counts (§19.9, §20 to §22)', async () => {
    await Promise.all(
      PARAMETERS.flatMap(({ path, name, good, empty, long, nul, broken }) => {
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
      PLACES.flatMap(({ path, empty, long = OK, nul = OK, broken = OK }) =>
        (
          [
            ['', empty ?? [404]],
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
    const inPaths = PLACES.map(({ path }) => addressOf(path).replace('*', '\xff'));
    const inQueries = PARAMETERS.map(({ path, name }) => `${addressOf(path)}?${name}=\xff`);
    await Promise.all(
      [...inPaths, ...inQueries].map(async (address) => {
        expect([address, await askRaw(address)]).toEqual([address, expect.toSatisfy(isNoFault)]);
      }),
    );
  });

  it('an unknown app or channel is 404 and says which, however it is written (§21.4)', async () => {
    await Promise.all(
      Object.values(ROUTES).flatMap((path) =>
        ['no-such', LONG, '%00', 'a%00', '%F0%9F%9A%80'].map(async (name) => {
          const noApp = addressOf(path, { ...tenant, app: name });
          expectAnswer(await ask(noApp), [404, 'Unknown app'], noApp.slice(0, 60));
          const noChannel = addressOf(path, tenant, name);
          expectAnswer(await ask(noChannel), [404, 'Unknown channel'], noChannel.slice(0, 60));
        }),
      ),
    );
  });

  it('an app or channel that is empty is 404, one with broken percent-encoding 400', async () => {
    await Promise.all(
      Object.values(ROUTES).flatMap((path) =>
        (
          [
            [addressOf(path, { ...tenant, app: '' }), NOT_FOUND],
            [addressOf(path, tenant, ''), NOT_FOUND],
            [addressOf(path, { ...tenant, app: '%FF' }), [400, new RegExp(MALFORMED)]],
            [addressOf(path, tenant, '%FF'), [400, new RegExp(MALFORMED)]],
          ] as const
        ).map(async ([address, expected]) => expectAnswer(await ask(address), expected, address)),
      ),
    );
  });

  it.each([
    ['/velopack/@/releases.beta.json', UNKNOWN_FILE],
    ['/velopack/@/releases.json', UNKNOWN_FILE],
    ['/velopack/@/RELEASES', UNKNOWN_FILE],
    ['/velopack/@/other.nupkg', UNKNOWN_FILE],
    ['/sparkle/@/other.xml', UNKNOWN_FILE],
    ['/sparkle/@/Appcast.xml', UNKNOWN_FILE],
    ['/sparkle/@/appcast.xml%00', UNKNOWN_FILE],
    ['/sparkle/@/appcast.xml/more', NOT_FOUND],
    ['/e/@/x64/other.yml', UNKNOWN_FILE],
    ['/e/@/x64/y/latest.yml', NOT_FOUND],
    ['/e/@/ia32/latest-linux.yml', [404, 'No release offered']],
    ['/squirrel/@/darwin-x64', NOT_FOUND],
    ['/squirrel/@/darwin-x64/1.0.0/releases', NOT_FOUND],
    ['/squirrel/@/darwin-x64/1.0.0/RELEASES/more', NOT_FOUND],
    ['/squirrel/@/darwin/1.0.0', [400, /^platform: Expected/]],
    ['/squirrel/@/-/1.0.0', [400, /^platform: Expected/]],
    ['/squirrel/@/linux-x64/1.0.0', NONE],
    ['/download/@/freebsd', [404, 'No download']],
    ['/download/@/linux/x64/more', NOT_FOUND],
  ] as const)('%s names nothing (§16.8, §21, §22)', async (path, expected) => {
    expectAnswer(await ask(addressOf(path)), expected, path);
  });

  it('another method is 405, and says which are allowed', async () => {
    await Promise.all(
      Object.values(ROUTES).map(async (path) => {
        const { status, headers } = await send(node, 'POST', addressOf(path));
        expect([path, status, headers.get('allow')]).toEqual([path, 405, 'GET, HEAD']);
      }),
    );
  });

  describe('published', () => {
    it.each(FIELDS)(
      'a bad $name is 400 with its path, and nothing is published (§2.1)',
      async ({ name, good, others, reason }) => {
        const bad = ['', LONG, '\u0000', `${good}\u0000`, '\ud800', 7, null, [good], {}, ...others];
        const answers = await Promise.all(
          bad.map((value) => {
            const artifacts = [ARTIFACTS[0], { ...ARTIFACTS[1], [name]: value }];
            return publish(node, tenant, '9.0.0', { artifacts });
          }),
        );
        for (const [index, answer] of answers.entries()) {
          const wanted = typeof bad[index] === 'string' ? reason : 'Expected a string';
          const words = wanted instanceof RegExp ? wanted.source : wanted;
          const message = new RegExp(`^artifacts\\.1\\.${name}: (?:${words})`);
          expectAnswer(
            answer,
            [400, message],
            `${name} ${JSON.stringify(bad[index]).slice(0, 40)}`,
          );
        }
        const body = JSON.stringify({
          app: tenant.app,
          channel: 'stable',
          version: '9.0.0',
          artifacts: [{ ...ARTIFACTS[0], [name]: '@' }],
        });
        const [before = '', after = ''] = body.split('@');
        const bytes = Buffer.concat([Buffer.from(before), Buffer.from([0xff]), Buffer.from(after)]);
        const response = await fetch(`${node.url}/api/v1/releases`, {
          method: 'POST',
          headers: { authorization: `Bearer ${tenant.secret}` },
          body: bytes,
        });
        expect([response.status, await response.json()]).toStrictEqual([
          400,
          { error: 'Invalid JSON body' },
        ]);
      },
    );

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
