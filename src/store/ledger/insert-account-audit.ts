// Statement that adds an entry about an account to the audit.

import { LIMIT } from '../../contract/limit.ts';
import { actorText } from './actor-text.ts';
import type { ActorSql } from './atomically.ts';

type AccountAction =
  | 'account.sign-in'
  | 'account.fail-sign-in'
  | 'account.reset-password'
  | 'account.set-password';

/**
 * Adds the entry to the audit of every organization that the account is a member of: the audit belongs to
 * organizations, and an account is in several. Runs in the transaction of what it tells.
 */
export async function insertAccountAudit(
  sql: ActorSql,
  account: { readonly id: string; readonly email: string },
  action: AccountAction,
  after: object,
): Promise<void> {
  await sql.query(
    `INSERT INTO audit_entries (organization_id, actor, action, subject, before, after, request_id)
     SELECT organization_id, $2, $3, $4, NULL, $5, $7 FROM memberships
     WHERE account_id = $1 ORDER BY created_at, organization_id LIMIT $6`,
    [
      account.id,
      actorText(sql.actor),
      action,
      account.email,
      JSON.stringify(after),
      LIMIT.organizationsShownMax,
      sql.actor.requestId ?? null,
    ],
  );
}
