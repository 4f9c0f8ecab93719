// Rows of approvals: stores and reads requests. Decisions about them are in `approval-decisions.ts`.

import type { Effect } from '../../../contract/dry-run.ts';
import { type Failure, fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { ApprovalStatus, StoredApproval } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import {
  type Actor,
  type ApprovalFilter,
  type AskedCall,
  actorText,
  type StoredPage,
  scopeValues,
  type TenantScope,
} from '../../ledger-terms.ts';
import { columns, isoText, jsonObject, jsonOrNull, newId } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import type { ActorSql, RecordedExposure } from './atomically.ts';
import { insertAudit } from './audit.ts';
import type { LockedChannel } from './channels.ts';
import { findApp } from './channels.ts';
import { asksForApproval } from './exposure.ts';

/**
 * Condition on a pending row of `approvals` that is over: its time has passed, its key was revoked or has
 * expired, or its author has left or lost the role that the call needed.
 */
export const IS_OVER = `(
  approvals.expires_at <= clock_timestamp()
  OR approvals.key_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM api_keys WHERE api_keys.id = approvals.key_id AND revoked_at IS NULL
      AND (api_keys.expires_at IS NULL OR api_keys.expires_at > clock_timestamp())
  )
  OR approvals.account_id IS NOT NULL AND NOT EXISTS (
    SELECT FROM memberships WHERE memberships.account_id = approvals.account_id
      AND memberships.organization_id = approvals.organization_id
      AND memberships.role IN ('owner', approvals.needed_role)
  )
)`;

/** Present status of a row: a pending one that is over counts as expired, also before the sweep stores it. */
const STATUS = `CASE WHEN approvals.status = 'pending' AND ${IS_OVER} THEN 'expired'
  ELSE approvals.status END`;

/** Columns of rows of `approvals` joined with `PLACE`. */
export const APPROVAL_COLUMNS = columns<StoredApproval>({
  id: 'approvals.id',
  status: STATUS,
  request: jsonObject<StoredApproval['request']>({
    operation: 'approvals.operation',
    app: 'apps.ref',
    channel: 'channels.name',
    version: 'approvals.version',
    body: 'approvals.body',
  }),
  requestedBy: 'approvals.requested_by',
  reason: 'approvals.reason',
  effect: 'approvals.effect',
  createdAt: isoText('approvals.created_at'),
  expiresAt: isoText('approvals.expires_at'),
  decidedBy: 'approvals.decided_by',
  decidedAt: isoText('approvals.decided_at'),
  result: 'approvals.result',
});

export const PLACE = `JOIN apps ON apps.id = approvals.app_id
  LEFT JOIN channels ON channels.id = approvals.channel_id`;

/** Reads an approval by its id alone, without a scope: for callers that have the id from another row. */
export async function readApproval(sql: Sql, id: string): Promise<StoredApproval> {
  const rows = await sql.query<StoredApproval>(
    `SELECT ${APPROVAL_COLUMNS} FROM approvals ${PLACE} WHERE approvals.id = $1`,
    [id],
  );
  if (rows[0] === undefined) throw new Error(`The approval ${id} has no row`);
  return rows[0];
}

/** Finds an approval within the caller's scope. */
export async function findApproval(
  sql: Sql,
  scope: TenantScope,
  id: string,
): Promise<StoredApproval | Failure> {
  const [organizationId, appIds] = scopeValues(scope);
  if (!isStorable(id)) return fail('unknownApproval');
  const rows = await sql.query<StoredApproval>(
    `SELECT ${APPROVAL_COLUMNS} FROM approvals ${PLACE}
     WHERE approvals.id = $1 AND approvals.organization_id = $2
       AND ($3::text[] IS NULL OR approvals.app_id = ANY ($3))`,
    [id, organizationId, appIds],
  );
  return rows[0] ?? fail('unknownApproval');
}

/** Lists approvals, newest first: ids sort by the time at which they were made. */
export async function listApprovals(
  sql: Sql,
  scope: TenantScope,
  { app: appName, status, before }: ApprovalFilter,
): Promise<Outcome<StoredPage>> {
  const [organizationId, appIds] = scopeValues(scope);
  const app = appName === undefined ? undefined : await findApp(sql, scope, appName);
  if (isFailure(app)) return app;
  const rows = await sql.query<StoredApproval>(
    `SELECT ${APPROVAL_COLUMNS} FROM approvals ${PLACE}
     WHERE approvals.organization_id = $1 AND ($2::text[] IS NULL OR approvals.app_id = ANY ($2))
       AND ($3::text IS NULL OR approvals.app_id = $3) AND ($4::text IS NULL OR ${STATUS} = $4)
       AND ($5::text IS NULL OR approvals.id < $5)
     ORDER BY approvals.id DESC LIMIT $6`,
    [
      ...[organizationId, appIds, app?.id ?? null, status ?? null],
      ...[before ?? null, LIMIT.approvalsPerPageMax + 1],
    ],
  );
  const approvals = rows.slice(0, LIMIT.approvalsPerPageMax);
  const next = rows.length > approvals.length ? (approvals.at(-1)?.id ?? null) : null;
  return { approvals, next };
}

/** Stores the effect that a request would have had when it was made, unless one is stored. */
export async function storeApprovalEffect(sql: Sql, id: string, effect: Effect): Promise<void> {
  await sql.query('UPDATE approvals SET effect = $2 WHERE id = $1 AND effect IS NULL', [
    id,
    jsonOrNull(effect),
  ]);
}

/**
 * Stores a call of the actor as a request, with the states that it met, and an audit entry. Call it under the
 * locks of the channels, so that concurrent calls cannot exceed the number of pending requests.
 */
export async function insertApproval(
  sql: ActorSql,
  locked: readonly LockedChannel[],
  exposed: readonly RecordedExposure[],
  asks: AskedCall,
): Promise<Outcome<StoredApproval>> {
  const { actor } = sql;
  const [first] = locked;
  if (first === undefined) throw new Error('A change that has to wait has locked no channel');
  const wider = exposed.filter(({ isWider }) => isWider);
  const { channel, version } = placeOf(locked, wider);
  const full = await refuseFull(sql, first.app.id, channel?.id ?? null);
  if (full !== undefined) return full;
  const id = newId('apv');
  const days = Math.min(...locked.filter(asksForApproval).map(({ approvalDays }) => approvalDays));
  const { organizationId } = first.app;
  await sql.query(
    `INSERT INTO approvals (
       id, organization_id, app_id, channel_id, version, operation, body, asked_on, requested_by,
       key_id, account_id, needed_role, reason, expires_at
     ) VALUES (
       $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
       clock_timestamp() + $14 * interval '1 day'
     )`,
    [
      ...[id, organizationId, first.app.id, channel?.id ?? null, version],
      ...[asks.operation, jsonOrNull(asks.body), JSON.stringify(metOf(exposed)), actorText(actor)],
      ...authorOf(actor),
      ...[asks.reason ?? null, days],
    ],
  );
  const approval = await readApproval(sql, id);
  const { request, requestedBy, status, expiresAt } = approval;
  await insertAudit(sql, {
    organizationId,
    action: 'approval.request',
    subject: subjectOf(request),
    before: null,
    after: { approval: id, status, operation: request.operation, requestedBy, expiresAt },
    place: { app: first.app, channel: channel?.name ?? null, version },
    reason: asks.reason,
  });
  return approval;
}

/** Returns the name of what a request is about, for the audit. */
export function subjectOf({ app, channel, version }: StoredApproval['request']): string {
  const place = channel === null ? app : `${app}/${channel}`;
  return version === null ? place : `${place}@${version}`;
}

/** Returns the states that a change met, as a request stores them and an approval compares them. */
export function metOf(
  exposed: readonly RecordedExposure[],
): readonly Omit<RecordedExposure, 'isWider'>[] {
  return exposed.map(({ channel, version, before }) => ({ channel, version, before }));
}

/** Returns the one channel and the one version of the changes; undefined and null if they have several. */
function placeOf(locked: readonly LockedChannel[], wider: readonly RecordedExposure[]) {
  const names = new Set(wider.map(({ channel }) => channel));
  const versions = new Set(wider.map(({ version }) => version));
  const [name] = names;
  const [version = null] = versions;
  return {
    channel: names.size === 1 ? locked.find((each) => each.name === name) : undefined,
    version: versions.size === 1 ? version : null,
  };
}

/** Returns the columns of the author: the key, or the account with the role that its call needs. */
function authorOf(
  actor: Actor,
): readonly [keyId: string | null, accountId: string | null, neededRole: string | null] {
  if (actor.kind === 'key') return [actor.id, null, null];
  if (actor.kind === 'account') return [null, actor.accountId, actor.needs?.role ?? null];
  return [null, null, null];
}

async function refuseFull(
  sql: Sql,
  appId: string,
  channelId: string | null,
): Promise<Failure | undefined> {
  const [row] = await sql.query<{ pending: number }>(
    `SELECT count(*)::int AS pending FROM approvals
     WHERE app_id = $1 AND channel_id IS NOT DISTINCT FROM $2 AND status = 'pending'
       AND NOT ${IS_OVER}`,
    [appId, channelId],
  );
  return (row?.pending ?? 0) < LIMIT.approvalsPendingMax ? undefined : fail('tooManyApprovals');
}

/** Final status of a request. */
export type Settled = Exclude<ApprovalStatus, 'pending'>;
