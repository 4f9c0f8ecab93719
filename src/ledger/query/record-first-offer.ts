// Transaction that records that a release is about to be offered for the first time.

import { isStorable } from '../../contract/text.ts';
import type { Database, Sql } from '../database.ts';

/** State of a release, read while the lock on the channel keeps it from changing. */
type ReleaseState = { readonly isPublished: boolean; readonly isOffered: boolean };

/**
 * Returns true when the channel is at `revision` and the release is published and durably marked as offered.
 *
 * Order of the steps: the shared lock on the channel's row conflicts with the lock under which serving is
 * changed, but not with other first offers. The locking statement itself compares the revision: if it had to
 * wait for a change, the database compares again with the row that the change left, and finds none. Once the
 * lock is granted, the revision cannot move until this transaction commits. The release is read in a separate
 * statement after the lock: a single statement for both would read the release as it was before the wait.
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
    const release = await readRelease(sql, channelId, releaseId);
    if (release === undefined || !release.isPublished) return false;
    if (!release.isOffered) await markOffered(sql, releaseId);
    return true;
  });
}

/** Locks the channel against changes; false when it is not at the revision. */
async function holdRevision(sql: Sql, channelId: string, revision: number): Promise<boolean> {
  const rows = await sql.query(
    'SELECT id FROM channels WHERE id = $1 AND revision = $2 FOR SHARE',
    [channelId, revision],
  );
  return rows.length > 0;
}

async function readRelease(
  sql: Sql,
  channelId: string,
  releaseId: string,
): Promise<ReleaseState | undefined> {
  const rows = await sql.query<ReleaseState>(
    `SELECT status = 'published' AS "isPublished", offered_at IS NOT NULL AS "isOffered"
     FROM releases WHERE id = $1 AND channel_id = $2`,
    [releaseId, channelId],
  );
  return rows[0];
}

/**
 * Marks the release as offered. Of several first offers at once, one writes the mark; the others wait for it
 * and then find the mark set and committed, which serves them as well. If the writer rolls back, the next one
 * writes.
 */
async function markOffered(sql: Sql, releaseId: string): Promise<void> {
  await sql.query(
    'UPDATE releases SET offered_at = clock_timestamp() WHERE id = $1 AND offered_at IS NULL',
    [releaseId],
  );
}
