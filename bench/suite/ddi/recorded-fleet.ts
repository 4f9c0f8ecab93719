// Puts a large fleet on record: rows of PostgreSQL, and what Redis holds of devices, written by functions of
// the service. Every device is on the newest version, and was asked for its attributes.

import type pg from 'pg';
import { NO_ACTIONS } from '../../../src/domain/fleet/device-actions.ts';
import { packActions } from '../../../src/domain/fleet/packed-actions.ts';
import { openConnection } from '../../../src/store/redis/connection.ts';
import { createRedisActions } from '../../../src/store/redis/redis-actions.ts';
import { parseTarget } from '../../../src/store/redis/target.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { keys } from '../../../test/support/redis-keys.ts';
import { deviceId } from '../../load/question.ts';
import { type DdiService, NEWEST } from './ddi-service.ts';

const DEVICES_PER_CALL = 10_000;
const REVISION = 1;

/** Seen an hour ago, so that the next check-in of each is recorded. */
const INSERT_DEVICES = `
  INSERT INTO devices
    (app_id, device_id, first_seen, last_seen, channel, version, platform, arch, source, client)
  SELECT $1, id, now() - interval '1 day', now() - interval '1 hour', 'stable', $3, 'linux',
    'aarch64', 'pull', 'ddi'
  FROM unnest($2::text[]) AS id`;
/** At no position, so that no feed brings them to Redis while something is measured. */
const INSERT_ACTIONS = `
  INSERT INTO device_actions (app_id, device_id, revision, actions)
  SELECT $1, id, $3, $4 FROM unnest($2::text[]) AS id`;

/** Puts the first devices of the fleet on record. */
export async function recordFleet(
  { tenant: { appId } }: DdiService,
  sql: pg.Client,
  count: number,
) {
  await eachPart(count, async (ids) => {
    await sql.query(INSERT_DEVICES, [appId, ids, NEWEST]);
    await sql.query(INSERT_ACTIONS, [appId, ids, REVISION, actionsText()]);
  });
  await sql.query('VACUUM ANALYZE devices, device_actions');
}

/** Puts into Redis what is on record; a node confirms only what came there after its start. */
export async function holdFleet({ tenant: { appId }, stores }: DdiService, count: number) {
  const report = (error: unknown) => console.error(error);
  const connection = openConnection(parseTarget(stores.REDIS_URL), report);
  try {
    await eventually('Redis answers', () => connection.isReachable());
    const actions = createRedisActions(connection, keys, report);
    const [revision, text] = [REVISION, actionsText()];
    await eachPart(count, (ids) =>
      actions.putActions(ids.map((id) => ({ appId, deviceId: id, revision, text }))),
    );
  } finally {
    connection.close();
  }
}

async function eachPart(count: number, work: (ids: string[]) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += DEVICES_PER_CALL) {
    const length = Math.min(DEVICES_PER_CALL, count - from);
    await work(Array.from({ length }, (_, index) => deviceId(from + index)));
  }
}

function actionsText(): string {
  const known = { version: NEWEST, hasTold: true, putAt: Date.now() };
  return packActions({ ...NO_ACTIONS, revision: REVISION, ...known });
}
