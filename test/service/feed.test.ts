// Tests the release-notes feeds over HTTP, as JSON and as RSS: where they are, their headers, who has them already,
// and how they follow a channel (docs/contract.md 4.9, 4.10, 16.9 and 16.11). How they are written is tested in
// test/http/feed-formats.test.ts, hostile notes in test/updater/hostile-notes.test.ts.

import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { runElectronClient } from '../support/electron-client.ts';
import { sleep } from '../support/eventually.ts';
import { feedBreaches } from '../support/feed-rules.ts';
import { release, serve, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  check,
  manage,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

const FORMATS = [
  ['', 'application/json'],
  ['/rss.xml', 'application/rss+xml; charset=utf-8'],
] as const;
const ORIGIN = { origin: 'https://example.com' };
const KIB = 1024;
const NOTES = '<script>"\\ \u0001\u001f\ufffe ]]> \u202eabc\u202c \u2028 😀 é --- ';
/** The longest notes. */
const FULL = NOTES + '#'.repeat(256 * KIB - Buffer.byteLength(NOTES));
const SETUP = { url: 'https://a.b/setup.exe', sha512: `${'a'.repeat(86)}==` };

deviceSuite('the release feeds', (node) => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await tenantWith(node, ['1.0.0', { notes: '# First' }]);
  });

  function feed(format = '', headers = {}, method = 'GET', app = tenant.app): Promise<Answer> {
    return send(node, method, `/feed/${app}/stable${format}`, { headers });
  }

  it('have notes as they were published, as the release list has, update files and update checks (§4.9)', async () => {
    const artifacts = [{ ...SETUP, platform: 'windows', arch: 'x64', signature: 'c2lnbmF0dXJl' }];
    const own = await tenantWith(node, ['0.9.0'], ['1.0.0', { notes: FULL, artifacts }]);
    const { status, body } = await feed('', {}, 'GET', own.app);
    const list = await manage(node, own, 'GET', `releases?app=${own.app}`);
    const { releases } = list.body as { releases: { version: string; notes: string }[] };
    expect([status, body]).toStrictEqual([200, { app: own.app, channel: 'stable', releases }]);
    expect(releases.map(({ version }) => version)).toEqual(['1.0.0', '0.9.0']);
    expect(releases[0]?.notes).toBe(FULL);
    const rss = await feed('/rss.xml', {}, 'GET', own.app);
    expect(await feedBreaches(rss.text, `${node.url}/feed/${own.app}/stable/rss.xml`)).toEqual([]);
    expect(rss.text).toContain(`<guid isPermaLink="false">${own.app}:stable:1.0.0</guid>`);
    const electronUrl = `${node.url}/e/${own.app}/stable`;
    const client = { electronUrl, type: 'nsis', arch: 'x64', version: '0.9.0' } as const;
    expect(await runElectronClient(client)).toMatchObject({ version: '1.0.0', file: SETUP });
    const offer = await check(node, own, '0.9.0', { platform: 'windows' });
    expect(offer.body).toMatchObject({ version: '1.0.0', notes: FULL });
    const more = await publish(node, own, '1.1.0', { notes: `${FULL}x` });
    expect([more.status, more.body?.error]).toEqual([400, 'notes: Must have at most 256 KiB']);
    const empty = await send(node, 'GET', `/feed/${own.app}/beta`);
    expect(empty.body).toStrictEqual({ app: own.app, channel: 'beta', releases: [] });
  });

  it.each(FORMATS)(
    'at %j follow the channel: a change has another tag, a change back the former one',
    async (format) => {
      const { app, ...own } = await tenantWith(node, ['1.0.0']);
      const before = String((await feed(format, {}, 'GET', app)).headers.get('etag'));
      await release(node, { app, ...own }, '1.1.0');
      const after = await feed(format, { 'if-none-match': before }, 'GET', app);
      expect([after.status, after.text.includes('1.1.0')]).toEqual([200, true]);
      expect(after.headers.get('etag')).not.toBe(before);
      await serve(node, { app, ...own }, '1.1.0', { status: 'paused' });
      expect((await feed(format, { 'if-none-match': before }, 'GET', app)).status).toBe(304);
    },
  );

  describe.each(FORMATS)('at /feed/{appRef}/{channel}%s', (format, type) => {
    it('need no key, are open to every origin, cached for 60 seconds; HEAD has no body (§4.9, §4.10, §5.3, §16.11)', async () => {
      const get = await feed(format, { ...ORIGIN, authorization: 'Bearer wrong' });
      expect([get.status, Object.fromEntries(get.headers)]).toMatchObject([
        200,
        {
          ...{ 'content-type': type, 'access-control-allow-origin': '*' },
          'access-control-expose-headers': expect.stringContaining('ETag'),
          ...{ 'cache-control': 'public, max-age=60', 'x-content-type-options': 'nosniff' },
          etag: expect.stringMatching(/^"[\w-]{43}"$/),
        },
      ]);
      const byId = await feed(format, {}, 'GET', tenant.appId);
      expect([byId.status, byId.text]).toEqual([200, get.text]);
      const head = await feed(format, ORIGIN, 'HEAD');
      expect([head.status, head.text, comparable(head)]).toEqual([200, '', comparable(get)]);
      expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)));
    });

    it('let a script of another origin send what headers it likes, and take no other method', async () => {
      const asked = {
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'if-none-match',
      };
      const answer = await feed(format, { ...ORIGIN, ...asked }, 'OPTIONS');
      expect([answer.status, Object.fromEntries(answer.headers)]).toMatchObject([
        204,
        {
          ...{ 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' },
          'access-control-allow-methods': 'GET, HEAD',
        },
      ]);
      for (const method of ['POST', 'PATCH', 'DELETE']) {
        const { status, headers } = await feed(format, {}, method);
        expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
      }
    });

    it('are 304 without a body, with the same headers, to who has them already', async () => {
      const get = await feed(format);
      const { 'content-type': _type, 'content-length': _length, ...rest } = comparable(get);
      for (const method of ['GET', 'HEAD']) {
        const known = { 'if-none-match': `W/${get.headers.get('etag')}` };
        const answer = await feed(format, known, method);
        expect([answer.status, answer.text, comparable(answer)]).toEqual([304, '', rest]);
      }
    });

    it('are 404 for an unknown app or channel, open and not cached, and there as soon as the channel is', async () => {
      const name = `nightly-${format.length}`;
      const late = `/feed/${tenant.app}/${name}${format}`;
      for (const [path, error] of [
        [`/feed/no-such-app/stable${format}`, 'Unknown app'],
        [`/feed/%F0%9F%98%80/stable${format}`, 'Unknown app'],
        [late, 'Unknown channel'],
        [`/feed/${tenant.app}/%00${format}`, 'Unknown channel'],
      ] as const) {
        const { status, headers, body } = await send(node, 'GET', path);
        expect([path, status, body]).toStrictEqual([path, 404, { error }]);
        expect(headers.get('access-control-allow-origin')).toBe('*');
        expect([headers.get('cache-control'), headers.get('etag')]).toEqual(['no-store', null]);
      }
      await admin(node, 'POST', 'channels', { app: tenant.app, name });
      expect((await send(node, 'GET', late)).status).toBe(200);
    });
  });

  it.each(['feed.xml', 'rss', 'rss.xml/x', ''])(
    'are 404 below a feed that there is: %j',
    async (path) => {
      expect((await send(node, 'GET', `/feed/${tenant.app}/stable/${path}`)).status).toBe(404);
    },
  );

  it('reach many at once, and a slow reader whole, with the tag of their bytes', async () => {
    const quotes = Array.from({ length: 10 }, (_, index) => '"'.repeat(256 * KIB - 20) + index);
    const { app } = await tenantWith(
      node,
      ...quotes.map((notes, index) => [`1.${index}.0`, { notes }] as const),
    );
    const others = Promise.all(Array.from({ length: 10 }, () => feed('', {}, 'GET', app)));
    const response = await fetch(`${node.url}/feed/${app}/stable`);
    const hash = createHash('sha256');
    let length = 0;
    for await (const chunk of response.body ?? []) {
      hash.update(chunk);
      length += chunk.length;
      if (length < 2 * 1024 * KIB) await sleep(1);
    }
    expect(length).toBe(Number(response.headers.get('content-length')));
    expect(length).toBeGreaterThan(quotes.join('').length * 2);
    const etag = `"${hash.digest('base64url')}"`;
    expect(response.headers.get('etag')).toBe(etag);
    for (const other of await others) {
      expect([other.status, other.headers.get('etag'), other.text.length]).toEqual([
        200,
        etag,
        length,
      ]);
    }
  });
});

/** Returns the headers without those of the moment and of the connection, which fetch ends after a HEAD. */
function comparable({ headers }: Answer): Record<string, string> {
  const { date: _date, connection: _connection, ...rest } = Object.fromEntries(headers);
  return rest;
}
