// An app's webhook with its last deliveries, for who looks after it.

import { LIMIT } from '../../contract/limit.ts';
import type { Webhook, WebhookDelivery } from '../../contract/resource.ts';
import type { Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';
import { isoText } from './iso-text.ts';
import { WEBHOOK_COLUMNS } from './webhook-columns.ts';

/** Two reads: a delivery that comes between them is in the list. Newest first. */
export async function readWebhook(
  sql: Sql,
  appId: string,
): Promise<{ webhook: Webhook | undefined; deliveries: readonly WebhookDelivery[] }> {
  if (!isStorable(appId)) return { webhook: undefined, deliveries: [] };
  const [webhook] = await sql.query<Webhook>(
    `SELECT ${WEBHOOK_COLUMNS} FROM webhooks WHERE app_id = $1`,
    [appId],
  );
  const deliveries = await sql.query<WebhookDelivery>(
    `SELECT id::text, ${isoText('at')} AS at, event, action, guid, outcome, reason, version
     FROM webhook_deliveries AS delivery WHERE app_id = $1
     ORDER BY delivery.id DESC LIMIT ${LIMIT.webhookDeliveriesKeptMax}`,
    [appId],
  );
  return { webhook, deliveries };
}
