// The end of an invitation.

import { fail, type Outcome } from '../../contract/failure.ts';
import type { Actor } from '../../ports/ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database } from '../database.ts';
import { insertAudit } from './insert-audit.ts';
import { isStorable } from './is-storable.ts';

type Row = { readonly organizationId: string; readonly email: string; readonly isOver: boolean };

/** One transaction under the invitation's lock: it is used or revoked, never both. */
export function revokeInvitation(
  database: Database,
  id: string,
  now: string,
  actor: Actor,
): Promise<Outcome<{ id: string }>> {
  return atomically(database, async (sql) => {
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
      actor,
      action: 'invitation.revoke',
      subject: found.email,
      before: { id },
      after: null,
    });
    return { id };
  });
}
