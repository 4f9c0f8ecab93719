// Transaction that creates an invitation to an organization. Only the hash of its token is stored, and the
// audit has not even that.

import { type Failure, fail, type LostRight, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Invitation } from '../../contract/resource.ts';
import type { NewInvitation } from '../account-ledger.ts';
import type { Actor } from '../ledger-terms.ts';
import { actorText } from './actor-text.ts';
import { atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import { INVITATION_COLUMNS, IS_OPEN } from './columns.ts';
import type { Database, Sql } from './database.ts';
import { lockOrganization } from './lock-organization.ts';
import { newId } from './new-id.ts';

/**
 * Revokes the email's open invitation, if there is one, and stores the new one in one transaction under the
 * organization's lock. The lock keeps an email at one open invitation per organization.
 */
export function createInvitation(
  database: Database,
  invitation: NewInvitation,
  actor: Actor,
): Promise<
  Outcome<Invitation, 'unknownOrganization' | 'alreadyMember' | 'tooManyInvitations' | LostRight>
> {
  return atomically(database, actor, async (sql) => {
    const { organizationId, email, role, at } = invitation;
    const organization = await lockOrganization(sql, organizationId);
    if (organization === undefined) return fail('unknownOrganization');
    await sql.query(
      `UPDATE invitations SET revoked_at = $1::timestamptz
       WHERE organization_id = $2 AND email = $3 AND ${IS_OPEN}`,
      [at, organizationId, email],
    );
    const obstacle = await findObstacle(sql, invitation);
    if (obstacle !== undefined) return obstacle;
    const created = await insert(sql, invitation, actor);
    await insertAudit(sql, {
      organizationId,
      action: 'invitation.create',
      subject: email,
      before: null,
      after: { id: created.id, role, expiresAt: created.expiresAt },
    });
    return created;
  });
}

async function findObstacle(
  sql: Sql,
  { organizationId, email, at }: NewInvitation,
): Promise<Failure<'alreadyMember' | 'tooManyInvitations'> | undefined> {
  const rows = await sql.query<{ isMember: boolean; open: number }>(
    `SELECT EXISTS (
       SELECT FROM memberships JOIN accounts ON accounts.id = memberships.account_id
       WHERE memberships.organization_id = $2 AND accounts.email = $3
     ) AS "isMember",
     (SELECT count(*)::int FROM invitations WHERE organization_id = $2 AND ${IS_OPEN}) AS open`,
    [at, organizationId, email],
  );
  if (rows[0]?.isMember) return fail('alreadyMember');
  return (rows[0]?.open ?? 0) >= LIMIT.invitationsMax ? fail('tooManyInvitations') : undefined;
}

async function insert(sql: Sql, invitation: NewInvitation, actor: Actor): Promise<Invitation> {
  const { organizationId, tokenHash, email, role, at, expiresAt } = invitation;
  const rows = await sql.query<Invitation>(
    `INSERT INTO invitations
       (id, organization_id, token_hash, email, role, created_by, created_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7::timestamptz, $8::timestamptz)
     RETURNING ${INVITATION_COLUMNS}`,
    [newId('inv'), organizationId, tokenHash, email, role, actorText(actor), at, expiresAt],
  );
  if (rows[0] === undefined) throw new Error('A new invitation has no row');
  return rows[0];
}
