// Statement that reads back a release that the transaction has just written.

import type { Release } from '../../contract/resource.ts';
import { RELEASE_JSON } from './columns.ts';
import type { Sql } from './database.ts';

/** Returns the release as every later read does. */
export async function readRelease(sql: Sql, id: string): Promise<Release> {
  const rows = await sql.query<{ release: Release }>(
    `SELECT ${RELEASE_JSON} AS release
     FROM releases
     JOIN channels ON channels.id = releases.channel_id
     JOIN apps ON apps.id = channels.app_id
     WHERE releases.id = $1`,
    [id],
  );
  if (rows[0] === undefined) throw new Error(`Written release ${id} has no row`);
  return rows[0].release;
}
