// The present revisions of channels: what a node polls to find what it missed.

import type { Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';

/** One consistent read; channels that do not exist are left out. */
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
