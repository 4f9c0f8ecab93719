// Statement that finds a channel of an app by its name.

import { type Failure, fail } from '../../contract/failure.ts';
import type { Channel } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import { POLICY_COLUMNS } from './columns.ts';
import type { Sql } from './database.ts';

export type FoundChannel = Omit<Channel, 'app'> & { readonly id: string };

/** Reads the channel without a lock. */
export async function findChannel(
  sql: Sql,
  appId: string,
  name: string,
): Promise<FoundChannel | Failure<'unknownChannel'>> {
  if (!isStorable(name)) return fail('unknownChannel');
  const rows = await sql.query<FoundChannel>(
    `SELECT id, name, ${POLICY_COLUMNS} FROM channels
     WHERE app_id = $1 AND name = $2`,
    [appId, name],
  );
  return rows[0] ?? fail('unknownChannel');
}
