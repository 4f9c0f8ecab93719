// Statements that read the webhooks of all apps of an organization with their last deliveries.

import { LIMIT } from '../../contract/limit.ts';
import type { Webhook, WebhookDelivery } from '../../contract/resource.ts';
import type { AppWebhooks } from '../../ports/webhook-ledger.ts';
import type { Sql } from '../database.ts';
import { WEBHOOK_COLUMNS } from './column.ts';
import { DELIVERY_COLUMNS } from './read-webhooks.ts';

type OfApp<Row> = Row & { readonly appId: string };

/** Returns the apps that have a webhook which is on, by ref, with all their webhooks. */
export async function readEnabledWebhooks(
  sql: Sql,
  organizationId: string,
): Promise<readonly AppWebhooks[]> {
  const apps = await sql.query<{ id: string; ref: string; name: string }>(
    `SELECT id, ref, name FROM apps
     WHERE organization_id = $1
       AND EXISTS (SELECT FROM webhooks WHERE app_id = apps.id AND disabled_at IS NULL)
     ORDER BY ref LIMIT ${LIMIT.appsShownMax}`,
    [organizationId],
  );
  const ids = apps.map(({ id }) => id);
  const webhooks = await sql.query<OfApp<Webhook>>(
    `SELECT app_id AS "appId", ${WEBHOOK_COLUMNS} FROM webhooks
     WHERE app_id = ANY ($1::text[]) ORDER BY provider`,
    [ids],
  );
  const deliveries = await sql.query<OfApp<WebhookDelivery>>(
    `SELECT delivery.app_id AS "appId", ${DELIVERY_COLUMNS}
     FROM unnest($1::text[]) AS wanted (id)
     CROSS JOIN LATERAL (
       SELECT * FROM webhook_deliveries WHERE app_id = wanted.id
       ORDER BY webhook_deliveries.id DESC LIMIT ${LIMIT.webhookDeliveriesKeptMax}
     ) AS delivery ORDER BY delivery.id DESC`,
    [ids],
  );
  return apps.map((app) => ({
    ...app,
    webhooks: ofApp(webhooks, app.id),
    deliveries: ofApp(deliveries, app.id),
  }));
}

function ofApp<Row>(rows: readonly OfApp<Row>[], id: string): readonly Row[] {
  return rows.filter(({ appId }) => appId === id).map(({ appId: _, ...row }) => row as Row);
}
