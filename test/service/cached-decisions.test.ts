// Tests decisions that a cache can keep, as the service itself answers them (docs/contract.md 28).

import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { serve, setChannel, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { checkForUpdate, sliceOf } from '../support/slice-client.ts';
import {
  type Answer,
  ARTIFACT,
  check,
  control,
  devicesOf,
  send,
  type Tenant,
} from '../support/tenant.ts';

const CACHE_CONTROL =
  'public, max-age=0, s-maxage=30, stale-while-revalidate=30, stale-if-error=600';
const SLICES = Array.from({ length: 100 }, (_, slice) => slice);

deviceSuite('decisions that a cache can keep', (node) => {
  /** App of all tests that only read: 1.1.0 on stable for every device. */
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await tenantWith(node, ['1.1.0']);
  });

  type Asked = { app?: string; channel?: string; version?: string; slice?: string | number };

  function ask(
    { app = tenant.app, channel = 'stable', version = '1.0.0', slice = 0 }: Asked,
    options: { query?: string; method?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const { query, method = 'GET', headers = {} } = options;
    const path = `/c/${app}/${channel}/linux/x86_64/${version}/${slice}`;
    return send(node, method, query === undefined ? path : `${path}?${query}`, { headers });
  }

  async function versionsBySlice(app: string, version = '1.0.0'): Promise<unknown[]> {
    const answers = await Promise.all(SLICES.map((slice) => ask({ app, version, slice })));
    return answers.map(({ body }) => body?.version);
  }

  describe('the answer', () => {
    it('is the manifest of /u, with the headers of §28.2', async () => {
      const answer = await ask({});
      const direct = await check(node, tenant, '1.0.0', { device: randomUUID() });
      expect([answer.status, answer.body]).toEqual([200, direct.body]);
      expect(answer.headers.get('cache-control')).toBe(CACHE_CONTROL);
      expect(answer.headers.get('etag')).toMatch(/^"[\w-]{43}"$/);
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.headers.get('vary')).toBeNull();
    });

    it('is 204 with the same headers where there is no update (§28.1, §28.2)', async () => {
      const answer = await ask({ version: '1.1.0' });
      expect([answer.status, answer.text]).toEqual([204, '']);
      expect(answer.headers.get('cache-control')).toBe(CACHE_CONTROL);
      expect(answer.headers.get('etag')).toMatch(/^"[\w-]{43}"$/);
    });

    it('is 304 for a cache that has it, and not for one that has another (§28.2)', async () => {
      const tag = (await ask({})).headers.get('etag') ?? '';
      const same = await ask({}, { headers: { 'if-none-match': tag } });
      expect([same.status, same.text]).toEqual([304, '']);
      expect(same.headers.get('etag')).toBe(tag);
      expect(same.headers.get('cache-control')).toBe(CACHE_CONTROL);
      expect((await ask({}, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
    });

    it('has no body for HEAD, and its length', async () => {
      const whole = await ask({});
      const head = await ask({}, { method: 'HEAD' });
      expect([head.status, head.text]).toEqual([200, '']);
      expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(whole.text)));
      expect((await ask({}, { method: 'POST' })).status).toBe(405);
    });

    it('is the same for every client: neither User-Agent nor device count (§28.5)', async () => {
      const unsigned = { artifacts: [{ ...ARTIFACT, signature: undefined }] };
      const made = await tenantWith(node, ['1.1.0', unsigned]);
      const headers = { 'user-agent': 'tauri-plugin-updater/2.9', 'x-service-device': 'kiosk-1' };
      const tagged = await ask({ app: made.app }, { headers });
      const plain = await ask({ app: made.app });
      expect([tagged.status, tagged.text]).toEqual([200, plain.text]);
    });
  });

  describe('refusals', () => {
    it('a slice that is none, and a query that decides nothing, are 400 (§28.1)', async () => {
      for (const slice of ['100', '-1', '00', '07', '+7', '1.0', 'a', '7%20', '%37']) {
        const { status, body, headers } = await ask({ slice });
        expect([slice, status, body]).toEqual([slice, 400, { error: 'slice: Must be 0 to 99' }]);
        expect(headers.get('cache-control')).toBe('no-store');
      }
      for (const query of [
        'a=1',
        'l.ring=early',
        'device=kiosk-1',
        'bundle_type=app',
        '&',
        'bundle=app&a=1',
      ]) {
        const { status, body, headers } = await ask({}, { query });
        expect([query, status]).toEqual([query, 400]);
        expect(body?.error).toMatch(/^query: /);
        expect(headers.get('etag')).toBeNull();
      }
    });

    it('bundle twice is 400, once it decides as on /u (§28.1, §20.2)', async () => {
      expect((await ask({}, { query: 'bundle=deb&bundle=deb' })).status).toBe(400);
      expect((await ask({}, { query: 'bundle=deb' })).status).toBe(204);
      expect((await ask({}, { query: 'bundle=' })).status).toBe(200);
      expect((await ask({}, { query: `bundle=${'a'.repeat(33)}` })).status).toBe(400);
    });

    it('an unknown app or channel is 404, which no cache may keep (§28.2)', async () => {
      for (const asked of [{ app: 'no-such-app' }, { channel: 'nightly' }]) {
        const answer = await ask(asked);
        expect(answer.status).toBe(404);
        expect(answer.headers.get('cache-control')).toBe('no-store');
      }
      expect((await ask({ version: 'latest' })).body).toEqual({
        error: 'version: Invalid version',
      });
      expect((await send(node, 'GET', `/c/${tenant.app}/stable/linux/1.0.0/0`)).status).toBe(404);
      expect((await send(node, 'GET', '/c/x')).status).toBe(404);
    });
  });

  describe('cohorts', () => {
    it('a release at n percent is in the slices below n, and stays there as it rises (§28.4)', async () => {
      const made = await tenantWith(node, ['1.1.0'], ['1.2.0', { rollout: 0 }]);
      for (const rollout of [0, 37, 100]) {
        await serve(node, made, '1.2.0', { rollout });
        const expected = SLICES.map((slice) => (slice < rollout ? '1.2.0' : '1.1.0'));
        expect(await versionsBySlice(made.app)).toEqual(expected);
      }
    });

    it('the client of the example gets what its slice gets', async () => {
      const made = await tenantWith(node, ['1.1.0'], ['1.2.0', { rollout: 30 }]);
      const asked = { app: made.app, channel: 'stable', platform: 'linux', arch: 'x86_64' };
      for (const deviceId of ['kiosk-1', 'kiosk-2', 'Gerät 7', '🚀']) {
        const update = await checkForUpdate(node.url, { ...asked, version: '1.0.0', deviceId });
        expect(update?.version).toBe(sliceOf(deviceId) < 30 ? '1.2.0' : '1.1.0');
      }
      const upToDate = { ...asked, version: '1.2.0', deviceId: 'kiosk-1' };
      expect(await checkForUpdate(node.url, upToDate)).toBeNull();
    });
  });

  describe('targeting', () => {
    it('a release that asks for a label is passed over (§28.5)', async () => {
      for (const operator of ['In', 'NotIn', 'Exists', 'DoesNotExist']) {
        const values = operator.endsWith('In') ? { values: ['early'] } : {};
        const targets = { matchExpressions: [{ key: 'ring', operator, ...values }] };
        const made = await tenantWith(node, ['1.1.0'], ['1.2.0', { targets }]);
        expect([operator, (await ask({ app: made.app })).body?.version]).toEqual([
          operator,
          '1.1.0',
        ]);
      }
    });

    it('version and platform count (§28.5)', async () => {
      const expression = { key: '$version', operator: 'VersionGte', values: ['1.0.5'] };
      const made = await tenantWith(node, [
        '1.2.0',
        { targets: { matchExpressions: [expression] } },
      ]);
      expect((await ask({ app: made.app, version: '1.0.4' })).status).toBe(204);
      expect((await ask({ app: made.app, version: '1.0.5' })).body?.version).toBe('1.2.0');
    });

    it('a channel that requires signatures has nothing unsigned (§28.5)', async () => {
      const made = await tenantWith(node, [
        '1.1.0',
        { artifacts: [{ ...ARTIFACT, signature: undefined }] },
      ]);
      await setChannel(node, made, { requireSignature: true });
      expect((await ask({ app: made.app })).status).toBe(204);
    });
  });

  describe('an offer', () => {
    it('is one on the record: what follows is refused as after a check (§28.6, §14.1)', async () => {
      const made = await tenantWith(node, ['1.1.0', { rollout: 50 }]);
      expect((await ask({ app: made.app, slice: 50 })).status).toBe(204);
      await serve(node, made, '1.1.0', { rollout: 40 });
      expect((await ask({ app: made.app, slice: 39 })).status).toBe(200);
      expect((await control(node, made, '1.1.0', { rollout: 39 })).status).toBe(422);
    });

    it('is no check-in, and not limited by address (§28.6, §28.7)', async () => {
      const headers = { 'x-service-device': 'kiosk-1', 'x-forwarded-for': '10.1.2.3' };
      const answers = await Promise.all(
        Array.from({ length: 300 }, () => ask({ app: tenant.app }, { headers })),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      expect(await devicesOf(node, tenant)).toEqual(
        expect.not.arrayContaining([expect.objectContaining({ deviceId: 'kiosk-1' })]),
      );
    });

    it('follows a pause and a rollback from the next request on', async () => {
      const made = await tenantWith(node, ['1.0.0'], ['1.1.0']);
      expect((await ask({ app: made.app })).body?.version).toBe('1.1.0');
      await serve(node, made, '1.1.0', { status: 'paused' });
      expect((await ask({ app: made.app })).status).toBe(204);
      await serve(node, made, '1.1.0', { status: 'rolled_back' });
      const down = await ask({ app: made.app, version: '1.1.0' });
      expect(down.body).toMatchObject({ version: '1.0.0', allowDowngrade: true });
    });
  });
});
