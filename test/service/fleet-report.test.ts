// Tests the reports of an orchestrator about its devices (docs/contract.md 2.6, 4.5 and 17): sent over HTTP
// to a running node, and seen where operators see them, in the console's device list.

import { describe, expect, it } from 'vitest';
import { serviceSuite } from '../support/service-suite.ts';
import {
  check,
  createTenant,
  devicesOf,
  manage,
  publish,
  randomId,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const DEVICE = { deviceId: 'd', version: '1.0.0', platform: 'linux' } as const;
const RATE_LIMIT = 300;
/** Character of two UTF-16 units and four bytes. */
const ROCKET = '🚀';

serviceSuite('fleet report', (node) => {
  /** Reports devices and expects that they are accepted. */
  async function accept(tenant: Tenant, ...devices: Fields[]): Promise<void> {
    const answer = await report(node, tenant, devices);
    expect(answer.text).toBe(JSON.stringify({ app: tenant.app, received: devices.length }));
    expect(answer.status).toBe(200);
  }

  /** Reports devices and expects a refusal that leaves no trace. */
  async function refuse(tenant: Tenant, devices: readonly unknown[], more: Fields = {}) {
    const answer = await report(node, tenant, devices, more);
    expect(answer.status, answer.text).toBe(400);
    expect(answer.body).toStrictEqual({ error: expect.any(String) });
    expect(await devicesOf(node, tenant)).toEqual([]);
    return String(answer.body?.error);
  }

  /** The one device of the app. */
  async function only(tenant: Tenant): Promise<Fields> {
    const devices = await devicesOf(node, tenant);
    expect(devices).toHaveLength(1);
    return devices[0] ?? {};
  }

  describe('what is stored', () => {
    it('is answered 200 with the app ref and how many were received, by ref and by id (§4.5)', async () => {
      const tenant = await createTenant(node);
      for (const app of [tenant.app, tenant.appId]) {
        const answer = await report(node, tenant, [DEVICE, { ...DEVICE, deviceId: 'e' }], { app });
        expect(answer.status).toBe(200);
        expect(answer.headers.get('content-type')).toBe('application/json');
        expect(answer.body).toStrictEqual({ app: tenant.app, received: 2 });
      }
      expect((await devicesOf(node, tenant)).map(({ deviceId }) => deviceId)).toEqual(['d', 'e']);
    });

    it('is in the device list at once, with every field, as source push (§4.5, §17.1)', async () => {
      const tenant = await createTenant(node);
      const before = Date.now();
      const labels = { ring: 'inner' };
      await accept(tenant, { ...DEVICE, arch: 'aarch64', channel: 'beta', labels });
      const device = await only(tenant);
      expect(device).toStrictEqual({
        deviceId: 'd',
        version: '1.0.0',
        platform: 'linux',
        arch: 'aarch64',
        channel: 'beta',
        labels: { ring: 'inner' },
        source: 'push',
        client: 'push',
        bundle: null,
        firstSeen: expect.stringMatching(TIMESTAMP),
        lastSeen: expect.stringMatching(TIMESTAMP),
        lastOffered: null,
      });
      expect(device.firstSeen).toBe(device.lastSeen);
      expect(Date.parse(String(device.lastSeen))).toBeGreaterThanOrEqual(before);
      expect(Date.parse(String(device.lastSeen))).toBeLessThanOrEqual(Date.now());
    });

    it('has channel, arch and labels as they were left out or given, equal versions as one (§2.6, §10.6, §17.3)', async () => {
      const tenant = await createTenant(node);
      await accept(tenant, DEVICE);
      expect(await only(tenant)).toMatchObject({ channel: 'stable', arch: null, labels: {} });
      const version = 'V1-rc.01';
      for (const channel of ['no such channel', 'Größe/🚀']) {
        await accept(tenant, { ...DEVICE, channel, version });
        expect(await only(tenant)).toMatchObject({ channel, version: '1.0.0-rc.1' });
      }
    });

    it('is one device per app and deviceId: a later report is its new state (§2.6)', async () => {
      const [tenant, other] = [await createTenant(node), await createTenant(node)];
      await accept(tenant, { ...DEVICE, arch: 'x86_64', channel: 'beta' });
      const first = await only(tenant);
      await accept(tenant, { ...DEVICE, version: '0.9.0', platform: 'windows' });
      await accept(other, { ...DEVICE, version: '7.0.0' });
      const second = await only(tenant);
      expect(second).toMatchObject({
        version: '0.9.0',
        platform: 'windows',
        arch: null,
        channel: 'stable',
        firstSeen: first.firstSeen,
      });
      expect(String(second.lastSeen) >= String(first.lastSeen)).toBe(true);
      expect(await only(other)).toMatchObject({ version: '7.0.0' });
    });

    it('of a device named twice is the last item, its labels merged in order (§17.2)', async () => {
      const tenant = await createTenant(node);
      await accept(
        tenant,
        { ...DEVICE, version: '3.0.0', labels: { a: '1', b: '1' }, channel: 'beta' },
        { ...DEVICE, deviceId: 'other', labels: { a: 'x' } },
        { ...DEVICE, version: '2.0.0', labels: { b: '2', c: '2' }, arch: 'x86_64' },
        { ...DEVICE, version: '1.0.0' },
      );
      const [device, other] = await devicesOf(node, tenant);
      expect(device).toMatchObject({ version: '1.0.0', channel: 'stable', arch: null });
      expect(device?.labels).toEqual({ a: '1', b: '2', c: '2' });
      expect(other?.labels).toEqual({ a: 'x' });
    });
  });

  describe('labels', () => {
    async function labelsAfter(...reports: (Fields | undefined)[]): Promise<unknown> {
      const tenant = await createTenant(node);
      for (const labels of reports) {
        await accept(tenant, labels === undefined ? DEVICE : { ...DEVICE, labels });
      }
      return (await only(tenant)).labels;
    }

    it('merge over the stored ones key by key (§17.4)', async () => {
      // A report without labels, or with an empty object, never clears them.
      const merged = await labelsAfter(
        { a: '1', b: '1' },
        ...[undefined, {}, { b: '2', c: '2' }, { a: '' }],
      );
      expect(merged).toEqual({ a: '', b: '2', c: '2' });
    });

    it('are at most 16: the newest keys are kept, then the stored ones in key order (§13.14)', async () => {
      const stored = numbered('k', 16);
      expect(await labelsAfter(stored)).toEqual(stored);
      const fifteen = numbered('k', 15);
      expect(await labelsAfter(stored, { z: 'new' })).toEqual({ ...fifteen, z: 'new' });
      expect(await labelsAfter(stored, { a: 'new' })).toEqual({ ...fifteen, a: 'new' });
      expect(await labelsAfter(stored, { k15: 'new' })).toEqual({ ...stored, k15: 'new' });
      expect(await labelsAfter(stored, numbered('z', 16))).toEqual(numbered('z', 16));
    });

    it('that are too much or none are 400 with the path of the field, and leave no trace (§2.6, §7.2, §8)', async () => {
      const tenant = await createTenant(node);
      const key = 'k'.repeat(129);
      for (const [labels, path] of [
        [numbered('k', 17), 'labels'],
        [{ a: 'v'.repeat(257) }, 'labels.a'],
        [{ a: ROCKET.repeat(257) }, 'labels.a'],
        [{ [key]: '' }, `labels.${key}`],
        [{ '': 'v' }, 'labels.'],
        [{ $version: '1' }, 'labels.$version'],
        [{ $a: '1' }, 'labels.$a'],
        ...[1, null, { b: 'c' }, 'x\u0000y', '\ud83d'].map((a) => [{ a }, 'labels.a'] as const),
        [{ 'x\u0000y': 'a' }, 'labels.x\u0000y'],
        ...[null, ['a'], 'a=b'].map((none) => [none, 'labels'] as const),
      ] as const) {
        const message = await refuse(tenant, [DEVICE, { ...DEVICE, labels }]);
        expect(message.startsWith(`devices.1.${path}: `), message).toBe(true);
      }
      // Characters count, not UTF-16 units.
      const longest = { [ROCKET.repeat(128)]: ROCKET.repeat(256), ['k'.repeat(128)]: '' };
      expect(await labelsAfter(longest)).toEqual(longest);
    });

    it('are stored as they are, whatever the characters, also names of object internals (§2.6)', async () => {
      const labels = {
        ...{ 'größe & 🚀': 'a=b&c\n\t"\\', ' ': ' ', 'a.b': '{"x":1}', '1': '2' },
        ...(JSON.parse('{"constructor":"y","toString":"z"}') as Fields),
        ['__proto__']: 'x',
      };
      expect(await labelsAfter(labels)).toEqual(labels);
    });

    it('decide the very next check (§4.5, §4.7.4)', async () => {
      const tenant = await createTenant(node);
      const targets = { matchLabels: { ring: ['inner'] } };
      expect((await publish(node, tenant, '2.0.0', { targets })).status).toBe(201);
      expect((await check(node, tenant, '1.0.0', { device: 'd' })).status).toBe(204);
      await accept(tenant, { ...DEVICE, labels: { ring: 'inner' } });
      expect((await check(node, tenant, '1.0.0', { device: 'd' })).status).toBe(200);
      await accept(tenant, { ...DEVICE, labels: { ring: 'outer' } });
      expect((await check(node, tenant, '1.0.0', { device: 'd' })).status).toBe(204);
    });
  });

  describe('what is refused', () => {
    it('a report that keeps every limit is taken, although it is larger than other bodies may be (§4.5, §8)', async () => {
      const tenant = await createTenant(node);
      const keys = Array.from({ length: 16 }, (_, index) => `k${index}`.padEnd(128, 'x'));
      const labels = Object.fromEntries(keys.map((key) => [key, ROCKET.repeat(256)]));
      const devices = Array.from({ length: 500 }, (_, index) => ({
        ...DEVICE,
        deviceId: `${index}`.padEnd(128, 'd'),
        labels,
      }));
      await accept(tenant, ...devices);
      const listed = await devicesOf(node, tenant);
      expect(new Set(listed.map(({ deviceId }) => deviceId)).size).toBe(500);
    });

    it('0 and 501 devices are 400 that names devices, and so is anything but an array (§4.5, §8)', async () => {
      const tenant = await createTenant(node);
      const many = Array.from({ length: 501 }, (_, index) => ({ ...DEVICE, deviceId: `${index}` }));
      expect(await refuse(tenant, [])).toMatch(/^devices: /);
      expect(await refuse(tenant, many)).toMatch(/^devices: /);
      expect(await refuse(tenant, [], { devices: DEVICE })).toMatch(/^devices: /);
      expect(await refuse(tenant, [], { devices: undefined })).toBe('devices: Required');
    });

    it('a deviceId has 1 to 128 characters, not UTF-16 units (§2.6, §8)', async () => {
      const tenant = await createTenant(node);
      for (const deviceId of ['', 'x'.repeat(129), ROCKET.repeat(129)]) {
        expect(await refuse(tenant, [{ ...DEVICE, deviceId }])).toMatch(/^devices\.0\.deviceId: /);
      }
      const longest = [' ', 'x'.repeat(128), ROCKET.repeat(128)];
      await accept(tenant, ...longest.map((deviceId) => ({ ...DEVICE, deviceId })));
      const listed = (await devicesOf(node, tenant)).map(({ deviceId }) => deviceId);
      expect(listed.sort()).toEqual(longest.sort());
    });

    it('a field that cannot be is 400 with its path (§4.5, §7.1)', async () => {
      const tenant = await createTenant(node);
      for (const [at, change, message] of [
        [0, { version: 'one' }, 'version: Invalid version'],
        [2, { version: `1.0.0-${'a'.repeat(59)}` }, 'version: Invalid version'],
        ...(['deviceId', 'version', 'platform'] as const).flatMap((field) => [
          [1, { [field]: undefined }, `${field}: Required`] as const,
          [0, { [field]: 1 }, `${field}: Expected a string`] as const,
        ]),
        ...(['platform', 'arch', 'channel'] as const).map(
          (field) => [3, { [field]: null }, `${field}: Expected a string`] as const,
        ),
        [2, { os: 'linux' }, 'os: Unrecognized key'],
      ] as const) {
        const devices = Array.from({ length: 4 }, (_, index) =>
          index === at ? { ...DEVICE, ...change } : DEVICE,
        );
        expect(await refuse(tenant, devices)).toBe(`devices.${at}.${message}`);
      }
      for (const field of ['deviceId', 'platform', 'arch', 'channel']) {
        const message = await refuse(tenant, [{ ...DEVICE, [field]: 'a\u0000b' }]);
        expect(message.startsWith(`devices.0.${field}: `), message).toBe(true);
      }
    });

    it('a body that cannot be is 400 (§4.5, §11.3)', async () => {
      const tenant = await createTenant(node);
      const headers = { authorization: `Bearer ${tenant.secret}` };
      const devices = '"devices":[{"deviceId":"d","version":"1","platform":"p"}]';
      for (const [body, message] of [
        ['{"devices":[]', /^Invalid JSON body$/],
        ['', /^Invalid JSON body$/],
        ['[]', /^body: Expected an object$/],
        ['null', /^body: /],
        [`{${devices}}`, /^app: Required$/],
        [`{"app":7,${devices}}`, /^app: Expected/],
        [`{"app":"a","dryRun":true,${devices}}`, /^dryRun: Unrecognized key$/],
        ['{"app":"a","devices":[7]}', /^devices\.0: Expected an object$/],
      ] as const) {
        const answer = await send(node, 'POST', '/api/v1/fleet/report', { body, headers });
        expect([answer.status, answer.body]).toEqual([
          400,
          { error: expect.stringMatching(message) },
        ]);
      }
    });

    it('one wrong device refuses the whole call (§4.5)', async () => {
      const tenant = await createTenant(node);
      const devices = Array.from({ length: 100 }, (_, index) => ({
        ...DEVICE,
        deviceId: `d${index}`,
        version: index === 99 ? 'x' : '1.0.0',
      }));
      expect(await refuse(tenant, devices)).toBe('devices.99.version: Invalid version');
    });

    it("an unknown app and another organization's app are 404 `Unknown app` (§4.5, §5.2)", async () => {
      const [tenant, stranger] = [await createTenant(node), await createTenant(node)];
      for (const app of [`no-${randomId()}`, stranger.app, stranger.appId]) {
        const answer = await report(node, tenant, [DEVICE], { app });
        expect([answer.status, answer.body]).toEqual([404, { error: 'Unknown app' }]);
      }
      expect(await devicesOf(node, stranger)).toEqual([]);
    });

    it('401 comes before 429, that before 400, that before 404; 300 calls a minute (§11.7, §8)', async () => {
      const tenant = await createTenant(node);
      const unknown = { app: `no-${randomId()}` };
      const wrongKey = { ...tenant, secret: `${tenant.secret}x` };
      expect((await report(node, wrongKey, [], unknown)).body).toEqual({
        error: 'Invalid or revoked API key',
      });
      expect((await report(node, tenant, [], unknown)).status).toBe(400);
      expect((await report(node, tenant, [DEVICE], unknown)).status).toBe(404);
      for (let done = 2; done < RATE_LIMIT; done += 20) {
        const count = Math.min(20, RATE_LIMIT - done);
        const answers = Array.from({ length: count }, () => report(node, tenant, [DEVICE]));
        for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
      }
      const limited = await report(node, tenant, [], unknown);
      expect([limited.status, limited.body]).toEqual([429, { error: 'Rate limit exceeded' }]);
      expect(Number(limited.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect((await report(node, wrongKey, [], unknown)).status).toBe(401);
    });

    it('without a key it is 401, and no other method is there (§5.1)', async () => {
      const tenant = await createTenant(node);
      const body = { app: tenant.app, devices: [DEVICE] };
      expect((await send(node, 'POST', '/api/v1/fleet/report', { body })).status).toBe(401);
      expect((await manage(node, tenant, 'GET', 'fleet/report')).status).toBe(405);
      expect(await devicesOf(node, tenant)).toEqual([]);
    });
  });
});

/** Returns `count` labels, such as `k00` and `k01` for the prefix `k`. */
function numbered(prefix: string, count: number): Record<string, string> {
  const keys = Array.from({ length: count }, (_, at) => `${prefix}${String(at).padStart(2, '0')}`);
  return Object.fromEntries(keys.map((key) => [key, `value of ${key}`]));
}
