// One line of the audit.

import type { Actor } from '../../ports/ledger.ts';
import { actorText } from '../actor-text.ts';
import type { Sql } from '../database.ts';

export type AuditAction =
  | 'organization.create'
  | 'organization.update'
  | 'member.join'
  | 'member.update'
  | 'member.remove'
  | 'invitation.create'
  | 'invitation.revoke'
  | 'app.create'
  | 'channel.create'
  | 'channel.update'
  | 'key.create'
  | 'key.revoke'
  | 'release.publish'
  | 'release.complete'
  | 'release.serve'
  | 'webhook.enable'
  | 'webhook.disable';

export type NewAuditEntry = {
  readonly organizationId: string;
  readonly actor: Actor;
  readonly action: AuditAction;
  /** What was changed, e.g. `app-ref/stable@1.2.0`. */
  readonly subject: string;
  /** Null when it did not exist. */
  readonly before: object | null;
  /** Null when it exists no longer. */
  readonly after: object | null;
};

/** In the transaction of the change, so that neither is ever without the other. */
export async function insertAudit(sql: Sql, entry: NewAuditEntry): Promise<void> {
  const { organizationId, actor, action, subject, before, after } = entry;
  await sql.query(
    `INSERT INTO audit_entries (organization_id, actor, action, subject, before, after)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [organizationId, actorText(actor), action, subject, toJson(before), toJson(after)],
  );
}

function toJson(state: object | null): string | null {
  return state === null ? null : JSON.stringify(state);
}
