// Tests what devices tell an edge, wherever its upstream is: labels count on the edge at once, and reach the
// record with the check-ins (docs/contract.md 29.7); failures count after its return (29.5).

import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { asks, expectLabels, label, OLD, withTargeted } from '../support/device-labels.ts';
import { startEdgeOnAWay } from '../support/edge-arrival.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { IS_FULL } from '../support/full-run.ts';
import { metricsOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import type { NetworkProxy } from '../support/tcp-proxy.ts';
import {
  check,
  createTenant,
  devicesOf,
  manage,
  publish,
  report,
  send as request,
  type Tenant,
} from '../support/tenant.ts';

/** A device may ask 120 times a minute. */
const ASK_INTERVAL_MS = 200;
/** Time after which the notes of an edge have ended for certain: it hands over, and waits for the record. */
const NOTES_ENDED_MS = 7000;

describeOnBackends('what devices tell an edge', (backend) => {
  let upstream: ServingNode;
  let edge: ServingNode;
  let way: NetworkProxy;
  let tenant: Tenant;

  beforeAll(async () => {
    upstream = await backend.start({ SECRET_KEY: 'a key of the tests' });
    ({ edge, way } = await startEdgeOnAWay(upstream));
  });
  afterEach(() => {
    way.heal();
  });
  afterAll(async () => {
    await edge?.dispose();
    await way?.close();
    await upstream?.dispose();
  });

  /** An app with a release for one ring, of which the edge knows that it was offered. */
  async function withOffered(): Promise<Tenant> {
    const made = await withTargeted(upstream);
    await eventually('the edge offers the release', async () => {
      // 404 at first: the edge hears of the app a moment later.
      return (await check(edge, made, OLD, { query: 'l.ring=inner' })).status === 200;
    });
    return made;
  }

  const send = (device: string, ring: string, battery: number) =>
    asks(edge, tenant, { device, query: `l.ring=${ring}&l.battery=${battery}` });

  it('labels count while the upstream is away, change with every check, and are recorded after it', async () => {
    tenant = await withOffered();
    expect(await send('a', 'inner', 100)).toBe(true);
    way.blackhole();
    for (let battery = 99; battery > 80; battery--) {
      const ring = battery % 2 === 0 ? 'inner' : 'outer';
      expect(await send('a', ring, battery)).toBe(ring === 'inner');
      expect(await asks(edge, tenant, { device: 'a' })).toBe(ring === 'inner');
    }
    expect(await send('a', 'outer', 80)).toBe(false);
    way.heal();
    await expectLabels(upstream, tenant, { ring: 'outer', battery: '80' });
    expect(await asks(edge, tenant, { device: 'a' })).toBe(false);
    if (!IS_FULL) return;
    await sleep(NOTES_ENDED_MS);
    expect(await asks(edge, tenant, { device: 'a' })).toBe(false);
  });

  it('labels give way to a report of other ones also right after they were sent', async () => {
    tenant = await withOffered();
    expect(await send('b', 'inner', 1)).toBe(true);
    expect(await send('b', 'inner', 2)).toBe(true);
    // The clocks of the two may differ by some milliseconds.
    await sleep(200);
    await label(upstream, tenant, 'b', { ring: 'outer' });
    const isReported = async () => {
      await sleep(ASK_INTERVAL_MS);
      return !(await asks(edge, tenant, { device: 'b' }));
    };
    await eventually('the edge decides by the report', isReported);
    expect(await asks(upstream, tenant, { device: 'b' })).toBe(false);
  });

  it('labels are recorded before the answer once for each device, and not with every check', async () => {
    tenant = await withOffered();
    const devices = Array.from({ length: 200 }, (_, index) => `c${index}`);
    await Promise.all(devices.map((device) => send(device, 'inner', 0)));
    expect(await devicesOf(upstream, tenant)).toHaveLength(devices.length);
    // A check that waited for the upstream now would be 503.
    way.blackhole();
    for (let battery = 1; battery < 5; battery++) {
      const offered = await Promise.all(devices.map((device) => send(device, 'inner', battery)));
      expect(offered).not.toContain(false);
    }
  });

  it('failures count after its return, through a kill of the edge, once for each device (§29.5)', async () => {
    tenant = await createTenant(upstream);
    const ids = ['a', 'b', 'c'];
    await report(
      upstream,
      tenant,
      ids.map((deviceId) => ({ deviceId, version: '0.9.0', platform: 'linux' })),
    );
    await publish(upstream, tenant, '1.0.0');
    await eventually('the edge offers the release', async () => {
      return (await check(edge, tenant, '0.9.0', { device: 'a' })).status === 200;
    });
    way.blackhole();
    way.cut();
    const path = `/u/${tenant.app}/stable/linux/x86_64/0.9.0/failure`;
    for (const device of [...ids, ...ids]) {
      expect((await check(edge, tenant, '0.9.0', { device })).status).toBe(200);
      const headers = { 'x-service-device': device };
      const body = { version: '1.0.0', reason: 'disk full' };
      expect((await request(edge, 'POST', path, { headers, body })).status).toBe(204);
    }
    await eventually('the offers are on the disk of the edge, as the failures are', async () => {
      return (await metricsOf(edge)).includes('sluice_check_ins_held 0\n');
    });
    await edge.kill();
    edge = await edge.restart();
    way.heal();
    const query = new URLSearchParams({
      ...{ app: tenant.app, channel: 'stable', version: '1.0.0', knownForMinutes: '0' },
    });
    const counted = async () => {
      const { body } = await manage(upstream, tenant, 'GET', `releases/health?${query}`);
      return body?.health;
    };
    await expect.poll(counted).toMatchObject({ offered: ids.length, failed: ids.length });
  });

  it('a device that was erased does not come back from the journal (§4.23)', async () => {
    tenant = await createTenant(upstream);
    const known = { deviceId: 'erased', version: '0.9.0', platform: 'linux' };
    expect((await report(upstream, tenant, [known])).status).toBe(200);
    await publish(upstream, tenant, '1.0.0');
    const checkAt = async (device: string) =>
      (await check(edge, tenant, '0.9.0', { device })).status;
    await eventually('the edge serves the channel', async () => (await checkAt('any')) === 200);
    way.blackhole();
    for (let index = 0; index < 20; index++) expect(await checkAt('erased')).toBe(200);
    const path = `devices/erased?app=${tenant.app}`;
    expect((await manage(upstream, tenant, 'DELETE', path)).status).toBe(204);
    // As many as reach every stream of the queue, behind the check-ins of the erased device.
    const later = Array.from({ length: 100 }, (_, index) => `later-${index}`);
    for (const device of later) expect(await checkAt(device)).toBe(200);
    way.heal();
    const ids = async () => (await devicesOf(upstream, tenant)).map(({ deviceId }) => deviceId);
    await eventually(
      'what was asked later is on record',
      async () => new Set(await ids()).size >= later.length + 1,
    );
    expect(await ids()).not.toContain('erased');
    expect(await checkAt('erased')).toBe(200);
    await eventually('it is a new device', async () => (await ids()).includes('erased'));
  });
});
