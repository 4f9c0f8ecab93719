// Statements that read an app's webhooks with their last deliveries, for the console.

import { LIMIT } from '../../contract/limit.ts';
import type { Webhook, WebhookDelivery } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import type { Sql } from '../database.ts';
import { columns, isoText, WEBHOOK_COLUMNS } from './column.ts';

/** Returns deliveries newest first. One that comes between the two reads is in the list already. */
export async function readWebhooks(
  sql: Sql,
  appId: string,
): Promise<{ webhooks: readonly Webhook[]; deliveries: readonly WebhookDelivery[] }> {
  if (!isStorable(appId)) return { webhooks: [], deliveries: [] };
  const webhooks = await sql.query<Webhook>(
    `SELECT ${WEBHOOK_COLUMNS} FROM webhooks WHERE app_id = $1 ORDER BY provider`,
    [appId],
  );
  const deliveries = await sql.query<WebhookDelivery>(
    `SELECT ${DELIVERY_COLUMNS} FROM webhook_deliveries AS delivery WHERE app_id = $1
     ORDER BY delivery.id DESC LIMIT ${LIMIT.webhookDeliveriesKeptMax}`,
    [appId],
  );
  return { webhooks, deliveries };
}

/** Columns of a delivery, for rows of `webhook_deliveries AS delivery`. */
export const DELIVERY_COLUMNS = columns<WebhookDelivery>({
  id: 'delivery.id::text',
  at: isoText('delivery.at'),
  provider: 'provider',
  event: 'event',
  action: 'action',
  guid: 'guid',
  outcome: 'outcome',
  reason: 'reason',
  version: 'version',
});
