// SQL of ids that many devices share by mistake: how often each app's requests had which kind.

import { LIMIT } from '../../../contract/limit.ts';
import type { MistakenId } from '../../../contract/ref.ts';
import type { MistakenIdCount } from '../../fleet-ledger.ts';
import { isoText } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';

/** Condition for rows of `mistaken_ids` that are still reported: the kind occurred lately. */
export const IS_TOLD = `last_at > clock_timestamp() - interval '${LIMIT.mistakenIdToldMs} milliseconds'`;

/**
 * Adds to the counts of mistaken ids in one statement, which locks rows in the same order on every node. A
 * count begins anew after a week in which it did not rise; counts of unknown apps are dropped.
 */
export async function recordMistakenIds(
  sql: Sql,
  counts: readonly MistakenIdCount[],
): Promise<void> {
  await sql.query(
    `INSERT INTO mistaken_ids AS known (app_id, kind, requests, first_at, last_at)
     SELECT app_id, kind, requests, clock_timestamp(), clock_timestamp()
     FROM unnest($1::text[], $2::text[], $3::bigint[]) AS counted (app_id, kind, requests)
     JOIN apps ON apps.id = app_id
     ORDER BY app_id, kind
     ON CONFLICT (app_id, kind) DO UPDATE SET
       requests = CASE WHEN known.${IS_TOLD} THEN known.requests ELSE 0 END + excluded.requests,
       first_at = CASE WHEN known.${IS_TOLD} THEN known.first_at ELSE excluded.first_at END,
       last_at = excluded.last_at`,
    [
      counts.map(({ appId }) => appId),
      counts.map(({ kind }) => kind),
      counts.map(({ count }) => count),
    ],
  );
}

/** Kind of mistaken id that an app's devices send. */
type ToldMistake = {
  readonly app: string;
  readonly kind: MistakenId;
  readonly requests: number;
  /** RFC 3339. */
  readonly since: string;
};

/** Lists at most `limit` kinds of mistaken ids of apps in use, the most frequent first. */
export function listMistakenIds(sql: Sql, limit: number): Promise<readonly ToldMistake[]> {
  return sql.query<ToldMistake>(
    `SELECT apps.ref AS app, kind, requests::float8 AS requests, ${isoText('first_at')} AS since
     FROM mistaken_ids JOIN apps ON apps.id = app_id
     WHERE apps.archived_at IS NULL AND ${IS_TOLD}
     ORDER BY requests DESC, app, kind LIMIT $1`,
    [limit],
  );
}
