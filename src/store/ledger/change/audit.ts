// SQL of the audit: adds entries in the transaction of the change, and lists them.

import type { AuditPage } from '../../../contract/console.ts';
import { fail, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { AuditEntry } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import type { AuditFilter } from '../../console-ledger.ts';
import { AUDIT_COLUMNS, conditionsText, jsonOrNull, textOrNull } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import { actorText } from './actor-text.ts';
import type { ActorSql } from './atomically.ts';
import { eventsOf, type NewAuditEntry } from './audit-entry.ts';

/**
 * Adds an entry in the transaction of the change, so that neither is stored without the other, and tells the
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
    sql.tell({ organizationId, place, reason }, eventsOf(entry, sql.actor));
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
 * Deletes entries from before a time (RFC 3339), at most `rowsMax`: among the oldest so many by their ids,
 * which are given in the order of time but for calls at once. Returns how many it deleted.
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

/** Adds the entry to the audit of each organization of the account, in the transaction of the event. */
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
