// The outbox: collects the events of a transaction and writes them with its last statement. So an event is
// stored exactly when its change is.
//
// That statement takes the organization's next positions and locks their row until the commit, so that
// positions have the order of the commits (docs/decisions/0064). Nothing is locked or stored if no
// destination takes the events.

import type { EventPlace, NewEvent } from '../../../contract/notification.ts';
import { type Actor, actorText } from '../../ledger-terms.ts';
import { HAS_RECIPIENT, newId, textOrNull } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';

/** Release or channel that an event is about. */
export type ChangedPlace = {
  readonly app: { readonly id: string; readonly ref: string };
  /** Null where several channels are concerned. */
  readonly channel: string | null;
  readonly version: string | null;
};

/** What an event is about, and the reason that its author gave. */
export type EventAbout = {
  readonly organizationId: string;
  readonly place?: ChangedPlace | undefined;
  readonly reason?: string | undefined;
  /** Id of the one destination that gets it, whatever it asks for; undefined for all that ask for it. */
  readonly only?: string | undefined;
};

type OutboxEvent = { readonly about: EventAbout; readonly event: NewEvent };

/** Maximum number of events in one statement. */
const WRITTEN_AT_ONCE_MAX = 100;

/** Events of one transaction. */
export class Outbox {
  private events: readonly OutboxEvent[] = [];

  constructor(private readonly actor: Actor) {}

  add(about: EventAbout, events: readonly NewEvent[]): void {
    this.events = [...this.events, ...events.map((event) => ({ about, event }))];
  }

  /** Number of events. */
  get size(): number {
    return this.events.length;
  }

  /** Drops all events after the first `count`, because their changes were rolled back. */
  keepFirst(count: number): void {
    this.events = this.events.slice(0, count);
  }

  /** Writes the events, and a delivery of each for every destination that takes it. */
  async write(sql: Sql): Promise<void> {
    const sorted = causeFirst(this.events, this.actor);
    // Sorted, so that all transactions lock the rows of organizations in one order.
    const organizations = new Set(sorted.map(({ about }) => about.organizationId));
    for (const organizationId of [...organizations].sort()) {
      const own = sorted.filter(({ about }) => about.organizationId === organizationId);
      // In parts, because a statement's time is limited, and each event adds a row for every destination.
      for (let at = 0; at < own.length; at += WRITTEN_AT_ONCE_MAX) {
        await this.writePart(sql, organizationId, own.slice(at, at + WRITTEN_AT_ONCE_MAX));
      }
    }
  }

  private async writePart(
    sql: Sql,
    organizationId: string,
    part: readonly OutboxEvent[],
  ): Promise<void> {
    await sql.query(WRITE, [
      organizationId,
      part.map(() => newId('evt')),
      part.map(({ event }) => event.type),
      part.map(({ about }) => about.place?.app.id ?? null),
      part.map((event) => JSON.stringify(dataOf(event, this.actor))),
      part.map(({ about }) => about.only ?? null),
    ]);
  }
}

/** Puts causes before effects: unless a plan is the actor, events of plans go after those of releases. */
function causeFirst(events: readonly OutboxEvent[], actor: Actor): readonly OutboxEvent[] {
  if (actor.kind === 'plan') return events;
  const isPlan = ({ event }: OutboxEvent) => event.type.startsWith('plan.');
  return [...events.filter((event) => !isPlan(event)), ...events.filter(isPlan)];
}

function dataOf({ about, event }: OutboxEvent, actor: Actor): EventPlace & NewEvent['facts'] {
  const { place, reason } = about;
  return {
    app: place?.app.ref ?? null,
    channel: place?.channel ?? null,
    version: place?.version ?? null,
    actor: actorText(actor),
    reason: textOrNull(reason ?? event.reason ?? undefined),
    ...event.facts,
  };
}

/**
 * Condition of a destination that takes an event: it is enabled, and asks for the event and for its app. A
 * destination that asks for some apps gets no event without an app, and a former member gets no mail.
 */
const TAKES = `destination.is_enabled AND (
  destination.id = event.sole OR event.sole IS NULL
    AND (events IS NULL OR event.type = ANY (events)
      OR split_part(event.type, '.', 1) || '.*' = ANY (events))
    AND (apps IS NULL OR event.app_id = ANY (apps))
) AND ${HAS_RECIPIENT}`;

/**
 * Writes the events of one organization. `counted` locks the row of its position first, because both inserts
 * read from it: so deliveries get their sequence numbers under that lock.
 */
const WRITE = `
  WITH event AS MATERIALIZED (
    SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
      WITH ORDINALITY AS event (id, type, app_id, data, sole, place)
  ), taken AS MATERIALIZED (
    SELECT destination.id AS destination_id, event.id, event.place, event.sole IS NOT NULL AS is_apart
    FROM notification_destinations AS destination JOIN event ON ${TAKES}
    WHERE destination.organization_id = $1
    -- Holds off a removal, and leaves out what is removed already.
    FOR KEY SHARE OF destination
  ), numbered AS (
    SELECT id, row_number() OVER (ORDER BY place) AS number, count(*) OVER () AS total
    FROM (SELECT DISTINCT id, place FROM taken) AS told
  ), counted AS (
    INSERT INTO notification_positions AS counted (organization_id, position)
    SELECT $1, max(total) FROM numbered HAVING max(total) > 0
    ON CONFLICT (organization_id) DO UPDATE SET position = counted.position + excluded.position
    RETURNING position
  ), stored AS (
    INSERT INTO notification_events (id, organization_id, position, app_id, type, data)
    SELECT id, $1, counted.position - total + number, app_id, type, data::json
    FROM counted CROSS JOIN numbered JOIN event USING (id) ORDER BY number
  )
  INSERT INTO notification_deliveries (id, destination_id, event_id, is_apart)
  SELECT 'dlv_' || replace(gen_random_uuid()::text, '-', ''), destination_id, taken.id, is_apart
  FROM counted CROSS JOIN taken ORDER BY place, destination_id`;
