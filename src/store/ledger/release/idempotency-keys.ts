// SQL of idempotency keys: a repeated call gets the answer of the first one, a release or an approval.

import { type Failure, fail } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { Release, ReleaseStatus } from '../../../contract/resource.ts';
import type { RepeatableCall } from '../../ledger-terms.ts';
import { readApproval } from '../change/approvals.ts';
import type { Repeats } from '../change/change.ts';
import type { Sql } from '../database/database.ts';
import { readRelease } from './release-reads.ts';

/** Repeated calls that publish a release. */
export const REPEATS: Repeats<Release> = {
  find: findRepeated,
  use: (sql, call, release) => useIdempotencyKey(sql, call, { release }),
  wait: (sql, call, approvalId) => useIdempotencyKey(sql, call, { approvalId }),
  name: nameReleaseOf,
};

/** What a call has made: a release, or a request that waits for an approval. */
type Made = { readonly release: Release } | { readonly approvalId: string };

/**
 * Stores what an idempotency key was used for, in the transaction of the call. Of two concurrent calls with
 * one key on different channels, the second waits for the first and is refused.
 */
async function useIdempotencyKey(
  sql: Sql,
  call: RepeatableCall,
  made: Made,
): Promise<Failure | undefined> {
  const release = 'release' in made ? made.release : undefined;
  const approvalId = 'approvalId' in made ? made.approvalId : null;
  const rows = await sql.query(
    `INSERT INTO idempotency_keys AS used
       (api_key_id, key, request, release_id, status, rollout_pct, approval_id)
     VALUES ($1, $2, $3, $4, $5, $6, $8)
     ON CONFLICT (api_key_id, key) DO UPDATE SET
       request = excluded.request, release_id = excluded.release_id, status = excluded.status,
       rollout_pct = excluded.rollout_pct, approval_id = excluded.approval_id,
       used_at = excluded.used_at
     WHERE used.used_at <= clock_timestamp() - $7 * interval '1 millisecond'
     RETURNING 1 AS one`,
    [
      ...[call.keyId, call.idempotencyKey, call.request],
      ...[release?.id ?? null, release?.status ?? null, release?.rolloutPct ?? null],
      ...[LIMIT.idempotencyKeyLifetimeMs, approvalId],
    ],
  );
  return rows.length === 0 ? fail('idempotencyKeyUsed') : undefined;
}

/** Stores the release of an approved request with its key: withdrawing the release then frees the key. */
async function nameReleaseOf(sql: Sql, approvalId: string, release: Release): Promise<void> {
  await sql.query(
    `UPDATE idempotency_keys SET release_id = $2, status = $3, rollout_pct = $4
     WHERE approval_id = $1`,
    [approvalId, release.id, release.status, release.rolloutPct],
  );
}

type UsedKey = { readonly request: string } & (
  | { readonly approvalId: string }
  | {
      readonly approvalId: null;
      readonly releaseId: string;
      readonly status: ReleaseStatus;
      readonly rolloutPct: number;
    }
);

/**
 * Returns the answer of the first call with this key; undefined if there was none. Call it under the
 * channel's lock, so that the second of two concurrent calls finds what the first has stored. A request for
 * an approval is answered with its present status.
 */
async function findRepeated(
  sql: Sql,
  call: RepeatableCall,
): Promise<Release | Failure | undefined> {
  const [used] = await sql.query<UsedKey>(
    `SELECT request, release_id AS "releaseId", status, rollout_pct AS "rolloutPct",
       approval_id AS "approvalId"
     FROM idempotency_keys
     WHERE api_key_id = $1 AND key = $2 AND used_at > clock_timestamp() - $3 * interval '1 millisecond'`,
    [call.keyId, call.idempotencyKey, LIMIT.idempotencyKeyLifetimeMs],
  );
  if (used === undefined) return undefined;
  if (used.request !== call.request) return fail('idempotencyKeyUsed');
  if (used.approvalId !== null) {
    const approval = await readApproval(sql, used.approvalId);
    return { ...fail('awaitsApproval'), approval, isRepeated: true };
  }
  const { releaseId, status, rolloutPct } = used;
  return { ...(await readRelease(sql, releaseId)), status, rolloutPct };
}

/** Deletes at most `rowsMax` expired keys; returns how many. */
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
