// Call that records that a release is about to be offered for the first time.

import { isStorable } from '../../contract/text.ts';
import type { ServingOrder } from '../../domain/decision/serving-snapshot.ts';
import type { Database } from './database.ts';

/**
 * Returns true when the channel is at `order` and the release is published and durably marked as offered.
 * A function in the database does all of it in one transaction of its own (migration 000005 says how it is
 * ordered against changes), so that one round trip is enough and a node that stalls meanwhile keeps no lock.
 */
export async function recordFirstOffer(
  database: Database,
  channelId: string,
  releaseId: string,
  { epoch, revision }: ServingOrder,
): Promise<boolean> {
  if (!isStorable(channelId, releaseId)) return false;
  const rows = await database.query<{ isRecorded: boolean }>(
    'SELECT record_first_offer($1, $2, $3, $4) AS "isRecorded"',
    [channelId, releaseId, epoch, revision],
  );
  return rows[0]?.isRecorded === true;
}
