// Tests decisions that a cache can keep, as the service itself answers them (docs/contract.md 28). What an
// address and its query decide is tested in test/http/slice-route.test.ts, which slices are in a cohort in
// test/domain/decision/device-slice.test.ts.

import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { deviceSuite, suiteTenant } from '../support/service-suite.ts';
import { settledDevices } from '../support/settled-devices.ts';
import { checkForUpdate, sliceOf } from '../support/slice-client.ts';
import { type Answer, send, type Tenant } from '../support/tenant.ts';

const CACHE_CONTROL =
  'public, max-age=0, s-maxage=30, stale-while-revalidate=30, stale-if-error=600';

deviceSuite('decisions that a cache can keep', (node) => {
  /** App of all tests that only read: 1.1.0 on stable for every device. */
  const tenant = suiteTenant(node, ['1.1.0']);

  type Asked = { of?: Tenant; channel?: string; version?: string; slice?: string | number };

  function ask(
    { of = tenant, channel = 'stable', version = '1.0.0', slice = 0 }: Asked,
    { method = 'GET', ...headers }: Record<string, string> = {},
  ): Promise<Answer> {
    const path = `/c/${of.app}/${channel}/linux/x86_64/${version}/${slice}`;
    return send(node, method, path, { headers });
  }

  it('an answer is the manifest of /u, or 204, and 304 for a cache that has it, with its headers; HEAD has no body (§28.1, §28.2)', async () => {
    const answer = await ask({});
    const direct = await tenant.check('1.0.0', { device: randomUUID() });
    expect([answer.status, answer.body]).toEqual([200, direct.body]);
    const tag = answer.headers.get('etag') ?? '';
    const same = await ask({}, { 'if-none-match': tag });
    const nothing = await ask({ version: '1.1.0' });
    const head = await ask({}, { method: 'HEAD' });
    const length = String(Buffer.byteLength(answer.text));
    for (const [{ status, text, headers }, ...expected] of [
      [answer, 200, answer.text, 'application/json', length],
      [same, 304, '', null, null],
      [nothing, 204, '', null, null],
      [head, 200, '', 'application/json', length],
    ] as const) {
      const told = ['content-type', 'content-length'].map((name) => headers.get(name));
      expect([status, text, ...told]).toEqual(expected);
      expect(headers.get('cache-control')).toBe(CACHE_CONTROL);
      expect(headers.get('etag')).toMatch(/^"[\w-]{43}"$/);
      expect(headers.get('vary')).toBeNull();
    }
    expect(same.headers.get('etag')).toBe(tag);
  });

  it('a refusal may be kept by no cache (§28.2)', async () => {
    const address = `/c/${tenant.app}/stable/linux/x86_64/1.0.0`;
    for (const [path, status] of [
      [`${address}/100`, 400],
      [address.replace(tenant.app, 'no-such-app').concat('/0'), 404],
      [address, 404],
    ] as const) {
      const answer = await send(node, 'GET', path);
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([status, 'no-store']);
    }
    expect((await ask({}, { method: 'POST' })).status).toBe(405);
  });

  it('the client of the example gets what its slice gets; an offer is on the record, so that the rollout only rises (§14.1, §28.4, §28.6)', async () => {
    const made = await tenant.anotherApp(['1.1.0', { rollout: 50 }]);
    expect((await ask({ of: made, slice: 50 })).status).toBe(204);
    await made.serve('1.1.0', { rollout: 40 });
    const asked = { app: made.app, channel: 'stable', platform: 'linux', arch: 'x86_64' };
    for (const deviceId of ['kiosk-1', 'kiosk-2', 'Gerät 7', '🚀']) {
      const update = await checkForUpdate(node.url, { ...asked, version: '1.0.0', deviceId });
      const expected = { version: '1.1.0' };
      if (sliceOf(deviceId) < 40) expect(update).toMatchObject(expected);
      else expect(update).toBeNull();
    }
    expect((await ask({ of: made, slice: 39 })).body?.version).toBe('1.1.0');
    expect((await made.control('1.1.0', { rollout: 39 })).status).toBe(422);
    const back = await tenant.anotherApp(['1.0.0'], ['1.1.0']);
    expect((await ask({ of: back })).body?.version).toBe('1.1.0');
    await back.serve('1.1.0', { status: 'rolled_back' });
    const down = await ask({ of: back, version: '1.1.0' });
    expect(down.body).toMatchObject({ version: '1.0.0', allowDowngrade: true });
  });

  it('an offer is no check-in, and not limited by address (§28.6, §28.7)', async () => {
    const headers = { 'x-service-device': 'kiosk-1', 'x-forwarded-for': '10.1.2.3' };
    const answers = await Promise.all(Array.from({ length: 150 }, () => ask({}, headers)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await settledDevices(tenant)).not.toContain('kiosk-1');
  });
});
