// SQL that reads whether an actor still has the right that admitted its call.

import {
  type Failure,
  fail,
  type Outcome,
  refuseSignature,
  type UnknownPlace,
} from '../../../contract/failure.ts';
import { ROLES, type Role } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import type { AccessRight, AccessTarget, AppAccessRight } from '../../account-ledger.ts';
import type { Actor } from '../../ledger-terms.ts';
import { IS_STRONG, ROLE_OF } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';

/** Whether the rows of the right are locked until the transaction ends. */
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
): Promise<Failure | undefined> {
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
): Promise<Failure | undefined> {
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
): Promise<Failure | undefined> {
  const [session] = await sql.query<{ isStrong: boolean }>(
    `SELECT ${IS_STRONG} AS "isStrong" FROM sessions
     WHERE token_hash = $1 AND account_id = $2 ${lock(hold)}`,
    [tokenHash, accountId],
  );
  if (session === undefined) return fail('signedOut');
  if (needs === undefined) return undefined;
  const [membership] = await sql.query<{ role: Role }>(
    `SELECT role FROM memberships WHERE organization_id = $1 AND account_id = $2 ${lock(hold)}`,
    [needs.organizationId, accountId],
  );
  if (membership === undefined) return fail(needs.unknown);
  if (!session.isStrong && (await asksForSecondFactor(sql, needs.organizationId))) {
    return fail('secondFactorNeeded');
  }
  const suffices = ROLES.indexOf(membership.role) <= ROLES.indexOf(needs.role);
  return suffices ? undefined : fail('forbidden');
}

/**
 * Returns whether an organization asks for a second factor. A statement of its own, after the one that locks
 * the membership: it sees a demand that was turned on while that one waited.
 */
async function asksForSecondFactor(sql: Sql, organizationId: string): Promise<boolean> {
  const rows = await sql.query(
    'SELECT FROM organizations WHERE id = $1 AND require_second_factor',
    [organizationId],
  );
  return rows.length > 0;
}

async function findLostWebhook(
  sql: Sql,
  { appId, provider, enabledAt }: Extract<Actor, { kind: 'integration' }>,
  hold: Hold,
): Promise<Failure | undefined> {
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
type TargetTable = { readonly from: string; readonly id: string; readonly unknown: UnknownPlace };

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
  approval: {
    from: 'approvals JOIN organizations ON organizations.id = approvals.organization_id',
    id: 'approvals.id',
    unknown: 'unknownApproval',
  },
};

/** Whether an organization demands a second factor that the session of account $1 lacks ($3: has it). */
const DEMAND = `organizations.require_second_factor AND $1::text IS NOT NULL AND NOT $3::boolean
  AS "isDemanded"`;
type Demand = { readonly isDemanded: boolean };

function unlessDemanded<Right extends AccessRight>({
  isDemanded,
  ...right
}: Right & Demand): Outcome<Omit<Right & Demand, 'isDemanded'>> {
  return isDemanded ? fail('secondFactorNeeded') : right;
}

/**
 * Reads the account's present role at the target from the database, with every call; an undefined account is
 * the operator, who owns every organization. A target in an organization that the account does not belong to
 * is unknown. `isStrong` says whether the session fulfils the demand for a second factor.
 */
export async function findAccessRight(
  sql: Sql,
  accountId: string | undefined,
  { type, id }: AccessTarget,
  isStrong = false,
): Promise<Outcome<AccessRight>> {
  const table = TARGET_TABLES[type];
  if (!isStorable(id)) return fail(table.unknown);
  const rows = await sql.query<AccessRight & Demand>(
    `SELECT organizations.id AS "organizationId", ${ROLE_OF.role} AS role, ${DEMAND}
     FROM ${table.from} ${ROLE_OF.join}
     WHERE ${table.id} = $2 AND ${ROLE_OF.isVisible}`,
    [accountId ?? null, id, isStrong],
  );
  return rows[0] === undefined ? fail(table.unknown) : unlessDemanded(rows[0]);
}

/**
 * Reads the account's role at an app, given by ref or id, as `findAccessRight` does; a ref wins over another
 * app's id. The app is unknown if the account does not belong to its organization.
 */
export async function findAppAccessRight(
  sql: Sql,
  accountId: string | undefined,
  app: string,
  isStrong = false,
): Promise<Outcome<AppAccessRight>> {
  if (!isStorable(app)) return fail('unknownApp');
  const rows = await sql.query<AppAccessRight & Demand>(
    `SELECT organizations.id AS "organizationId", ${ROLE_OF.role} AS role, ${DEMAND},
       json_build_object('id', apps.id, 'ref', apps.ref, 'name', apps.name) AS app
     FROM apps JOIN organizations ON organizations.id = apps.organization_id ${ROLE_OF.join}
     WHERE (apps.ref = $2 OR apps.id = $2) AND ${ROLE_OF.isVisible}
     ORDER BY (apps.ref = $2) DESC LIMIT 1`,
    [accountId ?? null, app, isStrong],
  );
  return rows[0] === undefined ? fail('unknownApp') : unlessDemanded(rows[0]);
}
