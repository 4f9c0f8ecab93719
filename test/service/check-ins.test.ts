// Tests that every update check is a heartbeat (docs/contract.md 4.7.6): the fleet's views show checks and
// reports, and nothing accepted is lost when a node stops. How check-ins are merged and counted is tested in
// test/store/ledger.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { type Feed, openFeed } from '../support/live-feed.ts';
import type { ServingNode } from '../support/node.ts';
import { member, Person } from '../support/person.ts';
import { settledDevices } from '../support/settled-devices.ts';
import {
  admin,
  type CheckOptions,
  createTenant,
  type Json,
  type Tenant,
} from '../support/tenant.ts';

type Live = { readonly count: number; readonly samples: readonly Json[] };

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const PARALLEL = 25;

describeOnBackends('check-ins', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start();
    await new Person(node).setUp('First');
  });
  afterAll(() => node?.dispose());

  /** Checks for an update, and waits until the check is in the device list. */
  async function checkIn(tenant: Tenant, device: string, version: string, more: CheckOptions = {}) {
    const { status } = await tenant.at(node).check(version, { device, ...more });
    expect([200, 204]).toContain(status);
    await eventually(`${device} runs ${version}`, async () => {
      const listed = await tenant.at(node).devices();
      return listed.some((each) => each.deviceId === device && each.version === version);
    });
  }

  async function view(tenant: Tenant, path: string): Promise<Json> {
    const answer = await admin(node, 'GET', `${path}app=${tenant.app}`);
    expect(answer.status, answer.text).toBe(200);
    return answer.body ?? {};
  }

  const deviceOf = (tenant: Tenant, deviceId = 'd') =>
    view(tenant, `device?deviceId=${encodeURIComponent(deviceId)}&`);

  /** Checks by that many devices, all of which must be answered. */
  async function checkMany(tenant: Tenant, count: number, prefix = 'device'): Promise<string[]> {
    const devices = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
    for (let from = 0; from < count; from += PARALLEL) {
      const group = devices.slice(from, from + PARALLEL);
      const answers = await Promise.all(
        group.map((device, at) => tenant.at(node).check(`1.0.${(from + at) % 3}`, { device })),
      );
      for (const { status } of answers) expect([200, 204]).toContain(status);
    }
    return devices.sort();
  }

  async function watch(tenant: Tenant): Promise<Feed> {
    const feed = await openFeed(await member(node, tenant.org, 'viewer'), tenant.app);
    if (typeof feed === 'number') throw new Error(`refused with ${feed}`);
    return feed;
  }

  it('every identified check is a device of the list, with source pull (§4.7.6)', async () => {
    const tenant = await createTenant(node);
    const before = Date.now();
    await checkIn(tenant, 'd', '1.0.0', { platform: 'macOS', arch: 'arm64', channel: 'beta' });
    const [device, ...others] = await tenant.at(node).devices();
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
    // The ledger's clock, which a node knows to within a round trip.
    expect(Math.abs(Date.parse(String(device?.lastSeen)) - before)).toBeLessThan(60_000);
  });

  it('the newest version wins, and is counted in the views and in the history (§4.7.6)', async () => {
    const tenant = await createTenant(node);
    await checkIn(tenant, 'd', '2.0.0');
    await checkIn(tenant, 'd', '1.5.0');
    await tenant.at(node).check('v1.5', { device: 'd' });
    // Versions are ordered by the millisecond in which they were seen.
    await sleep(5);
    await tenant.at(node).report([{ deviceId: 'd', version: '3.0.0', platform: 'linux' }]);
    const device = await deviceOf(tenant);
    expect(device).toMatchObject({ deviceId: 'd', version: '3.0.0', source: 'push' });
    expect(device.history).toEqual([
      { at: expect.stringMatching(TIMESTAMP), from: '1.5.0', to: '3.0.0' },
      { at: expect.stringMatching(TIMESTAMP), from: '2.0.0', to: '1.5.0' },
      { at: device.firstSeen, from: null, to: '2.0.0' },
    ]);
    const cell = { channel: 'stable', version: '3.0.0', platform: 'linux', devices: 1 };
    expect(await view(tenant, 'fleet?')).toMatchObject({ cells: [cell] });
    const { points } = await view(tenant, 'adoption?');
    const hour = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z$/);
    expect((points as Json[]).at(-1)).toEqual({ ...cell, hour });
    const unknown = await admin(node, 'GET', `device?app=${tenant.app}&deviceId=e`);
    expect([unknown.status, unknown.body]).toEqual([404, { error: 'Unknown device' }]);
  });

  it('device ids are 1 to 128 characters of UTF-8; others, and refused checks, leave no trace (§4.7.6, §19.1)', async () => {
    const tenant = await createTenant(node);
    for (const device of [undefined, '', 'x'.repeat(129), `x${'🚀'.repeat(127)}x`]) {
      const options = device === undefined ? {} : { device: bytesOf(device) };
      expect((await tenant.at(node).check('1.0.0', options)).status).toBe(204);
    }
    const answers = [
      await tenant.at(node).check('not-a-version', { device: 'a' }),
      await tenant.at(node).check('1.0.0', { device: 'b', channel: 'nightly' }),
      await tenant.at(node).check('1.0.0', { device: 'c', query: 'l.=x' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 404, 400]);
    const ids = ['x', `x${'é'.repeat(126)}x`, `x${'🚀'.repeat(126)}x`];
    for (const id of ids) await tenant.at(node).check('1.0.0', { device: bytesOf(id) });
    expect((await settledDevices(tenant.at(node))).sort()).toEqual(ids.sort());
  });

  it('the live feed tells the true number of check-ins, and a bounded sample of them (§4.5, §4.7.6)', async () => {
    const [tenant, other] = [await createTenant(node), await createTenant(node)];
    const live = await watch(tenant);
    await checkMany(tenant, 100);
    await checkMany(other, 5, 'stranger');
    await tenant.at(node).report([{ deviceId: 'pushed', version: '1.0.0', platform: 'linux' }]);
    const told = () => live.events.map(({ data }) => data as Live);
    const count = () => told().reduce((sum, event) => sum + event.count, 0);
    await eventually('101 are told', () => count() >= 101);
    await tenant.at(node).check('1.0.0', { device: 'device-after' });
    await eventually('what comes after them is told too', () => count() > 101);
    expect(count()).toBe(102);
    for (const { samples, count } of told()) {
      expect(samples.length).toBeLessThanOrEqual(Math.min(count, 20));
      for (const { deviceId } of samples) expect(deviceId).toMatch(/^(device|pushed)/);
    }
    expect(told()[0]?.samples[0]).toMatchObject({
      deviceId: expect.any(String),
      channel: 'stable',
      version: expect.stringMatching(/^1\.0\./),
      platform: 'linux',
      source: expect.stringMatching(/^(push|pull)$/),
      isOffered: false,
    });
    await live.leave();
  });

  it('none is lost when the node is stopped right after them, which no live feed holds up (docs/operating/health.md)', async () => {
    const tenant = await createTenant(node);
    const live = await watch(tenant);
    const devices = await checkMany(tenant, 300);
    await node.stop();
    // The node ended the stream, and not because its time for a stop was over.
    await live.over;
    expect(node.output()).toContain('"stopped"');
    node = await node.restart();
    // What a stopped node had taken is taken over once it is abandoned.
    const areListed = async () => (await tenant.at(node).devices()).length === devices.length;
    await eventually('all devices are listed', areListed);
    const expected = devices.map((id) => [id, `1.0.${Number(id.split('-')[1]) % 3}`]);
    const listed = await tenant.at(node).devices();
    expect(listed.map(({ deviceId, version }) => [deviceId, version])).toEqual(expected);
  });
});

/** UTF-8 bytes as `fetch` takes them for a header. */
function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
