// Tests the release-notes feed as JSON, and what both feeds have in common (docs/contract.md 4.9, 16.9 and
// 16.11).

import { beforeAll, describe, expect, it } from 'vitest';
import { deviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  ARTIFACT,
  admin,
  control,
  createTenant,
  manage,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Release = Record<string, unknown> & { readonly version: string };

const FORMATS = ['', '/rss.xml'] as const;
const FEED_COUNT_MAX = 50;
const KIB = 1024;

deviceSuite('the release feeds', (node) => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0', { notes: '# First' });
  });

  function feed(app: string, format = '', headers = {}, method = 'GET'): Promise<Answer> {
    return send(node, method, `/feed/${app}/stable${format}`, { headers });
  }

  async function versions(app: string): Promise<string[]> {
    const { status, body = {} } = await feed(app);
    expect(status).toBe(200);
    return (body.releases as Release[]).map(({ version }) => version);
  }

  it("is 200 { app, channel, releases } with exactly the contract's Release (§4.9, §2.2)", async () => {
    const own = await createTenant(node);
    const artifacts = [{ ...ARTIFACT, sha512: 'abc', size: 12 }, { platform: 'windows' }];
    const published = await publish(node, own, 'v2.0', { notes: '# Hi & *there*', artifacts });
    await control(node, own, 'v2.0', {
      targets: { matchLabels: { tier: ['gold'] }, matchExpressions: [] },
      rollout: 40,
    });
    const { status, headers, body } = await feed(own.app);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
    const release = { ...(published.body?.release as Release), rolloutPct: 40 };
    expect(body).toStrictEqual({ app: own.app, channel: 'stable', releases: [release] });
    expect(release).toMatchObject({ version: 'v2.0', notes: '# Hi & *there*', artifacts });
  });

  it('the app may be addressed by its id, and is called by its ref all the same', async () => {
    for (const format of FORMATS) {
      const [byRef, byId] = [await feed(tenant.app, format), await feed(tenant.appId, format)];
      expect([byId.status, byId.text]).toEqual([200, byRef.text]);
    }
  });

  it('carries a channel without releases as an empty list', async () => {
    const { status, body } = await send(node, 'GET', `/feed/${tenant.app}/beta`);
    expect([status, body]).toStrictEqual([200, { app: tenant.app, channel: 'beta', releases: [] }]);
  });

  it('lists by creation, newest first, whatever the versions, as the release list does', async () => {
    const own = await createTenant(node);
    const order = ['1.0.0', '3.0.0', '2.0.0', '2.0.0-rc.1', '0.1'];
    for (const version of order) await publish(node, own, version);
    expect(await versions(own.app)).toEqual(order.toReversed());
    const list = await manage(node, own, 'GET', `releases?app=${own.app}`);
    expect((await feed(own.app)).body?.releases).toEqual(list.body?.releases);
  });

  it.each(['paused', 'deprecated', 'rolled_back'])('a %s release is in no feed', async (status) => {
    const own = await createTenant(node);
    await publish(node, own, '1.0.0');
    await publish(node, own, '1.1.0');
    expect(await versions(own.app)).toEqual(['1.1.0', '1.0.0']);
    await control(node, own, '1.1.0', { status });
    expect(await versions(own.app)).toEqual(['1.0.0']);
    expect((await feed(own.app, '/rss.xml')).text).not.toContain('1.1.0');
    if (status === 'rolled_back') return;
    await control(node, own, '1.1.0', { status: 'published' });
    expect(await versions(own.app)).toEqual(['1.1.0', '1.0.0']);
    expect((await feed(own.app, '/rss.xml')).text).toContain('1.1.0');
  });

  it('a release that is paused from the start is in no feed until it is published', async () => {
    const own = await createTenant(node);
    await publish(node, own, '1.0.0', { status: 'paused' });
    expect(await versions(own.app)).toEqual([]);
    await control(node, own, '1.0.0', { status: 'published' });
    expect(await versions(own.app)).toEqual(['1.0.0']);
  });

  it('carries the newest 50 of 60 releases, and the next one once one of them goes', async () => {
    const own = await createTenant(node);
    const all = Array.from({ length: 60 }, (_, index) => `1.${index}.0`);
    for (const version of all) await publish(node, own, version);
    const newest = all.toReversed();
    expect(await versions(own.app)).toEqual(newest.slice(0, FEED_COUNT_MAX));
    const rss = await feed(own.app, '/rss.xml');
    expect(rss.text.split('<item>')).toHaveLength(FEED_COUNT_MAX + 1);
    await control(node, own, '1.59.0', { status: 'paused' });
    expect(await versions(own.app)).toEqual(newest.slice(1, FEED_COUNT_MAX + 1));
  });

  describe.each(FORMATS)('at /feed/{appRef}/{channel}%s', (format) => {
    it('is open to every origin and cached for 60 seconds (§4.9, §4.10, §16.11)', async () => {
      const { headers } = await feed(tenant.app, format, { origin: 'https://example.com' });
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('access-control-expose-headers')).toContain('ETag');
      expect(headers.get('cache-control')).toBe('public, max-age=60');
      expect(headers.get('etag')).toMatch(/^"[\w-]{43}"$/);
    });

    it('lets a script of another origin send what headers it likes', async () => {
      const headers = {
        origin: 'https://example.com',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'if-none-match',
      };
      const answer = await feed(tenant.app, format, headers, 'OPTIONS');
      expect(answer.status).toBe(204);
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('access-control-allow-methods')).toBe('GET, HEAD');
      expect(answer.headers.get('access-control-allow-headers')).toBe('*');
    });

    it('asks for no key, and minds none (§5.3)', async () => {
      const { status } = await feed(tenant.app, format, { authorization: 'Bearer wrong' });
      expect(status).toBe(200);
    });

    it('HEAD has the headers of GET and no body', async () => {
      const [get, head] = [
        await feed(tenant.app, format),
        await feed(tenant.app, format, {}, 'HEAD'),
      ];
      expect([head.status, head.text]).toEqual([200, '']);
      expect(comparable(head)).toEqual(comparable(get));
      expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)));
    });

    it('is 304 without a body, with the same headers, to who has it already', async () => {
      const get = await feed(tenant.app, format);
      const etag = String(get.headers.get('etag'));
      for (const known of [etag, `W/${etag}`, `"other", W/"a,b" , ${etag}`, '*']) {
        for (const method of ['GET', 'HEAD']) {
          const answer = await feed(tenant.app, format, { 'if-none-match': known }, method);
          expect([known, answer.status, answer.text]).toEqual([known, 304, '']);
          const { 'content-type': _type, 'content-length': _length, ...rest } = comparable(get);
          expect(comparable(answer)).toEqual(rest);
        }
      }
    });

    it('is 200 to who has something else', async () => {
      const etag = String((await feed(tenant.app, format)).headers.get('etag'));
      for (const known of ['"other"', etag.slice(1, -1), '', '"', `"${etag.slice(1, 9)}"`, 'W/*']) {
        const answer = await feed(tenant.app, format, { 'if-none-match': known });
        expect([known, answer.status]).toEqual([known, 200]);
      }
    });

    it('has another tag after every change, and the former one after a change back', async () => {
      const own = await createTenant(node);
      await publish(node, own, '1.0.0');
      const before = String((await feed(own.app, format)).headers.get('etag'));
      await publish(node, own, '1.1.0');
      const after = await feed(own.app, format, { 'if-none-match': before });
      expect(after.status).toBe(200);
      expect(after.headers.get('etag')).not.toBe(before);
      await control(node, own, '1.1.0', { status: 'paused' });
      expect((await feed(own.app, format, { 'if-none-match': before })).status).toBe(304);
    });

    it('is 404 with an Error body for an unknown app or channel, open and not cached', async () => {
      for (const [path, error] of [
        [`/feed/no-such-app/stable${format}`, 'Unknown app'],
        [`/feed/${tenant.app}/no-such-channel${format}`, 'Unknown channel'],
        [`/feed/%F0%9F%98%80/stable${format}`, 'Unknown app'],
        [`/feed/${tenant.app}/%00${format}`, 'Unknown channel'],
      ] as const) {
        const { status, headers, body } = await send(node, 'GET', path);
        expect([path, status, body]).toStrictEqual([path, 404, { error }]);
        expect(headers.get('access-control-allow-origin')).toBe('*');
        expect(headers.get('cache-control')).toBe('no-store');
        expect(headers.get('etag')).toBeNull();
      }
    });

    it('is there as soon as its channel is', async () => {
      const path = `/feed/${tenant.app}/nightly-${format.length}${format}`;
      expect((await send(node, 'GET', path)).status).toBe(404);
      await admin(node, 'POST', 'channels', {
        app: tenant.app,
        name: `nightly-${format.length}`,
      });
      expect((await send(node, 'GET', path)).status).toBe(200);
    });

    it('takes no other method', async () => {
      for (const method of ['POST', 'PATCH', 'DELETE']) {
        const { status, headers } = await feed(tenant.app, format, {}, method);
        expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
      }
    });

    it('many who ask at once get the same', async () => {
      const own = await createTenant(node);
      await publish(node, own, '1.0.0', { notes: '*a* '.repeat(KIB) });
      const answers = await Promise.all(Array.from({ length: 40 }, () => feed(own.app, format)));
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    });
  });

  it('is 404 below a feed that there is', async () => {
    for (const path of ['feed.xml', 'rss', 'rss.xml/x', '']) {
      expect((await send(node, 'GET', `/feed/${tenant.app}/stable/${path}`)).status).toBe(404);
    }
  });

  it('notes of every kind come back as they were published', async () => {
    const own = await createTenant(node);
    const notes = '<script>"\\ \u0001\u001f\ufffe ]]> \u202eabc\u202c \u2028 😀 é';
    await publish(node, own, '1.0.0', { notes });
    expect((await feed(own.app)).body?.releases).toMatchObject([{ notes }]);
  });

  it('half a surrogate pair never gets into a feed: publishing it is 400', async () => {
    const own = await createTenant(node);
    const text = `{"app":"${own.app}","channel":"stable","version":"1.0.0","notes":"\\ud800"}`;
    const headers = { authorization: `Bearer ${own.secret}` };
    const answer = await send(node, 'POST', '/api/v1/releases', { body: text, headers });
    expect(answer.status).toBe(400);
    expect(await versions(own.app)).toEqual([]);
  });

  it('a feed of 50 long notes is not written without a break: others are served meanwhile', async () => {
    const own = await createTenant(node);
    const prose =
      'Fixes **a bug** in `parser`, see [b](https://b.c/) and https://d.e/f.\n\n- item\n';
    const notes = prose.repeat((32 * KIB) / prose.length - 1);
    for (let index = 0; index < FEED_COUNT_MAX; index++) {
      await publish(node, own, `1.${index}.0`, { notes: `${notes}\n${index}` });
    }
    let isDone = false;
    const waits: number[] = [];
    const watch = async () => {
      while (!isDone) {
        const start = performance.now();
        await send(node, 'GET', '/healthz');
        waits.push(performance.now() - start);
      }
    };
    const watching = watch();
    const start = performance.now();
    const { status } = await feed(own.app, '/rss.xml');
    const took = performance.now() - start;
    isDone = true;
    await watching;
    console.log(
      `feed of 50 × 32 KiB: ${took.toFixed(0)} ms, others waited ${Math.max(...waits).toFixed(0)} ms at most`,
    );
    expect(status).toBe(200);
    expect(waits.length).toBeGreaterThan(5);
    expect(Math.max(...waits)).toBeLessThan(took / 2);
  });
});

/** Returns the headers without those that change from answer to answer. */
function comparable({ headers }: Answer): Record<string, string> {
  const { date: _date, ...rest } = Object.fromEntries(headers);
  return rest;
}
