// Statement that records when and from where API keys were last used.

import type { KeyUse } from '../console-ledger.ts';
import type { Sql } from './database.ts';

/** Stores the uses in one statement. If several nodes report the same key, the latest time stays. */
export async function recordKeyUses(sql: Sql, uses: readonly KeyUse[]): Promise<void> {
  if (uses.length === 0) return;
  await sql.query(
    `UPDATE api_keys SET last_used_at = use.at, last_used_from = use.address
     FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS use (id, at, address)
     WHERE api_keys.id = use.id AND (last_used_at IS NULL OR last_used_at < use.at)`,
    [uses.map(({ id }) => id), uses.map(({ at }) => at), uses.map(({ from }) => from)],
  );
}
