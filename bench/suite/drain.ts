// Counts the device rows that the ledger records in a second through the statement of the drain, which is the
// background work that moves check-ins from Redis into PostgreSQL. Beside it, in the same run on the same
// PostgreSQL, one plain INSERT … ON CONFLICT per device.

import { createHash } from 'node:crypto';
import pg from 'pg';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { ledgerOptions } from '../../test/support/ledger-options.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { removeFolder, temporaryFolder } from '../../test/support/server-process.ts';
import type { Row } from '../measure/report.ts';
import { median } from '../measure/statistics.ts';
import { deviceIdOf, seededRandom } from '../random.ts';
import type { Benchmark } from './benchmark.ts';

const SEED = 20_261_120;
const BATCH_SIZE = 2000;
const ADMIN = { kind: 'admin-token' } as const;
const MINUTE_MS = 60_000;

type Setting = {
  readonly appId: string;
  readonly record: (checkIns: readonly CheckIn[]) => Promise<unknown>;
  readonly client: pg.Client;
};

export const drain: Benchmark = {
  name: 'drain',
  title: 'device rows per second into PostgreSQL (fsync on, one connection)',
  explanation: [
    'recorded: rows/s through the drain; plain: one INSERT … ON CONFLICT per device in the same run;',
    'ratio: recorded / plain, the median over alternated rounds. "unchanged" is the usual case: a device',
    'that was seen a minute ago and has nothing new to say.',
  ],
  async run({ isSmoke }) {
    const postgres = await startPostgres({ fsync: true });
    const client = new pg.Client({ connectionString: postgres.url });
    try {
      await client.connect();
      return await measure(postgres.url, client, isSmoke);
    } finally {
      await client.end();
      await postgres.stop();
    }
  },
};

async function measure(url: string, client: pg.Client, isSmoke: boolean): Promise<Row[]> {
  // The ledger marks its directory as used, with PostgreSQL too.
  const dataDir = temporaryFolder('sluice-drain-');
  const ledger = await openLedger({ databaseUrl: url, dataDir, ...ledgerOptions() });
  try {
    while (!(await ledger.isReachable())) await new Promise((resolve) => setTimeout(resolve, 50));
    const organization = await ledger.createOrganization('bench', ADMIN);
    if (!('id' in organization)) throw new Error(organization.message);
    const app = await ledger.createApp(
      { organizationId: organization.id, ref: 'bench', name: 'Bench', channels: ['stable'] },
      ADMIN,
    );
    if (!('value' in app)) throw new Error(app.message);
    await client.query(`CREATE TABLE plain_devices (
      app_id text, device_id text, version text, platform text, arch text, channel text,
      last_seen timestamptz, PRIMARY KEY (app_id, device_id)) WITH (fillfactor = 70)`);
    const setting = {
      appId: app.value.id,
      record: (checkIns: readonly CheckIn[]) => ledger.recordCheckIns(checkIns),
      client,
    };
    return await measureAll(setting, isSmoke);
  } finally {
    await ledger.close();
    removeFolder(dataDir);
  }
}

/** Alternates rounds of the two ways, which go through fresh, changed and unchanged devices each. */
async function measureAll(setting: Setting, isSmoke: boolean): Promise<Row[]> {
  const rounds = isSmoke ? 1 : 3;
  const recordedRows = isSmoke ? 2000 : 40_000;
  const plainRows = isSmoke ? 200 : 3000;
  const rates = new Map<string, { recorded: number[]; plain: number[] }>();
  const hash = createHash('sha256');
  for (let round = 0; round < rounds; round++) {
    for (const [kind, make] of kinds(setting.appId, round)) {
      const known = rates.get(kind) ?? { recorded: [], plain: [] };
      rates.set(kind, known);
      const recorded = make(recordedRows);
      for (const { deviceId, version } of recorded) hash.update(`${deviceId}${version}`);
      known.recorded.push(await rate(recorded, (rows) => recordInBatches(setting, rows)));
      known.plain.push(await rate(make(plainRows), (rows) => recordOneByOne(setting, rows)));
    }
  }
  const checksum = hash.digest('hex').slice(0, 12);
  return [...rates].map(([kind, { recorded, plain }]) => ({
    devices: kind,
    recorded: Math.round(median(recorded)),
    plain: Math.round(median(plain)),
    ratio: median(recorded.map((value, index) => value / (plain[index] ?? Number.NaN))),
    checksum,
  }));
}

type Make = (count: number) => CheckIn[];

function kinds(appId: string, round: number): [string, Make][] {
  const start = Date.UTC(2026, 0, 1) + round * 60 * MINUTE_MS;
  const make =
    (version: string, at: number): Make =>
    (count) => {
      const random = seededRandom(SEED + round);
      return Array.from({ length: count }, () => ({
        appId,
        deviceId: deviceIdOf(random),
        channel: 'stable',
        version,
        platform: 'linux',
        arch: 'x86_64',
        source: 'pull' as const,
        at,
        labels: undefined,
        offeredReleaseId: undefined,
      }));
    };
  return [
    ['fresh', make('1.0.0', start)],
    ['changed', make('1.1.0', start + MINUTE_MS)],
    ['unchanged', make('1.1.0', start + 2 * MINUTE_MS)],
  ];
}

async function rate(
  rows: readonly CheckIn[],
  work: (rows: readonly CheckIn[]) => Promise<void>,
): Promise<number> {
  const start = performance.now();
  await work(rows);
  return rows.length / ((performance.now() - start) / 1000);
}

async function recordInBatches(setting: Setting, rows: readonly CheckIn[]): Promise<void> {
  for (let from = 0; from < rows.length; from += BATCH_SIZE) {
    await setting.record(rows.slice(from, from + BATCH_SIZE));
  }
}

async function recordOneByOne({ client }: Setting, rows: readonly CheckIn[]): Promise<void> {
  for (const { appId, deviceId, version, platform, arch, channel, at } of rows) {
    await client.query({
      name: 'plain',
      text: `INSERT INTO plain_devices VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (app_id, device_id) DO UPDATE SET version = excluded.version,
        platform = excluded.platform, arch = excluded.arch, channel = excluded.channel,
        last_seen = excluded.last_seen`,
      values: [appId, deviceId, version, platform, arch, channel, new Date(at)],
    });
  }
}
