// Statement that notes what an idempotency key was used for. It runs in the publishing transaction, so that a
// key is used up exactly when its call has published.

import { type Failure, fail } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Release } from '../../contract/resource.ts';
import type { RepeatableCall } from '../repeatable-call.ts';
import type { Sql } from './database.ts';

/**
 * Notes what the key was used for. A call with the same key on another channel may run at the same time: the
 * second to store waits for the first, and is refused.
 */
export async function useIdempotencyKey(
  sql: Sql,
  call: RepeatableCall,
  release: Release,
): Promise<Failure<'idempotencyKeyUsed'> | undefined> {
  const rows = await sql.query(
    `INSERT INTO idempotency_keys AS used
       (api_key_id, key, request, release_id, status, rollout_pct)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (api_key_id, key) DO UPDATE SET
       request = excluded.request, release_id = excluded.release_id, status = excluded.status,
       rollout_pct = excluded.rollout_pct, used_at = excluded.used_at
     WHERE used.used_at <= clock_timestamp() - $7 * interval '1 millisecond'
     RETURNING 1 AS one`,
    [
      call.keyId,
      call.idempotencyKey,
      call.request,
      release.id,
      release.status,
      release.rolloutPct,
      LIMIT.idempotencyKeyLifetimeMs,
    ],
  );
  return rows.length === 0 ? fail('idempotencyKeyUsed') : undefined;
}
