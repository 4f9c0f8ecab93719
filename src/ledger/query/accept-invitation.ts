// An invitation that is used.

import { fail, type Outcome } from '../../contract/failure.ts';
import type { Account, Role } from '../../contract/resource.ts';
import type { NewAccount } from '../../ports/account-ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { findAccount } from './find-account.ts';
import { insertAccount } from './insert-account.ts';
import { insertAudit } from './insert-audit.ts';
import { IS_OPEN } from './invitation-columns.ts';
import { lockOrganization } from './lock-organization.ts';

type Used = {
  readonly id: string;
  readonly organizationId: string;
  readonly email: string;
  readonly role: Role;
};

/**
 * One transaction under the organization's lock, which whoever invites takes first, too. Using the
 * invitation finds nothing when another has used or revoked it. The caller has checked the password of an
 * account there is; its hash says whether it still is that one.
 */
export function acceptInvitation(
  database: Database,
  tokenHash: string,
  account: NewAccount & { readonly isNew: boolean },
  now: string,
): Promise<Outcome<Account>> {
  return atomically(database, async (sql) => {
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
    await join(sql, used, holder);
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

/** Nobody loses a role by an old invitation. */
async function join(sql: Sql, { organizationId, role }: Used, account: Account): Promise<void> {
  const rows = await sql.query<{ role: Role }>(
    `INSERT INTO memberships (organization_id, account_id, role) VALUES ($1, $2, $3)
     ON CONFLICT (organization_id, account_id) DO UPDATE SET role = excluded.role
       WHERE array_position(ARRAY['owner', 'publisher', 'viewer'], excluded.role::text)
         < array_position(ARRAY['owner', 'publisher', 'viewer'], memberships.role::text)
     RETURNING role`,
    [organizationId, account.id, role],
  );
  if (rows.length === 0) return;
  await insertAudit(sql, {
    organizationId,
    actor: { kind: 'account', name: account.email },
    action: 'member.join',
    subject: account.email,
    before: null,
    after: { role },
  });
}
