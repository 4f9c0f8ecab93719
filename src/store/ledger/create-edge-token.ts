// Transaction that creates a token for edges. Only the hash of its secret is stored, and the audit has not
// even that.

import type { ListedEdgeToken } from '../../contract/edge-token.ts';
import { fail, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { NewEdgeToken } from '../edge-ledger.ts';
import type { Actor } from '../ledger-terms.ts';
import { actorText } from './actor-text.ts';
import { atomically } from './atomically.ts';
import type { Database } from './database.ts';
import { insertEdgeTokenAudit } from './insert-edge-token-audit.ts';
import { EDGE_TOKEN_COLUMNS } from './list-edge-tokens.ts';
import { newId } from './new-id.ts';
import { organizationExists } from './organization-exists.ts';

/**
 * Stores the token and its audit entries in one transaction. A prefix that exists already is no expected
 * refusal, because prefixes are random: the database's error rejects the call.
 */
export function createEdgeToken(
  database: Database,
  { organizationId, name, prefix, secretHash }: NewEdgeToken,
  actor: Actor,
): Promise<Outcome<ListedEdgeToken, 'unknownOrganization' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    if (organizationId !== null && !(await organizationExists(sql, organizationId))) {
      return fail('unknownOrganization');
    }
    const id = newId('edt');
    const rows = await sql.query<ListedEdgeToken>(
      `INSERT INTO edge_tokens (id, organization_id, name, prefix, secret_hash, created_by)
       VALUES ($1, $2, $3, $4, $5, $6) RETURNING ${EDGE_TOKEN_COLUMNS}`,
      [id, organizationId, name, prefix, secretHash, actorText(actor)],
    );
    const [token] = rows;
    if (token === undefined) throw new Error(`The new edge token ${id} has no row`);
    const change = { before: null, after: { name, prefix, org: organizationId } };
    await insertEdgeTokenAudit(sql, organizationId, 'edge-token.create', { id, ...change });
    return token;
  });
}
