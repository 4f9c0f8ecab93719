// SQL of sending notifications: leases of destinations, the next message of each, and the outcome of tries;
// and mails to people.

import { LIMIT } from '../../../contract/limit.ts';
import type { DeliveryTry, NotificationEvent } from '../../../contract/notification.ts';
import { storableText } from '../../../contract/text.ts';
import type {
  DueDelivery,
  DueMail,
  LeasedDestination,
  NewMail,
  Places,
  TriedState,
  WaitingMessages,
} from '../../delivery-ledger.ts';
import type { ActorSql } from '../change/atomically.ts';
import { columns, HAS_RECIPIENT, isoText } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';

/** Time after its first failure from which a delivery no longer holds up later ones. */
const HELD_UP = "interval '10 minutes'";
const KEPT = `${LIMIT.deliveryKeptMs / 1000} * interval '1 second'`;
/** Milliseconds above which the duration of the last tries (`pace_ms`) makes a destination slow. */
const SLOW_MS = 2000;
/** Maximum milliseconds that count of a try: a node that was suspended measures its own pause. */
const PACE_MS_MAX = 10_000;
/** Number of tries of a delivery that are kept. */
const TRIES_MAX = 20;

/**
 * Condition of a waiting delivery that holds up no other: a test, one sent again, or one that has failed for
 * long. Its first part is that of an index, which has few rows: an absent receiver fails one by one.
 */
const IS_APART = `(is_apart OR first_failed_at IS NOT NULL)
  AND (is_apart OR first_failed_at <= clock_timestamp() - ${HELD_UP})`;

/** Next due delivery of `destination`: the first in order, or an earlier one that holds up no other. */
const NEXT = `(
  SELECT * FROM (
    (SELECT * FROM notification_deliveries
     WHERE destination_id = destination.id AND state = 'waiting' AND NOT is_apart
       AND (first_failed_at IS NULL OR first_failed_at > clock_timestamp() - ${HELD_UP})
     ORDER BY seq LIMIT 1)
    UNION ALL
    (SELECT * FROM notification_deliveries
     WHERE destination_id = destination.id AND state = 'waiting' AND ${IS_APART}
       AND next_at <= clock_timestamp()
     ORDER BY seq LIMIT 1)
  ) AS candidate
  WHERE next_at <= clock_timestamp() ORDER BY seq LIMIT 1
)`;

/**
 * Condition of a destination that gets the places of slow ones. A slow try counts at once and a prompt one by
 * half, so that a receiver that is slow at every other try stays slow. A new destination is prompt.
 */
const IS_SLOW = `(failing_since IS NOT NULL OR pace_ms > ${SLOW_MS})`;

const IS_FREE = '(leased_until IS NULL OR leased_until <= clock_timestamp())';

/**
 * Leases destinations that have a due message to `holder`, as far as its free places go. An organization
 * takes a place only while more of that kind are free than it holds: one that could fill all gets half of
 * them, n such get one of n + 1 parts each, and the rest stays free for an organization that comes later. The
 * organization with the fewest places comes first, then the one that was served least recently.
 *
 * One statement leases them, and skips destinations that another node leases at the same moment. Under the
 * lease, `nextDelivery` checks whether a message is still due.
 *
 * A destination's `place` is the number of places of its organization with this one, its `turn` the number of
 * taken places with this one. Before it, the organization holds `place - 1`, and `free - turn + 1` are free,
 * which must be more than it holds. Both only rise, so after one that does not fit, none fits.
 */
export function leaseDestinations(
  sql: Sql,
  holder: string,
  { held, promptFree, slowFree }: Places,
  leaseMs: number,
): Promise<readonly LeasedDestination[]> {
  return sql.query<LeasedDestination>(
    `WITH held AS (
       SELECT organization_id, is_slow, count(*) AS places
       FROM unnest($5::text[], $6::boolean[]) AS held (organization_id, is_slow) GROUP BY 1, 2
     ), due AS MATERIALIZED (
       SELECT id, organization_id, ${IS_SLOW} AS is_slow, leased_until
       FROM notification_destinations AS destination
       WHERE is_enabled AND ${IS_FREE} AND ${HAS_RECIPIENT} AND EXISTS ${NEXT}
     ), served AS (
       SELECT organization_id, max(leased_until) AS served_at FROM notification_destinations
       WHERE organization_id IN (SELECT organization_id FROM due) GROUP BY 1
     ), placed AS (
       SELECT id, is_slow, served_at, coalesce(places, 0) + row_number() OVER (
         PARTITION BY organization_id, is_slow ORDER BY leased_until NULLS FIRST, id
       ) AS place
       FROM due JOIN served USING (organization_id) LEFT JOIN held USING (organization_id, is_slow)
     ), turns AS (
       SELECT id, is_slow, place, row_number() OVER (
         PARTITION BY is_slow ORDER BY place, served_at NULLS FIRST, id
       ) AS turn
       FROM placed
     ), free AS MATERIALIZED (
       SELECT id FROM notification_destinations
       WHERE is_enabled AND ${IS_FREE} AND id IN (
         SELECT id FROM turns
         WHERE place + turn <= CASE WHEN is_slow THEN $4::int ELSE $3::int END + 1
       )
       FOR NO KEY UPDATE SKIP LOCKED
     )
     UPDATE notification_destinations AS destination
     SET leased_until = clock_timestamp() + $2 * interval '1 millisecond', lease_holder = $1
     FROM free WHERE destination.id = free.id
     RETURNING destination.id, organization_id AS "organizationId", ${IS_SLOW} AS "isSlow"`,
    [
      ...[holder, leaseMs, promptFree, slowFree],
      held.map(({ organizationId }) => organizationId),
      held.map(({ isSlow }) => isSlow),
    ],
  );
}

type DueRow = Omit<DueDelivery, 'event'> & {
  readonly eventId: string;
  readonly type: NotificationEvent['type'];
  readonly timestamp: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly data: object;
};

const DUE_COLUMNS = columns<DueRow>({
  id: 'next.id',
  destinationId: 'destination.id',
  kind: 'destination.kind',
  url: 'destination.url',
  to: 'destination.mail_to',
  isConfirmed: 'coalesce(destination.confirmed_to = destination.mail_to, false)',
  sealed: 'destination.secret_sealed',
  former: `CASE WHEN destination.former_secret_until > clock_timestamp()
    THEN destination.former_secret_sealed END`,
  failures: 'next.try_count',
  failingMs: '(extract(epoch FROM clock_timestamp() - destination.failing_since) * 1000)::float8',
  eventId: 'event.id',
  type: 'event.type',
  timestamp: isoText('event.at'),
  organizationId: 'event.organization_id',
  organizationName: 'coalesce(event.organization_name, fixed.organization_name)',
  data: 'event.data',
  consoleUrl: 'coalesce(event.console_url, fixed.console_url)',
});

/**
 * Renews the lease of a destination and returns its next due message; undefined without one, or when another
 * node has the lease. Messages come in the order of their events; one that has failed for ten minutes, a
 * test, and one that is sent again hold up no other.
 *
 * The first call for an event fixes what may change later: the organization's name, and `consoleUrl`, the
 * caller's base URL of the console. One statement does it all. It writes both if it read an event without
 * them; if another node is writing them, the update waits for that node and keeps its values.
 */
export async function nextDelivery(
  sql: Sql,
  id: string,
  holder: string,
  { leaseMs, consoleUrl }: { readonly leaseMs: number; readonly consoleUrl: string },
): Promise<DueDelivery | undefined> {
  const [row] = await sql.query<DueRow>(
    `WITH destination AS (
       UPDATE notification_destinations AS destination
       SET leased_until = clock_timestamp() + $3 * interval '1 millisecond'
       WHERE id = $1 AND lease_holder = $2 AND is_enabled AND ${HAS_RECIPIENT} RETURNING *
     ), next AS MATERIALIZED (
       SELECT next.* FROM destination CROSS JOIN LATERAL ${NEXT} AS next
     ), fixed AS (
       UPDATE notification_events AS event
       SET console_url = coalesce(event.console_url, $4),
         organization_name = coalesce(event.organization_name, organization.name)
       FROM next JOIN notification_events AS seen ON seen.id = next.event_id
       JOIN organizations AS organization ON organization.id = seen.organization_id
       WHERE event.id = seen.id AND seen.console_url IS NULL
       RETURNING event.console_url, event.organization_name
     )
     SELECT ${DUE_COLUMNS}
     FROM destination CROSS JOIN next
     JOIN notification_events AS event ON event.id = next.event_id
     LEFT JOIN fixed ON true
     -- Not of an event that was deleted meanwhile.
     WHERE coalesce(event.console_url, fixed.console_url) IS NOT NULL`,
    [id, holder, leaseMs, consoleUrl],
  );
  if (row === undefined) return undefined;
  const { eventId, type, timestamp, organizationId, organizationName, data, ...due } = row;
  const organization = { id: organizationId, name: organizationName };
  // The outbox wrote the data in the shape of this type.
  const event = { id: eventId, type, timestamp, data: { organization, ...data } };
  return { ...due, event: event as NotificationEvent };
}

/** Releases a leased destination: ends the lease now, which is the time at which it was last served. */
export async function releaseDestination(sql: Sql, id: string, holder: string): Promise<void> {
  await sql.query(
    `UPDATE notification_destinations SET leased_until = clock_timestamp(), lease_holder = NULL
     WHERE id = $1 AND lease_holder = $2`,
    [id, holder],
  );
}

/**
 * Records a try of a delivery, and whether its destination works, in one statement, which locks the
 * destination first, as changes of it do. A delivery that was dropped meanwhile stays so unless it was sent.
 */
export async function recordTry(
  sql: Sql,
  { id, destinationId }: DueDelivery,
  tried: DeliveryTry,
  next: TriedState,
): Promise<void> {
  const isDelivered = next.state === 'delivered';
  await sql.query(
    `WITH destination AS (
       UPDATE notification_destinations
       SET failing_since = CASE WHEN $3 THEN NULL ELSE coalesce(failing_since, clock_timestamp()) END,
         pace_ms = greatest($7::int, (pace_ms + $7::int) / 2)
       WHERE id = $2 RETURNING id
     )
     UPDATE notification_deliveries AS delivery
     SET state = CASE WHEN state = 'waiting' OR $3 THEN $4 ELSE state END,
       next_at = clock_timestamp() + $5 * interval '1 millisecond',
       first_failed_at = CASE WHEN $3 THEN first_failed_at
         ELSE coalesce(first_failed_at, clock_timestamp()) END,
       try_count = try_count + CASE WHEN $3 THEN 0 ELSE 1 END,
       tries = (
         SELECT jsonb_agg(tried ORDER BY place) FROM (
           SELECT tried, place FROM jsonb_array_elements(tries || $6::jsonb)
             WITH ORDINALITY AS known (tried, place)
           ORDER BY place DESC LIMIT ${TRIES_MAX}
         ) AS kept
       )
     FROM destination
     WHERE delivery.id = $1 AND delivery.destination_id = destination.id`,
    [
      ...[id, destinationId, isDelivered, next.state],
      ...[next.state === 'waiting' ? next.inMs : 0, JSON.stringify([storable(tried)])],
      Math.min(tried.ms, PACE_MS_MAX),
    ],
  );
}

/** Makes a try storable: its error quotes the receiver's answer. */
function storable(tried: DeliveryTry): DeliveryTry {
  return { ...tried, error: tried.error === null ? null : storableText(tried.error) };
}

/**
 * Deletes events that are too old to be sent, with their deliveries, the oldest first, and expired mails, in
 * one statement; skips rows that another node is deleting. Returns how many events and mails it deleted, and
 * how many messages had not been delivered.
 */
export async function dropOldMessages(
  sql: Sql,
  countMax: number,
): Promise<{ readonly deleted: number; readonly dropped: number }> {
  const [row] = await sql.query<{ deleted: number; dropped: number }>(
    `WITH old AS MATERIALIZED (
       SELECT id FROM notification_events WHERE at < clock_timestamp() - ${KEPT}
       ORDER BY at LIMIT $1 FOR UPDATE SKIP LOCKED
     ), waiting AS (
       SELECT 1 AS one FROM notification_deliveries AS delivery
       JOIN old ON old.id = delivery.event_id WHERE state = 'waiting'
     ), events AS (
       DELETE FROM notification_events AS event USING old WHERE event.id = old.id RETURNING 1 AS one
     ), useless AS MATERIALIZED (
       SELECT id FROM outgoing_mails WHERE expires_at <= clock_timestamp()
       LIMIT $1 FOR UPDATE SKIP LOCKED
     ), mails AS (
       DELETE FROM outgoing_mails AS mail USING useless WHERE mail.id = useless.id RETURNING 1 AS one
     )
     SELECT ((SELECT count(*) FROM events) + (SELECT count(*) FROM mails))::int AS deleted,
       ((SELECT count(*) FROM waiting) + (SELECT count(*) FROM mails))::int AS dropped`,
    [countMax],
  );
  return row ?? { deleted: 0, dropped: 0 };
}

/** Counts the messages that nodes will send: not those whose recipient may not get mail any more. */
export async function countWaitingMessages(sql: Sql): Promise<WaitingMessages> {
  const [row] = await sql.query<WaitingMessages>(
    `SELECT count(*)::int AS count,
       coalesce(extract(epoch FROM clock_timestamp() - min(created_at)) * 1000, 0)::float8 AS "oldestMs"
     FROM (
       SELECT delivery.created_at FROM notification_deliveries AS delivery
       JOIN notification_destinations AS destination ON destination.id = destination_id
       WHERE state = 'waiting' AND ${HAS_RECIPIENT}
       UNION ALL SELECT created_at FROM outgoing_mails
     ) AS message`,
  );
  return row ?? { count: 0, oldestMs: 0 };
}

// Mails to people.

/** Stores a mail in the transaction of the change that it reports, so that both are stored or neither. */
export async function insertMail(sql: ActorSql, mail: NewMail | undefined): Promise<void> {
  if (mail === undefined) return;
  await sql.query(
    'INSERT INTO outgoing_mails (id, kind, sealed, expires_at) VALUES ($1, $2, $3, $4)',
    [mail.id, mail.kind, mail.sealed, mail.expiresAt],
  );
}

/**
 * Leases due mails in the order of `next_at`, but invitations last: people wait for links to a new password,
 * and need news of their account.
 */
export function leaseMails(
  sql: Sql,
  countMax: number,
  leaseMs: number,
): Promise<readonly DueMail[]> {
  return sql.query<DueMail>(
    `WITH due AS MATERIALIZED (
       SELECT id FROM outgoing_mails
       WHERE next_at <= clock_timestamp() AND expires_at > clock_timestamp() AND ${IS_FREE}
       ORDER BY kind = 'invitation', next_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED
     )
     UPDATE outgoing_mails AS mail SET leased_until = clock_timestamp() + $2 * interval '1 millisecond'
     FROM due WHERE mail.id = due.id
     RETURNING mail.id, kind, sealed, try_count AS failures`,
    [countMax, leaseMs],
  );
}

/** Records a try of a mail: deletes it if it was sent (undefined); else it is due again after `retryInMs`. */
export async function recordMail(
  sql: Sql,
  id: string,
  retryInMs: number | undefined,
): Promise<void> {
  if (retryInMs === undefined) {
    await sql.query('DELETE FROM outgoing_mails WHERE id = $1', [id]);
    return;
  }
  await sql.query(
    `UPDATE outgoing_mails SET leased_until = NULL, try_count = try_count + 1,
       next_at = clock_timestamp() + $2 * interval '1 millisecond'
     WHERE id = $1`,
    [id, retryInMs],
  );
}
