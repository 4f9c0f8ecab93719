// An app's webhook, held still while it is changed.

import { type Failure, fail } from '../../contract/failure.ts';
import type { Webhook } from '../../contract/resource.ts';
import type { Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';
import { WEBHOOK_COLUMNS } from './webhook-columns.ts';

export type LockedWebhook = {
  readonly organizationId: string;
  readonly appRef: string;
  readonly webhook: Webhook | undefined;
};

/**
 * Changes of one app's webhook take turns by the app's row, which is there before the first webhook is. The
 * lock lets references to the app pass: publishing does not wait for it.
 */
export async function lockWebhook(sql: Sql, appId: string): Promise<LockedWebhook | Failure> {
  if (!isStorable(appId)) return fail('unknownApp');
  const [app] = await sql.query<Omit<LockedWebhook, 'webhook'>>(
    `SELECT organization_id AS "organizationId", ref AS "appRef"
     FROM apps WHERE id = $1 FOR NO KEY UPDATE`,
    [appId],
  );
  if (app === undefined) return fail('unknownApp');
  // A statement of its own, so that it sees what the lock's last holder has committed.
  const [webhook] = await sql.query<Webhook>(
    `SELECT ${WEBHOOK_COLUMNS} FROM webhooks WHERE app_id = $1`,
    [appId],
  );
  return { ...app, webhook };
}
