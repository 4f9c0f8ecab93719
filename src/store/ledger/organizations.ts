// Transaction that uses an invitation: the invited account becomes a member of the organization.

import { fail, type Outcome } from '../../contract/failure.ts';
import type { Account, Role } from '../../contract/resource.ts';
import type { Joining, NewAccount, StoredAccount } from '../account-ledger.ts';
import { atomically } from './atomically.ts';
import { IS_OPEN } from './columns.ts';
import type { Database, Sql } from './database.ts';
import { findAccount } from './find-account.ts';
import { insertAccount } from './insert-account.ts';
import { insertMembership } from './insert-membership.ts';
import { lockOrganization } from './lock-organization.ts';
import { storePassword } from './store-password.ts';

type Used = {
  readonly id: string;
  readonly organizationId: string;
  readonly email: string;
  readonly role: Role;
};

/**
 * Runs as one transaction under the organization's lock, which `createInvitation` takes first, too. The
 * update of the invitation finds no row when another transaction has used or revoked it. The caller has
 * checked the password of an existing account; the password hash tells whether the password has changed
 * since.
 */
export function acceptInvitation(
  database: Database,
  tokenHash: string,
  account: Joining,
  now: string,
): Promise<Outcome<Account, 'unknownInvitation'>> {
  return atomically(database, { kind: 'token', email: account.email }, async (sql) => {
    await lockOrganizationOf(sql, tokenHash);
    const [used] = await sql.query<Used>(
      `UPDATE invitations SET used_at = $1::timestamptz WHERE token_hash = $2 AND ${IS_OPEN}
       RETURNING id, organization_id AS "organizationId", email, role`,
      [now, tokenHash],
    );
    if (used === undefined || used.email !== account.email) return fail('unknownInvitation');
    const holder = await findHolder(sql, account);
    if (holder === undefined) return fail('unknownInvitation');
    await insertMembership(sql, used.organizationId, holder, used.role);
    return holder;
  });
}

async function lockOrganizationOf(sql: Sql, tokenHash: string): Promise<void> {
  const [found] = await sql.query<{ organizationId: string }>(
    'SELECT organization_id AS "organizationId" FROM invitations WHERE token_hash = $1',
    [tokenHash],
  );
  if (found !== undefined) await lockOrganization(sql, found.organizationId);
}

function findHolder(sql: Sql, account: Joining): Promise<Account | undefined> {
  switch (account.as) {
    case 'new':
      return insertAccount(sql, account);
    case 'known':
      return findUnchanged(sql, account);
    case 'claimed':
      return claim(sql, account);
  }
}

async function findUnchanged(sql: Sql, account: NewAccount): Promise<Account | undefined> {
  const stored = await lockAccount(sql, account.email);
  if (stored === undefined || stored.passwordHash !== account.passwordHash) return undefined;
  const { id, email, name } = stored;
  return { id, email, name };
}

/** Gives the account its holder's name and password, unless it has become a member somewhere meanwhile. */
async function claim(sql: Sql, account: NewAccount): Promise<Account | undefined> {
  const stored = await lockAccount(sql, account.email);
  if (stored === undefined) return undefined;
  const { id, email } = stored;
  const memberships = await sql.query('SELECT FROM memberships WHERE account_id = $1 LIMIT 1', [
    id,
  ]);
  if (memberships.length > 0) return undefined;
  await sql.query('UPDATE accounts SET name = $2 WHERE id = $1', [id, account.name]);
  await storePassword(sql, id, account.passwordHash, undefined);
  return { id, email, name: account.name };
}

/** Locks an account, so that of several invitations that are used at once each sees what the former made. */
async function lockAccount(sql: Sql, email: string): Promise<StoredAccount | undefined> {
  await sql.query('SELECT FROM accounts WHERE email = $1 FOR NO KEY UPDATE', [email]);
  return findAccount(sql, email);
}
