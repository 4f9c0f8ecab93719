// Statement that finds what a call with an idempotency key has published before.

import { type Failure, fail } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Release, ReleaseStatus } from '../../contract/resource.ts';
import type { RepeatableCall } from '../repeatable-call.ts';
import type { Sql } from './database.ts';
import { readRelease } from './read-release.ts';

type UsedKey = {
  readonly request: string;
  readonly releaseId: string;
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
};

/**
 * Returns the release as the first call with this key was answered; undefined when there was none. Call it
 * under the channel's lock: of two calls at once the second finds what the first has stored.
 */
export async function findRepeated(
  sql: Sql,
  call: RepeatableCall,
): Promise<Release | Failure<'idempotencyKeyUsed'> | undefined> {
  const [used] = await sql.query<UsedKey>(
    `SELECT request, release_id AS "releaseId", status, rollout_pct AS "rolloutPct"
     FROM idempotency_keys
     WHERE api_key_id = $1 AND key = $2 AND used_at > clock_timestamp() - $3 * interval '1 millisecond'`,
    [call.keyId, call.idempotencyKey, LIMIT.idempotencyKeyLifetimeMs],
  );
  if (used === undefined) return undefined;
  if (used.request !== call.request) return fail('idempotencyKeyUsed');
  const { releaseId, status, rolloutPct } = used;
  return { ...(await readRelease(sql, releaseId)), status, rolloutPct };
}
