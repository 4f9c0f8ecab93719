// Statement that reads the ledger's epoch and the present revisions of channels, which nodes poll to find
// changes that they missed.

import { isStorable } from '../../contract/text.ts';
import type { PresentRevisions } from '../ledger.ts';
import type { Sql } from './database.ts';

type Row = { readonly epoch: number; readonly revisions: Readonly<Record<string, number>> };

/** Returns the epoch and the revisions by channel id. Channels that do not exist are left out. */
export async function readRevisions(
  sql: Sql,
  channelIds: readonly string[],
): Promise<PresentRevisions> {
  const ids = channelIds.filter((id) => isStorable(id));
  const rows = await sql.query<Row>(
    `SELECT present_epoch() AS epoch, (
       SELECT coalesce(json_object_agg(id, revision), '{}') FROM channels WHERE id = ANY ($1::text[])
     ) AS revisions`,
    [ids],
  );
  const row = rows[0];
  if (row === undefined) throw new Error('The epoch of the ledger has no row');
  return { epoch: row.epoch, revisions: new Map(Object.entries(row.revisions)) };
}
