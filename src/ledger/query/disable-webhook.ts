// Transaction that turns an app's webhook off.

import { isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Webhook } from '../../contract/resource.ts';
import type { Actor } from '../../ports/actor.ts';
import { atomically } from '../atomically.ts';
import type { Database } from '../database.ts';
import { insertAudit } from './insert-audit.ts';
import { lockWebhook } from './lock-webhook.ts';

/**
 * Deletes the secret and writes the audit entry in one transaction. A webhook that is off already, or was
 * never on, stays as it is.
 */
export function disableWebhook(
  database: Database,
  appId: string,
  actor: Actor,
): Promise<Outcome<Webhook | undefined, 'unknownApp' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const held = await lockWebhook(sql, appId);
    if (isFailure(held)) return held;
    const { webhook, organizationId, appRef } = held;
    if (webhook === undefined || !webhook.enabled) return webhook;
    await sql.query(
      `UPDATE webhooks SET disabled_at = clock_timestamp(), sealed_secret = NULL WHERE app_id = $1`,
      [appId],
    );
    const { provider } = webhook;
    await insertAudit(sql, {
      organizationId,
      action: 'webhook.disable',
      subject: appRef,
      before: { provider, enabled: true },
      after: { provider, enabled: false },
    });
    return { ...webhook, enabled: false };
  });
}
