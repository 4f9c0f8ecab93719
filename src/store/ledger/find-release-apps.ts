// Statement that finds the apps that releases are of.

import { isStorable } from '../../contract/text.ts';
import type { Sql } from './database.ts';

type Row = { readonly id: string; readonly appId: string };

/** Returns the id of the app of each of these releases, by their ids, without those that there are not. */
export async function findReleaseApps(
  sql: Sql,
  releaseIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const ids = releaseIds.filter((id) => isStorable(id));
  const rows = await sql.query<Row>(
    `SELECT releases.id, channels.app_id AS "appId"
     FROM releases JOIN channels ON channels.id = releases.channel_id
     WHERE releases.id = ANY ($1::text[])`,
    [ids],
  );
  return new Map(rows.map(({ id, appId }) => [id, appId]));
}
