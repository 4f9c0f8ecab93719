// Counts the device rows that the ledger records in a second as the drain does, which is the background work
// that moves check-ins from Redis into PostgreSQL: by two writers side by side, each with its own parts of
// the devices, who leave out what is on record already. Beside it, in the same run on the same PostgreSQL
// server, another commit's drain, when one is named, and one plain INSERT … ON CONFLICT per device.

import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { checkOut, findCommit } from '../compare/checkout.ts';
import type { Row } from '../measure/report.ts';
import { median } from '../measure/statistics.ts';
import { deviceIdOf, seededRandom } from '../random.ts';
import type { Benchmark } from './benchmark.ts';
import { openRecorder, type Recorder } from './drain/recorder.ts';

const SEED = 20_261_120;
const MINUTE_MS = 60_000;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Milliseconds between two looks at who waits for a lock. */
const LOOK_MS = 5;

type Setting = {
  readonly present: Recorder;
  /** Recorder of the other commit, when one was named. */
  readonly other: Recorder | undefined;
  readonly client: pg.Client;
};

export const drain: Benchmark = {
  name: 'drain',
  title: 'device rows per second into PostgreSQL (fsync on)',
  explanation: [
    'recorded: rows/s through the drain; plain: one INSERT … ON CONFLICT per device in the same run;',
    'before: rows/s through the drain of the commit that was named; ratio and gain: recorded / plain and',
    'recorded / before, medians over alternated rounds. waiting: share of the time of the writers in',
    'which they waited for a lock. "unchanged" is the usual case: a device that was seen a minute ago and',
    'has nothing new to say. Then devices are offered a release, and later seen on it, for the first time',
    'and again ("still"), when they were last seen so long ago that it is to be recorded.',
  ],
  async run({ isSmoke, against }) {
    const postgres = await startPostgres({ fsync: true });
    const client = new pg.Client({ connectionString: postgres.url });
    const commit = against === undefined ? undefined : findCommit(ROOT, against);
    if (against !== undefined && commit === undefined) throw new Error(`no commit ${against}`);
    const checkout = commit === undefined ? undefined : checkOut(ROOT, commit);
    const recorders: Recorder[] = [];
    const open = async (folder: string) => {
      const recorder = await openRecorder(folder, postgres.url);
      recorders.push(recorder);
      return recorder;
    };
    try {
      await client.connect();
      await client.query(`CREATE TABLE plain_devices (
        app_id text, device_id text, version text, platform text, arch text, channel text,
        last_seen timestamptz, PRIMARY KEY (app_id, device_id)) WITH (fillfactor = 70)`);
      const present = await open(ROOT);
      const other = checkout === undefined ? undefined : await open(checkout.folder);
      return await measureAll({ present, other, client }, isSmoke);
    } finally {
      for (const recorder of recorders) await recorder.close();
      checkout?.remove();
      await client.end();
      await postgres.stop();
    }
  },
};

type Rates = Record<'recorded' | 'plain' | 'before' | 'waiting', number[]>;

/** Alternates rounds of the ways, which go through fresh, changed and unchanged devices each. */
async function measureAll(setting: Setting, isSmoke: boolean): Promise<Row[]> {
  const { present, other } = setting;
  const rounds = isSmoke ? 1 : 4;
  const recordedRows = isSmoke ? 2000 : 40_000;
  const plainRows = isSmoke ? 200 : 3000;
  const rates = new Map<string, Rates>();
  const hash = createHash('sha256');
  for (let round = 0; round < rounds; round++) {
    const published = await publishBoth(setting, round);
    for (const [kind, make] of kinds(round)) {
      const known = rates.get(kind) ?? { recorded: [], plain: [], before: [], waiting: [] };
      rates.set(kind, known);
      const rows = make(recordedRows, published.present);
      for (const { deviceId, version } of rows) hash.update(`${deviceId}${version}`);
      const measured = async () => {
        const watch = watchLocks(setting.client, present.database);
        known.recorded.push(await rate(rows, (each) => present.record(each)));
        known.waiting.push((await watch.end()) / present.writers);
      };
      const before = async () => {
        if (other === undefined || published.other === undefined) return;
        const same = make(recordedRows, published.other);
        known.before.push(await rate(same, (each) => other.record(each)));
      };
      for (const turn of round % 2 === 0 ? [before, measured] : [measured, before]) await turn();
      known.plain.push(
        await rate(make(plainRows, { appId: 'plain', releaseId: '' }), (each) =>
          recordOneByOne(setting, each),
        ),
      );
    }
  }
  const checksum = hash.digest('hex').slice(0, 12);
  return [...rates].map(([kind, { recorded, plain, before, waiting }]) => ({
    devices: kind,
    recorded: Math.round(median(recorded)),
    plain: Math.round(median(plain)),
    ratio: median(recorded.map((value, index) => value / (plain[index] ?? Number.NaN))),
    ...(other === undefined
      ? {}
      : {
          before: Math.round(median(before)),
          gain: median(recorded.map((value, index) => value / (before[index] ?? Number.NaN))),
        }),
    waiting: median(waiting),
    checksum,
  }));
}

/** Watches a database; the result is the mean number of its sessions that wait for a lock. */
function watchLocks(client: pg.Client, database: string): { end(): Promise<number> } {
  let [looks, waiting] = [0, 0];
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      const { rows } = await client.query<{ count: number }>({
        name: 'waiting',
        text: `SELECT count(*)::integer AS count FROM pg_stat_activity
          WHERE datname = $1 AND wait_event_type = 'Lock'`,
        values: [database],
      });
      looks += 1;
      waiting += rows[0]?.count ?? 0;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  })();
  return {
    async end() {
      isOver = true;
      await watching;
      return waiting / Math.max(1, looks);
    },
  };
}

/** App of the devices, and the release that they are offered and install. */
type Place = { readonly appId: string; readonly releaseId: string };
type Make = (count: number, place: Place) => CheckIn[];

/** Time of a round's first check-ins: not at the begin of an hour, in which each device is recorded anew. */
function startOf(round: number): number {
  return Date.UTC(2026, 0, 1, 0, 10) + round * 60 * MINUTE_MS;
}

/** Publishes the round's release: after its devices were seen first, and before they are offered it. */
async function publishBoth({ present, other }: Setting, round: number) {
  const publish = async (recorder: Recorder): Promise<Place> => ({
    appId: recorder.appId,
    releaseId: await recorder.publish(releasedIn(round), startOf(round) + 5 * MINUTE_MS),
  });
  return {
    present: await publish(present),
    other: other === undefined ? undefined : await publish(other),
  };
}

function releasedIn(round: number): string {
  return `2.${round}.0`;
}

function kinds(round: number): [string, Make][] {
  const make =
    (version: string, minute: number, isOffered = false): Make =>
    (count, { appId, releaseId }) => {
      const random = seededRandom(SEED + round);
      return Array.from({ length: count }, () => ({
        appId,
        deviceId: deviceIdOf(random),
        channel: 'stable',
        version,
        platform: 'linux',
        arch: 'x86_64',
        source: 'pull' as const,
        at: startOf(round) + minute * MINUTE_MS,
        labels: undefined,
        offeredReleaseId: isOffered ? releaseId : undefined,
      }));
    };
  return [
    ['fresh', make('1.0.0', 0)],
    ['changed', make('1.1.0', 1)],
    ['unchanged', make('1.1.0', 2)],
    ['offered', make('1.1.0', 10, true)],
    ['offered still', make('1.1.0', 20, true)],
    ['installed', make(releasedIn(round), 30)],
    ['installed still', make(releasedIn(round), 40)],
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
