// Transaction that writes marks of offered releases back, which a ledger that went back has lost.

import { isStorable } from '../../contract/text.ts';
import type { Database } from './database.ts';

/**
 * Marks the releases as offered, of the channel or the one that it follows, as far as the ledger has them and
 * without a mark; returns how many those were. Locks the channel first, as every change of what it serves
 * does: a change that follows sees the marks. The revision does not change, as with any first offer.
 */
export async function restoreOffers(
  database: Database,
  channelId: string,
  releaseIds: readonly string[],
): Promise<number> {
  const ids = releaseIds.filter((id) => isStorable(id));
  if (ids.length === 0 || !isStorable(channelId)) return 0;
  return database.transaction(async (sql) => {
    await sql.query('SELECT FROM channels WHERE id = $1 FOR UPDATE', [channelId]);
    const marked = await sql.query(
      `UPDATE releases SET offered_at = clock_timestamp()
       WHERE channel_id IN ($1, (SELECT follows FROM channels WHERE id = $1))
         AND id = ANY ($2::text[]) AND offered_at IS NULL RETURNING id`,
      [channelId, ids],
    );
    return marked.length;
  });
}
