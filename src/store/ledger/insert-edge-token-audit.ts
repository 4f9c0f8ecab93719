// Statement that adds what happened to a token of edges to the audit.

import type { EdgeScope } from '../edge-ledger.ts';
import { actorText } from './actor-text.ts';
import type { ActorSql } from './atomically.ts';

type EdgeTokenChange = {
  readonly id: string;
  readonly before: object | null;
  readonly after: object;
};

/**
 * Adds the entry to the audit of the token's organization, or of every organization when the token is for
 * all: its edges read what each of them serves. Runs in the transaction of what it tells.
 */
export async function insertEdgeTokenAudit(
  sql: ActorSql,
  organizationId: EdgeScope,
  action: 'edge-token.create' | 'edge-token.revoke',
  { id, before, after }: EdgeTokenChange,
): Promise<void> {
  await sql.query(
    `INSERT INTO audit_entries (organization_id, actor, action, subject, before, after, request_id)
     SELECT id, $2, $3, $4, $5, $6, $7 FROM organizations
     WHERE id = $1 OR $1::text IS NULL ORDER BY id`,
    [
      ...[organizationId, actorText(sql.actor), action, id],
      ...[before === null ? null : JSON.stringify(before), JSON.stringify(after)],
      sql.actor.requestId ?? null,
    ],
  );
}
