// Tests the release-notes feeds over HTTP, as JSON and as RSS: where they are, their headers, who has them
// already, and how they follow a channel (docs/contract.md 4.9, 4.10, 16.9 and 16.11). How they are written
// is tested in test/http/feed-formats.test.ts, hostile notes in test/updater/hostile-notes.test.ts.

import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { runElectronClient } from '../support/electron-client.ts';
import { sleep } from '../support/eventually.ts';
import { feedBreaches } from '../support/feed-rules.ts';
import { deviceSuite, suiteTenant } from '../support/service-suite.ts';
import { type Answer, admin, createTenant, send } from '../support/tenant.ts';

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
  const tenant = suiteTenant(node, ['1.0.0', { notes: '# First' }]);

  function feed(path: string, headers = {}, method = 'GET'): Promise<Answer> {
    return send(node, method, `/feed/${path}`, { headers });
  }

  it('have notes as they were published, as the release list, update files and update checks have (§4.9)', async () => {
    const artifacts = [{ ...SETUP, platform: 'windows', arch: 'x64', signature: 'c2lnbmF0dXJl' }];
    const own = await createTenant(node, ['0.9.0'], ['1.0.0', { notes: FULL, artifacts }]);
    const { status, body } = await feed(`${own.app}/stable`);
    const list = await own.manage('GET', `releases?app=${own.app}`);
    const { releases } = list.body as { releases: { version: string; notes: string }[] };
    expect([status, body]).toStrictEqual([200, { app: own.app, channel: 'stable', releases }]);
    expect(releases.map(({ version }) => version)).toEqual(['1.0.0', '0.9.0']);
    expect(releases[0]?.notes).toBe(FULL);
    const rss = await feed(`${own.app}/stable/rss.xml`);
    expect(await feedBreaches(rss.text, `${node.url}/feed/${own.app}/stable/rss.xml`)).toEqual([]);
    expect(rss.text).toContain(`<guid isPermaLink="false">${own.app}:stable:1.0.0</guid>`);
    const electronUrl = `${node.url}/e/${own.app}/stable`;
    const client = { electronUrl, type: 'nsis', arch: 'x64', version: '0.9.0' } as const;
    expect(await runElectronClient(client)).toMatchObject({ version: '1.0.0', file: SETUP });
    const { headers } = await send(node, 'GET', `/e/${own.app}/stable/latest.yml`);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    const offer = await own.check('0.9.0', { platform: 'windows' });
    expect(offer.body).toMatchObject({ version: '1.0.0', notes: FULL });
    const more = await own.publish('1.1.0', { notes: `${FULL}x` });
    expect([more.status, more.body?.error]).toEqual([400, 'notes: Must have at most 256 KiB']);
    const empty = await feed(`${own.app}/beta`);
    expect(empty.body).toStrictEqual({ app: own.app, channel: 'beta', releases: [] });
  });

  describe.each(FORMATS)('at /feed/{appRef}/{channel}%s', (format, type) => {
    const known = (etag: unknown) => ({ 'if-none-match': `W/${etag}` });

    it('need no key, are open to every origin, cached for 60 seconds, and 304 to who has them; HEAD has no body (§4.9, §4.10, §5.3, §16.11)', async () => {
      const get = await feed(`${tenant.app}/stable${format}`, { ...ORIGIN, authorization: 'x' });
      const { 'content-type': _, 'content-length': length, ...rest } = comparable(get);
      expect([get.status, get.headers.get('content-type')]).toEqual([200, type]);
      expect(length).toBe(String(Buffer.byteLength(get.text)));
      expect(rest).toMatchObject({
        ...{ 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=60' },
        'access-control-expose-headers': expect.stringContaining('ETag'),
        ...{ etag: expect.stringMatching(/^"[\w-]{43}"$/), 'x-content-type-options': 'nosniff' },
      });
      const byId = await feed(`${tenant.appId}/stable${format}`, ORIGIN, 'HEAD');
      expect([byId.status, byId.text, comparable(byId)]).toEqual([200, '', comparable(get)]);
      for (const method of ['GET', 'HEAD']) {
        const again = await feed(`${tenant.app}/stable${format}`, known(rest.etag), method);
        expect([again.status, again.text, comparable(again)]).toEqual([304, '', rest]);
      }
    });

    it('let a script of another origin send what headers it likes, and take no other method (§16.11)', async () => {
      const path = `${tenant.app}/stable${format}`;
      const asked = { ...ORIGIN, 'access-control-request-method': 'GET' };
      const answer = await feed(path, asked, 'OPTIONS');
      expect([answer.status, comparable(answer)]).toMatchObject([
        204,
        {
          ...{ 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' },
          'access-control-allow-methods': 'GET, HEAD',
        },
      ]);
      const { status, headers } = await feed(path, {}, 'POST');
      expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    });

    it('follow the channel: a change has another tag, a change back the former one', async () => {
      const own = await createTenant(node, ['1.0.0']);
      const tagOf = async () => (await feed(`${own.app}/stable${format}`)).headers.get('etag');
      const before = await tagOf();
      await own.release('1.1.0');
      const after = await feed(`${own.app}/stable${format}`, known(before));
      expect([after.status, after.text.includes('1.1.0')]).toEqual([200, true]);
      expect(await tagOf()).not.toBe(before);
      await own.serve('1.1.0', { status: 'paused' });
      expect(await tagOf()).toBe(before);
    });

    it('are 404 for an unknown app or channel, open and not cached, and there as soon as the channel is', async () => {
      const name = `nightly-${format.length}`;
      for (const [path, error] of [
        ['no-such-app/stable', 'Unknown app'],
        [`${tenant.app}/${name}`, 'Unknown channel'],
      ] as const) {
        const { status, headers, body } = await feed(path + format);
        expect([path, status, body]).toStrictEqual([path, 404, { error }]);
        expect(headers.get('access-control-allow-origin')).toBe('*');
        expect([headers.get('cache-control'), headers.get('etag')]).toEqual(['no-store', null]);
      }
      expect((await feed(`${tenant.app}/stable/feed.xml`)).status).toBe(404);
      await admin(node, 'POST', 'channels', { app: tenant.app, name });
      expect((await feed(`${tenant.app}/${name}${format}`)).status).toBe(200);
    });
  });

  it('reach many at once, and a slow reader whole, with the tag of their bytes', async () => {
    const quotes = Array.from({ length: 5 }, (_, index) => '"'.repeat(256 * KIB - 20) + index);
    const { app } = await createTenant(
      node,
      ...quotes.map((notes, index) => [`1.${index}.0`, { notes }] as const),
    );
    const others = Promise.all(Array.from({ length: 3 }, () => feed(`${app}/stable`)));
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
    const tag = hash.digest('base64url');
    expect(response.headers.get('etag')).toBe(`"${tag}"`);
    for (const { text } of await others) {
      expect(createHash('sha256').update(text).digest('base64url')).toBe(tag);
    }
  });
});

/** Returns the headers without those of the moment and of the connection, which fetch ends after a HEAD. */
function comparable({ headers }: Answer): Record<string, string> {
  const { date: _date, connection: _connection, ...rest } = Object.fromEntries(headers);
  return rest;
}
