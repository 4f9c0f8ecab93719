// Statements that read an app's webhooks with their last deliveries, for the console.

import { LIMIT } from '../../contract/limit.ts';
import type { Webhook, WebhookDelivery } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import { columns, isoText, WEBHOOK_COLUMNS } from './columns.ts';
import type { Sql } from './database.ts';

type Read = {
  readonly webhooks: readonly Webhook[];
  readonly deliveries: readonly WebhookDelivery[];
};

/** Returns deliveries newest first. One that comes between the two reads is in the list already. */
export async function readWebhooks(sql: Sql, appId: string): Promise<Read> {
  if (!isStorable(appId)) return { webhooks: [], deliveries: [] };
  const [read = { webhooks: [], deliveries: [] }] = await readWebhooksOf(sql, [appId]);
  return read;
}

/** Returns the same for each of these apps, in their order. */
export async function readWebhooksOf(
  sql: Sql,
  appIds: readonly string[],
): Promise<readonly Read[]> {
  const webhooks = await sql.query<OfApp<Webhook>>(
    `SELECT app_id AS "appId", ${WEBHOOK_COLUMNS} FROM webhooks
     WHERE app_id = ANY ($1::text[]) ORDER BY provider`,
    [appIds],
  );
  const deliveries = await sql.query<OfApp<WebhookDelivery>>(
    `SELECT delivery.app_id AS "appId", ${DELIVERY_COLUMNS}
     FROM unnest($1::text[]) AS wanted (id)
     CROSS JOIN LATERAL (
       SELECT * FROM webhook_deliveries WHERE app_id = wanted.id
       ORDER BY webhook_deliveries.id DESC LIMIT ${LIMIT.webhookDeliveriesKeptMax}
     ) AS delivery ORDER BY delivery.id DESC`,
    [appIds],
  );
  const [webhooksOf, deliveriesOf] = [byApp(webhooks), byApp(deliveries)];
  return appIds.map((id) => ({
    webhooks: webhooksOf.get(id) ?? [],
    deliveries: deliveriesOf.get(id) ?? [],
  }));
}

type OfApp<Row> = Row & { readonly appId: string };

function byApp<Row>(rows: readonly OfApp<Row>[]): ReadonlyMap<string, readonly Row[]> {
  const sorted = new Map<string, Row[]>();
  for (const { appId, ...row } of rows) {
    const own = sorted.get(appId);
    if (own === undefined) sorted.set(appId, [row as Row]);
    else own.push(row as Row);
  }
  return sorted;
}

/** Columns of a delivery, for rows of `webhook_deliveries AS delivery`. */
const DELIVERY_COLUMNS = columns<WebhookDelivery>({
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
