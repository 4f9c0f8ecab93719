// Tests nodes whose clocks are wrong: what counts of two acknowledged writes is the later one, whichever node
// took it, and no time in the record is in the future (docs/contract.md 17.6 and 17.7).

import { afterAll, beforeAll, expect, it } from 'vitest';
import { DEVICE_PARTS, devicePart } from '../../src/domain/decision/hashes.ts';
import { logLines } from '../support/admin-address.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { asks, label, OLD, withTargeted } from '../support/device-labels.ts';
import { eventually } from '../support/eventually.ts';
import { figureOf } from '../support/metrics.ts';
import { type NodeClock, nodeClock } from '../support/node-clock.ts';
import type { Tenant } from '../support/tenant.ts';

const HOUR_MS = 3_600_000;
/** Figure of the seconds by which a node's clock is ahead. */
const DIFFERENCE = 'sluice_clock_difference_seconds';
/** Time within which a process of a node has compared its clock with the database's. */
const COMPARED_MS_MAX = 15_000;
/** Time within which all processes of a node have started, on a busy machine. */
const START_MS_MAX = 30_000;

describeOnRealStores('nodes whose clocks are wrong', () => {
  let cluster: Cluster;
  let right: ClusterNode;
  let ahead: ClusterNode;
  let behind: ClusterNode;
  let aheadClock: NodeClock;
  let tenant: Tenant;
  /** First warning of each node whose clock is wrong. A node says it again after a minute. */
  const warned = new Map<ClusterNode, unknown>();

  beforeAll(async () => {
    cluster = await startCluster();
    aheadClock = nodeClock(HOUR_MS);
    [right, ahead, behind] = await Promise.all([
      cluster.addNode(),
      cluster.addNode(aheadClock.settings),
      cluster.addNode(nodeClock(-HOUR_MS).settings),
    ]);
    for (const node of [ahead, behind]) {
      await eventually('the node warns', () => warnings(node).length > 0, START_MS_MAX);
      warned.set(node, warnings(node)[0]?.differenceSeconds);
    }
    tenant = await withTargeted(right);
    expect(await asks(tenant, { device: 'first', query: 'l.ring=inner' })).toBe(true);
    for (const node of [ahead, behind]) {
      await eventually('the node serves the release', async () =>
        asks(tenant.at(node), { query: 'l.ring=inner' }),
      );
    }
  });
  afterAll(() => cluster?.dispose());

  /** Returns the record of a device. */
  async function recordOf(deviceId: string): Promise<Record<string, unknown> | undefined> {
    const devices = await tenant.devices();
    return devices.find((device) => device.deviceId === deviceId);
  }

  async function reportVersion(node: ClusterNode, deviceId: string, version: string) {
    const device = { deviceId, version, platform: 'linux', arch: 'x86_64' };
    expect((await tenant.at(node).report([device])).status).toBe(200);
  }

  /** Every pair of nodes, so that the clock of either write is right, ahead or behind. */
  function pairs(): [first: ClusterNode, second: ClusterNode, name: string][] {
    const nodes = [
      { node: right, clock: 'right' },
      { node: ahead, clock: '1 h ahead' },
      { node: behind, clock: '1 h behind' },
    ];
    return nodes.flatMap((first) =>
      nodes.map((second): [ClusterNode, ClusterNode, string] => [
        first.node,
        second.node,
        `${first.clock}, then ${second.clock}`,
      ]),
    );
  }

  it('the labels of the later report count at once on every node (§17.6)', async () => {
    for (const [first, second, name] of pairs()) {
      await label(tenant.at(first), name, { ring: 'inner' });
      expect(await asks(tenant.at(second), { device: name }), name).toBe(true);
      await label(tenant.at(second), name, { ring: 'outer' });
      for (const node of [right, ahead, behind]) {
        expect(await asks(tenant.at(node), { device: name }), name).toBe(false);
      }
      expect(await recordOf(name), name).toMatchObject({ labels: { ring: 'outer' } });
    }
  });

  it('the labels of the later check decide the next one on every node (§13.12)', async () => {
    for (const [first, second, name] of pairs()) {
      const device = `check ${name}`;
      expect(await asks(tenant.at(first), { device, query: 'l.ring=inner' }), name).toBe(true);
      expect(await asks(tenant.at(second), { device, query: 'l.ring=outer' }), name).toBe(false);
      for (const node of [right, ahead, behind]) {
        expect(await asks(tenant.at(node), { device }), name).toBe(false);
      }
    }
  });

  it('the version of the later report is on record, and no time is in the future (§17.6)', async () => {
    for (const [first, second, name] of pairs()) {
      const device = `version ${name}`;
      await reportVersion(first, device, '1.0.1');
      await reportVersion(second, device, '1.0.2');
      await reportVersion(second, device, '1.0.3');
      const wave = [{ deviceId: device, version: '1.0.4', platform: 'linux', arch: 'x86_64' }];
      expect((await tenant.at(first).decisions(wave)).status).toBe(200);
      const record = await recordOf(device);
      expect(record, name).toMatchObject({ version: '1.0.4' });
      expectPast(record, name);
    }
  });

  it('a report is not undone by a check that another node took before it (§17.6)', async () => {
    // A clock that jumps while the node runs, and jumps back, is no different.
    aheadClock.set(25 * HOUR_MS);
    for (const node of [right, ahead, behind]) {
      const ids = Array.from({ length: 30 }, (_, index) => `undone ${node.url} ${index}`);
      for (const id of ids) await tenant.at(node).check(OLD, { device: id });
      for (const id of ids) await reportVersion(right, id, '1.5.0');
      await settled();
      const devices = await tenant.devices();
      const versions = devices.filter(({ deviceId }) => ids.includes(String(deviceId)));
      expect(versions).toHaveLength(ids.length);
      expect(versions.map(({ version }) => version)).toEqual(ids.map(() => '1.5.0'));
      for (const device of versions) expectPast(device, String(device.deviceId));
    }
    aheadClock.set(HOUR_MS);
  });

  it('the check that came last is on record, whichever nodes took them', async () => {
    for (const [first, , name] of pairs()) {
      await tenant.at(first).check('1.0.1', { device: `last ${name}` });
    }
    await settled();
    for (const [, second, name] of pairs()) {
      await tenant.at(second).check('1.0.2', { device: `last ${name}` });
    }
    await settled();
    for (const [, , name] of pairs()) {
      const record = await recordOf(`last ${name}`);
      expect(record, name).toMatchObject({ version: '1.0.2' });
      expectPast(record, name);
    }
  });

  it('times in the future, which an older version has stored, heal with the next report', async () => {
    await label(tenant, 'stored', { ring: 'inner' });
    await cluster.query(
      `UPDATE devices SET last_seen = last_seen + interval '1 day',
         label_times = '{"ring": ${Date.now() + 24 * HOUR_MS}}'
       WHERE device_id = 'stored'`,
    );
    await label(tenant, 'stored', { ring: 'outer' });
    expect(await asks(tenant.at(ahead), { device: 'stored' })).toBe(false);
    const record = await recordOf('stored');
    expect(record).toMatchObject({ labels: { ring: 'outer' } });
    expectPast(record, 'stored');
  });

  it('a node says how much its clock differs, while it does, and in a figure', async () => {
    for (const [node, seconds] of [
      [ahead, 3600],
      [behind, -3600],
    ] as const) {
      await eventually('the difference is a figure', async () => {
        return Math.abs((await figureOf(node, DIFFERENCE)) - seconds) < 5;
      });
      expect(Number(warned.get(node))).toBeCloseTo(seconds, -1);
    }
    await eventually(
      'the right clock differs by nothing',
      async () => Math.abs(await figureOf(right, DIFFERENCE)) < 5,
    );
    expect(warnings(right)).toEqual([]);
    aheadClock.set(0);
    await eventually(
      'the figure says that the clock is right again',
      async () => Math.abs(await figureOf(ahead, DIFFERENCE)) < 5,
      COMPARED_MS_MAX,
    );
    await label(tenant.at(ahead), 'right again', { ring: 'inner' });
    expect(await asks(tenant, { device: 'right again' })).toBe(true);
  });

  /**
   * Waits until every check-in that was taken so far is recorded: each part of the devices is recorded by
   * itself, in its order.
   */
  async function settled(): Promise<void> {
    const apps = await cluster.query(`SELECT id FROM apps WHERE ref = '${tenant.app}'`);
    const last: string[] = [];
    for (const node of [right, ahead, behind]) {
      for (const id of oneOfEachPart(String(apps.rows[0]?.id))) {
        await tenant.at(node).check(OLD, { device: id });
        last.push(id);
      }
    }
    await eventually('the check-ins are recorded', async () => {
      const { rows } = await cluster.query(
        `SELECT count(*)::int AS known FROM devices WHERE device_id IN ('${last.join("', '")}')`,
      );
      return rows[0]?.known === last.length;
    });
  }
});

/** Returns ids of new devices, one of each part. */
function oneOfEachPart(appId: string): string[] {
  const byPart = new Map<number, string>();
  while (byPart.size < DEVICE_PARTS) {
    const id = `last of ${Math.random()}`;
    byPart.set(devicePart(appId, id), id);
  }
  return [...byPart.values()];
}

function expectPast(record: Record<string, unknown> | undefined, name: string): void {
  for (const field of ['firstSeen', 'lastSeen']) {
    expect(Date.parse(String(record?.[field])), `${field} of ${name}`).toBeLessThan(Date.now() + 5);
  }
}

/** Returns the node's warnings about its clock. */
function warnings(node: ClusterNode): Record<string, unknown>[] {
  return logLines(node.output(), '"the clock of this node differs from');
}
