// Tests that every update check is a heartbeat (docs/contract.md 4.7.6): the fleet's views show checks and
// reports, all views count alike, and nothing accepted is lost when a node stops.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import { ADMIN_TOKEN, type ServingNode } from '../support/node.ts';
import {
  admin,
  type CheckOptions,
  check,
  createTenant,
  devicesOf,
  publish,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;
type Live = { readonly count: number; readonly samples: readonly Fields[] };

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const HOUR = /^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z$/;
const PARALLEL = 25;

describeOnBackends('check-ins', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start();
  });
  afterAll(() => node?.dispose());

  /** Checks for an update, and waits until the check is in the device list. */
  async function checkIn(tenant: Tenant, device: string, version: string, more: CheckOptions = {}) {
    const { status } = await check(node, tenant, version, { device, ...more });
    expect([200, 204]).toContain(status);
    await eventually(`${device} runs ${version}`, async () => {
      const listed = await devicesOf(node, tenant);
      return listed.some((each) => each.deviceId === device && each.version === version);
    });
  }

  /** Waits until a check that came after all others is in the device list, and returns the ids before it. */
  async function settledIds(tenant: Tenant): Promise<string[]> {
    await checkIn(tenant, 'zz-marker', '1.0.0');
    const ids = (await devicesOf(node, tenant)).map(({ deviceId }) => String(deviceId));
    return ids.filter((id) => id !== 'zz-marker');
  }

  async function view(tenant: Tenant, path: string): Promise<Fields> {
    const answer = await admin(node, 'GET', `${path}app=${tenant.app}`);
    expect(answer.status, answer.text).toBe(200);
    return answer.body ?? {};
  }

  async function deviceOf(tenant: Tenant, deviceId = 'd'): Promise<Fields> {
    return view(tenant, `device?deviceId=${encodeURIComponent(deviceId)}&`);
  }

  /** Checks by that many devices, all of which must be answered. */
  async function checkMany(tenant: Tenant, count: number, prefix = 'device'): Promise<string[]> {
    const devices = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
    for (let from = 0; from < count; from += PARALLEL) {
      const group = devices.slice(from, from + PARALLEL);
      const answers = await Promise.all(
        group.map((device, at) => check(node, tenant, `1.0.${(from + at) % 3}`, { device })),
      );
      for (const { status } of answers) expect([200, 204]).toContain(status);
    }
    return devices.sort();
  }

  describe('of checks', () => {
    it('every identified check is a device of the list, with source pull (§4.7.6)', async () => {
      const tenant = await createTenant(node);
      const before = Date.now();
      await checkIn(tenant, 'd', '1.0.0', { platform: 'macOS', arch: 'arm64', channel: 'beta' });
      const [device, ...others] = await devicesOf(node, tenant);
      expect(others).toEqual([]);
      expect(device).toStrictEqual({
        deviceId: 'd',
        version: '1.0.0',
        platform: 'darwin',
        arch: 'aarch64',
        channel: 'beta',
        labels: {},
        source: 'pull',
        client: 'u',
        bundle: null,
        firstSeen: expect.stringMatching(TIMESTAMP),
        lastSeen: expect.stringMatching(TIMESTAMP),
        lastOffered: null,
      });
      expect(Date.parse(String(device?.lastSeen))).toBeGreaterThanOrEqual(before);
      expect(Date.parse(String(device?.lastSeen))).toBeLessThanOrEqual(Date.now());
    });

    it('answers 200 and 204 alike; the last offer is told and is not forgotten (§4.7.6)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, '2.0.0');
      await checkIn(tenant, 'offered', '1.0.0');
      await checkIn(tenant, 'up-to-date', '2.0.0');
      await checkIn(tenant, 'elsewhere', '1.0.0', { platform: 'freebsd' });
      const lastOffered = { version: '2.0.0', at: expect.stringMatching(TIMESTAMP) };
      expect(await deviceOf(tenant, 'offered')).toMatchObject({ lastOffered });
      expect(await deviceOf(tenant, 'up-to-date')).toMatchObject({ lastOffered: null });
      expect(await deviceOf(tenant, 'elsewhere')).toMatchObject({ lastOffered: null });
      await checkIn(tenant, 'offered', '2.0.0');
      expect(await deviceOf(tenant, 'offered')).toMatchObject({ version: '2.0.0', lastOffered });
    });

    it('the newest version wins, whatever it is, and every change is in the history (§4.7.6)', async () => {
      const tenant = await createTenant(node);
      await checkIn(tenant, 'd', '1.0.0');
      await checkIn(tenant, 'd', '2.0.0');
      await checkIn(tenant, 'd', '1.5.0');
      await check(node, tenant, 'v1.5', { device: 'd' });
      // Versions are ordered by the millisecond in which they were seen.
      await sleep(5);
      await report(node, tenant, [{ deviceId: 'd', version: '3.0.0', platform: 'linux' }]);
      const device = await deviceOf(tenant);
      expect(device).toMatchObject({ deviceId: 'd', version: '3.0.0', source: 'push' });
      const history = device.history as Fields[];
      expect(history.map(({ from, to }) => [from, to])).toEqual([
        ['1.5.0', '3.0.0'],
        ['2.0.0', '1.5.0'],
        ['1.0.0', '2.0.0'],
        [null, '1.0.0'],
      ]);
      const times = history.map(({ at }) => String(at));
      expect(times).toEqual([...times].sort().reverse());
      expect(times.at(-1)).toBe(device.firstSeen);
      for (const time of times) expect(time).toMatch(TIMESTAMP);
    });

    it('many at once from one device end at the last one (§4.7.6)', async () => {
      const tenant = await createTenant(node);
      for (let minor = 0; minor < 60; minor++)
        await check(node, tenant, `1.${minor}`, { device: 'd' });
      await eventually('the last version', async () => {
        const [device] = await devicesOf(node, tenant);
        return device?.version === '1.59.0';
      });
      expect(await settledIds(tenant)).toEqual(['d']);
      expect(await deviceOf(tenant)).toMatchObject({ version: '1.59.0' });
    });

    it('without a device id that counts, or that are refused, leave no trace (§4.7.6, §19.1)', async () => {
      const tenant = await createTenant(node);
      const none = [{}, { device: '' }, { device: 'x'.repeat(129) }];
      for (const options of [...none, { device: bytesOf(`x${'🚀'.repeat(127)}x`) }]) {
        expect((await check(node, tenant, '1.0.0', options)).status).toBe(204);
      }
      const answers = [
        await check(node, tenant, 'not-a-version', { device: 'a' }),
        await check(node, tenant, '1.0.0', { device: 'b', channel: 'nightly' }),
        await check(node, tenant, '1.0.0', { device: 'c', query: 'l.=x' }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([400, 404, 400]);
      expect(await settledIds(tenant)).toEqual([]);
    });

    it('device ids are 1 to 128 characters of UTF-8 (§19.1)', async () => {
      const tenant = await createTenant(node);
      const ids = ['x', `x${'é'.repeat(126)}x`, `x${'🚀'.repeat(126)}x`];
      for (const id of ids) await check(node, tenant, '1.0.0', { device: bytesOf(id) });
      await eventually('all are listed', async () => {
        return (await devicesOf(node, tenant)).length === ids.length;
      });
      const listed = (await devicesOf(node, tenant)).map(({ deviceId }) => deviceId);
      expect(listed.sort()).toEqual(ids.sort());
      // A device of two apps is a device of each (§2.6).
      const other = await createTenant(node);
      await checkIn(other, 'x', '2.0.0');
      expect(await deviceOf(tenant, 'x')).toMatchObject({ version: '1.0.0' });
      const unknown = await admin(node, 'GET', `device?app=${tenant.app}&deviceId=e`);
      expect([unknown.status, unknown.body]).toEqual([404, { error: 'Unknown device' }]);
    });

    it('none is lost when the node is stopped right after them (docs/operating/health.md)', async () => {
      const tenant = await createTenant(node);
      const devices = await checkMany(tenant, 300);
      await node.stop();
      node = await node.restart();
      // What a stopped node had taken is taken over once it is abandoned.
      const areListed = async () => (await devicesOf(node, tenant)).length === devices.length;
      await eventually('all devices are listed', areListed);
      const expected = devices.map((id) => [id, `1.0.${Number(id.split('-')[1]) % 3}`]);
      const listed = await devicesOf(node, tenant);
      expect(listed.map(({ deviceId, version }) => [deviceId, version])).toEqual(expected);
    });
  });

  describe('counts', () => {
    it('of the fleet equal a recount of the device list (§4.7.6)', async () => {
      const tenant = await createTenant(node);
      await checkMany(tenant, 60);
      await report(node, tenant, [
        { deviceId: 'device-0', version: '2.0.0', platform: 'windows', channel: 'beta' },
        { deviceId: 'pushed', version: '2.0.0', platform: 'windows', channel: 'beta' },
      ]);
      await checkMany(tenant, 30, 'other');
      await expectCounts(tenant, 91);
      // All devices change version: the old version must not be counted any more.
      const devices = (await devicesOf(node, tenant)).map(({ deviceId }) => String(deviceId));
      for (const device of devices.slice(0, 30)) await check(node, tenant, '3.0.0', { device });
      await eventually('all have moved', async () => {
        return (await devicesOf(node, tenant, 'version=3.0.0&limit=1000')).length === 30;
      });
      await expectCounts(tenant, 91);
    });

    it('of checks are in the metrics: accepted, then stored (docs/operating/metrics.md)', async () => {
      const tenant = await createTenant(node);
      const before = await metrics();
      await checkMany(tenant, 50);
      // What tests before this one sent may be stored meanwhile.
      await eventually('50 more are accepted and stored', async () => {
        const { accepted, stored } = await metrics();
        return accepted >= before.accepted + 50 && stored >= before.stored + 50;
      });
      expect((await metrics()).dropped).toBe(0);
    });
  });

  describe('the live feed', () => {
    it('tells the true number of check-ins, and a bounded sample of them (§4.5, §4.7.6)', async () => {
      const [tenant, other] = [await createTenant(node), await createTenant(node)];
      const live = await watch(tenant);
      await checkMany(tenant, 200);
      await checkMany(other, 5, 'stranger');
      const devices = [1, 2, 3].map((at) => ({
        deviceId: `pushed-${at}`,
        version: '1.0.0',
        platform: 'linux',
      }));
      await report(node, tenant, devices);
      const count = () => live.events.reduce((sum, event) => sum + event.count, 0);
      await eventually('203 are told', () => count() >= 203);
      await check(node, tenant, '1.0.0', { device: 'device-after' });
      await eventually('what comes after them is told too', () => count() > 203);
      expect(count()).toBe(204);
      for (const { samples, count: told } of live.events) {
        expect(samples.length).toBeLessThanOrEqual(Math.min(told, 20));
        for (const { deviceId } of samples) expect(deviceId).toMatch(/^(device|pushed)-/);
      }
      const sample = live.events[0]?.samples[0];
      expect(sample).toMatchObject({
        deviceId: expect.any(String),
        channel: 'stable',
        version: expect.stringMatching(/^1\.0\./),
        platform: 'linux',
        source: expect.stringMatching(/^(push|pull)$/),
      });
      await live.leave();
    });

    it('ends when the watcher leaves, and the service goes on (console.md, The fleet)', async () => {
      const tenant = await createTenant(node);
      const watchers = await Promise.all(Array.from({ length: 30 }, () => watch(tenant)));
      await Promise.all(watchers.map(({ leave }) => leave()));
      await checkIn(tenant, 'd', '1.0.0');
      const again = await watch(tenant);
      await check(node, tenant, '1.0.0', { device: 'e' });
      await eventually('a new watcher hears', () => again.events.length > 0);
      await again.leave();
      expect((await send(node, 'GET', '/healthz')).status).toBe(200);
    });

    it('does not hold up the stop of the node (docs/operating/health.md)', async () => {
      const tenant = await createTenant(node);
      const live = await watch(tenant);
      await node.stop();
      // The node ended the stream, and not because its time for a stop was over.
      await live.ended;
      expect(node.output()).toContain('"stopped"');
      node = await node.restart();
    });
  });

  /** Compares the fleet's cells and the current adoption with the device list. */
  async function expectCounts(tenant: Tenant, total: number): Promise<void> {
    await eventually('all are listed', async () => {
      return (await devicesOf(node, tenant)).length === total;
    });
    const listed = await devicesOf(node, tenant);
    const recount = new Map<string, number>();
    for (const { channel, version, platform } of listed) {
      const key = [channel, version, platform].join(' ');
      recount.set(key, (recount.get(key) ?? 0) + 1);
    }
    const { cells } = await view(tenant, 'fleet?');
    expect(tally(cells as Fields[])).toEqual(Object.fromEntries(recount));
    const { points } = await view(tenant, 'adoption?');
    for (const { hour } of points as Fields[]) expect(hour).toMatch(HOUR);
    const last = (points as Fields[]).at(-1)?.hour;
    // Only a test during which a new hour begins sees points of two hours.
    const isOneHour = (points as Fields[]).every(({ hour }) => hour === last);
    if (isOneHour) expect(tally(points as Fields[])).toEqual(Object.fromEntries(recount));
  }

  async function metrics(): Promise<{ accepted: number; stored: number; dropped: number }> {
    const text = await metricsOf(node);
    const read = (outcome: string) =>
      Number(text.match(`sluice_check_ins_total\\{outcome="${outcome}"\\} (\\d+)`)?.[1] ?? 0);
    return { accepted: read('accepted'), stored: read('stored'), dropped: read('dropped') };
  }

  /** Opens the live feed of the app; resolves once it is open. */
  async function watch(tenant: Tenant) {
    const leaving = new AbortController();
    const response = await fetch(`${node.url}/console/api/live?app=${tenant.app}`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      signal: leaving.signal,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events: Live[] = [];
    const ended = readEvents(response, events);
    const leave = async () => {
      leaving.abort();
      await ended;
    };
    return { events, ended, leave };
  }
});

/** Collects the events of a stream until it ends, however it ends. */
async function readEvents(response: Response, events: Live[]): Promise<void> {
  let rest = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body ?? []) {
      const blocks = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        if (block.startsWith(':')) continue;
        const data = /^event: check-ins\ndata: (.*)$/.exec(block)?.[1];
        events.push(JSON.parse(data ?? `"not an event: ${block}"`) as Live);
      }
    }
  } catch {
    // The watcher left, or the node ended.
  }
}

/** Returns the number of devices by channel, version and platform. */
function tally(cells: readonly Fields[]): Fields {
  return Object.fromEntries(
    cells.map(({ channel, version, platform, devices }) => [
      [channel, version, platform].join(' '),
      devices,
    ]),
  );
}

/** UTF-8 bytes as `fetch` takes them for a header. */
function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
