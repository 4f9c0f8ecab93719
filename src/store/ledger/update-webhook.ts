// Transaction that changes the settings of a webhook, not its secret.

import { fail, isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Webhook } from '../../contract/resource.ts';
import type { Actor } from '../ledger-terms.ts';
import type { WebhookChange, WebhookName } from '../webhook-ledger.ts';
import { atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import type { Database } from './database.ts';
import { lockWebhooks } from './lock-webhooks.ts';
import { changeSettings, webhookState } from './webhook-state.ts';

type Refusal = 'unknownApp' | 'unknownWebhook' | 'invalid';

/**
 * Stores the settings and an audit entry in one transaction. Deliveries that come after it follow them; the
 * time at which the webhook got its secret stays, so that those on their way still count. A change that
 * leaves everything as it is writes nothing.
 */
export function updateWebhook(
  database: Database,
  { appId, provider }: WebhookName,
  change: WebhookChange,
  actor: Actor,
): Promise<Outcome<Webhook, Refusal | LostRight>> {
  return atomically<Webhook, Refusal>(database, actor, async (sql) => {
    const held = await lockWebhooks(sql, appId);
    if (isFailure(held)) return held;
    const before = held.webhooks.find((each) => each.provider === provider && each.enabled);
    if (before === undefined) return fail('unknownWebhook');
    const settings = changeSettings(before, change);
    if (isFailure(settings)) return settings;
    const after = { ...before, ...settings };
    if (JSON.stringify(after) === JSON.stringify(before)) return before;
    const { tagPrefix, hold, expect } = settings;
    await sql.query(
      `UPDATE webhooks SET tag_prefix = $3, hold = $4, expect = $5
       WHERE app_id = $1 AND provider = $2`,
      [appId, provider, tagPrefix, hold, expect && JSON.stringify(expect)],
    );
    await insertAudit(sql, {
      organizationId: held.organizationId,
      action: 'webhook.update',
      subject: held.appRef,
      before: webhookState(before),
      after: webhookState(after),
    });
    return after;
  });
}
