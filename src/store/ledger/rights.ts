// SQL that reads whether an actor still has the right that admitted its call.

import { type Failure, fail, type LostRight, type Outcome } from '../../contract/failure.ts';
import { refuseSignature } from '../../contract/refuse-signature.ts';
import { ROLES, type Role } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import type {
  AccessRight,
  AccessTarget,
  AppAccessRight,
  UnknownTarget,
} from '../account-ledger.ts';
import type { Actor } from '../ledger-terms.ts';
import { ROLE_OF } from './columns.ts';
import type { Sql } from './database.ts';

/** Whether the rows that hold the right are locked until the transaction ends. */
type Hold = 'held' | 'read';

/**
 * Returns the refusal that a new call of the actor would get if its right has ended; undefined while it
 * stands.
 *
 * With `held`, locks each row against changes but not against readers: the statement waits for a transaction
 * that ends the right, and then sees its commit. Without a transaction, or with `read`, the right may end
 * right after the answer.
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
    case 'service':
    // The driver reads the plan itself, and so whether it may act.
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

/** Reads the session first, as a new call would. Its expiry was checked when the call began. */
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

/** Tables from a target to its organization, the target's id column, and the refusal of an unknown one. */
type TargetTable = { readonly from: string; readonly id: string; readonly unknown: UnknownTarget };

const TARGET_TABLES: Readonly<Record<AccessTarget['type'], TargetTable>> = {
  organization: { from: 'organizations', id: 'organizations.id', unknown: 'unknownOrganization' },
  key: {
    from: 'api_keys JOIN organizations ON organizations.id = api_keys.organization_id',
    id: 'api_keys.id',
    unknown: 'unknownKey',
  },
  invitation: {
    from: 'invitations JOIN organizations ON organizations.id = invitations.organization_id',
    id: 'invitations.id',
    unknown: 'unknownInvitation',
  },
  destination: {
    from:
      'notification_destinations JOIN organizations ' +
      'ON organizations.id = notification_destinations.organization_id',
    id: 'notification_destinations.id',
    unknown: 'unknownDestination',
  },
};

/** Reads the role from the database with every call. A target of another organization is unknown. */
export async function findAccessRight(
  sql: Sql,
  accountId: string | undefined,
  { type, id }: AccessTarget,
): Promise<Outcome<AccessRight, UnknownTarget>> {
  const table = TARGET_TABLES[type];
  if (!isStorable(id)) return fail(table.unknown);
  const rows = await sql.query<AccessRight>(
    `SELECT organizations.id AS "organizationId", ${ROLE_OF.role} AS role
     FROM ${table.from} ${ROLE_OF.join}
     WHERE ${table.id} = $2 AND ${ROLE_OF.isVisible}`,
    [accountId ?? null, id],
  );
  return rows[0] ?? fail(table.unknown);
}

/** Finds the app by ref or id; a ref wins. An app of an organization without the account is unknown. */
export async function findAppAccessRight(
  sql: Sql,
  accountId: string | undefined,
  app: string,
): Promise<Outcome<AppAccessRight, 'unknownApp'>> {
  if (!isStorable(app)) return fail('unknownApp');
  const rows = await sql.query<AppAccessRight>(
    `SELECT organizations.id AS "organizationId", ${ROLE_OF.role} AS role,
       json_build_object('id', apps.id, 'ref', apps.ref, 'name', apps.name) AS app
     FROM apps JOIN organizations ON organizations.id = apps.organization_id ${ROLE_OF.join}
     WHERE (apps.ref = $2 OR apps.id = $2) AND ${ROLE_OF.isVisible}
     ORDER BY (apps.ref = $2) DESC LIMIT 1`,
    [accountId ?? null, app],
  );
  return rows[0] ?? fail('unknownApp');
}
