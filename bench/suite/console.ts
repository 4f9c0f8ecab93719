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
import { deviceId, type FleetSize, largeFleet } from './large-fleet.ts';

type Size = FleetSize & { readonly rounds: number };

const FULL: Size = { devices: 1_000_000, releases: 2000, rounds: 15 };
const SMOKE: Size = { devices: 2000, releases: 50, rounds: 2 };
const ACCEPTABLE_MS = 300;

export const consoleData: Benchmark = {
  name: 'console',
  title: 'milliseconds until the console has its data (PostgreSQL, one reader)',
  explanation: [
    `1,000,000 devices on 2,000 releases of one of 50 apps with 20 channels,`,
    `counts of 168 hours, 31 days and 13 months;`,
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
      await largeFleet(client, tenant, size);
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
    `webhooks/enabled?org=${org}`,
    `audit?org=${org}&did=raised`,
    `search?org=${org}&text=${deviceId(1).slice(0, 4)}`,
    `search?org=${org}&text=1.0.1`,
    `devices?${on}&below=${newest}`,
    `devices?${on}&offered=${newest}&moved=no`,
    `releases?${on}&channel=stable&version=1.0.1&status=published`,
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
