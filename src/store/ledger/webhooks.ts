// Transaction that turns an app's webhook of a code host on, or gives it a new secret.

import { isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Webhook } from '../../contract/resource.ts';
import type { Actor } from '../ledger-terms.ts';
import type { SealedSecret, WebhookChange } from '../webhook-ledger.ts';
import { atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import { WEBHOOK_COLUMNS } from './columns.ts';
import type { Database } from './database.ts';
import { lockWebhooks } from './lock-webhooks.ts';
import { changeSettings, NO_SETTINGS, webhookState } from './webhook-state.ts';

const STORE = `
  INSERT INTO webhooks (app_id, provider, sealed_secret, tag_prefix, hold, expect)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (app_id, provider) DO UPDATE SET
    sealed_secret = excluded.sealed_secret, enabled_at = clock_timestamp(), disabled_at = NULL,
    tag_prefix = excluded.tag_prefix, hold = excluded.hold, expect = excluded.expect
  RETURNING ${WEBHOOK_COLUMNS}`;

/**
 * Stores the secret, the settings and an audit entry without the secret in one transaction. From then on
 * deliveries of this code host are verified with this secret only.
 */
export function enableWebhook(
  database: Database,
  appId: string,
  webhook: Pick<SealedSecret, 'provider' | 'sealedSecret'> & WebhookChange,
  actor: Actor,
): Promise<Outcome<Webhook, 'unknownApp' | 'invalid' | LostRight>> {
  return atomically<Webhook, 'unknownApp' | 'invalid'>(database, actor, async (sql) => {
    const held = await lockWebhooks(sql, appId);
    if (isFailure(held)) return held;
    const { provider, sealedSecret } = webhook;
    const before = held.webhooks.find((each) => each.provider === provider);
    const settings = changeSettings(before ?? NO_SETTINGS, webhook);
    if (isFailure(settings)) return settings;
    const { tagPrefix, hold, expect } = settings;
    const rows = await sql.query<Webhook>(STORE, [
      ...[appId, provider, sealedSecret, tagPrefix, hold],
      expect && JSON.stringify(expect),
    ]);
    if (rows[0] === undefined) throw new Error(`New webhook of ${appId} has no row`);
    await insertAudit(sql, {
      organizationId: held.organizationId,
      action: 'webhook.enable',
      subject: held.appRef,
      before: before === undefined ? null : webhookState(before),
      after: { ...webhookState(rows[0]), newSecret: true },
    });
    return rows[0];
  });
}
