// SQL of the messages to a destination: tests, the list of deliveries, and sending one again.

import type { DeliveryPage } from '../../../contract/console.ts';
import { type Failure, fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { MailRecipient, NotificationDelivery } from '../../../contract/notification.ts';
import { isStorable } from '../../../contract/text.ts';
import type { Actor } from '../../ledger-terms.ts';
import { type ActorSql, atomically } from '../change/atomically.ts';
import { columns, isoText } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { type LockedDestination, lockDestination } from './destinations.ts';

const DELIVERY_COLUMNS = columns<NotificationDelivery>({
  id: 'delivery.id',
  event: 'delivery.event_id',
  type: 'event.type',
  state: 'delivery.state',
  nextAt: `CASE WHEN delivery.state = 'waiting' THEN ${isoText('delivery.next_at')} END`,
  tries: 'delivery.tries',
});

const DELIVERIES = `notification_deliveries AS delivery
  JOIN notification_events AS event ON event.id = delivery.event_id`;

const IS_KEPT = `delivery.created_at
  > clock_timestamp() - make_interval(secs => ${LIMIT.deliveryKeptMs / 1000})`;

/**
 * Sends the event `test` to one destination, whatever events it asks for; returns the delivery. The last
 * statement of the transaction writes the event, so its delivery is read after the commit.
 */
export async function testDestination(
  database: Database,
  id: string,
  actor: Actor,
): Promise<Outcome<NotificationDelivery>> {
  const told = await atomically(database, actor, async (sql) => {
    const found = await findEnabled(sql, id);
    if (isFailure(found)) return found;
    const { organizationId, kind, name } = found;
    const facts = { destination: { id, kind, name } };
    sql.addEvents({ organizationId, only: id }, [{ type: 'test', facts }]);
    return true as const;
  });
  if (isFailure(told)) return told;
  const [delivery] = await database.query<NotificationDelivery>(
    `SELECT ${DELIVERY_COLUMNS} FROM ${DELIVERIES}
     WHERE delivery.destination_id = $1 AND event.type = 'test' ORDER BY delivery.seq DESC LIMIT 1`,
    [id],
  );
  // None: the destination was removed meanwhile.
  return delivery ?? fail('unknownDestination');
}

/** Reasons why a test would reach nobody, by the state of the recipient. */
const UNREACHED: Readonly<Partial<Record<MailRecipient, string>>> = {
  waiting: 'Its recipient has not confirmed the link yet',
  expired: 'Its recipient has not confirmed the link, which is over: send another one',
  declined: 'Its recipient does not want these mails',
  stranger: 'Its recipient is no longer a member',
};

async function findEnabled(sql: ActorSql, id: string): Promise<LockedDestination | Failure> {
  const found = await lockDestination(sql, id);
  if (isFailure(found)) return found;
  if (!found.enabled) return fail('destinationOff');
  const words = found.recipient === null ? undefined : UNREACHED[found.recipient];
  return words === undefined ? found : fail('destinationOff', words);
}

/** Cursor of a page: `seq` of its last delivery. */
const CURSOR = /^\d{1,18}$/;

/** Lists the deliveries of the last seven days, newest first. A malformed cursor gives the first page. */
export async function listDeliveries(
  sql: Sql,
  id: string,
  before: string | undefined,
  limit: number,
): Promise<DeliveryPage> {
  if (!isStorable(id)) return { deliveries: [], next: null };
  const rows = await sql.query<NotificationDelivery & { readonly seq: string }>(
    `SELECT delivery.seq::text AS seq, ${DELIVERY_COLUMNS} FROM ${DELIVERIES}
     WHERE delivery.destination_id = $1 AND ($2::bigint IS NULL OR delivery.seq < $2) AND ${IS_KEPT}
     ORDER BY delivery.seq DESC LIMIT $3`,
    [id, CURSOR.exec(before ?? '')?.[0] ?? null, limit + 1],
  );
  const page = rows.slice(0, limit);
  const next = rows.length > limit ? (page.at(-1)?.seq ?? null) : null;
  return { deliveries: page.map(({ seq: _, ...delivery }) => delivery), next };
}

/** Sends a message of the last seven days again, at once. */
export function sendAgain(
  database: Database,
  id: string,
  deliveryId: string,
  actor: Actor,
): Promise<Outcome<NotificationDelivery>> {
  return atomically(database, actor, async (sql) => {
    const found = await findEnabled(sql, id);
    if (isFailure(found)) return found;
    if (!isStorable(deliveryId)) return fail('unknownDelivery');
    const rows = await sql.query<NotificationDelivery>(
      `UPDATE notification_deliveries AS delivery SET state = 'waiting',
         is_apart = true, next_at = clock_timestamp(), first_failed_at = NULL, try_count = 0
       FROM notification_events AS event
       WHERE delivery.id = $2 AND delivery.destination_id = $1 AND event.id = delivery.event_id
         AND ${IS_KEPT}
       RETURNING ${DELIVERY_COLUMNS}`,
      [id, deliveryId],
    );
    return rows[0] ?? fail('unknownDelivery');
  });
}
