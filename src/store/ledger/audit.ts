// Statement that adds an entry to the audit.

import { actorText } from './actor-text.ts';
import type { ActorSql } from './atomically.ts';

export type AuditAction =
  | 'organization.create'
  | 'organization.update'
  | 'member.join'
  | 'member.update'
  | 'member.remove'
  | 'invitation.create'
  | 'invitation.revoke'
  | 'app.create'
  | 'app.update'
  | 'channel.create'
  | 'channel.update'
  | 'device.purge'
  | 'key.create'
  | 'key.revoke'
  | 'plan.advance'
  | 'plan.cancel'
  | 'plan.complete'
  | 'plan.create'
  | 'plan.hold'
  | 'plan.resume'
  | 'plan.start'
  | 'release.publish'
  | 'release.promote'
  | 'release.complete'
  | 'release.serve'
  | 'release.withdraw'
  | 'webhook.enable'
  | 'webhook.update'
  | 'webhook.disable';

export type NewAuditEntry = {
  readonly organizationId: string;
  readonly action: AuditAction;
  /** Name of the changed thing, e.g. `app-ref/stable@1.2.0`. */
  readonly subject: string;
  /** State before the change; null when the subject did not exist. */
  readonly before: object | null;
  /** State after the change; null when the subject does not exist any more. */
  readonly after: object | null;
  /** Reason that the author gave. */
  readonly reason?: string | undefined;
};

/**
 * Runs in the transaction of the change, so that neither change nor entry is ever stored without the other.
 * The entry names the actor that the transaction writes for, and its request. Returns the entry's id.
 */
export async function insertAudit(sql: ActorSql, entry: NewAuditEntry): Promise<string> {
  const { organizationId, action, subject, before, after, reason } = entry;
  const rows = await sql.query<{ id: string }>(
    `INSERT INTO audit_entries (organization_id, actor, action, subject, before, after, request_id, reason)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id::text AS id`,
    [
      organizationId,
      actorText(sql.actor),
      action,
      subject,
      toJson(before),
      toJson(after),
      sql.actor.requestId ?? null,
      reason ?? null,
    ],
  );
  if (rows[0] === undefined) throw new Error('The audit has no entry');
  return rows[0].id;
}

function toJson(state: object | null): string | null {
  return state === null ? null : JSON.stringify(state);
}
