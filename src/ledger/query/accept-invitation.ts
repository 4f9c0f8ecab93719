// Transaction that uses an invitation: the invited account becomes a member of the organization.

import { fail, type Outcome } from '../../contract/failure.ts';
import type { Account, Role } from '../../contract/resource.ts';
import type { NewAccount } from '../../ports/account-ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { IS_OPEN } from './column.ts';
import { findAccount } from './find-account.ts';
import { insertAccount } from './insert-account.ts';
import { insertMembership } from './insert-membership.ts';
import { lockOrganization } from './lock-organization.ts';

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
  account: NewAccount & { readonly isNew: boolean },
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
    const holder = account.isNew
      ? await insertAccount(sql, account)
      : await findUnchanged(sql, account);
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

async function findUnchanged(sql: Sql, account: NewAccount): Promise<Account | undefined> {
  const stored = await findAccount(sql, account.email);
  if (stored === undefined || stored.passwordHash !== account.passwordHash) return undefined;
  const { id, email, name } = stored;
  return { id, email, name };
}
