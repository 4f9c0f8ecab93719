// Tests that counts stay exact when several processes record side by side, each with what it remembers of the
// record, while their connections are killed in the middle of statements.

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { devicePart } from '../../src/domain/decision/hashes.ts';
import { type CheckIn, coalesceCheckIns } from '../../src/domain/fleet/check-in.ts';
import { RecordMemory } from '../../src/fleet/record-cache.ts';
import { migrate } from '../../src/store/ledger/database/migrate.ts';
import { createSqlLedger } from '../../src/store/ledger/sql-ledger.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import {
  checkIn,
  chunksOf,
  HOUR_MS,
  iso,
  MINUTE_MS,
  NO_BOUNDS,
  randomFrom,
  recount,
  START,
  shuffle,
} from '../store/ledger/fleet-fixture.ts';
import { FleetModel } from '../store/ledger/fleet-model.ts';
import { createTenant, expectValue, type TestTenant } from '../store/ledger/ledger-fixture.ts';
import { openTestPostgres, type TestDatabase } from '../store/ledger/test-database.ts';
import { sleep } from '../support/eventually.ts';

const WRITERS = 4;
const DEVICES = 4000;
const HOURS = 5;
const ROUNDS_PER_HOUR = 8;
const BATCH = 2000;
const FRESHNESS_MS = 300_000;
/** Tries to record a batch between two kills, which are as many on a fast machine as on a slow one. */
const TRIES_PER_KILL = 5;
/** Tries of a batch, before the test fails. */
const TRIES_MAX = 50;
const postgresUrl = inject('postgresUrl');
const title = postgresUrl === '' ? 'recording (skipped: no PostgreSQL here)' : 'recording';

describe.skipIf(postgresUrl === '')(title, () => {
  let opened: TestDatabase;
  let ledger: Ledger;
  let killer: pg.Client;
  /** Tries of all writers to record a batch. */
  let triesInAll = 0;

  beforeAll(async () => {
    opened = await openTestPostgres(postgresUrl);
    await migrate(opened.database);
    ledger = createSqlLedger(opened.database);
    killer = new pg.Client({ connectionString: postgresUrl });
    await killer.connect();
  });
  afterAll(async () => {
    await killer?.end();
    await opened?.dispose();
  });

  /** Kills one session of the database after another, until it is stopped; the result is their number. */
  function killSessions(database: string): () => Promise<number> {
    let isOver = false;
    const killing = (async () => {
      let [killed, triesAtKill] = [0, 0];
      while (!isOver) {
        await sleep(5);
        if (triesInAll - triesAtKill < TRIES_PER_KILL) continue;
        triesAtKill = triesInAll;
        const { rows } = await killer.query<{ pid: number }>(
          `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = $1 AND state = 'active' ORDER BY random() LIMIT 1`,
          [database],
        );
        killed += rows.length;
      }
      return killed;
    })();
    return () => {
      isOver = true;
      return killing;
    };
  }

  /** Records batches one after the other, each again until the ledger has answered. */
  async function write(
    memory: RecordMemory,
    batches: readonly (readonly CheckIn[])[],
  ): Promise<void> {
    for (const batch of batches) {
      const distinct = coalesceCheckIns(batch);
      for (let tries = 0, isRecorded = false; !isRecorded; tries++) {
        if (tries === TRIES_MAX) throw new Error('a batch was never recorded');
        triesInAll += 1;
        try {
          await memory.confirm(distinct);
          const needed = memory.sift(distinct);
          const known = () => true;
          const { writer } = memory;
          const result = await ledger.recordChecks(needed, 'queued', NO_BOUNDS, known, writer);
          memory.note(needed, result);
          isRecorded = true;
        } catch (error) {
          if (!(error instanceof Unavailable)) throw error;
        }
      }
    }
  }

  it('200,000 check-ins by 4 writers whose sessions are killed count as a recount and as the model do', async () => {
    const tenant = await createTenant(ledger);
    const random = randomFrom(20);
    const model = new FleetModel();
    const memories = Array.from({ length: WRITERS }, (_, writer) => {
      return new RecordMemory(`writer ${writer}`, ledger, FRESHNESS_MS);
    });
    const [row] = await opened.database.query<{ name: string }>(
      'SELECT current_database() AS name',
    );
    const stopKilling = killSessions(row?.name ?? '');
    let count = 0;
    for (let hour = 0; hour < HOURS; hour++) {
      const checkIns = hourOfCheckIns(tenant, START + hour * HOUR_MS, random);
      count += checkIns.length;
      // A writer has its parts; some batches come to another one as well, as those of a process that hung.
      const parted = memories.map((_, writer) =>
        checkIns.filter((each) => devicePart(each.appId, each.deviceId) % WRITERS === writer),
      );
      const batches = parted.map((own) => shuffle(chunksOf(own, BATCH), random));
      const late = batches.map((_, writer) => batches[(writer + 1) % WRITERS]?.slice(0, 1) ?? []);
      await Promise.all(
        memories.map((memory, writer) =>
          write(memory, [...(batches[writer] ?? []), ...(late[writer] ?? [])]),
        ),
      );
      for (const each of checkIns.toSorted((left, right) => left.at - right.at)) model.add(each);
    }
    expect(await stopKilling()).toBeGreaterThan(10);
    expect(count).toBeGreaterThanOrEqual(200_000);
    const counted = expectValue(await ledger.readFleet(tenant.app));
    expect(counted).toEqual(await recount(opened.database, tenant));
    expect(counted).toEqual(model.fleet());
    expect(await ledger.readAdoption(tenant.app, iso(START))).toEqual(model.adoption());
  }, 240_000);
});

/**
 * Check-ins of an hour: news of each device every six minutes, and often the same again a minute later. So
 * the outcome does not depend on their order.
 */
function hourOfCheckIns(tenant: TestTenant, hour: number, random: () => number): CheckIn[] {
  return Array.from({ length: DEVICES * ROUNDS_PER_HOUR }, (_, index) => {
    const first = checkIn(tenant, `device ${index % DEVICES}`, {
      channel: random() < 0.2 ? 'beta' : 'stable',
      version: `1.0.${Math.floor(random() * 3)}`,
      platform: random() < 0.1 ? 'mac' : 'linux',
      at: hour + Math.floor(index / DEVICES) * 6 * MINUTE_MS + 2000,
    });
    return random() < 0.3 ? [first, { ...first, at: first.at + MINUTE_MS }] : [first];
  }).flat();
}
