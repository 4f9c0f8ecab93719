// Transaction that gives a member another role or ends the membership.

import { fail, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Member, Role } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import { MEMBER_COLUMNS } from './columns.ts';
import type { Database, Sql } from './database.ts';
import { lockOrganization } from './lock-organization.ts';

/**
 * Runs as one transaction under the organization's lock, so that two owners who demote each other at once do
 * not both succeed. An undefined role ends the membership. The role that the member has already changes
 * nothing and is not audited.
 */
export function changeMember(
  database: Database,
  organizationId: string,
  accountId: string,
  role: Role | undefined,
  actor: Actor,
): Promise<Outcome<Member, 'unknownOrganization' | 'unknownMember' | 'lastOwner' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const organization = await lockOrganization(sql, organizationId);
    if (organization === undefined) return fail('unknownOrganization');
    const member = await readMember(sql, organizationId, accountId);
    if (member === undefined) return fail('unknownMember');
    if (member.role === role) return member;
    const isLosingOwner = member.role === 'owner' && role !== 'owner';
    if (isLosingOwner && (await countOwners(sql, organizationId)) <= 1) return fail('lastOwner');
    // Before the change: whoever leaves, or takes the own role down, has the right until then.
    await sql.confirmRight();
    await store(sql, organizationId, accountId, role);
    await insertAudit(sql, {
      organizationId,
      action: role === undefined ? 'member.remove' : 'member.update',
      subject: member.account.email,
      before: { role: member.role },
      after: role === undefined ? null : { role },
    });
    return { ...member, role: role ?? member.role };
  });
}

async function readMember(
  sql: Sql,
  organizationId: string,
  accountId: string,
): Promise<Member | undefined> {
  if (!isStorable(accountId)) return undefined;
  const rows = await sql.query<Member>(
    `SELECT ${MEMBER_COLUMNS}
     FROM memberships JOIN accounts ON accounts.id = memberships.account_id
     WHERE memberships.organization_id = $1 AND memberships.account_id = $2`,
    [organizationId, accountId],
  );
  return rows[0];
}

async function countOwners(sql: Sql, organizationId: string): Promise<number> {
  const rows = await sql.query<{ owners: number }>(
    `SELECT count(*)::int AS owners FROM memberships
     WHERE organization_id = $1 AND role = 'owner'`,
    [organizationId],
  );
  return rows[0]?.owners ?? 0;
}

async function store(
  sql: Sql,
  organizationId: string,
  accountId: string,
  role: Role | undefined,
): Promise<void> {
  const member = [organizationId, accountId];
  const where = 'WHERE organization_id = $1 AND account_id = $2';
  if (role === undefined) await sql.query(`DELETE FROM memberships ${where}`, member);
  else await sql.query(`UPDATE memberships SET role = $3 ${where}`, [...member, role]);
}
