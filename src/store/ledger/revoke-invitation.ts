// Transaction that revokes an invitation.

import type { RevokedInvitation } from '../../contract/console.ts';
import { fail, type LostRight, type Outcome } from '../../contract/failure.ts';
import { isStorable } from '../../contract/text.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import type { Database } from './database.ts';

type Row = { readonly organizationId: string; readonly email: string; readonly isOver: boolean };

/**
 * Runs as one transaction under the lock on the invitation's row, so that an invitation is used or revoked,
 * never both. One that was used or revoked already stays as it is.
 */
export function revokeInvitation(
  database: Database,
  id: string,
  now: string,
  actor: Actor,
): Promise<Outcome<RevokedInvitation, 'unknownInvitation' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    if (!isStorable(id)) return fail('unknownInvitation');
    const [found] = await sql.query<Row>(
      `SELECT organization_id AS "organizationId", email,
         used_at IS NOT NULL OR revoked_at IS NOT NULL AS "isOver"
       FROM invitations WHERE id = $1 FOR UPDATE`,
      [id],
    );
    if (found === undefined) return fail('unknownInvitation');
    if (found.isOver) return { id };
    await sql.query('UPDATE invitations SET revoked_at = $2::timestamptz WHERE id = $1', [id, now]);
    await insertAudit(sql, {
      organizationId: found.organizationId,
      action: 'invitation.revoke',
      subject: found.email,
      before: { id },
      after: null,
    });
    return { id };
  });
}
