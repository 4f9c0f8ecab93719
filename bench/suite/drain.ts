// Counts the device rows a second that two writers of the drain record, beside the drain of another commit,
// when named, and one plain INSERT … ON CONFLICT per device. They leave out what is on record already.

import type pg from 'pg';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import type { Benchmark } from '../benchmark.ts';
import { checksumOf } from '../load/ask.ts';
import { deviceId } from '../load/question.ts';
import { median, medianRatio } from '../measure/statistics.ts';
import type { Report, Row } from '../report.ts';
import { withDeployment } from '../service/deployment.ts';
import { checkOut, commitOf, ROOT } from './checkout.ts';
import { openRecorder, type Recorder } from './recorder.ts';

const MINUTE_MS = 60_000;
const PACE = { rounds: 4, recordedRows: 40_000, plainRows: 3000 };
const SMOKE = { rounds: 1, recordedRows: 2000, plainRows: 200 };

/** Kinds of check-ins: version, minute in the round, and whether the device is offered its release. */
const KINDS: Readonly<Record<string, readonly [string | undefined, number, boolean?]>> = {
  fresh: ['1.0.0', 0],
  changed: ['1.1.0', 1],
  unchanged: ['1.1.0', 2],
  offered: ['1.1.0', 10, true],
  'offered still': ['1.1.0', 20, true],
  installed: [undefined, 30],
  'installed still': [undefined, 40],
};

const PLAIN_TABLE = `CREATE TABLE plain_devices (
  app_id text, device_id text, version text, platform text, arch text, channel text,
  last_seen timestamptz, PRIMARY KEY (app_id, device_id)) WITH (fillfactor = 70)`;
const PLAIN_INSERT = `INSERT INTO plain_devices VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (app_id, device_id) DO UPDATE SET version = excluded.version,
  platform = excluded.platform, arch = excluded.arch, channel = excluded.channel,
  last_seen = excluded.last_seen`;

export const drain: Benchmark = {
  name: 'drain',
  title: 'device rows a second into PostgreSQL; with a ref, beside those of that commit',
  argument: '[ref]',
  reading: [
    'recorded: rows/s through the drain; plain: one INSERT … ON CONFLICT per device in the same run;',
    'before: rows/s through the drain of the commit that was named; ratio and gain: recorded / plain and',
    'recorded / before, medians over alternated rounds. "unchanged" is the usual case. Then devices are',
    'offered a release, and are seen on it, for the first time and again ("still"), so long afterwards that',
    'it is to be recorded.',
  ],
  async run({ isSmoke, ref }) {
    const checkout = ref === undefined ? undefined : checkOut(commitOf(ref));
    try {
      return await measure(checkout?.folder, isSmoke ? SMOKE : PACE);
    } finally {
      checkout?.remove();
    }
  },
};

type Rows = readonly CheckIn[];
type Rates = Record<'recorded' | 'plain' | 'before', number[]>;

function measure(otherFolder: string | undefined, pace: typeof PACE): Promise<Report> {
  return withDeployment({ isPlaced: false }, async (deployment) => {
    const sql = await deployment.connect(deployment.postgres.url);
    await sql.query(PLAIN_TABLE);
    const open = async (folder: string) =>
      deployment.keep(await openRecorder(folder, deployment.postgres.url));
    const present = await open(ROOT);
    const other = otherFolder === undefined ? undefined : await open(otherFolder);
    const texts: string[] = [];
    const all = Object.keys(KINDS).map((kind): readonly [string, Rates] => {
      return [kind, { recorded: [], plain: [], before: [] }];
    });
    for (let round = 0; round < pace.rounds; round++) {
      // Published after its devices were seen first, and before they are offered it.
      const at = startOf(round) + 5 * MINUTE_MS;
      const release = await present.publish(releasedIn(round), at);
      const otherRelease = (await other?.publish(releasedIn(round), at)) ?? '';
      for (const [kind, rates] of all) {
        const make = (count: number, appId: string, releaseId: string) =>
          checkIns(kind, round, count, appId, releaseId);
        const rows = make(pace.recordedRows, present.appId, release);
        texts.push(...rows.map(({ deviceId, version }) => `${deviceId}${version}`));
        const before = async ({ appId, record }: Recorder) => {
          rates.before.push(await rate(make(pace.recordedRows, appId, otherRelease), record));
        };
        if (other !== undefined && round % 2 === 0) await before(other);
        rates.recorded.push(await rate(rows, present.record));
        if (other !== undefined && round % 2 === 1) await before(other);
        const plain = make(pace.plainRows, 'plain', '');
        rates.plain.push(await rate(plain, (each) => recordOneByOne(sql, each)));
      }
    }
    const checksum = checksumOf(texts);
    return { tables: [{ rows: all.map(([kind, rates]) => rowOf(kind, rates, checksum)) }] };
  });
}

function rowOf(kind: string, { recorded, plain, before }: Rates, checksum: string): Row {
  const beside = { before: Math.round(median(before)), gain: medianRatio(recorded, before) };
  return {
    ...{ devices: kind, recorded: Math.round(median(recorded)), plain: Math.round(median(plain)) },
    ...{ ratio: medianRatio(recorded, plain), ...(before.length === 0 ? {} : beside) },
    checksum,
  };
}

/** Time of a round's first check-ins: not at the begin of an hour, in which each device is recorded anew. */
function startOf(round: number): number {
  return Date.UTC(2026, 0, 1, 0, 10) + round * 60 * MINUTE_MS;
}

function releasedIn(round: number): string {
  return `2.${round}.0`;
}

/** Check-ins of this kind, of as many devices; the devices of a round are the same for all kinds. */
function checkIns(kind: string, round: number, count: number, appId: string, release: string) {
  const [version = releasedIn(round), minute = 0, isOffered = false] = KINDS[kind] ?? [];
  const at = startOf(round) + minute * MINUTE_MS;
  return Array.from({ length: count }, (_, index) => ({
    ...{ appId, deviceId: deviceId(round * count + index), channel: 'stable', version, at },
    ...{ platform: 'linux', arch: 'x86_64', source: 'pull' as const, labels: undefined },
    offeredReleaseId: isOffered ? release : undefined,
  }));
}

async function rate(rows: Rows, record: (rows: Rows) => Promise<void>): Promise<number> {
  const start = performance.now();
  await record(rows);
  return rows.length / ((performance.now() - start) / 1000);
}

async function recordOneByOne(sql: pg.Client, rows: Rows): Promise<void> {
  for (const { appId, deviceId, version, platform, arch, channel, at } of rows) {
    const values = [appId, deviceId, version, platform, arch, channel, new Date(at)];
    await sql.query({ name: 'plain', text: PLAIN_INSERT, values });
  }
}
