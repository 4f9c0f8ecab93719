// SQL of sessions: opening, finding, listing and ending them.

import type { NoContent } from '../../../contract/console.ts';
import { fail, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { ListedSession } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import type { Identity, NewSession, Opening, StoredSession } from '../../account-ledger.ts';
import type { AccountActor } from '../../ledger-terms.ts';
import { type ActorSql, atomically } from '../change/atomically.ts';
import { insertAccountAudit } from '../change/audit.ts';
import { ACCOUNT_COLUMNS, columns, IS_STRONG, isoText, newId } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { insertMail } from './deliveries.ts';

/**
 * Opens a session if the account still has this password hash, and ends the account's oldest sessions beyond
 * the limit. Writes an audit entry, with the failed sign-ins not yet in the audit. Returns the password's
 * number, or `wrongLogin` when the hash has changed, or when the account no longer has the identity by which
 * a provider opens the session. A password alone opens no session of an account with passkeys:
 * `secondFactorFirst`.
 *
 * Locks the account's row and compares the hash there, so that no session with the old password opens after a
 * password change; an opening without a password compares nothing. An opening by a provider checks the
 * identity under that lock, because an invitation or a link to a new password may have removed it.
 */
export function openSession(
  database: Database,
  { id, email, passwordHash, identity }: Opening,
  session: NewSession,
): Promise<Outcome<number>> {
  return atomically(database, { kind: 'token', email }, async (sql) => {
    const [account] = await sql.query<{ passwordNumber: number }>(
      `SELECT password_number AS "passwordNumber" FROM accounts
       WHERE id = $1 AND ($2::text IS NULL OR password_hash = $2) FOR NO KEY UPDATE`,
      [id, passwordHash ?? null],
    );
    if (account === undefined) return fail('wrongLogin');
    if (session.openedBy === 'oidc' && !(await hasIdentity(sql, id, identity))) {
      return fail('wrongLogin');
    }
    if (session.openedBy === 'password' && (await hasPasskeys(sql, id))) {
      return fail('secondFactorFirst');
    }
    await insertSession(sql, { id, email }, session);
    return account.passwordNumber;
  });
}

async function hasIdentity(
  sql: Sql,
  accountId: string,
  identity: Identity | undefined,
): Promise<boolean> {
  if (identity === undefined) return false;
  const rows = await sql.query(
    'SELECT FROM oidc_identities WHERE issuer = $1 AND subject = $2 AND account_id = $3',
    [identity.issuer, identity.subject, accountId],
  );
  return rows.length > 0;
}

async function hasPasskeys(sql: Sql, accountId: string): Promise<boolean> {
  const rows = await sql.query('SELECT FROM passkeys WHERE account_id = $1 LIMIT 1', [accountId]);
  return rows.length > 0;
}

/**
 * Inserts a session under the lock on the account's row. In the same transaction, deletes the account's
 * expired sessions and its oldest ones beyond the limit, and writes an audit entry and the mail.
 */
export async function insertSession(
  sql: ActorSql,
  account: { readonly id: string; readonly email: string },
  session: NewSession,
): Promise<void> {
  const { tokenHash, at, expiresAt, address, browser, openedBy, secondFactor } = session;
  await sql.query(
    `DELETE FROM sessions WHERE account_id = $1 AND (expires_at <= $2::timestamptz OR token_hash IN (
       SELECT token_hash FROM sessions WHERE account_id = $1
       ORDER BY created_at DESC, token_hash OFFSET $3
     ))`,
    [account.id, at, LIMIT.sessionsPerAccountMax - 1],
  );
  await sql.query(
    `INSERT INTO sessions (token_hash, account_id, created_at, last_seen_at, expires_at,
       id, browser, address, opened_by, second_factor)
     VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9)`,
    [tokenHash, account.id, at, expiresAt, newId('ses'), browser, address, openedBy, secondFactor],
  );
  const failuresBefore = await tellFailures(sql, account.id);
  await insertAccountAudit(sql, account, 'account.sign-in', {
    address,
    by: openedBy,
    ...(secondFactor ? { secondFactor } : {}),
    ...(failuresBefore === 0 ? {} : { failuresBefore }),
  });
  await insertMail(sql, session.mail);
}

/** Resets the count of failed sign-ins that are not in the audit yet; returns the former count. */
async function tellFailures(sql: ActorSql, accountId: string): Promise<number> {
  const [told] = await sql.query<{ failures: number }>(
    `UPDATE failed_sign_ins SET failures = 0
     FROM (SELECT failures FROM failed_sign_ins WHERE account_id = $1 FOR UPDATE) AS before
     WHERE account_id = $1 RETURNING before.failures::int AS failures`,
    [accountId],
  );
  return told?.failures ?? 0;
}

/**
 * Returns the account of a session that is not expired at `now` and was used since `idleSince`. Stores the
 * time of use at most once a minute; that write changes no row if the session has ended meanwhile.
 */
export async function findSession(
  sql: Sql,
  tokenHash: string,
  now: string,
  idleSince: string,
): Promise<StoredSession | undefined> {
  const rows = await sql.query<StoredSession & { isStale: boolean }>(
    `SELECT ${ACCOUNT_COLUMNS}, ${IS_STRONG} AS "isStrong",
       last_seen_at <= $2::timestamptz - interval '1 minute' AS "isStale"
     FROM sessions JOIN accounts ON accounts.id = sessions.account_id
     WHERE token_hash = $1 AND expires_at > $2::timestamptz AND last_seen_at > $3::timestamptz`,
    [tokenHash, now, idleSince],
  );
  const [found] = rows;
  if (found === undefined) return undefined;
  const { isStale, ...session } = found;
  if (isStale) {
    await sql.query('UPDATE sessions SET last_seen_at = $2::timestamptz WHERE token_hash = $1', [
      tokenHash,
      now,
    ]);
  }
  return session;
}

/** Lists the sessions of an account that are open at `now`, the last used first. */
export function listSessions(
  sql: Sql,
  { accountId, tokenHash }: Pick<AccountActor, 'accountId' | 'tokenHash'>,
  now: string,
  idleSince: string,
): Promise<readonly ListedSession[]> {
  const shown = columns<ListedSession>({
    id: 'id',
    browser: 'browser',
    address: 'address',
    createdAt: isoText('created_at'),
    lastUsedAt: isoText('last_seen_at'),
    openedBy: 'opened_by',
    secondFactor: 'second_factor',
    current: 'token_hash = $2',
  });
  return sql.query<ListedSession>(
    `SELECT ${shown} FROM sessions
     WHERE account_id = $1 AND expires_at > $3::timestamptz AND last_seen_at > $4::timestamptz
     ORDER BY last_seen_at DESC, id LIMIT ${LIMIT.sessionsPerAccountMax}`,
    [accountId, tokenHash, now, idleSince],
  );
}

/** Ends a session of the actor's account by its id; that of another account is unknown. */
export function endSessionById(
  database: Database,
  id: string,
  actor: AccountActor,
): Promise<Outcome<NoContent>> {
  return atomically(database, actor, async (sql) => {
    if (!isStorable(id)) return fail('unknownSession');
    await lockAccountRow(sql, actor.accountId);
    // Before the deletion, which may be of the actor's own session.
    await sql.confirmRight();
    const ended = await sql.query<{ browser: string | null; address: string | null }>(
      'DELETE FROM sessions WHERE id = $1 AND account_id = $2 RETURNING browser, address',
      [id, actor.accountId],
    );
    if (ended[0] === undefined) return fail('unknownSession');
    await insertAccountAudit(sql, accountOf(actor), 'account.end-session', ended[0]);
    return {};
  });
}

/** Ends the sessions of the actor's account, except the actor's own. */
export function endOtherSessions(
  database: Database,
  actor: AccountActor,
): Promise<Outcome<NoContent>> {
  return atomically(database, actor, async (sql) => {
    await lockAccountRow(sql, actor.accountId);
    const sessions = await deleteSessions(sql, actor.accountId, actor.tokenHash);
    if (sessions > 0) {
      await insertAccountAudit(sql, accountOf(actor), 'account.end-sessions', { sessions });
    }
    return {};
  });
}

/** Account of an actor, as the audit names it. */
export function accountOf({ accountId, email }: AccountActor): { id: string; email: string } {
  return { id: accountId, email };
}

/**
 * Ends all sessions of an account. Locks the account's row first, as every transaction does that ends several
 * sessions, so that two of them cannot deadlock.
 */
export function endSessions(database: Database, accountId: string): Promise<void> {
  return database.transaction(async (sql) => {
    await lockAccountRow(sql, accountId);
    await deleteSessions(sql, accountId, undefined);
  });
}

/** Locks an account's row until the transaction ends. */
export async function lockAccountRow(sql: Sql, accountId: string): Promise<void> {
  await sql.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
}

/**
 * Ends an account's sessions except the one with this token hash, under the lock on the account's row.
 * Returns their number.
 */
export async function deleteSessions(
  sql: Sql,
  accountId: string,
  keptTokenHash: string | undefined,
): Promise<number> {
  const ended = await sql.query(
    `DELETE FROM sessions WHERE account_id = $1 AND ($2::text IS NULL OR token_hash <> $2)
     RETURNING token_hash`,
    [accountId, keptTokenHash ?? null],
  );
  return ended.length;
}

/** Ends the session with this token hash; an unknown one is no error. */
export async function endSession(sql: Sql, tokenHash: string): Promise<void> {
  await sql.query('DELETE FROM sessions WHERE token_hash = $1', [tokenHash]);
}
