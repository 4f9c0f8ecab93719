// SQL of destinations: their settings and secrets.

import {
  type Failure,
  fail,
  invalidField,
  isFailure,
  type Outcome,
} from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { Destination, DestinationKind } from '../../../contract/notification.ts';
import { isStorable, storableText } from '../../../contract/text.ts';
import type {
  DestinationChange,
  DestinationSecrets,
  NewDestination,
  RecipientLink,
  ResealedDestination,
  SealSecret,
} from '../../destination-ledger.ts';
import { type Actor, actorText } from '../../ledger-terms.ts';
import { type ActorSql, atomically } from '../change/atomically.ts';
import { insertAudit } from '../change/audit.ts';
import { columns, isForMember, isoText, newId } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { findApps } from './keys.ts';
import { lockOrganization } from './organizations.ts';
import { isMemberEmail, storeLink } from './recipient-links.ts';

const COLUMNS = columns<Destination>({
  id: 'id',
  name: 'name',
  kind: 'kind',
  url: 'url',
  to: 'mail_to',
  recipient: `CASE WHEN mail_to IS NULL THEN NULL
    WHEN declined_to = mail_to THEN 'declined'
    WHEN ${isForMember('notification_destinations')} THEN 'member'
    WHEN confirmed_to = mail_to THEN 'confirmed'
    WHEN link_to IS DISTINCT FROM mail_to THEN 'stranger'
    WHEN link_expires_at > clock_timestamp() THEN 'waiting' ELSE 'expired' END`,
  events: 'events',
  apps: `(
    SELECT json_agg(apps.ref ORDER BY apps.ref) FROM apps
    WHERE apps.id = ANY (notification_destinations.apps)
  )`,
  enabled: 'is_enabled',
  disabledWhy: 'disabled_why',
  failingSince: isoText('failing_since'),
  createdAt: isoText('created_at'),
  createdBy: 'created_by',
});

/**
 * Stores a destination and its audit entry, which never has the secret, in one transaction; calls `seal` for
 * a webhook. Mail goes only to members, and to recipients who confirm a link, which this stores and mails.
 * Refuses apps that the organization does not have.
 */
export function createDestination(
  database: Database,
  destination: NewDestination,
  seal: SealSecret,
  actor: Actor,
): Promise<Outcome<Destination>> {
  return atomically(database, actor, async (sql) => {
    const { organizationId, name, kind, url, to, events, enabled } = destination;
    const apps = await readApps(sql, organizationId, destination.apps);
    if (isFailure(apps)) return apps;
    const stranger = await refuseStranger(sql, organizationId, to, destination.link);
    if (stranger !== undefined) return stranger;
    // So that concurrent calls count each other's destinations.
    await lockOrganization(sql, organizationId);
    if (await isFull(sql, organizationId)) return fail('tooManyDestinations');
    const id = newId('dst');
    const rows = await sql.query<Destination>(
      `INSERT INTO notification_destinations
           (id, organization_id, name, kind, url, mail_to, events, apps, is_enabled, secret_sealed,
            created_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING ${COLUMNS}`,
      [
        ...[id, organizationId, name, kind, url, to, events, apps, enabled],
        ...[kind === 'webhook' ? seal(id) : null, actorText(actor)],
      ],
    );
    if (rows.length === 0) throw new Error(`New destination ${id} has no row`);
    const stored = await offer(sql, id, destination.link);
    const after = auditState(stored);
    await insertAudit(sql, {
      ...{ organizationId, action: 'destination.create', subject: id },
      ...{ before: null, after },
    });
    return stored;
  });
}

function readApps(
  sql: Sql,
  organizationId: string,
  apps: readonly string[] | null,
): Promise<readonly string[] | null | Failure> {
  return apps === null ? Promise.resolve(null) : findApps(sql, organizationId, apps);
}

/** Refuses a recipient who is no member and gets no link: they could not agree to the mails. */
async function refuseStranger(
  sql: Sql,
  organizationId: string,
  to: string | null,
  link: RecipientLink | undefined,
): Promise<Failure | undefined> {
  if (to === null || link?.to === to) return undefined;
  return (await isMemberEmail(sql, organizationId, to))
    ? undefined
    : invalidField('to', 'Must be the address of a member');
}

/** Stores the link of a recipient who is no member, and its mail; returns the destination. */
async function offer(
  sql: ActorSql,
  id: string,
  link: RecipientLink | undefined,
): Promise<Destination> {
  const stored = await demandDestination(sql, id);
  if (link?.to !== stored.to || stored.recipient === 'member') return stored;
  await storeLink(sql, id, link);
  return demandDestination(sql, id);
}

async function isFull(sql: Sql, organizationId: string): Promise<boolean> {
  const rows = await sql.query(
    `SELECT FROM notification_destinations WHERE organization_id = $1
     OFFSET ${LIMIT.destinationsMax - 1} LIMIT 1`,
    [organizationId],
  );
  return rows.length > 0;
}

/**
 * Returns the state for the audit, which members can read who may not read the address. So it has only the
 * origin of a URL, because the rest is often a secret.
 */
export function auditState({ name, kind, url, to, events, apps, enabled }: Destination): object {
  const place = url === null ? { to } : { url: new URL(url).origin };
  return { name, kind, ...place, events, apps, enabled };
}

/** Lists the organization's destinations, the oldest first. */
export function listDestinations(
  sql: Sql,
  organizationId: string,
): Promise<readonly Destination[]> {
  return sql.query<Destination>(
    `SELECT ${COLUMNS} FROM notification_destinations WHERE organization_id = $1
     ORDER BY id LIMIT ${LIMIT.destinationsMax}`,
    [organizationId],
  );
}

export async function findDestination(sql: Sql, id: string): Promise<Destination | undefined> {
  if (!isStorable(id)) return undefined;
  const rows = await sql.query<Destination>(
    `SELECT ${COLUMNS} FROM notification_destinations WHERE id = $1`,
    [id],
  );
  return rows[0];
}

/** Reads a destination that the transaction has locked. */
export async function demandDestination(sql: Sql, id: string): Promise<Destination> {
  const found = await findDestination(sql, id);
  if (found === undefined) throw new Error(`Locked destination ${id} is gone`);
  return found;
}

export type LockedDestination = Destination & { readonly organizationId: string };

/** Locks a destination against changes until the transaction ends, but not against messages to it. */
export async function lockDestination(sql: Sql, id: string): Promise<LockedDestination | Failure> {
  if (!isStorable(id)) return fail('unknownDestination');
  const rows = await sql.query<LockedDestination>(
    `SELECT organization_id AS "organizationId", ${COLUMNS}
     FROM notification_destinations WHERE id = $1 FOR NO KEY UPDATE`,
    [id],
  );
  return rows[0] ?? fail('unknownDestination');
}

/**
 * Changes a destination. A webhook with another address gets a new secret from `seal`. Turning a destination
 * off or on drops its waiting messages. Stores the change, the secret and the audit entry in one transaction;
 * a change without effect writes nothing.
 */
export function updateDestination(
  database: Database,
  id: string,
  change: DestinationChange,
  seal: SealSecret,
  actor: Actor,
): Promise<Outcome<Destination>> {
  return atomically(database, actor, async (sql) => {
    const before = await lockDestination(sql, id);
    if (isFailure(before)) return before;
    const { organizationId } = before;
    const misfit = refuseMisfit(before.kind, change);
    if (misfit !== undefined) return misfit;
    const apps = await readApps(sql, organizationId, change.apps ?? null);
    if (isFailure(apps)) return apps;
    const to = change.to ?? before.to;
    const isSame = to === before.to;
    const { link } = change;
    const stranger = isSame ? undefined : await refuseStranger(sql, organizationId, to, link);
    if (stranger !== undefined) return stranger;
    await store(sql, before, change, apps, seal);
    const after = await offer(sql, id, isSame ? undefined : link);
    const { organizationId: _, ...unchanged } = before;
    if (JSON.stringify(after) === JSON.stringify(unchanged)) return after;
    const isNewUrl = before.url !== after.url;
    await insertAudit(sql, {
      ...{ organizationId, action: 'destination.update', subject: id },
      before: auditState(before),
      after: { ...auditState(after), ...(isNewUrl ? { newUrl: true } : {}) },
    });
    return after;
  });
}

/** Refuses a `url` for mail, and a recipient for any other kind. */
function refuseMisfit(kind: DestinationKind, { url, to }: DestinationChange): Failure | undefined {
  if (kind === 'mail' && url !== undefined) return invalidField('url', 'Mail has no url');
  if (kind !== 'mail' && to !== undefined) return invalidField('to', 'Only mail has a recipient');
  return undefined;
}

async function store(
  sql: Sql,
  before: LockedDestination,
  change: DestinationChange,
  apps: readonly string[] | null,
  seal: SealSecret,
): Promise<void> {
  const { id, kind } = before;
  const url = change.url ?? before.url;
  const enabled = change.enabled ?? before.enabled;
  const isSwitched = enabled !== before.enabled;
  const isNewUrl = url !== before.url;
  if (isSwitched) await dropWaiting(sql, id);
  await sql.query(
    `UPDATE notification_destinations SET name = $2, url = $3, mail_to = $4, events = $5,
       apps = CASE WHEN $6 THEN $7 ELSE apps END, is_enabled = $8,
       secret_sealed = coalesce($9, secret_sealed),
       former_secret_sealed = CASE WHEN $9 IS NULL THEN former_secret_sealed END,
       former_secret_until = CASE WHEN $9 IS NULL THEN former_secret_until END,
       disabled_why = CASE WHEN $10 THEN NULL ELSE disabled_why END,
       failing_since = CASE WHEN $10 OR $11 THEN NULL ELSE failing_since END,
       pace_ms = CASE WHEN $10 OR $11 THEN 0 ELSE pace_ms END
     WHERE id = $1`,
    [
      ...[id, change.name ?? before.name, url, change.to ?? before.to],
      change.events === undefined ? before.events : change.events,
      ...[change.apps !== undefined, apps, enabled],
      ...[isNewUrl && kind === 'webhook' ? seal(id) : null, isSwitched, isNewUrl],
    ],
  );
}

/** Drops the waiting messages of a destination: events from while it is off are not sent later. */
export async function dropWaiting(sql: Sql, id: string): Promise<void> {
  await sql.query(
    `UPDATE notification_deliveries SET state = 'dropped'
     WHERE destination_id = $1 AND state = 'waiting'`,
    [id],
  );
}

/** Replaces the secret of a webhook; the former one signs as well for a day. */
export function rotateDestination(
  database: Database,
  id: string,
  seal: SealSecret,
  actor: Actor,
): Promise<Outcome<Destination>> {
  return atomically(database, actor, async (sql) => {
    const found = await lockDestination(sql, id);
    if (isFailure(found)) return found;
    const { organizationId, ...destination } = found;
    if (destination.kind !== 'webhook') return fail('noSecret');
    await sql.query(
      `UPDATE notification_destinations SET former_secret_sealed = secret_sealed,
           former_secret_until = clock_timestamp() + $3 * interval '1 millisecond',
           secret_sealed = $2
         WHERE id = $1`,
      [id, seal(id), LIMIT.formerSecretMs],
    );
    const { name } = destination;
    await insertAudit(sql, {
      ...{ organizationId, action: 'destination.rotate', subject: id },
      ...{ before: { name }, after: { name, newSecret: true } },
    });
    return destination;
  });
}

/** Removes a destination with its deliveries. */
export function removeDestination(
  database: Database,
  id: string,
  actor: Actor,
): Promise<Outcome<{ readonly id: string }>> {
  return atomically(database, actor, async (sql) => {
    const found = await lockDestination(sql, id);
    if (isFailure(found)) return found;
    await sql.query('DELETE FROM notification_destinations WHERE id = $1', [id]);
    await insertAudit(sql, {
      ...{ organizationId: found.organizationId, action: 'destination.remove', subject: id },
      ...{ before: auditState(found), after: null },
    });
    return { id };
  });
}

/**
 * Turns off a destination that does not work, and drops its waiting messages. The organization's other
 * destinations get the event with the reason. Returns whether it was on.
 */
export async function disableDestination(
  database: Database,
  id: string,
  why: string,
): Promise<boolean> {
  const disabled = await atomically(database, { kind: 'service' }, async (sql) => {
    const found = await lockDestination(sql, id);
    if (isFailure(found) || !found.enabled) return false;
    await dropWaiting(sql, id);
    await sql.query(
      `UPDATE notification_destinations SET is_enabled = false, disabled_why = $2 WHERE id = $1`,
      [id, storableText(why)],
    );
    await insertAudit(sql, {
      organizationId: found.organizationId,
      action: 'destination.disable',
      subject: id,
      before: auditState(found),
      after: auditState({ ...found, enabled: false }),
      reason: storableText(why),
    });
    return true;
  });
  return disabled === true;
}

// Secrets at rest.

/** Reads the sealed secrets of the next destinations, by id. */
export function listDestinationSecrets(
  sql: Sql,
  after: string | undefined,
  countMax: number,
): Promise<readonly DestinationSecrets[]> {
  return sql.query<DestinationSecrets>(
    `SELECT id, secret_sealed AS sealed,
       CASE WHEN former_secret_until > clock_timestamp() THEN former_secret_sealed END AS former
     FROM notification_destinations WHERE id > $1 AND secret_sealed IS NOT NULL
     ORDER BY id LIMIT $2`,
    [storableText(after ?? ''), countMax],
  );
}

/**
 * Replaces secrets that are still those of `from`; returns the number of destinations that it changed. Locks
 * the rows in the order of their ids.
 */
export async function replaceDestinationSecrets(
  sql: Sql,
  changes: readonly ResealedDestination[],
): Promise<number> {
  const rows = await sql.query(
    `WITH held AS (
       SELECT destination.id, change.sealed, change.former
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS change (id, was, sealed, former)
       JOIN notification_destinations AS destination
         ON destination.id = change.id AND destination.secret_sealed = change.was
       ORDER BY destination.id FOR NO KEY UPDATE OF destination
     )
     UPDATE notification_destinations AS destination
     SET secret_sealed = held.sealed, former_secret_sealed = held.former
     FROM held WHERE destination.id = held.id RETURNING 1 AS one`,
    [
      changes.map(({ to }) => to.id),
      changes.map(({ from }) => from.sealed),
      changes.map(({ to }) => to.sealed),
      changes.map(({ to }) => to.former),
    ],
  );
  return rows.length;
}
