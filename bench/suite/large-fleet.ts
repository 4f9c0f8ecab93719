// Writes a large organization into a database: for the console, which has to show it, and for whoever walks
// through it.

import type pg from 'pg';
import type { Tenant } from '../../test/support/tenant.ts';

export type FleetSize = { readonly devices: number; readonly releases: number };

const APPS = 50;
const CHANNELS = 20;

/**
 * Writes releases, of which the newest is rolling out, devices, of which half run the newest ten versions and
 * the rest all the others, and the counts that follow from them. Goes past the service, whose check-ins would
 * take minutes.
 */
export async function largeFleet(
  client: pg.Client,
  { appId, org }: Tenant,
  size: FleetSize,
): Promise<void> {
  const channel = `(SELECT id FROM channels WHERE app_id = '${appId}' AND name = 'stable')`;
  await client.query(`
    INSERT INTO releases
      (id, channel_id, version, canonical_version, notes, status, rollout_pct, offered_at, created_at)
    SELECT 'rel_' || n, ${channel}, '1.0.' || n, '1.0.' || n, repeat('What is new in it. ', 50),
      'published', CASE WHEN n = ${size.releases} THEN 20 ELSE 100 END, now(),
      now() - (${size.releases} - n) * interval '3 hours'
    FROM generate_series(1, ${size.releases}) AS n;
    INSERT INTO artifacts (release_id, position, platform, arch, url)
    SELECT 'rel_' || n, place, (ARRAY['linux', 'darwin', 'windows'])[place + 1], 'x86_64',
      'https://dl.example.com/' || n
    FROM generate_series(1, ${size.releases}) AS n, generate_series(0, 2) AS place;
    INSERT INTO audit_entries (organization_id, at, actor, action, subject, after)
    SELECT '${org}', now() - n * interval '1 minute', 'key:key_1 (ci)', 'release.serve',
      'app/stable@1.0.' || n % ${size.releases}, '{"rolloutPct": 20}'
    FROM generate_series(1, ${size.devices / 20}) AS n;
    UPDATE channels SET revision = revision + 1 WHERE id = ${channel}`);
  await seedApps(client, org);
  await seedDevices(client, appId, size);
  await client.query('ANALYZE');
}

/** Writes the other apps of the organization, each with its channels, and a release on each of those. */
async function seedApps(client: pg.Client, org: string): Promise<void> {
  await client.query(`
    INSERT INTO apps (id, organization_id, ref, name)
    SELECT 'app_' || n, '${org}', 'app-' || n, 'App number ' || n FROM generate_series(2, ${APPS}) AS n;
    INSERT INTO channels (id, app_id, name)
    SELECT 'chn_' || n || '_' || lane, 'app_' || n, CASE lane WHEN 1 THEN 'stable' ELSE 'lane-' || lane END
    FROM generate_series(2, ${APPS}) AS n, generate_series(1, ${CHANNELS}) AS lane;
    INSERT INTO releases (id, channel_id, version, canonical_version, notes, status, rollout_pct, offered_at)
    SELECT 'rel_' || id, id, '4.2.0', '4.2.0', '', 'published', 50, now()
    FROM channels WHERE id LIKE 'chn_%_%'`);
}

async function seedDevices(client: pg.Client, appId: string, size: FleetSize): Promise<void> {
  await client.query(`
    INSERT INTO devices (app_id, device_id, first_seen, last_seen, channel, version, platform, arch, source,
      last_offered_release_id, last_offered_at, labels)
    SELECT '${appId}', 'device-' || n, now() - interval '90 days', now() - (n % 20160) * interval '1 minute',
      'stable', '1.0.' || release, (ARRAY['linux', 'darwin', 'windows'])[n % 3 + 1], 'x86_64', 'pull',
      'rel_' || least(release + 1, ${size.releases}), now(),
      jsonb_build_object('ring', (ARRAY['canary', 'early', 'all'])[n % 3 + 1], 'site', 'site-' || n % 200,
        'build', (n % 7)::text)
    FROM (
      SELECT n, CASE WHEN n % 2 = 0 THEN ${size.releases} - n % 10
        ELSE n % ${size.releases} + 1 END AS release
      FROM generate_series(1, ${size.devices}) AS n
    ) AS numbered;
    INSERT INTO fleet_count_parts (app_id, channel, version, platform, part, devices)
    SELECT app_id, channel, version, platform, device_part(app_id, device_id), count(*)
    FROM devices GROUP BY 1, 2, 3, 4, 5;
    INSERT INTO fleet_hour_parts (app_id, hour, channel, version, platform, part, devices)
    SELECT app_id, date_trunc('hour', now(), 'UTC') - ago * interval '1 hour', channel, version, platform, -1,
      greatest(1, devices / 10)
    FROM fleet_counts, generate_series(0, 167) AS ago;
    INSERT INTO fleet_step_parts (app_id, step, at, channel, version, platform, part, devices)
    SELECT app_id, step, date_trunc(step, now(), 'UTC') - ago * ('1 ' || step)::interval, channel, version,
      platform, -1, devices
    FROM fleet_counts,
      (SELECT 'day', generate_series(0, 30) UNION ALL SELECT 'month', generate_series(0, 12))
        AS past (step, ago)`);
}

/** Returns the id of a device; the first one is 1. */
export function deviceId(index: number): string {
  return `device-${index}`;
}
