// Statement that finds the enabled webhook that a delivery is addressed to.

import { isStorable } from '../../contract/text.ts';
import type { WebhookProvider } from '../../contract/webhook-provider.ts';
import type { EnabledWebhook } from '../webhook-ledger.ts';
import type { Sql } from './database.ts';

/**
 * Finds the app by ref or id in any organization, because the sender of a delivery proves itself by its
 * signature. A ref wins over an id.
 */
export async function findEnabledWebhook(
  sql: Sql,
  app: string,
  provider: WebhookProvider,
): Promise<EnabledWebhook | undefined> {
  if (!isStorable(app)) return undefined;
  const rows = await sql.query<EnabledWebhook>(
    `SELECT app.id AS "appId", app.ref AS "appRef", app.organization_id AS "organizationId",
       webhooks.provider, webhooks.sealed_secret AS "sealedSecret",
       webhooks.enabled_at::text AS "enabledAt", webhooks.tag_prefix AS "tagPrefix",
       webhooks.hold, webhooks.expect
     FROM (
       SELECT id, ref, organization_id FROM apps
       WHERE ref = $1 OR id = $1 ORDER BY (ref = $1) DESC LIMIT 1
     ) AS app
     JOIN webhooks ON webhooks.app_id = app.id
     WHERE webhooks.provider = $2 AND webhooks.disabled_at IS NULL`,
    [app, provider],
  );
  return rows[0];
}
