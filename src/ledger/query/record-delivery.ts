// One line in the list of what a webhook delivered.

import { LIMIT } from '../../contract/limit.ts';
import type { NewDelivery } from '../../ports/webhook-ledger.ts';
import type { Sql } from '../database.ts';
import { storableText } from './storable-text.ts';

const TEXT_LENGTH_MAX = 200;

/**
 * One statement: the delivery, and the end of those beyond the newest. It does not see its own row, so it
 * leaves one less of the others. What another delivery is about to remove is left to that one.
 */
const STORE = `
  WITH stored AS (
    INSERT INTO webhook_deliveries (app_id, event, action, guid, outcome, reason, version)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
  )
  DELETE FROM webhook_deliveries WHERE id IN (
    SELECT id FROM webhook_deliveries WHERE app_id = $1 AND id <= (
      SELECT id FROM webhook_deliveries WHERE app_id = $1
      ORDER BY id DESC OFFSET ${LIMIT.webhookDeliveriesKeptMax - 1} LIMIT 1
    ) FOR UPDATE SKIP LOCKED
  )`;

/** Texts that came with the delivery are cut: what is kept of it has a bound. */
export async function recordDelivery(
  sql: Sql,
  appId: string,
  delivery: NewDelivery,
): Promise<void> {
  const { event, action, guid, outcome, reason, version } = delivery;
  const texts = [event, action, guid].map(cut);
  await sql.query(STORE, [appId, ...texts, outcome, cut(reason), cut(version)]);
}

function cut(text: string | null): string | null {
  return text === null ? null : storableText(text.slice(0, TEXT_LENGTH_MAX));
}
