// Transaction that turns an app's webhook on, or gives it a new secret.

import { isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Webhook } from '../../contract/resource.ts';
import type { Actor } from '../../ports/actor.ts';
import { atomically } from '../atomically.ts';
import type { Database } from '../database.ts';
import { WEBHOOK_COLUMNS } from './column.ts';
import { insertAudit } from './insert-audit.ts';
import { lockWebhook } from './lock-webhook.ts';

const STORE = `
  INSERT INTO webhooks (app_id, provider, sealed_secret) VALUES ($1, $2, $3)
  ON CONFLICT (app_id, provider) DO UPDATE SET
    sealed_secret = excluded.sealed_secret, enabled_at = clock_timestamp(), disabled_at = NULL
  RETURNING ${WEBHOOK_COLUMNS}`;

/**
 * Stores the secret and an audit entry without it in one transaction. From then on deliveries are verified
 * with this secret only.
 */
export function enableWebhook(
  database: Database,
  appId: string,
  { provider, sealedSecret }: Pick<Webhook, 'provider'> & { readonly sealedSecret: string },
  actor: Actor,
): Promise<Outcome<Webhook, 'unknownApp' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const held = await lockWebhook(sql, appId);
    if (isFailure(held)) return held;
    const rows = await sql.query<Webhook>(STORE, [appId, provider, sealedSecret]);
    if (rows[0] === undefined) throw new Error(`New webhook of ${appId} has no row`);
    const { webhook: before, organizationId, appRef } = held;
    await insertAudit(sql, {
      organizationId,
      action: 'webhook.enable',
      subject: appRef,
      before: before === undefined ? null : { provider: before.provider, enabled: before.enabled },
      after: { provider, enabled: true, newSecret: true },
    });
    return rows[0];
  });
}
