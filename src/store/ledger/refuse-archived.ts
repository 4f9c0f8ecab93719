// Statement that refuses to add anything to an app that is archived.

import { type Failure, fail } from '../../contract/failure.ts';
import type { Sql } from './database.ts';

/**
 * Refuses an archived app. Holds the app together with others until the transaction ends, as the lock of a
 * channel does: who archives the app meanwhile waits for it, and the app gets nothing after that. The lock
 * is the weakest there is, so that a change of the app's webhooks keeps no release waiting.
 */
export async function refuseArchived(
  sql: Sql,
  appId: string,
): Promise<Failure<'appArchived'> | undefined> {
  const rows = await sql.query<{ isArchived: boolean }>(
    'SELECT archived_at IS NOT NULL AS "isArchived" FROM apps WHERE id = $1 FOR KEY SHARE',
    [appId],
  );
  return rows[0]?.isArchived === true ? fail('appArchived') : undefined;
}
