// Bytes of PostgreSQL's log that a fleet at rest makes: each device checks in once an hour and says nothing
// new but that it is there. Pages are logged whole when they are met for the first time after a checkpoint,
// so what a check-in costs depends on how many of them lie between two: time is scaled by checkpoints that
// are forced after as many rounds of the fleet as the setting has hours.

import pg from 'pg';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import type { Row } from '../measure/report.ts';
import { deviceIdOf, seededRandom } from '../random.ts';
import type { Benchmark } from './benchmark.ts';
import { openRecorder, type Recorder } from './drain/recorder.ts';

const SEED = 20_261_124;
const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 0, 1, 0, 30);
const CHECKPOINTS = 2;
const ROOT = new URL('../..', import.meta.url).pathname;

export const wal: Benchmark = {
  name: 'wal',
  title: 'bytes of log for each check-in of a fleet at rest that asks once an hour',
  explanation: [
    'whole pages included, over two checkpoints, after a round that is not measured; with wal_compression',
    '(pglz). hours: rounds of the fleet between two checkpoints, as checkpoint_timeout has hours. table:',
    'bytes a device of the table of devices with its indexes at the end; version: those of a version',
    'change, its indexes included.',
  ],
  async run({ isSmoke }) {
    const postgres = await startPostgres({ fsync: false });
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    try {
      for (const setting of [
        "wal_compression = 'pglz'",
        "max_wal_size = '16GB'",
        "checkpoint_timeout = '1d'",
        "shared_buffers = '512MB'",
      ]) {
        await client.query(`ALTER SYSTEM SET ${setting}`);
      }
      await client.query('SELECT pg_reload_conf()');
      const rows: Row[] = [];
      for (const hours of [1, 4]) {
        const recorder = await openRecorder(ROOT, postgres.url);
        try {
          rows.push(await measure(recorder, client, hours, isSmoke ? 2000 : 100_000));
        } finally {
          await recorder.close();
        }
      }
      return rows;
    } finally {
      await client.end();
      await postgres.stop();
    }
  },
};

async function measure(
  recorder: Recorder,
  client: pg.Client,
  hours: number,
  devices: number,
): Promise<Row> {
  const random = seededRandom(SEED + hours);
  const ids = Array.from({ length: devices }, () => deviceIdOf(random));
  let round = 0;
  const play = async (version = '1.0.0') => {
    const at = START + round * HOUR_MS;
    round += 1;
    await recorder.record(
      shuffled(ids, random).map((id) => checkInOf(recorder.appId, id, version, at)),
    );
  };
  await play();
  await play('1.1.0');
  const own = new pg.Client({ connectionString: recorder.url });
  await own.connect();
  try {
    const versions = await bytesOf(
      own,
      "SELECT pg_total_relation_size('device_versions') AS bytes",
    );
    // The table as vacuum leaves it: settled, with room in its pages.
    for (let settle = 0; settle < 2; settle++) {
      await own.query('VACUUM (ANALYZE) devices');
      await play('1.1.0');
    }
    await client.query('CHECKPOINT');
    const before = await position(client);
    for (let checkpoint = 0; checkpoint < CHECKPOINTS; checkpoint++) {
      for (let hour = 0; hour < hours; hour++) await play('1.1.0');
      await client.query('CHECKPOINT');
    }
    const bytes = (await position(client)) - before;
    const table = await bytesOf(
      own,
      `SELECT sum(pg_total_relation_size(inhrelid)) AS bytes FROM pg_inherits
       WHERE inhparent = 'devices'::regclass`,
    );
    return {
      hours,
      devices,
      'bytes a check-in': Math.round(bytes / (devices * hours * CHECKPOINTS)),
      table: Math.round(table / devices),
      version: Math.round(versions / devices),
    };
  } finally {
    await own.end();
  }
}

async function position(client: pg.Client): Promise<number> {
  return bytesOf(client, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS bytes");
}

async function bytesOf(client: pg.Client, text: string): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(text);
  return Number(rows[0]?.bytes);
}

function shuffled(ids: readonly string[], random: () => number): string[] {
  const keyed = ids.map((id) => ({ id, key: random() }));
  return keyed.sort((left, right) => left.key - right.key).map(({ id }) => id);
}

function checkInOf(appId: string, deviceId: string, version: string, at: number): CheckIn {
  const machine = { channel: 'stable', platform: 'linux', arch: 'x86_64' };
  const rest = { source: 'pull' as const, client: 'u' as const, labels: undefined };
  return { appId, deviceId, version, at, offeredReleaseId: undefined, ...machine, ...rest };
}
