// A channel of an app by its name.

import { type Failure, fail } from '../../contract/failure.ts';
import type { Channel } from '../../contract/resource.ts';
import type { Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';

export type FoundChannel = Omit<Channel, 'app'> & { readonly id: string };

/** One read, no lock. */
export async function findChannel(
  sql: Sql,
  appId: string,
  name: string,
): Promise<FoundChannel | Failure> {
  if (!isStorable(name)) return fail('unknownChannel');
  const rows = await sql.query<FoundChannel>(
    `SELECT id, name, minimum_supported_version AS "minimumSupportedVersion",
       default_rollout AS "defaultRollout", update_mode AS "updateMode"
     FROM channels WHERE app_id = $1 AND name = $2`,
    [appId, name],
  );
  return rows[0] ?? fail('unknownChannel');
}
