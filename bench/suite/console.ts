// Measures the time that the console waits for its data: asks every reading endpoint, one after the other,
// against a large fleet and a long history of releases in PostgreSQL.

import pg from 'pg';
import { freshDatabase } from '../../test/support/fresh-database.ts';
import { startNode } from '../../test/support/node.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { admin, createTenant, type Tenant } from '../../test/support/tenant.ts';
import type { Row } from '../measure/report.ts';
import { median } from '../measure/statistics.ts';
import type { Benchmark } from './benchmark.ts';

type Size = { readonly devices: number; readonly releases: number; readonly rounds: number };

const FULL: Size = { devices: 1_000_000, releases: 2000, rounds: 15 };
const SMOKE: Size = { devices: 2000, releases: 50, rounds: 2 };
const ACCEPTABLE_MS = 300;

export const consoleData: Benchmark = {
  name: 'console',
  title: 'milliseconds until the console has its data (PostgreSQL, one reader)',
  explanation: [
    `1,000,000 devices on 2,000 releases, counts of 168 hours, 31 days and 13 months;`,
    `--smoke: ${SMOKE.devices} devices.`,
    `first: with the caches as they were; p50 and max: of ${FULL.rounds} more.`,
    `Above ${ACCEPTABLE_MS} ms is too long.`,
  ],
  async run({ isSmoke }) {
    const postgres = await startPostgres({ fsync: false });
    const database = await freshDatabase(postgres.url);
    const node = await startNode({ DATABASE_URL: database.url });
    const client = new pg.Client({ connectionString: database.url });
    try {
      await client.connect();
      const size = isSmoke ? SMOKE : FULL;
      const tenant = await createTenant(node);
      await seed(client, tenant, size);
      const rows: Row[] = [];
      for (const path of endpoints(tenant, size)) {
        rows.push(await measure(path, size.rounds, (each) => admin(node, 'GET', each)));
      }
      return rows;
    } finally {
      await client.end();
      await node.dispose();
      await postgres.stop();
    }
  },
};

/** Reading endpoints below `/console/api/`, some of them with filters that find little. */
function endpoints({ app, org }: Tenant, { releases }: Size): readonly string[] {
  const newest = `1.0.${releases}`;
  const on = `app=${app}`;
  const before = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  return [
    'session',
    `apps?org=${org}`,
    `channel?${on}&channel=stable`,
    `releases?${on}&channel=stable`,
    `releases?${on}&channel=stable&page=${Math.ceil(releases / 100)}&perPage=100`,
    `release?${on}&channel=stable&version=${newest}`,
    `labels?${on}`,
    `fleet?${on}`,
    `devices?${on}`,
    `devices?${on}&version=${newest}`,
    `devices?${on}&label=ring%3Dnone`,
    `devices?${on}&platform=freebsd&seenSince=${before(1)}`,
    `device?${on}&deviceId=${deviceId(1)}`,
    `decision?${on}&deviceId=${deviceId(1)}`,
    `adoption?${on}&step=hour&since=${before(1)}`,
    `adoption?${on}&step=hour`,
    `adoption?${on}&step=day&since=${before(30)}`,
    `adoption?${on}&step=month&since=${before(365)}`,
    `members?org=${org}`,
    `keys?org=${org}`,
    `audit?org=${org}`,
    `audit?org=${org}&actor=none`,
    `webhooks?${on}`,
  ];
}

async function measure(
  path: string,
  rounds: number,
  ask: (path: string) => Promise<{ readonly status: number; readonly text: string }>,
): Promise<Row> {
  const times: number[] = [];
  let bytes = 0;
  for (let round = 0; round <= rounds; round++) {
    const start = performance.now();
    const answer = await ask(path);
    times.push(performance.now() - start);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    bytes = Buffer.byteLength(answer.text);
  }
  const [first = Number.NaN, ...more] = times;
  const shown = path.replace(/(?:org|app)=[^&]*&?/, '').replace(/\?$/, '');
  return { endpoint: shown, first, p50: median(more), max: Math.max(...more), bytes };
}

function deviceId(index: number): string {
  return `device-${index}`;
}

/**
 * Writes releases, of which the newest is rolling out, devices, of which half run the newest ten versions and
 * the rest all the others, and the counts that follow from them. Goes past the service, whose check-ins would
 * take minutes.
 */
async function seed(client: pg.Client, { appId, org }: Tenant, size: Size): Promise<void> {
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
  await seedDevices(client, appId, size);
  await client.query('ANALYZE');
}

async function seedDevices(client: pg.Client, appId: string, size: Size): Promise<void> {
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
    INSERT INTO fleet_counts (app_id, channel, version, platform, devices)
    SELECT app_id, channel, version, platform, count(*) FROM devices GROUP BY 1, 2, 3, 4;
    INSERT INTO fleet_hours (app_id, hour, channel, version, platform, devices)
    SELECT app_id, date_trunc('hour', now(), 'UTC') - ago * interval '1 hour', channel, version, platform,
      greatest(1, devices / 10)
    FROM fleet_counts, generate_series(0, 167) AS ago;
    INSERT INTO fleet_steps (app_id, step, at, channel, version, platform, devices)
    SELECT app_id, step, date_trunc(step, now(), 'UTC') - ago * ('1 ' || step)::interval, channel, version,
      platform, devices
    FROM fleet_counts,
      (SELECT 'day', generate_series(0, 30) UNION ALL SELECT 'month', generate_series(0, 12))
        AS past (step, ago)`);
}
