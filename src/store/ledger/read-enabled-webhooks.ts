// Statement that reads the webhooks of all apps of an organization with their last deliveries.

import { LIMIT } from '../../contract/limit.ts';
import type { AppWebhooks } from '../webhook-ledger.ts';
import type { Sql } from './database.ts';
import { readWebhooksOf } from './read-webhooks.ts';

/** Returns the apps that have a webhook which is on, by ref, with all their webhooks. */
export async function readEnabledWebhooks(
  sql: Sql,
  organizationId: string,
): Promise<readonly AppWebhooks[]> {
  const apps = await sql.query<Pick<AppWebhooks, 'id' | 'ref' | 'name'>>(
    `SELECT id, ref, name FROM apps
     WHERE organization_id = $1
       AND EXISTS (SELECT FROM webhooks WHERE app_id = apps.id AND disabled_at IS NULL)
     ORDER BY ref LIMIT ${LIMIT.appsShownMax}`,
    [organizationId],
  );
  const read = await readWebhooksOf(
    sql,
    apps.map(({ id }) => id),
  );
  return apps.map((app, index) => ({ ...app, webhooks: [], deliveries: [], ...read[index] }));
}
