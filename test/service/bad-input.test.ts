// Tests input that no client should send: broken, oversized, of wrong types, in wrong encodings. Each gets
// a 4xx with an Error body, none of it is a bug in the log, and the service goes on serving. The fields of
// bodies are tested in test/http/release-body.test.ts, what HTTP itself refuses in
// test/http/transport/engine.test.ts.

import { afterEach, beforeAll, expect, it } from 'vitest';
import { describeOnBackends, suiteNode } from '../support/backend.ts';
import { engineOfRun } from '../support/base-environment.ts';
import { abandon, exchangeRaw, type RawAnswer, requestHead } from '../support/raw-exchange.ts';
import { suiteTenant } from '../support/service-suite.ts';
import { type Answer, ARTIFACT, admin, createTenant, type Tenant } from '../support/tenant.ts';

const MIB = 1024 * 1024;
const BUG = /"level":(?:[5-9]\d|\d{3,})\b/;
const NUL_AND_HALVES = ['a\u0000b', '\u0000', 'a\ud800', '\udc00b', '\udc00\ud800'];
const LONG = 'a'.repeat(10_000);
const CHUNKED = 'Transfer-Encoding: chunked';
/** Whether Node's parser reads requests: it refuses unregistered methods, and paths beyond ASCII. */
const IS_NODE = (await engineOfRun()).name === 'node';

/** Statuses of malformed segments of an update check, by the place `@` of each. */
const PLACES: readonly (readonly [place: string, status: number, segments: readonly string[]])[] = [
  ['@/stable/linux/x86_64/0.1', 400, ['%ff', '%', '%zz', '%e0%a4%a', '%ED%A0%80', '%c0%80']],
  ['APP/@/linux/x86_64/0.1', 400, ['%ff', '%', '%zz', '%e0%a4%a', '%ED%A0%80', '%c0%80']],
  ['@/stable/linux/x86_64/0.1', 404, ['%00', '\u00ff\u00fe', '..', '%2e%2e%2f', "x'--", LONG]],
  ['APP/@/linux/x86_64/0.1', 404, ['%00', '\u00ff\u00fe', '..', '%2e%2e%2f', "x'--", LONG]],
  ['APP/stable/@/x86_64/0.1', 400, ['%00', '%ff', '%', '%zz', LONG]],
  ['APP/stable/linux/@/0.1', 400, ['%00', '%ff', '%', '%zz', LONG]],
  ['APP/stable/@/x86_64/0.1', 204, ['\u00ff', '__proto__', 'constructor']],
  ['APP/stable/linux/@/0.1', 204, ['\u00ff', '__proto__', 'constructor']],
  [
    'APP/stable/linux/x86_64/@',
    400,
    ['%00', '1.0%00', 'latest', '%20', '\u00ff', '%ff', '%', LONG],
  ],
  ['@', 404, [LONG]],
];

describeOnBackends('bad input', (backend) => {
  const node = suiteNode(() => backend.start());
  const witness = suiteTenant(node);
  /** Tenant that the service must still serve after every bad input. */
  let tenant: Tenant;

  beforeAll(async () => {
    tenant = await createTenant(node);
    await witness.publish('1.0.0');
  });

  afterEach(async () => {
    const { status, body } = await witness.check('0.1');
    expect([status, body?.version]).toEqual([200, '1.0.0']);
    expect(
      node
        .output()
        .split('\n')
        .filter((line) => BUG.test(line)),
    ).toEqual([]);
  });

  /** Writes bytes to a connection of its own and reads the one answer. */
  async function raw(...parts: (string | Buffer)[]): Promise<RawAnswer> {
    const [answer] = await exchangeRaw(node, parts);
    return answer as RawAnswer;
  }

  /** Writes a head without a body, whose characters are bytes. */
  function ask(methodAndPath: string, ...lines: string[]): Promise<RawAnswer> {
    return raw(Buffer.from(requestHead(methodAndPath, ...lines), 'latin1'));
  }

  /** The head of a publication with a key; `line` says how long its body is. */
  function head(line: string | number, secret = tenant.secret): string {
    const length = typeof line === 'number' ? `Content-Length: ${line}` : line;
    return requestHead('POST /api/v1/releases', `Authorization: Bearer ${secret}`, length);
  }

  /** Returns a valid body of a release, which a test then spoils. */
  function validBody(more: object = {}): object {
    const place = { app: tenant.app, channel: 'stable', version: '7.0.0' };
    return { ...place, artifacts: [ARTIFACT], notes: 'n', rollout: 1, ...more };
  }

  it('a body over 1 MiB is 413, without a key 401, and its connection is of use after it', async () => {
    const chunk = Buffer.from(`10000\r\n${' '.repeat(64 * 1024)}\r\n`);
    const chunks = Array.from({ length: 32 }, () => chunk);
    for (const [request, body, status] of [
      [head(MIB + 1), [Buffer.alloc(MIB + 1, ' ')], 413],
      [head(20 * MIB), [Buffer.alloc(20 * MIB, ' ')], 413],
      [head(CHUNKED), [...chunks, '0\r\n\r\n'], 413],
      [head(20 * MIB, 'nobody'), [Buffer.alloc(20 * MIB, ' ')], 401],
    ] as const) {
      const next = requestHead('GET /healthz');
      const [refusal, health] = await exchangeRaw(node, [request, ...body], next);
      expectRefusal(refusal as RawAnswer, status);
      expect(health?.status).toBe(200);
    }
  });

  it('bodies refused before they were read (401) are not held against later ones', async () => {
    // The public part is right, so the key is looked up, while part of the body has arrived.
    const request = head(MIB, `${tenant.secret.slice(0, -2)}__`);
    const almostWhole = Buffer.alloc(MIB - 1, ' ');
    // More than the budget of all bodies, 256 MiB.
    for (let round = 0; round < 13; round++) {
      const answers = Array.from({ length: 20 }, () => raw(request, almostWhole));
      for (const answer of await Promise.all(answers)) expectRefusal(answer, 401);
    }
    const body = JSON.stringify(validBody({ notes: 'x'.repeat(200 * 1024) }));
    expect((await tenant.manage('POST', 'releases', body)).status).toBe(201);
  });

  it('a body in chunks is read whole, wherever they are cut', async () => {
    const notes = 'ü🚀'.repeat(50);
    const bytes = Buffer.from(JSON.stringify(validBody({ version: '8.0.0', notes })));
    const chunks = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, index) => {
      const chunk = bytes.subarray(index * 7, index * 7 + 7);
      return Buffer.concat([Buffer.from(`${chunk.length}\r\n`), chunk, Buffer.from('\r\n')]);
    });
    const answer = await raw(head(CHUNKED), ...chunks, '0\r\n\r\n');
    expect(answer.status).toBe(201);
    expect(JSON.parse(answer.text)).toMatchObject({ release: { notes } });
  });

  it('of a request that is cut off, or closed in the middle, nothing is done', async () => {
    const own = await createTenant(node);
    for (const start of [
      'POST /api/v1/releases HTTP/1.1\r\nHost: x\r\nAuthoriz',
      head(1000, own.secret),
      `${head(1000, own.secret)}{"app":"`,
      `${head(CHUNKED, own.secret)}ff\r\n{"a`,
    ]) {
      for (const ending of ['destroy', 'end'] as const) await abandon(node, start, ending);
    }
    expect((await own.manage('GET', 'releases')).body?.total).toBe(0);
  });

  // Every door that reads bodies, or answers through the router.
  it.each([
    ...['POST /api/v1/releases', 'POST /console/api/session', 'POST /wh/github/any'],
    ...['POST /u/any/stable/linux/x86_64/1.0.0/failure', 'POST /edge/v1/failures'],
    ...['GET /feed/any/stable', 'GET /healthz', 'GET /nothing'],
  ])(
    'a body of two lengths is refused by %s, and nothing behind it is read (§7.4)',
    async (door) => {
      const next = requestHead('GET /healthz');
      const lengths = ['Content-Length: 4', `Content-Length: ${4 + next.length}`];
      const refused = exchangeRaw(node, [requestHead(door, ...lengths), `null${next}`], next);
      await expect(refused).rejects.toThrow(/^(?!No whole).* after "HTTP\/1\.1 400 (?!.*HTTP\/)/);
    },
  );

  it.each([
    ['a NUL in the path', 'GET /u/a\u0000b/stable/linux/x86_64/1 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a NUL in a header', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: \u0000\r\n\r\n'],
    ['a TLS hello', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'],
  ])('%s is survived (§7.3)', async (_, request) => {
    for (const ending of ['destroy', 'end'] as const) {
      await abandon(node, Buffer.from(request, 'latin1'), ending);
    }
  });

  it('malformed JSON is 400 `Invalid JSON body`', async () => {
    for (const text of [
      ...['', ' ', '{', '}', '{"app"', "{'app':1}", '\u0000', '{"a":NaN}', '{}x', '{}{}', 'a=b'],
      ...['release', '{"app":}', '{"app":"a",}', '{"a":0x10}', '{"a":1e2.5}', '{"a":١}'],
    ]) {
      const answer = await tenant.manage('POST', 'releases', text);
      expect([answer.status, answer.body]).toStrictEqual([400, { error: 'Invalid JSON body' }]);
    }
    const [before = '', after = ''] = JSON.stringify(validBody({ version: '@' })).split('@');
    for (const bytes of [[0xff], [0xe2, 0x82], [0xc0, 0x80], [0xed, 0xa0, 0x80]]) {
      const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
      const answer = await raw(head(body.length), body);
      expect([answer.status, answer.text]).toEqual([400, '{"error":"Invalid JSON body"}']);
    }
  });

  it('no object, an unknown key, a value of another type, very deep and very wide JSON are 400', async () => {
    const one = JSON.stringify(validBody());
    const depth = 100_000;
    const deep = [
      '['.repeat(depth) + ']'.repeat(depth),
      `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
    ];
    const within = (field: string, value: string) => `${one.slice(0, -1)},"${field}":${value}}`;
    const keys = Array.from({ length: 50_000 }, (_, index) => [`k${index}`, 1]);
    const artifacts = Array.from({ length: 100_000 }, () => ({}));
    for (const text of [
      ...['null', 'true', '0', '1e400', '"app"', '[]', `[${one}]`, JSON.stringify(one)],
      ...NUL_AND_HALVES.map((key) => JSON.stringify(validBody({ [key]: 1 }))),
      JSON.stringify(validBody({ rollout: '1' })),
      ...deep.flatMap((value) => [
        ...[value, value.slice(0, depth), within('app', value), within('unknown', value)],
        ...[within('targets', value), within('targets', `{"matchLabels":{"ring":${value}}}`)],
      ]),
      ...[Object.fromEntries(keys), { artifacts }].map((more) => JSON.stringify(validBody(more))),
    ]) {
      expectRefusal(await tenant.manage('POST', 'releases', text), 400, text.slice(0, 100));
    }
  });

  it('NUL and half surrogate pairs are 400 in every text of the console API', async () => {
    const { org, app } = witness;
    for (const text of NUL_AND_HALVES) {
      for (const [path, body] of [
        ['organizations', { name: text }],
        ['apps', { org: text, ref: 'a', name: 'a' }],
        ['apps', { org, ref: text, name: 'a' }],
        ['apps', { org, ref: 'a', name: text }],
        ['apps', { org, ref: 'a', name: 'a', channels: [text] }],
        ['channels', { app: text, name: 'a' }],
        ['channels', { app, name: text }],
        ['keys', { org: text, name: 'a' }],
        ['keys', { org, name: text }],
      ] as const) {
        expectRefusal(await admin(node, 'POST', path, body), 400);
      }
    }
    for (const name of ['%00', 'a%00b', '%ff', '%ED%A0%80']) {
      expectRefusal(await admin(node, 'GET', `audit?org=${name}`));
      expectRefusal(await admin(node, 'POST', `keys/${name}/revoke`));
    }
  });

  it.each([
    ['/api/v1/releases', 'PUT OPTIONS TRACE BREW', 'GET POST PATCH DELETE'],
    ['/api/v1/releases/1', 'POST PUT PATCH DELETE BREW', 'GET'],
    ['/api/v1/releases/promote', 'PUT PATCH DELETE BREW', 'POST'],
    ['/api/v1/apps', 'POST PUT PATCH DELETE OPTIONS TRACE BREW', 'GET'],
    ['/u/app/stable/linux/x86_64/1', 'POST PUT PATCH DELETE TRACE BREW', 'GET'],
    ['/healthz', 'POST PUT DELETE TRACE BREW', 'GET'],
  ])('%s: another method (%s) is 405 with Allow', async (path, methods, allowed) => {
    for (const method of methods.split(' ')) {
      const answer = await raw(requestHead(`${method} ${path}`, 'Content-Length: 2'), '{}');
      const isRead = method !== 'BREW' || !IS_NODE;
      expectRefusal(answer, isRead ? 405 : 400);
      if (!isRead) continue;
      const allow = (answer.headers.get('allow') ?? '').split(/ *, */);
      expect(allow).toEqual(expect.arrayContaining(allowed.split(' ')));
      expect(allow).not.toContain(method);
    }
  });

  it('a path that is none is 404 for every method, however long or badly encoded', async () => {
    for (const path of [
      ...['/api', '/api/v1', '/api/v1/', '/api/v1/nothing', '/api/v2/releases', `/api/${LONG}`],
      ...['/api/v1/releases/', '/api/v1/releases/1.0.0/more', '/api/v1//releases', '/\u00fe\u00ff'],
      ...['//api/v1/releases', '/API/V1/RELEASES', '/api/v1/releases%2f', '/api/v1/releases%00'],
      ...['/api/v1/releases%ff', '/api/v1/%72eleases%', '/api/v1/../v1/nothing', '/u', '/u/'],
      ...['/u/app', '/u/app/stable/linux/x86_64', '/u/app/stable/linux/x86_64/1/more', '/u/////'],
      ...['/u/app/stable//x86_64/1', '/u/app/stable/linux/x86_64/', '/api/v1/\u00ff', `/${LONG}`],
      ...[`/api/v1/${LONG}`, `/console/api/${LONG}`, '/api/v1/releases\u0080'],
    ]) {
      for (const method of ['GET', 'POST', 'PATCH']) {
        const answer = await ask(`${method} ${path}`, 'Content-Length: 0');
        expectRefusal(answer, isPathRead(path) ? 404 : 400, path);
      }
    }
  });

  it.each(PLACES)('a segment at %s of a check is %i', async (at, status, segments) => {
    for (const segment of segments) {
      const path = `/u/${at.replace('APP', witness.app).replace('@', segment)}`;
      const answer = await ask(`GET ${path}`);
      const expected = isPathRead(path) ? status : 400;
      if (expected === 204) expect(answer.status, path).toBe(204);
      else expectRefusal(answer, expected, path);
    }
  });

  it.each([
    ['in one header', [`X-Long: ${'a'.repeat(60 * 1024)}`]],
    ['in 60 headers', Array.from({ length: 60 }, (_, i) => `X-${i}: ${'a'.repeat(1000)}`)],
    ['as a key', [`Authorization: Bearer ${'a'.repeat(60 * 1024)}`]],
    ['as a device', [`X-Service-Device: ${'a'.repeat(60 * 1024)}`]],
  ])('60 KiB of headers %s are read, and answered like any request', async (_, lines) => {
    expectRefusal(await ask('GET /api/v1/apps', ...lines), 401);
    expectRefusal(await ask('GET /u/unknown/stable/linux/x86_64/1', ...lines), 404);
    expect((await ask(`GET /u/${witness.app}/stable/linux/x86_64/0.1`, ...lines)).status).toBe(200);
  });
});

function isPathRead(path: string): boolean {
  return !IS_NODE || /^[ -~]*$/.test(path);
}

/** Expects a 4xx whose JSON body is `{ error }` and nothing else. */
function expectRefusal(answer: Answer | RawAnswer, status?: number, what = answer.text): void {
  if (status !== undefined) expect(answer.status, what).toBe(status);
  expect(answer.status, what).toBeGreaterThanOrEqual(400);
  expect(answer.status, what).toBeLessThan(500);
  expect(answer.headers.get('content-type'), what).toBe('application/json');
  expect(JSON.parse(answer.text)).toStrictEqual({ error: expect.stringMatching(/./) });
}
