// Tests the console's files over HTTP: its page at every address, its assets for ever, and nothing else.

import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { sharedNode } from '../support/service-suite.ts';

type Got = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
};

const BUDGET_BYTES = 160_000;
/** Maximum of the page and what it names by itself, as a browser gets them. */
const FIRST_LOAD_BYTES = 60_000;

const node = sharedNode();

/** A request whose path is sent as it is, and whose answer is not decompressed. */
function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  const { hostname, port } = new URL(node.url);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const status = answer.statusCode ?? 0;
        resolve({ status, headers: answer.headers, body: Buffer.concat(chunks) });
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** Returns the assets that the page names, and those that these name in turn. */
async function assetPaths(): Promise<string[]> {
  const found = new Set<string>();
  const queue = ['/console'];
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const text = (await get(path)).body.toString();
    for (const [, name = ''] of text.matchAll(/assets\/([\w-]+\.(?:js|css|svg))/g)) {
      const asset = `/console/assets/${name}`;
      if (found.has(asset)) continue;
      found.add(asset);
      queue.push(asset);
    }
    for (const [, name = ''] of text.matchAll(/["']\.\/([\w-]+\.js)["']/g)) {
      const asset = `/console/assets/${name}`;
      if (found.has(asset)) continue;
      found.add(asset);
      queue.push(asset);
    }
  }
  return [...found];
}

describe('the page', () => {
  it.each([
    '/console',
    '/console/',
    '/console/apps',
    '/console/apps/notes/stable/1.2.0',
    '/console/apps/notes/stable/1.2.0-beta.1%2Bbuild',
    '/console/apps/notes/devices/a%2Fb.js',
    '/console/apps/%zz',
    '/console/apps/%2e%2e/%2e%2e/etc/passwd',
    '/console/settings/keys?x=1',
  ])('is what every address reloads to: %s', async (path) => {
    const { status, headers, body } = await get(path);
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(body.toString()).toContain('<div id="root">');
  });

  it('is asked for again each time, and costs nothing when it is the same', async () => {
    const first = await get('/console');
    expect(first.headers['cache-control']).toBe('no-cache');
    const etag = String(first.headers.etag);
    const again = await get('/console/apps', { 'if-none-match': etag });
    expect([again.status, again.body.length]).toEqual([304, 0]);
  });

  it('runs no inline code, loads nothing from elsewhere, and is framed by nobody', async () => {
    const { headers, body } = await get('/console');
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; " +
        "frame-ancestors 'none'",
    );
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(headers['x-frame-options']).toBe('DENY');
    expect(body.toString()).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=/);
  });

  it('answers HEAD as GET, without the body', async () => {
    const [full, head] = [await get('/console'), await get('/console', {}, 'HEAD')];
    expect([head.status, head.body.length]).toEqual([200, 0]);
    expect(head.headers['content-length']).toBe(String(full.body.length));
    expect(head.headers.etag).toBe(full.headers.etag);
  });

  it('is only read', async () => {
    const { status, headers } = await get('/console/apps', {}, 'POST');
    expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
  });
});

describe('the assets', () => {
  it('are of their type, and good for ever', async () => {
    const paths = await assetPaths();
    const types = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' };
    const kinds = new Set(paths.map((path) => path.split('.').at(-1)));
    expect([...kinds].sort()).toEqual(['css', 'js', 'svg']);
    for (const path of paths) {
      const { status, headers } = await get(path);
      const kind = path.split('.').at(-1) as keyof typeof types | 'svg';
      expect(status, path).toBe(200);
      expect(headers['content-type']).toBe(kind === 'svg' ? 'image/svg+xml' : types[kind]);
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });

  it.each([
    ['br, gzip', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['*', 'br'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['br;q=0, *;q=0', undefined],
    ['identity', undefined],
    ['', undefined],
  ])('come in the form that Accept-Encoding takes: "%s"', async (accepted, encoding) => {
    const [path = ''] = (await assetPaths()).filter((name) => name.endsWith('.js'));
    const plain = await get(path);
    const got = await get(path, { 'accept-encoding': accepted });
    expect(got.headers['content-encoding']).toBe(encoding);
    expect(got.headers.vary).toBe('Accept-Encoding');
    const unpack = { br: brotliDecompressSync, gzip: gunzipSync };
    const body = encoding === undefined ? got.body : unpack[encoding as 'br'](got.body);
    expect(body.equals(plain.body)).toBe(true);
    expect(got.headers.etag === plain.headers.etag).toBe(encoding === undefined);
  });

  it.each([
    '/console/assets/',
    '/console/assets/none.js',
    '/console/assets/index.html',
    '/console/assets/..%2findex.html',
    '/console/assets/../index.html.br',
    '/console/assets/%2e%2e/%2e%2e/main.js',
    '/console/assets/sub/none.js',
  ])('are those of the build alone: %s', async (path) => {
    const { status, headers, body } = await get(path);
    // When the client has removed the dots of a path, it names no asset any more and gets the page.
    if (status === 200) expect(body.toString()).toContain('<div id="root">');
    else expect([status, headers['content-type']]).toEqual([404, 'application/json']);
  });

  it('do not include the compressed copies under their own names', async () => {
    for (const path of await assetPaths()) expect((await get(`${path}.br`)).status).toBe(404);
  });

  it('weigh less than 160 kB together, compressed', async () => {
    const paths = ['/console', ...(await assetPaths())];
    let bytes = 0;
    for (const path of paths) {
      bytes += (await get(path, { 'accept-encoding': 'gzip' })).body.length;
    }
    expect(bytes).toBeGreaterThan(20_000);
    expect(bytes).toBeLessThan(BUDGET_BYTES);
  });
});

describe('the first load', () => {
  it('weighs at most 60 kB, compressed: pages beyond the first one come when they are opened', async () => {
    const text = (await get('/console')).body.toString();
    const assets = [...text.matchAll(/\/console\/assets\/[\w-]+\.(?:js|css)/g)].map(
      ([path]) => path,
    );
    let bytes = 0;
    for (const path of ['/console', ...assets]) {
      bytes += (await get(path, { 'accept-encoding': 'br' })).body.length;
    }
    expect(assets.length).toBeGreaterThan(1);
    expect(bytes).toBeLessThan(FIRST_LOAD_BYTES);
  });
});

describe('the API beside it', () => {
  it.each(['GET', 'POST', 'PATCH', 'DELETE'])(
    'an unknown endpoint is no page: %s',
    async (method) => {
      const { status, body } = await get('/console/api/none/such', {}, method);
      expect([status, body.toString()]).toEqual([404, '{"error":"Not found"}']);
    },
  );

  it('a known endpoint is still told apart by its method', async () => {
    const { status } = await get('/console/api/keys/x/revoke');
    expect(status).toBe(405);
  });
});

describe('the address without a path', () => {
  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

  it('leads a browser to the console', async () => {
    const { status, headers } = await get('/', { accept: BROWSER });
    expect([status, headers.location, headers['cache-control']]).toEqual([
      ...[302, '/console', 'no-store'],
    ]);
    expect((await get('/?x=1', { accept: BROWSER }, 'HEAD')).status).toBe(302);
  });

  it.each([undefined, '*/*', 'application/json', 'text/htmlx'])(
    'is unknown to a program that accepts %s, as every other',
    async (accept) => {
      const { status, headers, body } = await get('/', accept === undefined ? {} : { accept });
      expect([status, headers.vary, JSON.parse(body.toString())]).toEqual([
        ...[404, 'Accept', { error: 'Not found' }],
      ]);
    },
  );
});
