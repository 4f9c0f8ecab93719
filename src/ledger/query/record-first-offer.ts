// That a release is about to be offered for the first time.

import type { Database, Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';

/** What the release's row tells once nothing about it can change any more. */
type Standing = { readonly isPublished: boolean; readonly isOffered: boolean };

/**
 * One transaction: true when the channel is at `revision` and the release, published, is marked as
 * offered, and both are durable.
 *
 * Ordering: the shared lock on the channel's row conflicts with the lock under which serving is changed,
 * and not with other first offers. The revision stands in the locking statement itself: one that had to
 * wait for a change tests it again against the row that the change left, and finds nothing. Once the
 * lock is had, the revision cannot move until this commits. The release is read in a statement of its
 * own, after the lock: one statement for both would look at the release as it was before the wait.
 */
export function recordFirstOffer(
  database: Database,
  channelId: string,
  releaseId: string,
  revision: number,
): Promise<boolean> {
  if (!isStorable(channelId, releaseId)) return Promise.resolve(false);
  return database.transaction(async (sql) => {
    if (!(await holdRevision(sql, channelId, revision))) return false;
    const standing = await readStanding(sql, channelId, releaseId);
    if (standing === undefined || !standing.isPublished) return false;
    if (!standing.isOffered) await markOffered(sql, releaseId);
    return true;
  });
}

async function holdRevision(sql: Sql, channelId: string, revision: number): Promise<boolean> {
  const rows = await sql.query(
    'SELECT id FROM channels WHERE id = $1 AND revision = $2 FOR SHARE',
    [channelId, revision],
  );
  return rows.length > 0;
}

async function readStanding(
  sql: Sql,
  channelId: string,
  releaseId: string,
): Promise<Standing | undefined> {
  const rows = await sql.query<Standing>(
    `SELECT status = 'published' AS "isPublished", offered_at IS NOT NULL AS "isOffered"
     FROM releases WHERE id = $1 AND channel_id = $2`,
    [releaseId, channelId],
  );
  return rows[0];
}

/**
 * Of several first offers at once one writes. The others wait for it and then find the mark set, which is
 * as good: it is committed by then. Should it have been rolled back, the next one writes.
 */
async function markOffered(sql: Sql, releaseId: string): Promise<void> {
  await sql.query(
    'UPDATE releases SET offered_at = clock_timestamp() WHERE id = $1 AND offered_at IS NULL',
    [releaseId],
  );
}
