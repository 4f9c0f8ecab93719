// Tests input that no client should send: broken, oversized, of wrong types, in wrong encodings. Each gets a
// 4xx with an Error body, none of it is a bug in the log, and the service goes on serving.

import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { describeOnOneBackend } from '../support/backend.ts';
import type { ServingNode } from '../support/node.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  anotherKey,
  check,
  createTenant,
  manage,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

const MIB = 1024 * 1024;
const RAW_TIMEOUT_MS = 15_000;
const ERROR_LEVEL = /"level":(?:[5-9]\d|\d{3,})\b/;
const NUL_AND_HALVES = ['a\u0000b', '\u0000', 'a\ud800', '\udc00b', '\udc00\ud800'];

type Json = Record<string, unknown>;
type RawAnswer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
};

describeOnOneBackend('bad input', (backend) => {
  let node: ServingNode;
  /** Tenant that the service must still serve after every bad input. */
  let witness: Tenant;

  beforeAll(async () => {
    node = await backend.start();
    witness = await createTenant(node);
    await publish(node, witness, '1.0.0');
  });
  afterAll(() => node?.dispose());

  afterEach(async () => {
    expect((await send(node, 'GET', '/healthz')).status).toBe(200);
    const { status, body } = await check(node, witness, '0.1');
    expect([status, body?.version]).toEqual([200, '1.0.0']);
    const errors = node
      .output()
      .split('\n')
      .filter((line) => ERROR_LEVEL.test(line));
    expect(errors).toEqual([]);
  });

  /** Sends a body as it is, with the tenant's key. */
  function sendText(tenant: Tenant, method: string, body: string): Promise<Answer> {
    const headers = { authorization: `Bearer ${tenant.secret}` };
    return send(node, method, '/api/v1/releases', { body, headers });
  }

  /** Writes bytes to a connection of its own and reads the one answer. */
  async function raw(...parts: (string | Buffer)[]): Promise<RawAnswer> {
    const [answer] = await exchangeRaw(node, parts);
    if (answer === undefined) throw new Error('No answer');
    return answer;
  }

  /** The head of a management request with the tenant's key; `lines` say how long its body is. */
  function head(tenant: Pick<Tenant, 'secret'>, method: string, ...lines: string[]): string {
    return requestHead(
      `${method} /api/v1/releases`,
      `Authorization: Bearer ${tenant.secret}`,
      ...lines,
    );
  }

  /** Returns a valid body of each method, which a test then spoils. */
  function validBody(tenant: Tenant, method: string): Json {
    const name = { app: tenant.app, channel: 'stable', version: '7.0.0' };
    return method === 'POST'
      ? { ...name, artifacts: [{ ...ARTIFACT, sha512: 'x', size: 1 }], notes: 'n', rollout: 1 }
      : { ...name, version: '1.0.0', rollout: 100 };
  }

  describe('bodies by their size', () => {
    it.each([
      ['1 MiB and a byte', MIB + 1],
      ['20 MiB', 20 * MIB],
    ])('%s is 413', async (_, size) => {
      const tenant = await createTenant(node);
      for (const method of ['POST', 'PATCH']) {
        const request = head(tenant, method, `Content-Length: ${size}`);
        expectRefusal(await raw(request, Buffer.alloc(size, ' ')), 413);
      }
    });

    it('a connection is of use after a body that was refused', async () => {
      const { secret } = await createTenant(node);
      const size = 20 * MIB;
      const next = requestHead('GET /healthz');
      for (const [key, status] of [
        [secret, 413],
        ['nobody', 401],
      ] as const) {
        const request = head({ secret: key }, 'POST', `Content-Length: ${size}`);
        const parts = [request, Buffer.alloc(size, ' ')];
        const [refusal, health] = await exchangeRaw(node, parts, next);
        expect([refusal?.status, health?.status]).toEqual([status, 200]);
      }
    });

    it('2 MiB in chunks, without a length, is 413', async () => {
      const tenant = await createTenant(node);
      const chunk = Buffer.alloc(64 * 1024, ' ');
      const framed = Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')]);
      const request = head(tenant, 'POST', 'Transfer-Encoding: chunked');
      const chunks = Array.from({ length: 32 }, () => framed);
      expectRefusal(await raw(request, ...chunks, '0\r\n\r\n'), 413);
    });

    it('20 MiB without a key is 401', async () => {
      const size = 20 * MIB;
      const request = requestHead('POST /api/v1/releases', `Content-Length: ${size}`);
      expectRefusal(await raw(request, Buffer.alloc(size, ' ')), 401);
    });

    it('bodies refused before they were read (401) are not held against later ones', async () => {
      const tenant = await createTenant(node);
      // The public part is right, so the key is looked up, while part of the body has arrived.
      const wrong = { secret: `${tenant.secret.slice(0, -2)}__` };
      const request = head(wrong, 'POST', `Content-Length: ${MIB}`);
      const almostWhole = Buffer.alloc(MIB - 1, ' ');
      for (let round = 0; round < 10; round++) {
        const answers = await Promise.all(
          Array.from({ length: 10 }, () => raw(request, almostWhole)),
        );
        for (const answer of answers) expectRefusal(answer, 401);
      }
      const body = { ...validBody(tenant, 'POST'), notes: 'x'.repeat(200 * 1024) };
      expect((await manage(node, tenant, 'POST', 'releases', body)).status).toBe(201);
      expect((await sendText(tenant, 'POST', ' '.repeat(MIB + 1))).status).toBe(413);
    });

    it('a body in chunks is read whole, wherever they are cut', async () => {
      const tenant = await createTenant(node);
      const notes = 'ü🚀'.repeat(50);
      const bytes = Buffer.from(JSON.stringify({ ...validBody(tenant, 'POST'), notes }));
      const chunks = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, index) => {
        const chunk = bytes.subarray(index * 7, index * 7 + 7);
        return Buffer.concat([
          Buffer.from(`${chunk.length.toString(16)}\r\n`),
          chunk,
          Buffer.from('\r\n'),
        ]);
      });
      const request = head(tenant, 'POST', 'Transfer-Encoding: chunked');
      const answer = await raw(request, ...chunks, '0\r\n\r\n');
      expect(answer.status).toBe(201);
      expect(JSON.parse(answer.text)).toMatchObject({ release: { notes } });
    });
  });

  describe('connections that end in the middle', () => {
    it.each<[string, (tenant: Tenant) => string]>([
      ['of the request line', () => 'POST /api/v1/rel'],
      ['of the headers', () => 'POST /api/v1/releases HTTP/1.1\r\nHost: x\r\nAuthoriz'],
      ['between headers and body', (tenant) => head(tenant, 'POST', 'Content-Length: 1000')],
      ['of the body', (tenant) => `${head(tenant, 'POST', 'Content-Length: 1000')}{"app":"`],
      ['of a chunk', (tenant) => `${head(tenant, 'POST', 'Transfer-Encoding: chunked')}ff\r\n{"a`],
    ])('%s, cut off or closed: nothing is done, nobody is harmed', async (_, start) => {
      const tenant = await createTenant(node);
      for (const ending of ['destroy', 'end'] as const) {
        await Promise.all(Array.from({ length: 5 }, () => abandon(node, start(tenant), ending)));
      }
      const reader = await anotherKey(node, tenant);
      expect((await manage(node, reader, 'GET', 'releases')).body?.total).toBe(0);
    });
  });

  describe('bodies that are no JSON, or not the JSON that is wanted', () => {
    it.each(['POST', 'PATCH'])('malformed JSON is 400 `Invalid JSON body`: %s', async (method) => {
      const tenant = await createTenant(node);
      for (const text of [
        '',
        ' ',
        '{',
        '}',
        '{"app"',
        "{'app':1}",
        '\u0000',
        '{"a":NaN}',
        '{}x',
        'a=b',
      ]) {
        const answer = await sendText(tenant, method, text);
        expect([answer.status, answer.body]).toStrictEqual([400, { error: 'Invalid JSON body' }]);
      }
    });

    it.each([
      ['a byte that is no UTF-8', [0xff]],
      ['a character cut short', [0xe2, 0x82]],
      ['an overlong NUL', [0xc0, 0x80]],
      ['half a surrogate pair', [0xed, 0xa0, 0x80]],
    ])('%s in a text is 400 `Invalid JSON body`', async (_, bytes) => {
      const tenant = await createTenant(node);
      const text = JSON.stringify({ ...validBody(tenant, 'POST'), notes: '@' });
      const [before = '', after = ''] = text.split('@');
      const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
      const request = head(tenant, 'POST', `Content-Length: ${body.length}`);
      const answer = await raw(request, body);
      expectRefusal(answer, 400);
      expect(JSON.parse(answer.text)).toStrictEqual({ error: 'Invalid JSON body' });
    });

    it.each(['POST', 'PATCH'])('a body that is no object is 400: %s', async (method) => {
      const tenant = await createTenant(node);
      const one = JSON.stringify(validBody(tenant, method));
      for (const text of [
        'null',
        'true',
        '0',
        '1e400',
        '"app"',
        '[]',
        `[${one}]`,
        JSON.stringify(one),
      ]) {
        expectRefusal(await sendText(tenant, method, text), 400);
      }
    });

    it.each(['POST', 'PATCH'])('very deep JSON is 400: %s', async (method) => {
      const tenant = await createTenant(node);
      const depth = 100_000;
      const lists = '['.repeat(depth) + ']'.repeat(depth);
      const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
      const within = (field: string, deep: string) =>
        `${JSON.stringify(validBody(tenant, method)).slice(0, -1)},"${field}":${deep}}`;
      for (const deep of [lists, objects]) {
        expectRefusal(await sendText(tenant, method, deep), 400);
        expectRefusal(await sendText(tenant, method, deep.slice(0, depth)), 400);
        for (const field of ['app', 'targets', 'unknown']) {
          expectRefusal(await sendText(tenant, method, within(field, deep)), 400);
        }
        const labels = within('targets', `{"matchLabels":{"ring":${deep}}}`);
        expectRefusal(await sendText(tenant, method, labels), 400);
      }
    });

    it('very wide JSON is 400', async () => {
      const tenant = await createTenant(node);
      const keys = Object.fromEntries(
        Array.from({ length: 50_000 }, (_, index) => [`k${index}`, 1]),
      );
      const artifacts = Array.from({ length: 100_000 }, () => ({}));
      const base = validBody(tenant, 'POST');
      expectRefusal(await manage(node, tenant, 'POST', 'releases', { ...base, ...keys }), 400);
      expectRefusal(await manage(node, tenant, 'POST', 'releases', { ...base, artifacts }), 400);
    });

    it.each(['__proto__', 'constructor', 'prototype', 'toString', 'then', ''])(
      'an unknown key is 400, also one named %j',
      async (key) => {
        const tenant = await createTenant(node);
        for (const method of ['POST', 'PATCH']) {
          const body = JSON.stringify(validBody(tenant, method)).slice(0, -1);
          const answer = await sendText(tenant, method, `${body},"${key}":{"app":"x"}}`);
          expectRefusal(answer, 400);
        }
      },
    );
  });

  describe('wrong types everywhere are 400 with the path', () => {
    const someText = ['text', '', null, 0, 1.5, true, [], ['x'], {}, { x: 1 }];
    const texts = someText.filter((value) => typeof value !== 'string');
    const optionalTexts = ['', ...texts];
    const numbers = [...someText, '1', -1, 1e21];
    const lists = someText.filter((value) => !(Array.isArray(value) && value.length === 0));
    const objects = someText.filter((value) => value === null || typeof value !== 'object');

    it.each<[string, readonly unknown[], (value: unknown) => Json]>([
      ['app', texts, (app) => ({ app })],
      ['channel', texts, (channel) => ({ channel })],
      ['version', someText, (version) => ({ version })],
      ['notes', texts, (notes) => ({ notes })],
      ['rollout', numbers.filter((value) => value !== 0), (rollout) => ({ rollout })],
      ['status', someText, (status) => ({ status })],
      ['artifacts', lists, (artifacts) => ({ artifacts })],
      ['artifacts.0', [...objects, []], (artifact) => ({ artifacts: [artifact] })],
      ['artifacts.0.platform', optionalTexts, (platform) => artifact({ platform })],
      ['artifacts.0.arch', optionalTexts, (arch) => artifact({ arch })],
      ['artifacts.0.url', someText, (url) => artifact({ url })],
      ['artifacts.0.sha512', optionalTexts, (sha512) => artifact({ sha512 })],
      ['artifacts.0.signature', optionalTexts, (signature) => artifact({ signature })],
      ['artifacts.0.size', numbers.filter((value) => value !== 0), (size) => artifact({ size })],
      ['targets', objects.filter((value) => value !== null), (targets) => ({ targets })],
      ['targets.matchLabels', [...objects, []], (matchLabels) => ({ targets: { matchLabels } })],
      [
        'targets.matchExpressions',
        lists,
        (matchExpressions) => ({ targets: { matchExpressions } }),
      ],
    ])('%s at publish', async (path, values, spoil) => {
      const tenant = await createTenant(node);
      for (const value of values) {
        const body = { ...validBody(tenant, 'POST'), ...spoil(value) };
        expectField(await manage(node, tenant, 'POST', 'releases', body), path);
      }
      const { body } = await manage(node, tenant, 'GET', 'releases');
      expect(body?.total).toBe(0);
    });

    it.each<[string, readonly unknown[]]>([
      ['app', texts],
      ['channel', texts],
      ['version', someText],
      ['rollout', numbers.filter((value) => value !== 0)],
      ['status', someText],
      ['targets', objects.filter((value) => value !== null)],
    ])('%s at serving control', async (path, values) => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      for (const value of values) {
        const body = { ...validBody(tenant, 'PATCH'), [path]: value };
        expectField(await manage(node, tenant, 'PATCH', 'releases', body), path);
      }
    });

    it.each(['1e400', '-1e400', '1e21', '9007199254740993', '0.1', '-0.5', '1e2.5', '0x10', '١'])(
      'a number like %s is 400',
      async (number) => {
        const tenant = await createTenant(node);
        for (const method of ['POST', 'PATCH']) {
          const body = JSON.stringify({ ...validBody(tenant, method), rollout: 77 });
          expectRefusal(
            await sendText(tenant, method, body.replace('"rollout":77', `"rollout":${number}`)),
            400,
          );
        }
        const body = JSON.stringify({ ...validBody(tenant, 'POST'), ...artifact({ size: 77 }) });
        expectRefusal(
          await sendText(tenant, 'POST', body.replace('"size":77', `"size":${number}`)),
          400,
        );
      },
    );
  });

  describe('NUL and half surrogate pairs are 400 in every text', () => {
    it.each<[string, (text: string) => Json]>([
      ['app', (app) => ({ app })],
      ['channel', (channel) => ({ channel })],
      ['version', (version) => ({ version })],
      ['notes', (notes) => ({ notes })],
      ['status', (status) => ({ status })],
      ['artifacts.0.platform', (platform) => artifact({ platform })],
      ['artifacts.0.arch', (arch) => artifact({ arch })],
      ['artifacts.0.url', (end) => artifact({ url: `https://a.example/${end}` })],
      ['artifacts.0.sha512', (sha512) => artifact({ sha512 })],
      ['artifacts.0.signature', (signature) => artifact({ signature })],
      ['targets.matchLabels', (key) => ({ targets: { matchLabels: { [key]: ['a'] } } })],
      ['targets.matchLabels.ring', (text) => ({ targets: { matchLabels: { ring: ['a', text] } } })],
      ['targets.matchExpressions.0.key', (key) => expression({ key, operator: 'Exists' })],
      [
        'targets.matchExpressions.0.operator',
        (operator) => expression({ key: 'ring', operator, values: ['a'] }),
      ],
      [
        'targets.matchExpressions.0.values.0',
        (text) => expression({ key: 'ring', operator: 'In', values: [text] }),
      ],
    ])('%s', async (path, spoil) => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '1.0.0');
      const isPublishOnly = path === 'notes' || path.startsWith('artifacts');
      for (const text of NUL_AND_HALVES) {
        for (const method of isPublishOnly ? ['POST'] : ['POST', 'PATCH']) {
          const body = { ...validBody(tenant, method), ...spoil(text) };
          expectField(await manage(node, tenant, method, 'releases', body), path);
        }
      }
    });

    it('an unknown key', async () => {
      const tenant = await createTenant(node);
      for (const text of NUL_AND_HALVES) {
        const body = { ...validBody(tenant, 'POST'), [text]: 1 };
        expectRefusal(await manage(node, tenant, 'POST', 'releases', body), 400);
      }
    });

    it('the console API', async () => {
      const { org, app } = await createTenant(node);
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
  });

  describe('methods and paths that do not exist', () => {
    it.each([
      ['/api/v1/releases', ['PUT', 'OPTIONS', 'TRACE', 'BREW'], ['GET', 'POST', 'PATCH', 'DELETE']],
      ['/api/v1/releases/1', ['POST', 'PUT', 'PATCH', 'DELETE', 'BREW'], ['GET']],
      ['/api/v1/releases/promote', ['PUT', 'PATCH', 'DELETE', 'BREW'], ['POST']],
      ['/api/v1/apps', ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'BREW'], ['GET']],
      [
        '/u/app/stable/linux/x86_64/1',
        ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'BREW'],
        ['GET'],
      ],
      ['/healthz', ['POST', 'PUT', 'DELETE', 'TRACE', 'BREW'], ['GET']],
    ])('%s: another method is 405 with Allow', async (path, methods, allowed) => {
      for (const method of methods) {
        const answer = await raw(requestHead(`${method} ${path}`, 'Content-Length: 2'), '{}');
        expectRefusal(answer, 405);
        const allow = (answer.headers.get('allow') ?? '').split(/ *, */);
        expect(allow).toEqual(expect.arrayContaining(allowed));
        expect(allow).not.toContain(method);
      }
    });

    it.each([
      '/api',
      '/api/v1',
      '/api/v1/',
      '/api/v1/nothing',
      '/api/v2/releases',
      '/api/v1/releases/',
      '/api/v1/releases/1.0.0/more',
      '/api/v1//releases',
      '//api/v1/releases',
      '/API/V1/RELEASES',
      '/api/v1/releases%2f',
      '/api/v1/releases%00',
      '/api/v1/releases%ff',
      '/api/v1/%72eleases%',
      '/api/v1/../v1/nothing',
      '/u',
      '/u/',
      '/u/app',
      '/u/app/stable/linux/x86_64',
      '/u/app/stable/linux/x86_64/1/more',
      '/u/app/stable//x86_64/1',
      '/u/////',
      '/u/app/stable/linux/x86_64/',
    ])('%s is 404 for every method', async (path) => {
      for (const method of ['GET', 'POST', 'PATCH']) {
        expectRefusal(await raw(requestHead(`${method} ${path}`, 'Content-Length: 2'), '{}'), 404);
      }
    });
  });

  describe('paths in wrong encodings, and long ones', () => {
    const long = 'a'.repeat(10_000);

    it.each([
      ['%00', 404],
      ['a%00b', 404],
      ['%ff', 400],
      ['%', 400],
      ['%zz', 400],
      ['%e0%a4%a', 400],
      ['%ED%A0%80', 400],
      ['%c0%80', 400],
      ['\u00ff\u00fe', 404],
      ['..', 404],
      ['%2e%2e%2f', 404],
      ["x'--", 404],
    ])('%s as app or channel of an update check', async (segment, status) => {
      for (const path of [`${segment}/stable`, `${witness.app}/${segment}`]) {
        const request = requestHead(`GET /u/${path}/linux/x86_64/0.1`);
        expectRefusal(await raw(Buffer.from(request, 'latin1')), status);
      }
    });

    it.each(named(['%00', '%ff', '%', '%zz', '\u00ff', '1.0%00', 'latest', '%20', '9'.repeat(65)]))(
      '%s as version of an update check is 400',
      async (_, version) => {
        const request = requestHead(`GET /u/${witness.app}/stable/linux/x86_64/${version}`);
        expectRefusal(await raw(Buffer.from(request, 'latin1')), 400);
      },
    );

    it.each([
      ['%00', 400],
      ['\u00ff', 204],
      ['__proto__', 204],
      ['constructor', 204],
      ['%ff', 400],
      ['%', 400],
      ['%zz', 400],
    ])('%s as platform or arch is a name without artifacts, or malformed', async (name, status) => {
      for (const path of [`${name}/x86_64`, `linux/${name}`]) {
        const request = requestHead(`GET /u/${witness.app}/stable/${path}/0.1`);
        const answer = await raw(Buffer.from(request, 'latin1'));
        if (status === 204) expect(answer.status).toBe(204);
        else expectRefusal(answer, status);
      }
    });

    it('a segment of 10,000 characters in an update check is answered by its place', async () => {
      const { app } = witness;
      for (const [path, status] of [
        [`${long}/stable/linux/x86_64/0.1`, 404],
        [`${app}/${long}/linux/x86_64/0.1`, 404],
        [`${app}/stable/${long}/x86_64/0.1`, 400],
        [`${app}/stable/linux/${long}/0.1`, 400],
        [`${app}/stable/linux/x86_64/${long}`, 400],
        [long, 404],
      ] as const) {
        expectRefusal(await raw(requestHead(`GET /u/${path}`)), status);
      }
    });

    it('a path of 10,000 characters below /api and /console is 404', async () => {
      for (const path of [`/api/${long}`, `/api/v1/${long}`, `/console/api/${long}`, `/${long}`]) {
        expectRefusal(await raw(requestHead(`GET ${path}`)), 404);
      }
    });

    it('bytes that are no UTF-8 in a path below /api are 404', async () => {
      for (const path of ['/api/v1/\u00ff', '/api/v1/releases\u0080', '/\u00fe\u00ff']) {
        expectRefusal(await raw(Buffer.from(requestHead(`GET ${path}`), 'latin1')), 404);
      }
    });

    // The HTTP library refuses these itself, with a status and a page of its own.
    it.each([
      ['a NUL in the path', 'GET /u/a\u0000b/stable/linux/x86_64/1 HTTP/1.1\r\nHost: x\r\n\r\n'],
      ['a NUL in a header', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: \u0000\r\n\r\n'],
      [
        'a length that is none',
        'POST /api/v1/releases HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n',
      ],
      [
        'a length below 0',
        'POST /api/v1/releases HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
      ],
      [
        'a length and chunks',
        'POST /u HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      ],
      [
        'a chunk size that is none',
        'POST /u HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
      ],
      ['no HTTP at all', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'],
      [
        'headers over 64 KiB',
        `GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(80_000)}\r\n\r\n`,
      ],
    ])('%s is survived', async (_, request) => {
      for (const ending of ['destroy', 'end'] as const) {
        await abandon(node, Buffer.from(request, 'latin1'), ending);
      }
    });
  });

  describe('headers and queries', () => {
    it.each([
      ['in one header', [`X-Long: ${'a'.repeat(60 * 1024)}`]],
      ['in 60 headers', Array.from({ length: 60 }, (_, i) => `X-${i}: ${'a'.repeat(1000)}`)],
      ['as a key', [`Authorization: Bearer ${'a'.repeat(60 * 1024)}`]],
      ['as a device', [`X-Service-Device: ${'a'.repeat(60 * 1024)}`]],
    ])('60 KiB of headers %s are read, and answered like any request', async (_, lines) => {
      expectRefusal(await raw(requestHead('GET /api/v1/apps', ...lines)), 401);
      expectRefusal(await raw(requestHead('GET /u/unknown/stable/linux/x86_64/1', ...lines)), 404);
      const path = `/u/${witness.app}/stable/linux/x86_64/0.1`;
      expect((await raw(requestHead(`GET ${path}`, ...lines))).status).toBe(200);
    });

    it.each(named(['', ' ', '\u00ff\u00fe', 'a'.repeat(129), 'a'.repeat(10_000)]))(
      'a device header that is no identity counts as absent: %s',
      async (_, device) => {
        const path = `/u/${witness.app}/stable/linux/x86_64/0.1`;
        const request = requestHead(`GET ${path}`, `X-Service-Device: ${device}`);
        expect((await raw(Buffer.from(request, 'latin1'))).status).toBe(200);
      },
    );

    it.each([
      ['an empty key', 'l.=a'],
      ['a $ key', 'l.$platform=linux'],
      ['a $ key, encoded', 'l.%24version=1'],
      ['a key over 128 characters', `l.${'k'.repeat(129)}=a`],
      ['a value over 256 characters', `l.a=${'v'.repeat(257)}`],
      ['17 labels', Array.from({ length: 17 }, (_, index) => `l.k${index}=v`).join('&')],
      ['1,000 labels', Array.from({ length: 1000 }, (_, index) => `l.k${index}=v`).join('&')],
    ])('%s is 400', async (_, query) => {
      expectRefusal(await check(node, witness, '0.1', { query }), 400);
    });

    it.each(
      named([
        '',
        '&&&',
        '=',
        '%',
        '%zz=%zz',
        'l.a=%ff',
        'l.%ff=a',
        'l.a',
        `x=${'a'.repeat(10_000)}`,
      ]),
    )('a query that means nothing changes nothing: %s', async (_, query) => {
      expect((await check(node, witness, '0.1', { query })).status).toBe(200);
    });
  });

  it("another tenant's app is 404, like one that does not exist", async () => {
    const tenant = await createTenant(node);
    for (const app of [
      witness.app,
      witness.appId,
      'unknown',
      'app_',
      `${witness.appId}0`,
      '%',
      '*',
    ]) {
      for (const method of ['POST', 'PATCH']) {
        const body = { ...validBody(tenant, method), app };
        const answer = await manage(node, tenant, method, 'releases', body);
        expect([answer.status, answer.body]).toStrictEqual([404, { error: 'Unknown app' }]);
      }
    }
  });
});

function artifact(more: Json): Json {
  return { artifacts: [{ ...ARTIFACT, ...more }] };
}

function expression(parts: Json): Json {
  return { targets: { matchExpressions: [parts] } };
}

/** Expects a 4xx whose JSON body is `{ error }` and nothing else. */
function expectRefusal(answer: Answer | RawAnswer, status?: number): void {
  if (status !== undefined) expect(answer.status, answer.text).toBe(status);
  expect(answer.status, answer.text).toBeGreaterThanOrEqual(400);
  expect(answer.status, answer.text).toBeLessThan(500);
  expect(answer.headers.get('content-type')).toBe('application/json');
  expect(JSON.parse(answer.text)).toStrictEqual({ error: expect.stringMatching(/./) });
}

/** Expects the 400 that names a field or a part below it: `path: reason`. */
function expectField(answer: Answer, path: string): void {
  expectRefusal(answer, 400);
  const message = String(answer.body?.error);
  const isNamed = message.startsWith(`${path}: `) || message.startsWith(`${path}.`);
  expect(isNamed, `${message} should begin with ${path}`).toBe(true);
}

/** A request's head, by its method and path and further header lines. */
function requestHead(methodAndPath: string, ...lines: string[]): string {
  return [`${methodAndPath} HTTP/1.1`, 'Host: sluice.test', ...lines, '', ''].join('\r\n');
}

function dial(node: ServingNode): Socket {
  const { hostname, port } = new URL(node.url);
  return connect({ host: hostname, port: Number(port) });
}

/**
 * Sends bytes on a connection of its own; resolves as soon as the answer is whole. A `next` request is sent
 * after the first answer, and both answers are returned.
 */
function exchangeRaw(
  node: ServingNode,
  parts: readonly (string | Buffer)[],
  next?: string,
): Promise<RawAnswer[]> {
  const count = next === undefined ? 1 : 2;
  return new Promise((resolve, reject) => {
    const socket = dial(node);
    let received = Buffer.alloc(0);
    const finish = (reason: string): void => {
      socket.destroy();
      const answers = readAnswers(received);
      if (answers.length >= count) resolve(answers);
      else reject(new Error(`${reason} after ${JSON.stringify(received.toString('latin1'))}`));
    };
    socket.setTimeout(RAW_TIMEOUT_MS, () => finish('No whole answer in time'));
    socket.on('data', (chunk: Buffer) => {
      const before = readAnswers(received).length;
      received = Buffer.concat([received, chunk]);
      const { length } = readAnswers(received);
      if (length >= count) finish('');
      else if (before === 0 && length > 0 && next !== undefined) socket.write(next);
    });
    socket.on('error', (error) => finish(error.message));
    socket.on('close', () => finish('Closed'));
    for (const part of parts) socket.write(part);
  });
}

/** Returns the answers that are whole. */
function readAnswers(received: Buffer): RawAnswer[] {
  const answers: RawAnswer[] = [];
  for (let rest = received; ; ) {
    const end = rest.indexOf('\r\n\r\n');
    if (end === -1) return answers;
    const [statusLine = '', ...lines] = rest.subarray(0, end).toString('latin1').split('\r\n');
    const headers = new Map(lines.map(readHeader));
    const bodyEnd = end + 4 + Number(headers.get('content-length') ?? 0);
    if (rest.length < bodyEnd) return answers;
    const text = rest.subarray(end + 4, bodyEnd).toString('utf8');
    answers.push({ status: Number(statusLine.split(' ')[1]), headers, text });
    rest = rest.subarray(bodyEnd);
  }
}

function readHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

/**
 * Sends bytes and leaves, by ending or by destroying the connection; resolves when the connection is gone.
 */
function abandon(
  node: ServingNode,
  bytes: string | Buffer,
  ending: 'destroy' | 'end',
): Promise<void> {
  const patienceMs = 2000;
  return new Promise((resolve) => {
    const socket = dial(node);
    // The service may answer, close or reset: all are allowed here.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve());
    socket.on('data', () => undefined);
    socket.setTimeout(patienceMs, () => socket.destroy());
    socket.write(bytes, () => {
      if (ending === 'end') socket.end();
      // After the bytes are out, so that the service has begun to read them.
      else setTimeout(() => socket.destroy(), 20);
    });
  });
}

/** Rows for a table of texts: a short name for the title, and the text. */
function named(texts: readonly string[]): [string, string][] {
  return texts.map((text) => {
    const isLong = text.length > 80;
    return [isLong ? `${text.slice(0, 20)}... (${text.length})` : JSON.stringify(text), text];
  });
}
