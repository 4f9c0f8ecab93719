// SQL of accounts: passwords, links for an account, failed sign-ins, and the keys that nodes sign with.

import { fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import type { Account } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import type {
  AccountLinkKind,
  FailedSignIn,
  LinkedAccount,
  NewAccount,
  NewAccountLink,
  StoredAccount,
} from '../../account-ledger.ts';
import type { Actor } from '../../ledger-terms.ts';
import { type ActorSql, atomically } from '../change/atomically.ts';
import { insertAccountAudit } from '../change/audit.ts';
import { ACCOUNT_COLUMNS, newId } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { insertMail } from './deliveries.ts';
import { findLink, storeLink, useLink } from './one-time-links.ts';
import { deleteSessions, lockAccountRow } from './sessions.ts';

/** Reads an account by its email in lower case. */
export async function findAccount(sql: Sql, email: string): Promise<StoredAccount | undefined> {
  if (!isStorable(email)) return undefined;
  const rows = await sql.query<StoredAccount>(
    `SELECT ${ACCOUNT_COLUMNS} FROM accounts WHERE email = $1`,
    [email],
  );
  return rows[0];
}

/** Returns whether the service has an account. Accounts are never removed. */
export async function hasAccounts(sql: Sql): Promise<boolean> {
  const rows = await sql.query('SELECT FROM accounts LIMIT 1');
  return rows.length > 0;
}

/**
 * Returns whether the service has an account and an organization, neither of which is ever removed; until
 * then, the admin token sets the service up. An account alone is that of a person whom a provider let in, and
 * has no right.
 */
export async function isSetUp(sql: Sql): Promise<boolean> {
  const rows = await sql.query(
    'SELECT WHERE EXISTS (SELECT FROM accounts) AND EXISTS (SELECT FROM organizations)',
  );
  return rows.length > 0;
}

/** Returns the new account; undefined if the email has one. Waits for transactions that insert it, too. */
export async function insertAccount(sql: Sql, account: NewAccount): Promise<Account | undefined> {
  const { email, name, passwordHash } = account;
  const id = newId('acc');
  const rows = await sql.query(
    `INSERT INTO accounts (id, email, name, password_hash) VALUES ($1, $2, $3, $4)
     ON CONFLICT (email) DO NOTHING RETURNING id`,
    [id, email, name, passwordHash],
  );
  return rows.length === 0 ? undefined : { id, email, name };
}

/**
 * Replaces the actor's password hash if it is still `before`, ends the account's other sessions and deletes
 * its password reset link, in one transaction. Returns the new password's number; undefined when the hash has
 * changed. The lock on the account's row orders the change against `openSession`.
 */
export function changePassword(
  database: Database,
  before: string,
  after: string,
  actor: Extract<Actor, { kind: 'account' }>,
): Promise<Outcome<number | undefined>> {
  return atomically(database, actor, async (sql) => {
    const { accountId, tokenHash, email } = actor;
    const rows = await sql.query(
      'SELECT FROM accounts WHERE id = $1 AND password_hash = $2 FOR NO KEY UPDATE',
      [accountId, before],
    );
    if (rows.length === 0) return undefined;
    const passwordNumber = await storePassword(sql, accountId, after, tokenHash);
    await insertAccountAudit(sql, { id: accountId, email }, 'account.set-password', {
      by: 'password',
    });
    return passwordNumber;
  });
}

/**
 * Stores the password hash under the next number, ends all sessions except the one with `keptTokenHash`, and
 * deletes the account's reset link. Returns the password's number. Call it under the lock on the account's
 * row.
 */
export async function storePassword(
  sql: Sql,
  accountId: string,
  passwordHash: string,
  keptTokenHash: string | undefined,
): Promise<number> {
  const [stored] = await sql.query<{ passwordNumber: number }>(
    `UPDATE accounts SET password_hash = $2, password_number = password_number + 1 WHERE id = $1
     RETURNING password_number AS "passwordNumber"`,
    [accountId, passwordHash],
  );
  if (stored === undefined) throw new Error(`Locked account ${accountId} has no row`);
  await deleteSessions(sql, accountId, keptTokenHash);
  await sql.query('DELETE FROM password_resets WHERE account_id = $1', [accountId]);
  return stored.passwordNumber;
}

/** Action of the audit entry of a new link. */
const MADE = { reset: 'account.reset-password', recovery: 'account.recover' } as const;

/**
 * Stores a link for an account, and its audit entry, in one transaction, in place of the account's earlier
 * link of this kind. The audit has neither the token nor its hash.
 */
export function createAccountLink(
  database: Database,
  kind: AccountLinkKind,
  of: LinkedAccount,
  { mailTo, ...link }: NewAccountLink,
  actor: Actor,
): Promise<Outcome<{ readonly email: string }>> {
  return atomically(database, actor, async (sql) => {
    const account = await findLinked(sql, of);
    if (isFailure(account)) return account;
    await storeLink(sql, kind, { ...link, accountId: account.id });
    await insertAccountAudit(sql, account, MADE[kind], { expiresAt: link.expiresAt });
    await insertMail(sql, mailTo?.(account.email));
    return { email: account.email };
  });
}

async function findLinked(
  sql: ActorSql,
  of: LinkedAccount,
): Promise<Outcome<{ id: string; email: string }>> {
  if ('email' in of) return (await findAccount(sql, of.email)) ?? fail('unknownAccount');
  if (!isStorable(of.accountId)) return fail('unknownMember');
  const [member] = await sql.query<{ id: string; email: string }>(
    `SELECT accounts.id, accounts.email FROM memberships JOIN accounts ON accounts.id = account_id
     WHERE organization_id = $1 AND account_id = $2`,
    [of.organizationId, of.accountId],
  );
  return member ?? fail('unknownMember');
}

/** Returns whether an account is a member of any organization. */
export async function hasMembership(sql: Sql, accountId: string): Promise<boolean> {
  const rows = await sql.query('SELECT FROM memberships WHERE account_id = $1 LIMIT 1', [
    accountId,
  ]);
  return rows.length > 0;
}

/** Deletes the passkeys and identities of an account whose maker may not be the owner of its address. */
export async function forgetMaker(sql: Sql, accountId: string): Promise<void> {
  await sql.query('DELETE FROM oidc_identities WHERE account_id = $1', [accountId]);
  await sql.query('DELETE FROM passkeys WHERE account_id = $1', [accountId]);
}

/**
 * Uses up a link: stores the password and ends every session of the account in one transaction. The maker of
 * an account without a membership loses it, because its address may not have been theirs. Deletes the link
 * first, so that only one of several concurrent calls finds it.
 */
export async function usePasswordReset(
  database: Database,
  tokenHash: string,
  passwordHash: string,
  now: string,
): Promise<Outcome<StoredAccount>> {
  const found = await findLink(database, 'reset', tokenHash, now);
  if (found === undefined) return fail('unknownReset');
  return atomically(database, { kind: 'token', email: found.email }, async (sql) => {
    const account = await findAccount(sql, found.email);
    if (account === undefined) return fail('unknownReset');
    await lockAccountRow(sql, account.id);
    const used = await useLink(sql, 'reset', tokenHash, now);
    if (used?.accountId !== account.id) return fail('unknownReset');
    if (!(await hasMembership(sql, account.id))) await forgetMaker(sql, account.id);
    const passwordNumber = await storePassword(sql, account.id, passwordHash, undefined);
    await insertAccountAudit(sql, account, 'account.set-password', { by: 'link' });
    return { ...account, passwordHash, passwordNumber };
  });
}

/** Failures since the last audit entry; null while the next entry is not due. */
type Due = { readonly failures: number | null };

/**
 * Counts failed sign-ins of an account, and writes an audit entry at most once an hour, with the address of
 * the last failure. The lock on the row orders nodes, so that one of them writes the entry. The audit entry
 * of the next sign-in includes the failures counted since.
 */
export async function recordFailedSignIns(
  database: Database,
  { account, failures, address }: FailedSignIn,
): Promise<void> {
  await atomically(database, { kind: 'stranger' }, async (sql) => {
    await sql.query(
      `INSERT INTO failed_sign_ins (account_id, failures, told_at) VALUES ($1, 0, '-infinity')
       ON CONFLICT (account_id) DO NOTHING`,
      [account.id],
    );
    const [due] = await sql.query<Due>(
      `UPDATE failed_sign_ins SET failures = failures + $2 WHERE account_id = $1
       RETURNING CASE WHEN told_at <= clock_timestamp() - interval '1 hour' THEN failures::int END
         AS failures`,
      [account.id, failures],
    );
    if (due === undefined || due.failures === null) return undefined;
    await sql.query(
      'UPDATE failed_sign_ins SET failures = 0, told_at = clock_timestamp() WHERE account_id = $1',
      [account.id],
    );
    await insertAccountAudit(sql, account, 'account.fail-sign-in', {
      address,
      failures: due.failures,
    });
    return undefined;
  });
}

/** Returns the signing key of this name; stores `draft` if there is none. All nodes get the same one. */
export async function readSigningKey(sql: Sql, name: string, draft: string): Promise<string> {
  const read = () =>
    sql.query<{ secret: string }>('SELECT secret FROM signing_keys WHERE name = $1', [name]);
  const [known] = await read();
  if (known !== undefined) return known.secret;
  await sql.query(
    'INSERT INTO signing_keys (name, secret) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
    [name, draft],
  );
  const [stored] = await read();
  if (stored === undefined) throw new Error(`Signing key ${name} was not stored`);
  return stored.secret;
}
