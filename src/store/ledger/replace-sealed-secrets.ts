// Statements that read and replace the sealed secrets of webhooks, for a change of the key.

import { storableText } from '../../contract/text.ts';
import type { ResealedSecret, SealedSecret, SecretPlace } from '../webhook-ledger.ts';
import type { Sql } from './database.ts';

/**
 * Replaces secrets where they are still what they were: a webhook that got another secret meanwhile, or was
 * disabled, keeps that. Nothing else of the row changes, because `enabled_at` says to which secret a delivery
 * belongs, and the secret is the same one. For example, of two operators who reseal at once the second finds
 * other texts and replaces none. Rows are locked in the order of their key, so that the two do not wait for
 * each other.
 */
export async function replaceSealedSecrets(
  sql: Sql,
  changes: readonly ResealedSecret[],
): Promise<number> {
  const rows = await sql.query(
    `WITH held AS (
       SELECT webhooks.app_id, webhooks.provider, change.sealed
       FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
         AS change (app_id, provider, was, sealed)
       JOIN webhooks ON webhooks.app_id = change.app_id AND webhooks.provider = change.provider
         AND webhooks.sealed_secret = change.was
       ORDER BY webhooks.app_id, webhooks.provider FOR NO KEY UPDATE OF webhooks
     )
     UPDATE webhooks SET sealed_secret = held.sealed FROM held
     WHERE webhooks.app_id = held.app_id AND webhooks.provider = held.provider RETURNING 1`,
    [
      changes.map(({ appId }) => appId),
      changes.map(({ provider }) => provider),
      changes.map(({ from }) => from),
      changes.map(({ to }) => to),
    ],
  );
  return rows.length;
}

/** Reads the next sealed secrets, in the order of the primary key. */
export function listSealedSecrets(
  sql: Sql,
  after: SecretPlace | undefined,
  countMax: number,
): Promise<SealedSecret[]> {
  return sql.query<SealedSecret>(
    `SELECT app_id AS "appId", provider, sealed_secret AS "sealedSecret" FROM webhooks
     WHERE (app_id, provider) > ($1, $2) AND sealed_secret IS NOT NULL
     ORDER BY app_id, provider LIMIT $3`,
    [storableText(after?.appId ?? ''), storableText(after?.provider ?? ''), countMax],
  );
}
