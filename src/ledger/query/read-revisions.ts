// Statement that reads the present revisions of channels, which nodes poll to find changes that they missed.

import { isStorable } from '../../contract/text.ts';
import type { Sql } from '../database.ts';

/** Returns revisions by channel id in one consistent read. Channels that do not exist are left out. */
export async function readRevisions(
  sql: Sql,
  channelIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const ids = channelIds.filter((id) => isStorable(id));
  if (ids.length === 0) return new Map();
  const rows = await sql.query<{ id: string; revision: number }>(
    'SELECT id, revision FROM channels WHERE id = ANY ($1::text[])',
    [ids],
  );
  return new Map(rows.map(({ id, revision }) => [id, revision]));
}
