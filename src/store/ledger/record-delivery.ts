// Statement that adds a delivery to a webhook's list.

import type { Failure, LostRight } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { storableText } from '../../contract/text.ts';
import type { Actor } from '../ledger-terms.ts';
import type { NewDelivery } from '../webhook-ledger.ts';
import { atomically } from './atomically.ts';
import type { Database } from './database.ts';

/** Maximum length of a text that is kept of a delivery, in UTF-16 code units. */
const TEXT_LENGTH_MAX = 200;

/**
 * Statement that stores the delivery and deletes the app's oldest ones beyond the bound. Its deletion does
 * not see the row that it inserts, so it keeps one row less than the bound. Rows that another delivery is
 * just deleting are skipped.
 */
const STORE = `
  WITH stored AS (
    INSERT INTO webhook_deliveries (app_id, provider, event, action, guid, outcome, reason, version)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  )
  DELETE FROM webhook_deliveries WHERE id IN (
    SELECT id FROM webhook_deliveries WHERE app_id = $1 AND id <= (
      SELECT id FROM webhook_deliveries WHERE app_id = $1
      ORDER BY id DESC OFFSET ${LIMIT.webhookDeliveriesKeptMax - 1} LIMIT 1
    ) FOR UPDATE SKIP LOCKED
  )`;

/** Stores the delivery. Texts that came with it are cut, so that a stored delivery is bounded. */
export function recordDelivery(
  database: Database,
  delivery: NewDelivery,
  actor: Extract<Actor, { kind: 'integration' }>,
): Promise<Failure<LostRight> | undefined> {
  const { event, action, guid, outcome, reason, version } = delivery;
  const texts = [event, action, guid].map(cut);
  return atomically(database, actor, async (sql) => {
    await sql.query(STORE, [
      actor.appId,
      actor.provider,
      ...texts,
      outcome,
      cut(reason),
      cut(version),
    ]);
    return undefined;
  });
}

function cut(text: string | null): string | null {
  return text === null ? null : storableText(text.slice(0, TEXT_LENGTH_MAX));
}
