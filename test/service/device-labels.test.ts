// Tests labels of devices, from reports and from `l.` of update checks (docs/contract.md 4.7.4, 13.11 and
// 13.12): stored for every node before the answer leaves, and never lost with the cache.

import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import {
  asks,
  expectLabels,
  label,
  OLD,
  RING_INNER,
  withTargeted,
} from '../support/device-labels.ts';
import { eventually } from '../support/eventually.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { settledDevices } from '../support/settled-devices.ts';
import { createTenant } from '../support/tenant.ts';

deviceSuite('device labels', (node) => {
  /** The device of a test: all suites share the budgets of devices on one node. */
  let d: string;
  beforeEach(() => {
    d = `d-${randomUUID()}`;
  });

  it('of a request decide at once and are stored: the next check without them still matches (§4.7.4)', async () => {
    const tenant = await withTargeted(node);
    const device = randomUUID();
    expect(await asks(tenant, { device })).toBe(false);
    expect(await asks(tenant, { device, query: 'l.ring=inner' })).toBe(true);
    expect(await asks(tenant, { device })).toBe(true);
    expect(await asks(tenant, { device, query: 'l.ring=outer' })).toBe(false);
    expect(await asks(tenant, { device })).toBe(false);
    expect(await asks(tenant, { device: randomUUID() })).toBe(false);
  });

  it('of a request that no release asks for get on record, the last ones of all (§13.12)', async () => {
    const tenant = await createTenant(node);
    for (let battery = 100; battery > 80; battery -= 1) {
      await tenant.check(OLD, { device: d, query: `l.battery=${battery}&l.site=a` });
    }
    await expectLabels(tenant, { battery: '81', site: 'a' });
    await label(tenant, d, { site: 'b' });
    await tenant.check(OLD, { device: d, query: 'l.battery=81&l.site=a' });
    await expectLabels(tenant, { battery: '81', site: 'a' });
  });

  it('count once a release asks for them, though none did when they came (§13.12)', async () => {
    const tenant = await createTenant(node);
    const device = randomUUID();
    await tenant.check(OLD, { device, query: 'l.ring=inner' });
    await expectLabels(tenant, { ring: 'inner' });
    await tenant.publish('2.0.0', { targets: RING_INNER });
    expect(await asks(tenant, { device })).toBe(true);
    expect(await asks(tenant, { device, query: 'l.ring=inner' })).toBe(true);
    expect(await asks(tenant, { device, query: 'l.ring=outer' })).toBe(false);
    expect(await asks(tenant, { device })).toBe(false);
  });

  it('of a request merge over those of a report, key by key; of a later report they win (§4.7.4, §17.4)', async () => {
    const tenant = await withTargeted(node, { matchLabels: { ring: ['inner'], tier: ['gold'] } });
    await label(tenant, d, { ring: 'outer', tier: 'gold' });
    expect(await asks(tenant, { device: d })).toBe(false);
    expect(await asks(tenant, { device: d, query: 'l.ring=inner' })).toBe(true);
    await label(tenant, d, { ring: 'outer' });
    if (node.setUp === 'edge') {
      // To it the report told nothing new: its own label counts until it is recorded, within 5 s (§29.7).
      await eventually('its own label has ended', async () => !(await asks(tenant, { device: d })));
    }
    expect(await asks(tenant, { device: d })).toBe(false);
    const query = 'l.ring=inner&l.gr%C3%B6%C3%9Fe=%F0%9F%9A%80';
    expect(await asks(tenant, { device: d, query })).toBe(true);
    expect(await asks(tenant, { device: d })).toBe(true);
    await expectLabels(tenant, { ring: 'inner', tier: 'gold', größe: '🚀' });
    expect(await asks(tenant, { device: d })).toBe(true);
  });

  it('of a report decide the very next check, every time (§4.5, §4.7.4)', async () => {
    const tenant = await withTargeted(node);
    // To an edge, labels of a report take up to five seconds (§29.7), which its front waits for.
    for (const ring of ['inner', 'outer', 'inner', 'outer']) {
      await label(tenant, d, { ring });
      expect(await asks(tenant, { device: d })).toBe(ring === 'inner');
    }
  });

  it('of a request count in a decision even when 16 others are stored (§13.11)', async () => {
    const tenant = await withTargeted(node, { matchLabels: { ring: ['inner'], k00: ['x'] } });
    const full = Array.from({ length: 16 }, (_, at) => [`k${String(at).padStart(2, '0')}`, 'x']);
    await label(tenant, d, Object.fromEntries(full));
    expect(await asks(tenant, { device: d, query: 'l.ring=inner' })).toBe(true);
    await expectLabels(tenant, { ...Object.fromEntries(full.slice(0, 15)), ring: 'inner' });
  });

  it('of one app are not those of another, nor of another device (§2.6)', async () => {
    const [tenant, other] = [await withTargeted(node), await withTargeted(node)];
    expect(await asks(tenant, { device: d, query: 'l.ring=inner' })).toBe(true);
    expect(await asks(other, { device: d })).toBe(false);
    expect(await asks(tenant, { device: d.toUpperCase() })).toBe(false);
  });

  it('are shared by all channels of the app: a device is (app, deviceId) (§2.6)', async () => {
    const tenant = await withTargeted(node);
    await tenant.publish('2.0.0', { channel: 'beta', targets: RING_INNER });
    expect(await asks(tenant, { device: d, query: 'l.ring=inner' })).toBe(true);
    expect(await asks(tenant, { device: d, channel: 'beta' })).toBe(true);
  });

  it('without an id that counts decide, and of a refused check neither: none of them is stored (§13.11, §13.13)', async () => {
    const tenant = await withTargeted(node);
    for (const options of [{}, { device: 'x'.repeat(129) }]) {
      expect(await asks(tenant, { ...options, query: 'l.ring=inner' })).toBe(true);
      expect(await asks(tenant, options)).toBe(false);
    }
    const refused = await tenant.check(OLD, { device: d, query: `l.k=${'v'.repeat(257)}` });
    expect([refused.status, refused.body]).toEqual([
      400,
      { error: 'l.k: Must be at most 256 characters' },
    ]);
    expect(await settledDevices(tenant)).toEqual([]);
  });
});
