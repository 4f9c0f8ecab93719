// Statement that lists the tokens of edges.

import type { ListedEdgeToken } from '../../contract/edge-token.ts';
import { LIMIT } from '../../contract/limit.ts';
import { columns, isoText } from './columns.ts';
import type { Sql } from './database.ts';

/** Returns valid and revoked tokens, newest first: ids sort by the time of their creation. */
export function listEdgeTokens(sql: Sql): Promise<readonly ListedEdgeToken[]> {
  return sql.query<ListedEdgeToken>(
    `SELECT ${EDGE_TOKEN_COLUMNS} FROM edge_tokens ORDER BY id DESC LIMIT ${LIMIT.keysShownMax}`,
  );
}

/** Columns of a token, for rows of `edge_tokens`. */
export const EDGE_TOKEN_COLUMNS = columns<ListedEdgeToken>({
  id: 'id',
  name: 'name',
  org: 'organization_id',
  prefix: 'prefix',
  createdAt: isoText('created_at'),
  createdBy: 'created_by',
  revokedAt: isoText('revoked_at'),
});
