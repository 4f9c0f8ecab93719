// Measures the effect of a change on a fleet of a million devices: it is told within two seconds, by a
// sample of devices that is as good as chance allows (docs/contract.md 24). Neighbours in the table are
// alike, as devices are that came at the same time, so that a sample of pages would not do.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Effect } from '../../src/contract/dry-run.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { FULL_ONLY, IS_FULL } from '../support/full-run.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

const DEVICES = 1_000_000;
/** Groups of devices that lie together in the table. */
const GROUPS = 100;
const PLATFORMS = ['linux', 'windows', 'darwin'];
/** Share of the devices that were seen in the last 30 days. */
const SEEN = 0.9;
const ANSWER_MS_MAX = 2000;
const CHANGES = 25;
/** Differences from the truth, in points of the fleet. */
const [MOSTLY_WITHIN, ALWAYS_WITHIN] = [1, 1.5];
const ARTIFACTS = PLATFORMS.map((platform) => ({
  platform,
  url: `https://dl.example.com/${platform}.zip`,
}));

describeOnRealStores('the effect of a change on a million devices', () => {
  let cluster: Cluster;
  let node: ClusterNode;
  let tenant: Tenant;

  beforeAll(async () => {
    cluster = await startCluster();
    node = await cluster.addNode({ REDIS_URL: cluster.redis.url });
    tenant = await createTenant(node, ['1.0.0', { artifacts: ARTIFACTS }]);
    await cluster.query(`
      INSERT INTO devices
        (app_id, device_id, first_seen, last_seen, channel, version, platform, arch, source, labels)
      SELECT '${tenant.appId}', 'device-' || n, now() - interval '90 days',
        now() - CASE WHEN n % 10 = 0 THEN interval '40 days' ELSE interval '1 day' END,
        'stable', '1.0.0', (ARRAY['linux', 'windows', 'darwin'])[1 + n % 3], 'x86_64', 'pull',
        jsonb_build_object('group', (n * ${GROUPS} / ${DEVICES})::text)
      FROM generate_series(0, ${DEVICES - 1}) AS n`);
    await cluster.query(`
      INSERT INTO fleet_count_parts (app_id, channel, version, platform, part, devices)
      SELECT app_id, channel, version, platform, device_part(app_id, device_id), count(*)
      FROM devices GROUP BY 1, 2, 3, 4, 5`);
  });
  afterAll(() => cluster?.dispose());

  /** Does a dry run of a release for the first groups of devices. */
  async function dryRun(groups: number): Promise<{ effect: Effect; tookMs: number }> {
    const values = Array.from({ length: groups }, (_, index) => String(index));
    const targets = { matchLabels: { group: values } };
    const named = { app: tenant.app, channel: 'stable', version: '2.0.0' };
    const body = { ...named, artifacts: ARTIFACTS, targets };
    const beganAt = performance.now();
    const answer = await tenant.manage('POST', 'releases?dryRun=true', body);
    const tookMs = performance.now() - beganAt;
    expect(answer.status, answer.text).toBe(200);
    return { effect: answer.body?.effect as Effect, tookMs };
  }

  const title =
    'is answered within 2 s, as an estimate: 95 of 100 figures within 1 point, all within 1.5';
  it.skipIf(!IS_FULL)(title + FULL_ONLY, async () => {
    const seen = DEVICES * SEEN;
    const differences: number[] = [];
    const times: number[] = [];
    for (let change = 1; change <= CHANGES; change++) {
      const groups = (change * GROUPS) / CHANGES;
      const { effect, tookMs } = await dryRun(groups);
      times.push(tookMs);
      expect(effect.isEstimate).toBe(true);
      const share = groups / GROUPS;
      differences.push(pointsBetween(effect.gain / effect.devices, share));
      for (const platform of PLATFORMS) {
        const part = effect.platforms.find((each) => each.platform === platform);
        differences.push(
          pointsBetween((part?.gain ?? 0) / effect.devices, share / PLATFORMS.length),
        );
      }
      expect(pointsBetween(effect.devices / seen, 1)).toBeLessThanOrEqual(ALWAYS_WITHIN);
    }
    const within = differences.filter((points) => points <= MOSTLY_WITHIN).length;
    const [worst, slowest] = [Math.max(...differences), Math.max(...times)];
    expect(within / differences.length).toBeGreaterThanOrEqual(0.95);
    expect(worst).toBeLessThanOrEqual(ALWAYS_WITHIN);
    expect(slowest).toBeLessThanOrEqual(ANSWER_MS_MAX);
  });
});

function pointsBetween(left: number, right: number): number {
  return Math.abs(left - right) * 100;
}
