// Tests the console's files over HTTP: its page at every address, its assets for ever, and nothing else.

import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedNode } from '../support/service-suite.ts';

type Got = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
};

/** Maximum of all files together, as a browser gets them. */
const BUDGET_BYTES = 165_000;
/** Maximum of the page and what it names by itself: pages beyond the first one come when they are opened. */
const FIRST_LOAD_BYTES = 60_000;

const node = sharedNode();

/** A request whose path is sent as it is, and whose answer is not decompressed. */
function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  const { hostname, port } = new URL(node.url);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers }, async (answer) => {
      const body = Buffer.concat(await answer.toArray());
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body });
    });
    sent.on('error', reject).end();
  });
}

async function bytesOf(paths: Iterable<string>, encoding: string): Promise<number> {
  let bytes = 0;
  for (const path of paths) bytes += (await get(path, { 'accept-encoding': encoding })).body.length;
  return bytes;
}

describe('the page', () => {
  it.each([
    ...['/console', '/console/', '/console/apps/notes/stable/1.2.0-beta.1%2Bbuild'],
    ...['/console/apps/notes/devices/a%2Fb.js', '/console/apps/%zz', '/console/settings/keys?x=1'],
    '/console/apps/%2e%2e/%2e%2e/etc/passwd',
  ])('is what every address reloads to: %s', async (path) => {
    const { status, headers, body } = await get(path);
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(body.toString()).toContain('<div id="root">');
  });

  it('is asked for again each time, costs nothing when it is the same, and is only read', async () => {
    const { headers, body } = await get('/console');
    expect(headers['cache-control']).toBe('no-cache');
    const again = await get('/console/apps', { 'if-none-match': String(headers.etag) });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    const head = await get('/console', {}, 'HEAD');
    expect([head.status, head.body.length]).toEqual([200, 0]);
    expect(head.headers['content-length']).toBe(String(body.length));
    expect(head.headers.etag).toBe(headers.etag);
    const written = await get('/console/apps', {}, 'POST');
    expect([written.status, written.headers.allow]).toEqual([405, 'GET, HEAD']);
  });

  it('runs no inline code, loads nothing from elsewhere, and is framed by nobody', async () => {
    const { headers, body } = await get('/console');
    expect(headers).toMatchObject({
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; " +
        "frame-ancestors 'none'",
      ...{ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' },
      'x-frame-options': 'DENY',
    });
    expect(body.toString()).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=/);
  });
});

describe('the assets', () => {
  /** Assets that the page names. */
  let first: readonly string[];
  /** These, and those that they name in turn. */
  const all = new Set<string>();
  beforeAll(async () => {
    const namedIn = (text: string) =>
      [...text.matchAll(/(?:assets\/|["']\.\/)([\w-]+\.(?:js|css|svg))/g)].map(
        ([, name]) => `/console/assets/${name}`,
      );
    first = namedIn((await get('/console')).body.toString());
    for (const path of first) all.add(path);
    for (const path of all) {
      for (const each of namedIn((await get(path)).body.toString())) all.add(each);
    }
  });

  it('are of their type, and good for ever; the compressed copies have no names of their own', async () => {
    const types: Readonly<Record<string, string>> = {
      ...{ js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' },
      svg: 'image/svg+xml',
    };
    expect(new Set([...all].map((path) => path.split('.').at(-1)))).toEqual(
      new Set(Object.keys(types)),
    );
    for (const path of all) {
      const { status, headers } = await get(path);
      expect(status, path).toBe(200);
      expect(headers).toMatchObject({
        'content-type': types[path.split('.').at(-1) ?? ''],
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      });
      expect((await get(`${path}.br`)).status).toBe(404);
    }
  });

  it.each([
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['*', 'br'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['br;q=0, *;q=0', undefined],
    ['', undefined],
  ])('come in the form that Accept-Encoding takes: "%s"', async (accepted, encoding) => {
    const [path = ''] = [...all].filter((name) => name.endsWith('.js'));
    const [plain, got] = [await get(path), await get(path, { 'accept-encoding': accepted })];
    expect(got.headers['content-encoding']).toBe(encoding);
    expect(got.headers.vary).toBe('Accept-Encoding');
    const unpack = { br: brotliDecompressSync, gzip: gunzipSync };
    const body = encoding === undefined ? got.body : unpack[encoding as 'br'](got.body);
    expect(body.equals(plain.body)).toBe(true);
    expect(got.headers.etag === plain.headers.etag).toBe(encoding === undefined);
  });

  it.each([
    ...['/console/assets/', '/console/assets/none.js', '/console/assets/index.html'],
    ...['/console/assets/..%2findex.html', '/console/assets/../index.html.br'],
    ...['/console/assets/%2e%2e/%2e%2e/main.js', '/console/assets/sub/none.js'],
  ])('are those of the build alone: %s', async (path) => {
    const { status, headers, body } = await get(path);
    // When the client has removed the dots of a path, it names no asset any more and gets the page.
    if (status === 200) expect(body.toString()).toContain('<div id="root">');
    else expect([status, headers['content-type']]).toEqual([404, 'application/json']);
  });

  it('weigh less than 165 kB together, and at most 60 kB in the first load, compressed', async () => {
    const bytes = await bytesOf(['/console', ...all], 'gzip');
    expect(bytes).toBeGreaterThan(20_000);
    expect(bytes).toBeLessThan(BUDGET_BYTES);
    expect(first.length).toBeGreaterThan(1);
    expect(await bytesOf(['/console', ...first], 'br')).toBeLessThan(FIRST_LOAD_BYTES);
  });
});

it('the address without a path leads a browser to the console, and is unknown to programs', async () => {
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  const { status, headers } = await get('/', { accept });
  expect(status).toBe(302);
  expect(headers).toMatchObject({ location: '/console', 'cache-control': 'no-store' });
  expect((await get('/?x=1', { accept }, 'HEAD')).status).toBe(302);
  for (const each of [undefined, '*/*', 'application/json', 'text/htmlx']) {
    const program = await get('/', each === undefined ? {} : { accept: each });
    expect([program.status, program.headers.vary]).toEqual([404, 'Accept']);
    expect(JSON.parse(program.body.toString())).toEqual({ error: 'Not found' });
  }
});
