// Statement that refuses to add anything to an app that is archived.

import { type Failure, fail } from '../../contract/failure.ts';
import type { Sql } from '../database.ts';

/**
 * Refuses an archived app. The row stays locked until the transaction ends, so that an app which is archived
 * meanwhile waits for it, and gets nothing after that.
 */
export async function refuseArchived(
  sql: Sql,
  appId: string,
): Promise<Failure<'appArchived'> | undefined> {
  const rows = await sql.query<{ isArchived: boolean }>(
    'SELECT archived_at IS NOT NULL AS "isArchived" FROM apps WHERE id = $1 FOR SHARE',
    [appId],
  );
  return rows[0]?.isArchived === true ? fail('appArchived') : undefined;
}
