// Tests input that no client should send: broken, oversized, of wrong types, in wrong encodings. Each gets
// a 4xx with an Error body, none of it is a bug in the log, and the service goes on serving. The fields of
// bodies are tested in test/http/release-body.test.ts.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { engineOfRun } from '../support/base-environment.ts';
import type { ServingNode } from '../support/node.ts';
import type { Json } from '../support/published.ts';
import { abandon, exchangeRaw, type RawAnswer, requestHead } from '../support/raw-exchange.ts';
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
const ERROR_LEVEL = /"level":(?:[5-9]\d|\d{3,})\b/;
const NUL_AND_HALVES = ['a\u0000b', '\u0000', 'a\ud800', '\udc00b', '\udc00\ud800'];
/** Whether Node's parser reads requests: it refuses unregistered methods, and paths beyond ASCII. */
const IS_NODE = (await engineOfRun()).name === 'node';
const UNKNOWN_KEYS = ['__proto__', 'constructor', 'prototype', 'toString', 'then', ''];

describeOnBackends('bad input', (backend) => {
  let node: ServingNode;
  /** Tenant that the service must still serve after every bad input. */
  let witness: Tenant;
  let tenant: Tenant;

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
    const lines = node.output().split('\n');
    expect(lines.filter((line) => ERROR_LEVEL.test(line))).toEqual([]);
  });

  /** Sends a body as it is, with the tenant's key. */
  function sendText(body: string): Promise<Answer> {
    return manage(node, tenant, 'POST', 'releases', body);
  }

  /** Writes bytes to a connection of its own and reads the one answer. */
  async function raw(...parts: (string | Buffer)[]): Promise<RawAnswer> {
    const [answer] = await exchangeRaw(node, parts);
    if (answer === undefined) throw new Error('No answer');
    return answer;
  }

  /** Writes a head without a body, whose characters are bytes. */
  function ask(methodAndPath: string, ...lines: string[]): Promise<RawAnswer> {
    return raw(Buffer.from(requestHead(methodAndPath, ...lines), 'latin1'));
  }

  /** The head of a management request with a key; `lines` say how long its body is. */
  function head(method: string, line: string, { secret } = tenant as { secret: string }): string {
    return requestHead(`${method} /api/v1/releases`, `Authorization: Bearer ${secret}`, line);
  }

  /** Returns a valid body of a release, which a test then spoils. */
  function validBody(): Json {
    const artifacts = [{ ...ARTIFACT, sha512: 'x', size: 1 }];
    return {
      app: tenant.app,
      channel: 'stable',
      version: '7.0.0',
      artifacts,
      notes: 'n',
      rollout: 1,
    };
  }

  /** Each test has a key of its own, because each key has a rate limit. */
  async function begin(): Promise<void> {
    tenant = await createTenant(node);
  }

  describe('bodies by their size', () => {
    beforeAll(begin);

    it('a byte over 1 MiB, 20 MiB, and 2 MiB in chunks are 413; without a key 401', async () => {
      for (const size of [MIB + 1, 20 * MIB]) {
        for (const method of ['POST', 'PATCH']) {
          const request = head(method, `Content-Length: ${size}`);
          expectRefusal(await raw(request, Buffer.alloc(size, ' ')), 413);
        }
      }
      const chunk = Buffer.from(`10000\r\n${' '.repeat(64 * 1024)}\r\n`);
      const chunks = Array.from({ length: 32 }, () => chunk);
      const chunked = head('POST', 'Transfer-Encoding: chunked');
      expectRefusal(await raw(chunked, ...chunks, '0\r\n\r\n'), 413);
      const nobody = requestHead('POST /api/v1/releases', `Content-Length: ${20 * MIB}`);
      expectRefusal(await raw(nobody, Buffer.alloc(20 * MIB, ' ')), 401);
    });

    it('a connection is of use after a body that was refused', async () => {
      for (const [secret, status] of [
        [tenant.secret, 413],
        ['nobody', 401],
      ] as const) {
        const request = head('POST', `Content-Length: ${20 * MIB}`, { secret });
        const parts = [request, Buffer.alloc(20 * MIB, ' ')];
        const [refusal, health] = await exchangeRaw(node, parts, requestHead('GET /healthz'));
        expect([refusal?.status, health?.status]).toEqual([status, 200]);
      }
    });

    it('bodies refused before they were read (401) are not held against later ones', async () => {
      // The public part is right, so the key is looked up, while part of the body has arrived.
      const wrong = { secret: `${tenant.secret.slice(0, -2)}__` };
      const request = head('POST', `Content-Length: ${MIB}`, wrong);
      const almostWhole = Buffer.alloc(MIB - 1, ' ');
      for (let round = 0; round < 10; round++) {
        const answers = await Promise.all(
          Array.from({ length: 10 }, () => raw(request, almostWhole)),
        );
        for (const answer of answers) expectRefusal(answer, 401);
      }
      const body = { ...validBody(), notes: 'x'.repeat(200 * 1024) };
      expect((await manage(node, tenant, 'POST', 'releases', body)).status).toBe(201);
      expect((await sendText(' '.repeat(MIB + 1))).status).toBe(413);
    });

    it('a body in chunks is read whole, wherever they are cut', async () => {
      const notes = 'ü🚀'.repeat(50);
      const bytes = Buffer.from(JSON.stringify({ ...validBody(), version: '8.0.0', notes }));
      const chunks = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, index) => {
        const chunk = bytes.subarray(index * 7, index * 7 + 7);
        const size = Buffer.from(`${chunk.length.toString(16)}\r\n`);
        return Buffer.concat([size, chunk, Buffer.from('\r\n')]);
      });
      const request = head('POST', 'Transfer-Encoding: chunked');
      const answer = await raw(request, ...chunks, '0\r\n\r\n');
      expect(answer.status).toBe(201);
      expect(JSON.parse(answer.text)).toMatchObject({ release: { notes } });
    });
  });

  describe('connections that end in the middle', () => {
    beforeAll(begin);

    it.each<[string, () => string]>([
      ['of the request line', () => 'POST /api/v1/rel'],
      ['of the headers', () => 'POST /api/v1/releases HTTP/1.1\r\nHost: x\r\nAuthoriz'],
      ['between headers and body', () => head('POST', 'Content-Length: 1000')],
      ['of the body', () => `${head('POST', 'Content-Length: 1000')}{"app":"`],
      ['of a chunk', () => `${head('POST', 'Transfer-Encoding: chunked')}ff\r\n{"a`],
    ])('%s, cut off or closed: nothing is done, nobody is harmed', async (_, start) => {
      for (const ending of ['destroy', 'end'] as const) {
        await Promise.all(Array.from({ length: 5 }, () => abandon(node, start(), ending)));
      }
      const reader = await anotherKey(node, tenant);
      expect((await manage(node, reader, 'GET', 'releases')).body?.total).toBe(0);
    });
  });

  describe('a body that is no JSON, or not what is wanted', () => {
    beforeAll(begin);

    it('malformed JSON is 400 `Invalid JSON body`', async () => {
      for (const text of [
        ...['', ' ', '{', '}', '{"app"', "{'app':1}", '\u0000', '{"a":NaN}', '{}x', '{}{}', 'a=b'],
        ...['release', '{"app":}', '{"app":"a",}', '{"a":0x10}', '{"a":1e2.5}', '{"a":١}'],
      ]) {
        const answer = await sendText(text);
        expect([answer.status, answer.body]).toStrictEqual([400, { error: 'Invalid JSON body' }]);
      }
      expectRefusal(await manage(node, tenant, 'PATCH', 'releases', '{'), 400);
      for (const bytes of [[0xff], [0xe2, 0x82], [0xc0, 0x80], [0xed, 0xa0, 0x80]]) {
        const text = JSON.stringify({ ...validBody(), version: '@' });
        const [before = '', after = ''] = text.split('@');
        const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
        const answer = await raw(head('POST', `Content-Length: ${body.length}`), body);
        expectRefusal(answer, 400);
        expect(JSON.parse(answer.text)).toStrictEqual({ error: 'Invalid JSON body' });
      }
    });

    it('no object, an unknown key, and a value of another type are 400', async () => {
      const one = JSON.stringify(validBody());
      for (const text of [
        ...['null', 'true', '0', '1e400', '"app"', '[]', `[${one}]`, JSON.stringify(one)],
        ...UNKNOWN_KEYS.map((key) => `${one.slice(0, -1)},"${key}":{"app":"x"}}`),
        ...NUL_AND_HALVES.map((key) => JSON.stringify({ ...validBody(), [key]: 1 })),
        ...NUL_AND_HALVES.map((app) => JSON.stringify({ ...validBody(), app })),
        JSON.stringify({ ...validBody(), rollout: '1' }),
      ]) {
        expectRefusal(await sendText(text), 400);
      }
    });

    it('very deep JSON, and very wide JSON, are 400', async () => {
      const depth = 100_000;
      const lists = '['.repeat(depth) + ']'.repeat(depth);
      const objects = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
      const within = (field: string, deep: string) =>
        `${JSON.stringify(validBody()).slice(0, -1)},"${field}":${deep}}`;
      for (const deep of [lists, objects]) {
        expectRefusal(await sendText(deep), 400);
        expectRefusal(await sendText(deep.slice(0, depth)), 400);
        for (const field of ['app', 'targets', 'unknown']) {
          expectRefusal(await sendText(within(field, deep)), 400);
        }
        const labels = within('targets', `{"matchLabels":{"ring":${deep}}}`);
        expectRefusal(await sendText(labels), 400);
      }
      const keys = Array.from({ length: 50_000 }, (_, index) => [`k${index}`, 1]);
      const artifacts = Array.from({ length: 100_000 }, () => ({}));
      for (const more of [Object.fromEntries(keys) as Json, { artifacts }]) {
        expectRefusal(await sendText(JSON.stringify({ ...validBody(), ...more })), 400);
      }
    });
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

  describe('methods and paths that do not exist', () => {
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

    it('a path that is none is 404 for every method', async () => {
      for (const path of [
        ...['/api', '/api/v1', '/api/v1/', '/api/v1/nothing', '/api/v2/releases'],
        ...['/api/v1/releases/', '/api/v1/releases/1.0.0/more', '/api/v1//releases'],
        ...['//api/v1/releases', '/API/V1/RELEASES', '/api/v1/releases%2f', '/api/v1/releases%00'],
        ...['/api/v1/releases%ff', '/api/v1/%72eleases%', '/api/v1/../v1/nothing', '/u', '/u/'],
        ...['/u/app', '/u/app/stable/linux/x86_64', '/u/app/stable/linux/x86_64/1/more', '/u/////'],
        ...['/u/app/stable//x86_64/1', '/u/app/stable/linux/x86_64/'],
      ]) {
        for (const method of ['GET', 'POST', 'PATCH']) {
          const request = requestHead(`${method} ${path}`, 'Content-Length: 2');
          expectRefusal(await raw(request, '{}'), 404, path);
        }
      }
    });
  });

  describe('paths in wrong encodings, and long ones', () => {
    const long = 'a'.repeat(10_000);

    it('a malformed segment of an update check is answered by its place', async () => {
      const { app } = witness;
      const malformed = ['%ff', '%', '%zz', '%e0%a4%a', '%ED%A0%80', '%c0%80'];
      const unknown = ['%00', 'a%00b', '\u00ff\u00fe', '..', '%2e%2e%2f', "x'--", long];
      const noVersion = ['%00', '1.0%00', 'latest', '%20', '\u00ff', '9'.repeat(65), long];
      const named = ['\u00ff', '__proto__', 'constructor'];
      const places: [string, number, readonly string[]][] = [
        ['@/stable/linux/x86_64/0.1', 400, malformed],
        [`${app}/@/linux/x86_64/0.1`, 400, malformed],
        ['@/stable/linux/x86_64/0.1', 404, unknown],
        [`${app}/@/linux/x86_64/0.1`, 404, unknown],
        [`${app}/stable/@/x86_64/0.1`, 400, ['%00', '%ff', '%', '%zz', long]],
        [`${app}/stable/linux/@/0.1`, 400, ['%00', '%ff', '%', '%zz', long]],
        [`${app}/stable/@/x86_64/0.1`, 204, named],
        [`${app}/stable/linux/@/0.1`, 204, named],
        [`${app}/stable/linux/x86_64/@`, 400, [...noVersion, '%ff', '%', '%zz']],
        ['@', 404, [long]],
      ];
      for (const [place, status, segments] of places) {
        for (const segment of segments) {
          const path = `/u/${place.replace('@', segment)}`;
          const answer = await ask(`GET ${path}`);
          const expected = isPathRead(path) ? status : 400;
          if (expected === 204) expect(answer.status, path).toBe(204);
          else expectRefusal(answer, expected, path);
        }
      }
    });

    it('long paths and bytes that are no UTF-8 below /api and /console are 404', async () => {
      for (const path of [
        ...[`/api/${long}`, `/api/v1/${long}`, `/console/api/${long}`, `/${long}`],
        ...['/api/v1/\u00ff', '/api/v1/releases\u0080', '/\u00fe\u00ff'],
      ]) {
        expectRefusal(await ask(`GET ${path}`), isPathRead(path) ? 404 : 400);
      }
    });

    // The HTTP library refuses these itself, with a status and a page of its own.
    it.each([
      ['a NUL in the path', 'GET /u/a\u0000b/stable/linux/x86_64/1 HTTP/1.1\r\nHost: x\r\n\r\n'],
      ['a NUL in a header', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: \u0000\r\n\r\n'],
      ['a length that is none', requestHead('POST /api/v1/releases', 'Content-Length: x')],
      ['a length below 0', requestHead('POST /api/v1/releases', 'Content-Length: -1')],
      [
        'a length and chunks',
        `${requestHead('POST /u', 'Content-Length: 3', 'Transfer-Encoding: chunked')}0\r\n\r\n`,
      ],
      [
        'a chunk size that is none',
        `${requestHead('POST /u', 'Transfer-Encoding: chunked')}zz\r\n{}\r\n0\r\n\r\n`,
      ],
      ['no HTTP at all', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'],
      ['headers over 64 KiB', requestHead('GET /healthz', `X-A: ${'a'.repeat(80_000)}`)],
    ])('%s is survived', async (_, request) => {
      for (const ending of ['destroy', 'end'] as const) {
        await abandon(node, Buffer.from(request, 'latin1'), ending);
      }
    });
  });

  describe('headers and queries', () => {
    const checkPath = () => `/u/${witness.app}/stable/linux/x86_64/0.1`;

    it.each([
      ['in one header', [`X-Long: ${'a'.repeat(60 * 1024)}`]],
      ['in 60 headers', Array.from({ length: 60 }, (_, i) => `X-${i}: ${'a'.repeat(1000)}`)],
      ['as a key', [`Authorization: Bearer ${'a'.repeat(60 * 1024)}`]],
      ['as a device', [`X-Service-Device: ${'a'.repeat(60 * 1024)}`]],
    ])('60 KiB of headers %s are read, and answered like any request', async (_, lines) => {
      expectRefusal(await ask('GET /api/v1/apps', ...lines), 401);
      expectRefusal(await ask('GET /u/unknown/stable/linux/x86_64/1', ...lines), 404);
      expect((await ask(`GET ${checkPath()}`, ...lines)).status).toBe(200);
    });

    it('a device header that is no identity counts as absent', async () => {
      for (const device of ['', ' ', '\u00ff\u00fe', 'a'.repeat(129), 'a'.repeat(10_000)]) {
        const { status } = await ask(`GET ${checkPath()}`, `X-Service-Device: ${device}`);
        expect([device, status]).toEqual([device, 200]);
      }
    });

    it('labels that are none are 400, and a query that means nothing changes nothing', async () => {
      const labels = (count: number) => Array.from({ length: count }, (_, i) => `l.k${i}=v`);
      for (const query of [
        ...['l.=a', 'l.$platform=linux', 'l.%24version=1', `l.${'k'.repeat(129)}=a`],
        ...[`l.a=${'v'.repeat(257)}`, labels(17).join('&'), labels(1000).join('&')],
      ]) {
        expectRefusal(await check(node, witness, '0.1', { query }), 400, query);
      }
      for (const query of [
        ...['', '&&&', '=', '%', '%zz=%zz', 'l.a=%ff', 'l.%ff=a', 'l.a', `x=${'a'.repeat(10_000)}`],
      ]) {
        expect((await check(node, witness, '0.1', { query })).status, query).toBe(200);
      }
    });
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
