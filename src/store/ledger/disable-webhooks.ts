// Transaction that turns webhooks of an app off.

import { isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Webhook } from '../../contract/resource.ts';
import type { WebhookProvider } from '../../contract/webhook-provider.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import type { Database } from './database.ts';
import { lockWebhooks } from './lock-webhooks.ts';
import { webhookState } from './webhook-state.ts';

/**
 * Deletes the secrets and writes an audit entry for each webhook in one transaction: of one code host, or of
 * all. A webhook that is off already, or was never on, stays as it is. Returns all webhooks of the app.
 */
export function disableWebhooks(
  database: Database,
  appId: string,
  provider: WebhookProvider | undefined,
  actor: Actor,
): Promise<Outcome<readonly Webhook[], 'unknownApp' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const held = await lockWebhooks(sql, appId);
    if (isFailure(held)) return held;
    const { webhooks, organizationId, appRef } = held;
    const isMeant = (webhook: Webhook) =>
      webhook.enabled && (provider === undefined || webhook.provider === provider);
    for (const webhook of webhooks.filter(isMeant)) {
      await sql.query(
        `UPDATE webhooks SET disabled_at = clock_timestamp(), sealed_secret = NULL
         WHERE app_id = $1 AND provider = $2`,
        [appId, webhook.provider],
      );
      await insertAudit(sql, {
        organizationId,
        action: 'webhook.disable',
        subject: appRef,
        before: webhookState(webhook),
        after: webhookState({ ...webhook, enabled: false }),
      });
    }
    return webhooks.map((webhook) => (isMeant(webhook) ? { ...webhook, enabled: false } : webhook));
  });
}
