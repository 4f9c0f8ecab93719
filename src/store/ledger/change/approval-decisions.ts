// Decisions about requests that wait for an approval: who may decide, what ends a request, and its audit.

import { type Failure, fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { Role, StoredApproval } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import { type Actor, type ApprovingCall, actorText } from '../../ledger-terms.ts';
import { jsonOrNull } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { APPROVAL_COLUMNS, IS_OVER, metOf, PLACE, type Settled, subjectOf } from './approvals.ts';
import { type ActorSql, atomically, type RecordedExposure } from './atomically.ts';
import { type AuditAction, insertAudits } from './audit.ts';

/** Request whose row is locked, with its author and the states that its change met. */
export type LockedApproval = StoredApproval & {
  readonly organizationId: string;
  readonly appId: string;
  readonly keyId: string | null;
  readonly accountId: string | null;
  readonly neededRole: Role | null;
  readonly askedOn: readonly Omit<RecordedExposure, 'isWider'>[];
};

const LOCKED_COLUMNS = `${APPROVAL_COLUMNS}, approvals.organization_id AS "organizationId",
  approvals.app_id AS "appId", approvals.key_id AS "keyId", approvals.account_id AS "accountId",
  approvals.needed_role AS "neededRole", approvals.asked_on AS "askedOn"`;

/** Locks a request of the actor's organization. A second decision waits, and finds it decided. */
export async function lockApproval(sql: ActorSql, id: string): Promise<LockedApproval | Failure> {
  const { actor } = sql;
  const organizationId = actor.kind === 'account' ? actor.needs?.organizationId : undefined;
  if (organizationId === undefined || !isStorable(id)) return fail('unknownApproval');
  const held = await sql.query(
    'SELECT FROM approvals WHERE id = $1 AND organization_id = $2 FOR UPDATE',
    [id, organizationId],
  );
  if (held.length === 0) return fail('unknownApproval');
  // A second statement, because the first may have waited for the lock and would show the state before.
  const rows = await sql.query<LockedApproval>(
    `SELECT ${LOCKED_COLUMNS} FROM approvals ${PLACE} WHERE approvals.id = $1`,
    [id],
  );
  return rows[0] ?? fail('unknownApproval');
}

/** Returns the refusal of a request that is no longer pending. */
export function refuseDecided({ status }: Pick<StoredApproval, 'status'>): Failure {
  const words = status === 'expired' ? 'This request has expired' : `This request is ${status}`;
  return fail('approvalDecided', words);
}

type Approver = { readonly role: Role; readonly email: string; readonly isKnown: boolean };

/**
 * Returns the refusal of an actor who may not decide about a request; locks its membership until the
 * transaction ends. Publishers and owners may decide, if they joined at least 24 hours ago or in the
 * organization's first 24 hours, and made neither the request nor the key that made it.
 */
async function refuseApprover(
  sql: ActorSql,
  { organizationId, keyId, accountId }: LockedApproval,
): Promise<Failure | undefined> {
  const { actor } = sql;
  if (actor.kind !== 'account') return fail('forbidden');
  const [approver] = await sql.query<Approver>(
    `SELECT memberships.role, accounts.email, (
       memberships.created_at <= clock_timestamp() - $3 * interval '1 millisecond'
       OR memberships.created_at <= organizations.created_at + $3 * interval '1 millisecond'
     ) AS "isKnown"
     FROM memberships JOIN accounts ON accounts.id = memberships.account_id
       JOIN organizations ON organizations.id = memberships.organization_id
     WHERE memberships.organization_id = $1 AND memberships.account_id = $2
     FOR SHARE OF memberships`,
    [organizationId, actor.accountId, LIMIT.approverAgeMs],
  );
  if (approver === undefined) return fail('unknownApproval');
  if (approver.role === 'viewer') return fail('forbidden');
  if (accountId === actor.accountId) {
    return fail('forbidden', 'You asked for this: another member has to decide');
  }
  if (keyId !== null && (await hasMade(sql, approver, keyId))) {
    return fail('forbidden', 'You made the key that asked for this: another member has to decide');
  }
  return approver.isKnown
    ? undefined
    : fail('forbidden', 'You joined less than 24 hours ago: another member has to decide');
}

async function hasMade(sql: Sql, { email }: Approver, keyId: string): Promise<boolean> {
  const rows = await sql.query('SELECT FROM api_keys WHERE id = $1 AND created_by = $2', [
    keyId,
    actorText({ kind: 'token', email }),
  ]);
  return rows.length > 0;
}

/** Returns whether a request has expired or its author has lost the right; locks the rows of that right. */
async function isAuthorGone(
  sql: Sql,
  { id, organizationId, keyId, accountId }: LockedApproval,
): Promise<boolean> {
  if (keyId !== null) {
    await sql.query('SELECT FROM api_keys WHERE id = $1 FOR SHARE', [keyId]);
  }
  if (accountId !== null) {
    await sql.query(
      'SELECT FROM memberships WHERE organization_id = $1 AND account_id = $2 FOR SHARE',
      [organizationId, accountId],
    );
  }
  const over = await sql.query(`SELECT FROM approvals WHERE id = $1 AND ${IS_OVER}`, [id]);
  return over.length > 0;
}

/** Returns what has changed since a request was made, in words; undefined if nothing has. */
export function wordsForMoved(
  { askedOn }: LockedApproval,
  exposed: readonly RecordedExposure[],
): string | undefined {
  const met = metOf(exposed);
  if (JSON.stringify(met) === JSON.stringify(askedOn)) return undefined;
  const moved = met.find((each, at) => JSON.stringify(each) !== JSON.stringify(askedOn[at]));
  const { channel, version } = moved ?? askedOn.at(-1) ?? { channel: '', version: null };
  const name = version === null ? `The channel ${channel}` : `${channel} ${version}`;
  return `${name} has changed since this was asked for`;
}

type Settlement = {
  readonly status: Settled;
  readonly result: object | null;
  readonly reason?: string | undefined;
};

const ACTIONS: Readonly<Record<Settled, AuditAction>> = {
  approved: 'approval.approve',
  declined: 'approval.decline',
  expired: 'approval.expire',
  failed: 'approval.fail',
};

/** Stores the outcome of a locked request, and its audit entry. */
export async function settleApproval(
  sql: ActorSql,
  request: LockedApproval,
  settlement: Settlement,
): Promise<void> {
  await settle(sql, [request], settlement);
}

async function settle(
  sql: ActorSql,
  requests: readonly LockedApproval[],
  { status, result, reason }: Settlement,
): Promise<void> {
  const decidedBy = status === 'expired' ? null : actorText(sql.actor);
  await sql.query(
    `UPDATE approvals SET status = $2, result = $3, decided_by = $4, decided_at = clock_timestamp()
     WHERE id = ANY ($1::text[])`,
    [requests.map(({ id }) => id), status, jsonOrNull(result), decidedBy],
  );
  await insertAudits(
    sql,
    requests.map(({ id, organizationId, appId, request, requestedBy }) => ({
      organizationId,
      place: {
        app: { id: appId, ref: request.app },
        channel: request.channel,
        version: request.version,
      },
      action: ACTIONS[status],
      subject: subjectOf(request),
      before: { approval: id, status: 'pending' },
      after: {
        ...{ approval: id, status, operation: request.operation, requestedBy, decidedBy },
        ...(status === 'failed' && { why: (result as { error?: string } | null)?.error }),
      },
      reason,
    })),
  );
}

/**
 * Expires pending requests that are over, at most `rowsMax`, of one organization or of all; returns how many.
 * Skips those that a decision has locked, because the decision itself finds that they are over.
 */
export async function expireApprovals(
  sql: ActorSql,
  rowsMax: number,
  organizationId?: string,
): Promise<number> {
  const over = await sql.query<LockedApproval>(
    `SELECT ${LOCKED_COLUMNS} FROM approvals ${PLACE}
     WHERE approvals.status = 'pending' AND ($2::text IS NULL OR approvals.organization_id = $2)
       AND ${IS_OVER}
     ORDER BY approvals.id LIMIT $1 FOR UPDATE OF approvals SKIP LOCKED`,
    [rowsMax, organizationId ?? null],
  );
  if (over.length > 0) await settle(sql, over, { status: 'expired', result: null });
  return over.length;
}

/** Deletes at most `rowsMax` requests that were decided long ago; returns how many. */
async function forgetApprovals(sql: Sql, rowsMax: number): Promise<number> {
  const rows = await sql.query(
    `DELETE FROM approvals WHERE id = ANY (ARRAY (
       SELECT id FROM approvals
       WHERE status <> 'pending' AND decided_at <= clock_timestamp() - $2 * interval '1 millisecond'
       ORDER BY decided_at LIMIT $1
     )) RETURNING 1 AS one`,
    [rowsMax, LIMIT.approvalsKeptMs],
  );
  return rows.length;
}

/**
 * Returns why the actor cannot decide about a locked request. Expires one that is over: first rolls back what
 * the transaction has changed, and returns `refusal` as a value, so that the expiry is committed.
 */
export async function refuseDecision(
  sql: ActorSql,
  request: LockedApproval,
): Promise<Failure | { readonly refusal: Failure } | undefined> {
  const unfit = await refuseApprover(sql, request);
  if (unfit !== undefined) return unfit;
  if (request.status !== 'pending') return refuseDecided(request);
  if (!(await isAuthorGone(sql, request))) return undefined;
  if (sql.exposure.isWatched) await sql.rollBack();
  await settleApproval(sql, request, { status: 'expired', result: null });
  return { refusal: refuseDecided({ status: 'expired' }) };
}

/** Declines a request; only a member who could approve it may. */
export function declineApproval(
  database: Database,
  call: ApprovingCall,
  actor: Actor,
): Promise<Outcome<undefined>> {
  const result = call.reason === undefined ? null : { reason: call.reason };
  return decide(database, actor, call, { status: 'declined', result });
}

/** Fails a request whose stored call is refused before its change begins; returns the refusal. */
export async function failApproval(
  database: Database,
  call: ApprovingCall,
  actor: Actor,
  { message }: Failure,
): Promise<Failure> {
  const result = { error: message };
  const refused = await decide(database, actor, call, { status: 'failed', result });
  return refused ?? fail('approvalFailed', message);
}

async function decide(
  database: Database,
  actor: Actor,
  { id, reason }: ApprovingCall,
  settlement: Omit<Settlement, 'reason'>,
): Promise<Failure | undefined> {
  const kept = await atomically(database, actor, async (sql) => {
    const request = await lockApproval(sql, id);
    if (isFailure(request)) return request;
    const refusal = await refuseDecision(sql, request);
    if (refusal !== undefined) return refusal;
    await settleApproval(sql, request, { ...settlement, reason });
    return { refusal: undefined };
  });
  return isFailure(kept) ? kept : kept.refusal;
}

/**
 * Expires requests that are over, and deletes old ones, at most `rowsMax` of each; returns the larger number.
 */
export async function sweepApprovals(database: Database, rowsMax: number): Promise<number> {
  const expired = await atomically(database, { kind: 'service' }, (sql) =>
    expireApprovals(sql, rowsMax),
  );
  if (isFailure(expired)) throw new Error(expired.message);
  return Math.max(expired, await forgetApprovals(database, rowsMax));
}
