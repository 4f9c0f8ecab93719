// Statement that forgets idempotency keys that are over.

import { LIMIT } from '../../contract/limit.ts';
import type { Sql } from './database.ts';

/** Deletes at most `rowsMax` keys that are over; returns how many it deleted. */
export async function forgetIdempotencyKeys(sql: Sql, rowsMax: number): Promise<number> {
  const rows = await sql.query(
    `DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY (
       SELECT ctid FROM idempotency_keys WHERE used_at <= clock_timestamp() - $2 * interval '1 millisecond'
       ORDER BY used_at LIMIT $1
     )) RETURNING 1 AS one`,
    [rowsMax, LIMIT.idempotencyKeyLifetimeMs],
  );
  return rows.length;
}
