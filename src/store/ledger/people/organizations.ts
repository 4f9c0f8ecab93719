// SQL of organizations: their settings, their members, and the first account.

import { fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type {
  Account,
  ChangeOf,
  Member,
  Membership,
  Organization,
  Role,
} from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import type { NewAccount } from '../../account-ledger.ts';
import { type Actor, changedBy } from '../../ledger-terms.ts';
import { expireApprovals } from '../change/approval-decisions.ts';
import { type ActorSql, atomically } from '../change/atomically.ts';
import { insertAudit } from '../change/audit.ts';
import { columns, MEMBER_COLUMNS, newId, ORGANIZATION_JSON, ROLE_OF } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { hasAccounts, insertAccount } from './accounts.ts';
import { isStrong } from './passkeys.ts';

/**
 * Creates an account as owner of a new organization with this name and of all existing ones, in one
 * transaction. Of several concurrent calls of this and `createFirstOrganization` one succeeds; the others,
 * every later call, and a call with the address of an existing account get `alreadySetUp`. The caller holds
 * the admin token, which has every right.
 */
export function createFirstAccount(
  database: Database,
  newAccount: NewAccount,
  organizationName: string,
): Promise<Outcome<Account>> {
  return atomically(database, { kind: 'token', email: newAccount.email }, async (sql) => {
    const existing = await beginSetUp(sql);
    if (isFailure(existing)) return existing;
    const account = await insertAccount(sql, newAccount);
    if (account === undefined) return fail('alreadySetUp');
    const { id: created } = await insertOrganization(sql, organizationName);
    for (const id of [created, ...existing]) await insertMembership(sql, id, account, 'owner');
    return account;
  });
}

/**
 * Creates the first organization, owned by the acting account, which a provider has let in. Its caller holds
 * the admin token as well.
 */
export function createFirstOrganization(
  database: Database,
  name: string,
  actor: Extract<Actor, { kind: 'account' }>,
): Promise<Outcome<Organization>> {
  return atomically(database, actor, async (sql) => {
    const existing = await beginSetUp(sql);
    if (isFailure(existing)) return existing;
    const organization = await insertOrganization(sql, name);
    await insertOwner(sql, organization.id, actor);
    return organization;
  });
}

/**
 * Lists the ids of the organizations that are there before the first account; refused once the service is set
 * up (`isSetUp`). Locks the accounts table against writers, so that only one of several transactions goes on.
 */
async function beginSetUp(sql: Sql): Promise<Outcome<readonly string[]>> {
  await sql.query('LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE');
  const existing = await sql.query<{ id: string }>('SELECT id FROM organizations');
  if (existing.length > 0 && (await hasAccounts(sql))) return fail('alreadySetUp');
  return existing.map(({ id }) => id);
}

/** Stores the organization, its first audit entry and, for an account, its ownership in one transaction. */
export function createOrganization(
  database: Database,
  name: string,
  actor: Actor,
): Promise<Outcome<Organization>> {
  return atomically(database, actor, async (sql) => {
    const organization = await insertOrganization(sql, name);
    if (actor.kind === 'account') await insertOwner(sql, organization.id, actor);
    return organization;
  });
}

/** Makes the acting account the owner of an organization that it has just created. */
async function insertOwner(
  sql: Sql,
  organizationId: string,
  { accountId }: Extract<Actor, { kind: 'account' }>,
): Promise<void> {
  await sql.query(
    `INSERT INTO memberships (organization_id, account_id, role) VALUES ($1, $2, 'owner')`,
    [organizationId, accountId],
  );
}

/** Inserts an organization with its audit entry in the caller's transaction. Names need not be unique. */
async function insertOrganization(sql: ActorSql, name: string): Promise<Organization> {
  const id = newId('org');
  await sql.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [id, name]);
  await insertAudit(sql, {
    organizationId: id,
    action: 'organization.create',
    subject: id,
    before: null,
    after: { name },
  });
  return { id, name };
}

/**
 * Changes an organization under its lock; an undefined field stays as it is. An unchanged field is not
 * audited. A person may only turn `requireSecondFactor` on in a session that fulfils it, so that the demand
 * does not lock its author out. It is stored under a lock on every membership, which writes of members hold
 * until they commit (`findLostRight`), so that later writes find the demand.
 */
export function updateOrganization(
  database: Database,
  id: string,
  change: ChangeOf<Settings>,
  actor: Actor,
): Promise<Outcome<Organization>> {
  return atomically(database, actor, async (sql) => {
    const found = await lockOrganization(sql, id);
    if (found === undefined) return fail('unknownOrganization');
    const before = settingsOf(found);
    const after = changedBy(before, change);
    const isTurnedOn = after.requireSecondFactor && !before.requireSecondFactor;
    if (isTurnedOn) {
      // Before the change, which the actor's session may not fulfil.
      await sql.confirmRight();
      if (actor.kind === 'account' && !(await isStrong(sql, actor.tokenHash))) {
        return fail('secondFactorFirst');
      }
      await sql.query(
        `SELECT FROM memberships WHERE organization_id = $1 ORDER BY account_id FOR NO KEY UPDATE`,
        [id],
      );
    }
    await storeOrganization(sql, id, before, after);
    return organizationOf(id, after);
  });
}

type Settings = { readonly name: string; readonly requireSecondFactor: boolean };

function settingsOf({ name, requireSecondFactor }: Organization): Settings {
  return { name, requireSecondFactor: requireSecondFactor === true };
}

function organizationOf(id: string, { name, requireSecondFactor }: Settings): Organization {
  return { id, name, ...(requireSecondFactor ? { requireSecondFactor } : {}) };
}

/** Stores the settings, with an audit entry of those that change. */
async function storeOrganization(
  sql: ActorSql,
  id: string,
  before: Settings,
  after: Settings,
): Promise<void> {
  const changed = (['name', 'requireSecondFactor'] as const).filter(
    (name) => before[name] !== after[name],
  );
  if (changed.length === 0) return;
  await sql.query('UPDATE organizations SET name = $2, require_second_factor = $3 WHERE id = $1', [
    id,
    after.name,
    after.requireSecondFactor,
  ]);
  const shown = (settings: Settings) =>
    Object.fromEntries(changed.map((name) => [name, settings[name]]));
  await insertAudit(sql, {
    organizationId: id,
    action: 'organization.update',
    subject: id,
    before: shown(before),
    after: shown(after),
  });
}

/**
 * Locks the organization until the transaction ends; undefined if it does not exist. The lock orders changes
 * of its settings, members and invitations. NO KEY UPDATE, so that other transactions can insert rows that
 * refer to the organization.
 */
export async function lockOrganization(sql: Sql, id: string): Promise<Organization | undefined> {
  if (!isStorable(id)) return undefined;
  const rows = await sql.query<{ organization: Organization }>(
    `SELECT ${ORGANIZATION_JSON} AS organization FROM organizations WHERE id = $1
     FOR NO KEY UPDATE`,
    [id],
  );
  return rows[0]?.organization;
}

/**
 * Changes a member's role under the organization's lock, so that two owners who demote each other do not both
 * succeed: the last owner must stay owner. An undefined role ends the membership. The member's present role
 * changes nothing and is not audited.
 */
export function changeMember(
  database: Database,
  organizationId: string,
  accountId: string,
  role: Role | undefined,
  actor: Actor,
): Promise<Outcome<Member>> {
  return atomically(database, actor, async (sql) => {
    const organization = await lockOrganization(sql, organizationId);
    if (organization === undefined) return fail('unknownOrganization');
    const member = await readMember(sql, organizationId, accountId);
    if (member === undefined) return fail('unknownMember');
    if (member.role === role) return member;
    const isLosingOwner = member.role === 'owner' && role !== 'owner';
    if (isLosingOwner && (await countOwners(sql, organizationId)) <= 1) return fail('lastOwner');
    // Before the change, because it may end the actor's own right.
    await sql.confirmRight();
    await store(sql, organizationId, accountId, role);
    await insertAudit(sql, {
      organizationId,
      action: role === undefined ? 'member.remove' : 'member.update',
      subject: member.account.email,
      before: { role: member.role },
      after: role === undefined ? null : { role },
    });
    await expireApprovals(sql, LIMIT.approvalsExpiredMax, organizationId);
    return { ...member, role: role ?? member.role };
  });
}

async function readMember(
  sql: Sql,
  organizationId: string,
  accountId: string,
): Promise<Member | undefined> {
  if (!isStorable(accountId)) return undefined;
  const rows = await sql.query<Member>(
    `SELECT ${MEMBER_COLUMNS}
     FROM memberships JOIN accounts ON accounts.id = memberships.account_id
     WHERE memberships.organization_id = $1 AND memberships.account_id = $2`,
    [organizationId, accountId],
  );
  return rows[0];
}

export async function countOwners(sql: Sql, organizationId: string): Promise<number> {
  const rows = await sql.query<{ owners: number }>(
    `SELECT count(*)::int AS owners FROM memberships
     WHERE organization_id = $1 AND role = 'owner'`,
    [organizationId],
  );
  return rows[0]?.owners ?? 0;
}

/** Sets the role that people gave to $3, if the member has one besides that of the groups. */
const BY_HAND = 'role_by_hand = CASE WHEN role_by_hand IS NOT NULL THEN $3 END';

async function store(
  sql: Sql,
  organizationId: string,
  accountId: string,
  role: Role | undefined,
): Promise<void> {
  const member = [organizationId, accountId];
  const where = 'WHERE organization_id = $1 AND account_id = $2';
  if (role === undefined) await sql.query(`DELETE FROM memberships ${where}`, member);
  else await sql.query(`UPDATE memberships SET role = $3, ${BY_HAND} ${where}`, [...member, role]);
}

/**
 * Adds the account as a member, with an audit entry. An invitation never lowers a member's role, and the role
 * that it gives does not end with a group.
 */
export async function insertMembership(
  sql: ActorSql,
  organizationId: string,
  account: Account,
  role: Role,
): Promise<void> {
  await sql.query(
    `UPDATE memberships SET role_by_hand = $3
     WHERE organization_id = $1 AND account_id = $2 AND role_from_groups IS NOT NULL
       AND (role_by_hand IS NULL OR array_position(ARRAY['owner', 'publisher', 'viewer'], $3::text)
         < array_position(ARRAY['owner', 'publisher', 'viewer'], role_by_hand::text))`,
    [organizationId, account.id, role],
  );
  const rows = await sql.query<{ role: Role }>(
    `INSERT INTO memberships (organization_id, account_id, role) VALUES ($1, $2, $3)
     ON CONFLICT (organization_id, account_id) DO UPDATE SET role = excluded.role
       WHERE array_position(ARRAY['owner', 'publisher', 'viewer'], excluded.role::text)
         < array_position(ARRAY['owner', 'publisher', 'viewer'], memberships.role::text)
     RETURNING role`,
    [organizationId, account.id, role],
  );
  if (rows.length === 0) return;
  await insertAudit(sql, {
    organizationId,
    action: 'member.join',
    subject: account.email,
    before: null,
    after: { role },
  });
}

/** Lists owners first, then publishers, then viewers; members of the same role by name. */
export function listMembers(sql: Sql, organizationId: string): Promise<readonly Member[]> {
  return sql.query<Member>(
    `SELECT ${MEMBER_COLUMNS}
     FROM memberships JOIN accounts ON accounts.id = memberships.account_id
     WHERE memberships.organization_id = $1
     ORDER BY array_position(ARRAY['owner', 'publisher', 'viewer'], memberships.role::text),
       accounts.name, accounts.email
     LIMIT ${LIMIT.membersShownMax}`,
    [organizationId],
  );
}

/** Returns memberships by organization name; undefined is the operator, who owns every organization. */
export function listMemberships(
  sql: Sql,
  accountId: string | undefined,
): Promise<readonly Membership[]> {
  type Stored = Omit<Membership, 'needsSecondFactor'>;
  const stored = { organization: ORGANIZATION_JSON, role: ROLE_OF.role };
  return sql.query<Stored>(
    `SELECT ${columns<Stored>(stored)}
     FROM organizations ${ROLE_OF.join} WHERE ${ROLE_OF.isVisible}
     ORDER BY organizations.name, organizations.id LIMIT ${LIMIT.organizationsShownMax}`,
    [accountId ?? null],
  );
}
