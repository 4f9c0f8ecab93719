// Tests the release-notes feed as JSON, and what both feeds have in common (docs/contract.md 4.9, 16.9 and
// 16.11).

import { beforeAll, describe, expect, it } from 'vitest';
import { release, serve, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  createTenant,
  manage,
  send,
  type Tenant,
} from '../support/tenant.ts';

const FORMATS = ['', '/rss.xml'] as const;
const FEED_COUNT_MAX = 50;
const ORIGIN = { origin: 'https://example.com' };

deviceSuite('the release feeds', (node) => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await tenantWith(node, ['1.0.0', { notes: '# First' }]);
  });

  function feed(app: string, format = '', headers = {}, method = 'GET'): Promise<Answer> {
    return send(node, method, `/feed/${app}/stable${format}`, { headers });
  }

  async function versions(app: string): Promise<string[]> {
    const { status, body = {} } = await feed(app);
    expect(status).toBe(200);
    return (body.releases as { version: string }[]).map(({ version }) => version);
  }

  it("is 200 { app, channel, releases } with exactly the contract's Release, notes as published (§4.9, §2.2)", async () => {
    const own = await createTenant(node);
    const artifacts = [{ ...ARTIFACT, sha512: 'abc', size: 12 }, { platform: 'windows' }];
    const notes = '<script>"\\ \u0001\u001f\ufffe ]]> \u202eabc\u202c \u2028 😀 é';
    const published = await release(node, own, 'v2.0', { notes, artifacts });
    const targets = { matchLabels: { tier: ['gold'] }, matchExpressions: [] };
    await serve(node, own, 'v2.0', { targets, rollout: 40 });
    const { status, headers, body } = await feed(own.app);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
    const listed = { ...published, rolloutPct: 40 };
    expect(body).toStrictEqual({ app: own.app, channel: 'stable', releases: [listed] });
    expect(listed).toMatchObject({ version: 'v2.0', notes, artifacts });
    const empty = await send(node, 'GET', `/feed/${own.app}/beta`);
    expect(empty.body).toStrictEqual({ app: own.app, channel: 'beta', releases: [] });
  });

  it('lists by creation, newest first, whatever the versions, as the release list does', async () => {
    const order = ['1.0.0', '3.0.0', '2.0.0', '2.0.0-rc.1', '0.1'];
    const own = await tenantWith(node, ...order.map((version) => [version] as const));
    expect(await versions(own.app)).toEqual(order.toReversed());
    const list = await manage(node, own, 'GET', `releases?app=${own.app}`);
    expect((await feed(own.app)).body?.releases).toEqual(list.body?.releases);
  });

  it('a release is in the feeds while it is published', async () => {
    const own = await tenantWith(node, ['1.0.0'], ['1.1.0', { status: 'paused' }]);
    for (const status of ['paused', 'deprecated', 'rolled_back']) {
      if (status !== 'paused') await serve(node, own, '1.1.0', { status });
      expect(await versions(own.app)).toEqual(['1.0.0']);
      expect((await feed(own.app, '/rss.xml')).text).not.toContain('1.1.0');
      if (status === 'rolled_back') break;
      await serve(node, own, '1.1.0', { status: 'published' });
      expect(await versions(own.app)).toEqual(['1.1.0', '1.0.0']);
      expect((await feed(own.app, '/rss.xml')).text).toContain('1.1.0');
    }
  });

  it('carries the newest 50 releases, and the next one once one of them goes', async () => {
    const all = Array.from({ length: FEED_COUNT_MAX + 2 }, (_, index) => `1.${index}.0`);
    const own = await tenantWith(node, ...all.map((version) => [version] as const));
    const newest = all.toReversed();
    expect(await versions(own.app)).toEqual(newest.slice(0, FEED_COUNT_MAX));
    const rss = await feed(own.app, '/rss.xml');
    expect(rss.text.split('<item>')).toHaveLength(FEED_COUNT_MAX + 1);
    await serve(node, own, String(newest[0]), { status: 'paused' });
    expect(await versions(own.app)).toEqual(newest.slice(1, FEED_COUNT_MAX + 1));
  });

  describe.each(FORMATS)('at /feed/{appRef}/{channel}%s', (format) => {
    it('needs no key, is open to every origin, cached for 60 seconds; HEAD has no body (§4.9, §4.10, §5.3, §16.11)', async () => {
      const get = await feed(tenant.app, format, { ...ORIGIN, authorization: 'Bearer wrong' });
      expect([get.status, get.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
      expect(get.headers.get('access-control-expose-headers')).toContain('ETag');
      expect(get.headers.get('cache-control')).toBe('public, max-age=60');
      expect(get.headers.get('etag')).toMatch(/^"[\w-]{43}"$/);
      const byId = await feed(tenant.appId, format);
      expect([byId.status, byId.text]).toEqual([200, get.text]);
      const head = await feed(tenant.app, format, ORIGIN, 'HEAD');
      expect([head.status, head.text, comparable(head)]).toEqual([200, '', comparable(get)]);
      expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)));
    });

    it('lets a script of another origin send what headers it likes, and takes no other method', async () => {
      const asked = {
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'if-none-match',
      };
      const answer = await feed(tenant.app, format, { ...ORIGIN, ...asked }, 'OPTIONS');
      expect(answer.status).toBe(204);
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('access-control-allow-methods')).toBe('GET, HEAD');
      expect(answer.headers.get('access-control-allow-headers')).toBe('*');
      for (const method of ['POST', 'PATCH', 'DELETE']) {
        const { status, headers } = await feed(tenant.app, format, {}, method);
        expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
      }
    });

    it('is 304 without a body, with the same headers, to who has it already, 200 to who has not', async () => {
      const get = await feed(tenant.app, format);
      const etag = String(get.headers.get('etag'));
      const { 'content-type': _type, 'content-length': _length, ...rest } = comparable(get);
      for (const known of [etag, `W/${etag}`, `"other", W/"a,b" , ${etag}`, '*']) {
        for (const method of ['GET', 'HEAD']) {
          const answer = await feed(tenant.app, format, { 'if-none-match': known }, method);
          expect([known, answer.status, answer.text]).toEqual([known, 304, '']);
          expect(comparable(answer)).toEqual(rest);
        }
      }
      for (const known of ['"other"', etag.slice(1, -1), '', '"', `"${etag.slice(1, 9)}"`, 'W/*']) {
        const { status } = await feed(tenant.app, format, { 'if-none-match': known });
        expect([known, status]).toEqual([known, 200]);
      }
    });

    it('has another tag after every change, and the former one after a change back', async () => {
      const own = await tenantWith(node, ['1.0.0']);
      const before = String((await feed(own.app, format)).headers.get('etag'));
      await release(node, own, '1.1.0');
      const after = await feed(own.app, format, { 'if-none-match': before });
      expect(after.status).toBe(200);
      expect(after.headers.get('etag')).not.toBe(before);
      await serve(node, own, '1.1.0', { status: 'paused' });
      expect((await feed(own.app, format, { 'if-none-match': before })).status).toBe(304);
    });

    it('is 404 for an unknown app or channel, open and not cached, and there as soon as its channel is', async () => {
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
        expect(headers.get('cache-control')).toBe('no-store');
        expect(headers.get('etag')).toBeNull();
      }
      await admin(node, 'POST', 'channels', { app: tenant.app, name });
      expect((await send(node, 'GET', late)).status).toBe(200);
    });

    it('many who ask at once get the same', async () => {
      const own = await tenantWith(node, ['1.0.0', { notes: '*a* '.repeat(1024) }]);
      const answers = await Promise.all(Array.from({ length: 40 }, () => feed(own.app, format)));
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    });
  });

  it('is 404 below a feed that there is', async () => {
    for (const path of ['feed.xml', 'rss', 'rss.xml/x', '']) {
      expect((await send(node, 'GET', `/feed/${tenant.app}/stable/${path}`)).status).toBe(404);
    }
  });
});

/** Returns the headers without those of the moment and of the connection, which fetch ends after a HEAD. */
function comparable({ headers }: Answer): Record<string, string> {
  const { date: _date, connection: _connection, ...rest } = Object.fromEntries(headers);
  return rest;
}
