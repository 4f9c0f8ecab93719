// The audit log: its entries, its SQL, and the events that follow from each entry, so that audit and messages
// have one source.

import type { AuditPage } from '../../../contract/console.ts';
import { fail, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { EventType, NewEvent } from '../../../contract/notification.ts';
import type {
  Approval,
  ApprovalRequest,
  AuditEntry,
  ReleaseStatus,
  Role,
} from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import {
  type ServedState,
  servedFacts,
  servingEvents,
} from '../../../domain/release/serving-events.ts';
import type { AuditFilter } from '../../console-ledger.ts';
import { type Actor, actorText } from '../../ledger-terms.ts';
import { AUDIT_COLUMNS, conditionsText, jsonOrNull, textOrNull } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import type { ActorSql } from './atomically.ts';
import type { ChangedPlace } from './outbox.ts';

export type AuditAction =
  | 'organization.create'
  | 'organization.update'
  | 'member.join'
  | 'member.update'
  | 'member.remove'
  | 'invitation.create'
  | 'invitation.revoke'
  | 'app.create'
  | 'app.update'
  | 'approval.approve'
  | 'approval.decline'
  | 'approval.expire'
  | 'approval.fail'
  | 'approval.request'
  | 'channel.create'
  | 'channel.update'
  | 'ddi-secret.add'
  | 'ddi-secret.remove'
  | 'destination.create'
  | 'destination.disable'
  | 'destination.remove'
  | 'destination.rotate'
  | 'destination.link'
  | 'destination.confirm'
  | 'destination.decline'
  | 'destination.update'
  | 'device-token.make'
  | 'device.erase'
  | 'device.purge'
  | 'gateway-token.create'
  | 'gateway-token.revoke'
  | 'key.create'
  | 'key.revoke'
  | 'plan.advance'
  | 'plan.cancel'
  | 'plan.complete'
  | 'plan.create'
  | 'plan.hold'
  | 'plan.resume'
  | 'plan.start'
  | 'release.publish'
  | 'release.promote'
  | 'release.complete'
  | 'release.retry'
  | 'release.serve'
  | 'release.withdraw'
  | 'webhook.enable'
  | 'webhook.update'
  | 'webhook.disable';

export type NewAuditEntry = {
  readonly organizationId: string;
  readonly action: AuditAction;
  /** Name of the changed object, e.g. `app-ref/stable@1.2.0`. */
  readonly subject: string;
  /** State before the change; null if the subject did not exist. */
  readonly before: object | null;
  /** State after the change; null if the subject no longer exists. */
  readonly after: object | null;
  /** Reason given by the author of the change. */
  readonly reason?: string | undefined;
  /** Release or channel that was changed; undefined for what belongs to the organization. */
  readonly place?: ChangedPlace | undefined;
  /** Whether a release is published for the first time: makes `release.published`, not `release.resumed`. */
  readonly isFirst?: boolean | undefined;
  /** Whether the caller adds the events itself (`stops.ts`). */
  readonly isTold?: boolean | undefined;
  /** What events say of the changed object in addition to `before` and `after`. */
  readonly also?: object | undefined;
};

type Entry = Pick<NewAuditEntry, 'action' | 'subject' | 'before' | 'after' | 'isFirst' | 'also'>;
type EventsOf = (entry: Entry, actor: Actor) => readonly NewEvent[];

/** Fields that `before` and `after` of an entry may have. */
type State = ServedState & {
  readonly from?: string;
  readonly name?: string;
  readonly prefix?: string;
  readonly role?: Role;
  readonly kind?: 'webhook' | 'slack' | 'mail';
  readonly enabled?: boolean;
};

/** Fields of `after` in the entries of an approval. */
type ApprovalState = Pick<Approval, 'status' | 'requestedBy'> &
  Pick<ApprovalRequest, 'operation'> & {
    readonly approval: string;
    readonly decidedBy?: string | null;
  };

/** Events by action; others make none. Those of plans need more than an entry has (see `planEvents`). */
const EVENTS: Partial<Record<AuditAction, EventsOf>> = {
  'release.publish': ({ after }) => {
    const { status, ...served } = stateOf(after);
    if (status !== 'published') return [];
    return [{ type: 'release.published', facts: servedFacts(status, served) }];
  },
  'release.promote': ({ after }) => {
    const { status = 'published', from = '', ...served } = stateOf(after);
    return [{ type: 'release.promoted', facts: { ...servedFacts(status, served), from } }];
  },
  'release.serve': servedEvents,
  'release.complete': servedEvents,
  'release.withdraw': ({ before }) => {
    const { status = 'paused', ...served } = stateOf(before);
    return [{ type: 'release.withdrawn', facts: servedFacts(status, served) }];
  },
  'key.create': ({ subject, after }) => [
    { type: 'key.created', facts: keyFacts(subject, stateOf(after)) },
  ],
  'key.revoke': ({ subject, also = null }) => [
    { type: 'key.revoked', facts: keyFacts(subject, stateOf(also)) },
  ],
  'member.join': memberEvents,
  'member.update': memberEvents,
  'member.remove': memberEvents,
  'approval.request': approvalEvents('approval.requested'),
  'approval.approve': approvalEvents('approval.approved'),
  'approval.decline': approvalEvents('approval.declined'),
  'approval.expire': approvalEvents('approval.expired'),
  'approval.fail': approvalEvents('approval.failed'),
  'destination.update': disabledEvents,
  'destination.disable': disabledEvents,
};

/** Returns the events that follow from an entry. */
function eventsOf(entry: Entry, actor: Actor): readonly NewEvent[] {
  return EVENTS[entry.action]?.(entry, actor) ?? [];
}

function servedEvents(
  { before, after, isFirst = false }: Entry,
  actor: Actor,
): readonly NewEvent[] {
  const isStep = actor.kind === 'plan';
  return servingEvents(stateOf(before), stateOf(after), { isFirst, isStep });
}

function keyFacts(id: string, { name = '', prefix = '' }: State) {
  return { key: { id, name, prefix } };
}

function memberEvents({ subject, before, after }: Entry): readonly NewEvent[] {
  const roleBefore = stateOf(before).role ?? null;
  const role = stateOf(after).role ?? null;
  return [{ type: 'member.changed', facts: { member: { email: subject, roleBefore, role } } }];
}

/** Returns the function that makes the event of this type from an entry about an approval. */
function approvalEvents(type: Extract<EventType, `approval.${string}`>): EventsOf {
  return ({ after }) => {
    const { approval: id, status, operation, requestedBy, decidedBy } = after as ApprovalState;
    const approval = { id, status, operation, requestedBy, decidedBy: decidedBy ?? null };
    return [{ type, facts: { approval } }];
  };
}

function disabledEvents({ subject, before, after }: Entry): readonly NewEvent[] {
  const [was, is] = [stateOf(before), stateOf(after)];
  if (is.enabled !== false || was.enabled === false) return [];
  const { kind = 'webhook', name = '' } = is;
  return [{ type: 'destination.disabled', facts: { destination: { id: subject, kind, name } } }];
}

/** Returns the state of an entry, whose form callers in `store/ledger` guarantee. */
function stateOf(state: object | null): State & { readonly status?: ReleaseStatus } {
  return state ?? {};
}

/**
 * Adds an entry in the transaction of the change, so that neither is stored without the other, and adds the
 * events that follow from it (`eventsOf`). The entry names the transaction's actor and request. Returns its
 * id.
 */
export async function insertAudit(sql: ActorSql, entry: NewAuditEntry): Promise<string> {
  const [id] = await insertAudits(sql, [entry]);
  if (id === undefined) throw new Error('The audit has no entry');
  return id;
}

/** Adds entries in their order, in one statement, as `insertAudit` does; returns their ids. */
export async function insertAudits(
  sql: ActorSql,
  entries: readonly NewAuditEntry[],
): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string }>(
    `INSERT INTO audit_entries (organization_id, actor, action, subject, before, after, request_id, reason)
     SELECT organization_id, $1, action, subject, before::json, after::json, $2, reason
     FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
       WITH ORDINALITY AS entry (organization_id, action, subject, before, after, reason, place)
     ORDER BY place RETURNING id::text AS id`,
    [
      actorText(sql.actor),
      sql.actor.requestId ?? null,
      entries.map(({ organizationId }) => organizationId),
      entries.map(({ action }) => action),
      entries.map(({ subject }) => subject),
      entries.map(({ before }) => jsonOrNull(before)),
      entries.map(({ after }) => jsonOrNull(after)),
      entries.map(({ reason }) => reason ?? null),
    ],
  );
  for (const entry of entries.filter(({ isTold }) => isTold !== true)) {
    const { organizationId, place, reason } = entry;
    sql.addEvents({ organizationId, place, reason }, eventsOf(entry, sql.actor));
  }
  return rows.map(({ id }) => id);
}

/** Cursor of a page: time in milliseconds and id of its last entry. */
const CURSOR = /^(\d{1,16})-(\d{1,18})$/;

const targetsOf = (state: 'before' | 'after') => conditionsText(`${state} ->> 'targets'`);

/** Condition on a serving-control entry: it had the effect $10. */
const HAS_DONE = `CASE $10::text
    WHEN 'raised' THEN (after ->> 'rolloutPct')::int > (before ->> 'rolloutPct')::int
    WHEN 'lowered' THEN (after ->> 'rolloutPct')::int < (before ->> 'rolloutPct')::int
    WHEN 'retargeted' THEN ${targetsOf('after')} IS DISTINCT FROM ${targetsOf('before')}
    ELSE after ->> 'status' = $10 AND (before ->> 'status') IS DISTINCT FROM $10
  END`;

/**
 * Reads a page of the organization's audit, newest first; entries of the same time come in reverse order of
 * insertion. Reads one entry more than asked for, to detect a next page. With a malformed cursor the page
 * begins at the newest entry.
 */
export async function listAudit(
  sql: Sql,
  organizationId: string,
  filter: AuditFilter,
): Promise<Outcome<AuditPage>> {
  if (!(await organizationExists(sql, organizationId))) return fail('unknownOrganization');
  const [, time, id] = CURSOR.exec(filter.before ?? '') ?? [];
  const rows = await sql.query<AuditEntry & { cursor: string }>(
    `SELECT ${AUDIT_COLUMNS}, (extract(epoch FROM entry.at) * 1000)::bigint || '-' || id AS cursor
     FROM audit_entries AS entry
     WHERE organization_id = $1
       AND ($2::bigint IS NULL OR (entry.at, entry.id)
         < (to_timestamp($2 / 1000.0)::timestamptz(3), $3::bigint))
       AND ($4::text IS NULL OR strpos(lower(actor), lower($4)) > 0)
       AND ($5::text IS NULL OR action = $5 OR starts_with(action, $5 || '.'))
       AND ($6::text IS NULL OR strpos(lower(subject), lower($6)) > 0)
       AND ($8::timestamptz IS NULL OR entry.at >= $8)
       AND ($9::timestamptz IS NULL OR entry.at < $9)
       AND ($10::text IS NULL OR action = 'release.serve' AND ${HAS_DONE})
     ORDER BY entry.at DESC, entry.id DESC LIMIT $7`,
    [
      organizationId,
      time ?? null,
      id ?? null,
      textOrNull(filter.actor),
      textOrNull(filter.action),
      textOrNull(filter.subject),
      filter.limit + 1,
      filter.since ?? null,
      filter.until ?? null,
      filter.did ?? null,
    ],
  );
  const page = rows.slice(0, filter.limit);
  const next = rows.length > filter.limit ? (page.at(-1)?.cursor ?? null) : null;
  return { entries: page.map(({ cursor: _, ...entry }) => entry), next };
}

/** Returns whether an organization exists, without a lock, because organizations are never removed. */
export async function organizationExists(sql: Sql, id: string): Promise<boolean> {
  if (!isStorable(id)) return false;
  const rows = await sql.query('SELECT FROM organizations WHERE id = $1', [id]);
  return rows.length > 0;
}

// Statement that removes old entries.

/**
 * Deletes entries from before a time (RFC 3339) among the `rowsMax` with the lowest ids; ids follow the time,
 * except between concurrent calls. Returns how many it deleted.
 */
export async function forgetAudit(sql: Sql, before: string, rowsMax: number): Promise<number> {
  const rows = await sql.query(
    `DELETE FROM audit_entries WHERE id = ANY (ARRAY (
       SELECT id FROM (SELECT id, at FROM audit_entries ORDER BY id LIMIT $2) AS oldest
       WHERE at < $1::timestamptz
     )) RETURNING 1 AS one`,
    [before, rowsMax],
  );
  return rows.length;
}

// Audit of accounts, which belong to no organization.

type AccountAction =
  | 'account.sign-in'
  | 'account.end-session'
  | 'account.add-passkey'
  | 'account.remove-passkey'
  | 'account.refuse-passkey'
  | 'account.recover'
  | 'account.use-recovery'
  | 'account.end-sessions'
  | 'account.fail-sign-in'
  | 'account.join-provider'
  | 'account.reset-password'
  | 'account.set-password'
  | 'account.take-over';

/** Adds the entry to the audit of the account's organizations, at most `organizationsShownMax`. */
export async function insertAccountAudit(
  sql: ActorSql,
  account: { readonly id: string; readonly email: string },
  action: AccountAction,
  after: object,
): Promise<void> {
  await sql.query(
    `INSERT INTO audit_entries (organization_id, actor, action, subject, before, after, request_id)
     SELECT organization_id, $2, $3, $4, NULL, $5, $7 FROM memberships
     WHERE account_id = $1 ORDER BY created_at, organization_id LIMIT $6`,
    [
      account.id,
      actorText(sql.actor),
      action,
      account.email,
      JSON.stringify(after),
      LIMIT.organizationsShownMax,
      sql.actor.requestId ?? null,
    ],
  );
}
