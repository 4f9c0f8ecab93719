// Statements that read whether an actor still has the right by which its call was admitted.

import { type Failure, fail, type LostRight } from '../../contract/failure.ts';
import { refuseSignature } from '../../contract/refuse-signature.ts';
import { ROLES, type Role } from '../../contract/resource.ts';
import type { Actor } from '../ledger-terms.ts';
import type { Sql } from './database.ts';

/** Whether the rows that the right stands in are locked until the transaction ends. */
type Hold = 'held' | 'read';

/**
 * Returns the refusal of an actor whose right has ended, in the words in which a new call of it would be
 * refused; undefined while the right stands.
 *
 * With `held`, each row that was read is locked against changes but not against other readers. The statement
 * waits for a transaction that is just taking the right away, and then sees what that one committed. Without
 * a transaction, or with `read`, the right may end right after the answer.
 */
export async function findLostRight(
  sql: Sql,
  actor: Actor,
  hold: Hold,
): Promise<Failure<LostRight> | undefined> {
  switch (actor.kind) {
    case 'admin-token':
    case 'token':
    case 'stranger':
    // Whether it may still act is read with the plan itself.
    case 'plan':
      return undefined;
    case 'key':
      return findLostKey(sql, actor, hold);
    case 'account':
      return findLostAccount(sql, actor, hold);
    case 'integration':
      return findLostWebhook(sql, actor, hold);
  }
}

async function findLostKey(
  sql: Sql,
  { id, organizationId }: Extract<Actor, { kind: 'key' }>,
  hold: Hold,
): Promise<Failure<'unauthorized'> | undefined> {
  const rows = await sql.query(
    `SELECT FROM api_keys WHERE id = $1 AND organization_id = $2 AND revoked_at IS NULL
       AND (expires_at IS NULL OR expires_at > clock_timestamp()) ${lock(hold)}`,
    [id, organizationId],
  );
  return rows.length === 0 ? fail('unauthorized') : undefined;
}

/** Reads the session first, as a new call would. Its expiry is left to the start of the call. */
async function findLostAccount(
  sql: Sql,
  { accountId, tokenHash, needs }: Extract<Actor, { kind: 'account' }>,
  hold: Hold,
): Promise<Failure<LostRight> | undefined> {
  const sessions = await sql.query(
    `SELECT FROM sessions WHERE token_hash = $1 AND account_id = $2 ${lock(hold)}`,
    [tokenHash, accountId],
  );
  if (sessions.length === 0) return fail('signedOut');
  if (needs === undefined) return undefined;
  const [membership] = await sql.query<{ role: Role }>(
    `SELECT role FROM memberships WHERE organization_id = $1 AND account_id = $2 ${lock(hold)}`,
    [needs.organizationId, accountId],
  );
  if (membership === undefined) return fail(needs.unknown);
  const suffices = ROLES.indexOf(membership.role) <= ROLES.indexOf(needs.role);
  return suffices ? undefined : fail('forbidden');
}

async function findLostWebhook(
  sql: Sql,
  { appId, provider, enabledAt }: Extract<Actor, { kind: 'integration' }>,
  hold: Hold,
): Promise<Failure<'unknownApp' | 'badSignature'> | undefined> {
  const [webhook] = await sql.query<{ isSame: boolean }>(
    `SELECT enabled_at = $2::timestamptz AS "isSame" FROM webhooks
     WHERE app_id = $1 AND provider = $3 AND disabled_at IS NULL ${lock(hold)}`,
    [appId, enabledAt, provider],
  );
  if (webhook === undefined) return fail('unknownApp');
  return webhook.isSame ? undefined : refuseSignature(provider);
}

function lock(hold: Hold): string {
  return hold === 'held' ? 'FOR SHARE' : '';
}
