// Statement that locks an app's webhooks for a change.

import { type Failure, fail } from '../../contract/failure.ts';
import type { Webhook } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import { WEBHOOK_COLUMNS } from './columns.ts';
import type { Sql } from './database.ts';

export type LockedWebhooks = {
  readonly organizationId: string;
  readonly appRef: string;
  readonly webhooks: readonly Webhook[];
};

/**
 * Locks the app's row until the transaction ends, because that row exists before the app's first webhook
 * does. Changes of the app's webhooks therefore run one after another. Other transactions can refer to the
 * app meanwhile, so publishing does not wait for the lock.
 */
export async function lockWebhooks(
  sql: Sql,
  appId: string,
): Promise<LockedWebhooks | Failure<'unknownApp'>> {
  if (!isStorable(appId)) return fail('unknownApp');
  const [app] = await sql.query<Omit<LockedWebhooks, 'webhooks'>>(
    `SELECT organization_id AS "organizationId", ref AS "appRef"
     FROM apps WHERE id = $1 FOR NO KEY UPDATE`,
    [appId],
  );
  if (app === undefined) return fail('unknownApp');
  // A separate statement, so that it sees what the previous holder of the lock has committed.
  const webhooks = await sql.query<Webhook>(
    `SELECT ${WEBHOOK_COLUMNS} FROM webhooks WHERE app_id = $1 ORDER BY provider`,
    [appId],
  );
  return { ...app, webhooks };
}
