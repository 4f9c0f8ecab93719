// SQL of identities: people as an OpenID Connect provider knows them, and the roles that their groups give.
// Organizations are locked first, by id, then the account, as everywhere.

import { fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import { type Account, ROLES, type Role } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import type {
  AccountProof,
  Arrival,
  Entered,
  GroupRole,
  Identity,
  NewLink,
  StoredAccount,
} from '../../account-ledger.ts';
import { type ActorSql, atomically } from '../change/atomically.ts';
import { insertAccountAudit, insertAudit } from '../change/audit.ts';
import { ACCOUNT_COLUMNS } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import { findAccount, forgetMaker, hasMembership, insertAccount } from './accounts.ts';
import { IS_OPEN, storeLink, useLink } from './one-time-links.ts';
import { countOwners, insertMembership } from './organizations.ts';
import { deleteSessions, lockAccountRow } from './sessions.ts';

/** Reasons in the audit for changes that groups cause. */
const GIVEN = 'A group of the sign-in provider gives it';
const TAKEN = 'No group of the sign-in provider gives it any more';
const OWNERLESS = `${TAKEN}; the organization has no owner now`;

/** Maximum number of expired arrivals that one call deletes. */
const FORGOTTEN_MAX = 100;

/**
 * Returns the account of a known identity, with the roles of its groups renewed. Else returns a new account,
 * with those roles and, for a verified address, with the roles of its invitations that are open at `now`. A
 * verified address takes over its account if that has no password, passkey or membership. Returns
 * `accountKnown` when the address belongs to another account; `unknownAccount` when there is no address, or
 * when it is not verified and neither a group nor an open invitation is there for it. A refusal stores
 * nothing.
 */
export async function enterByIdentity(
  database: Database,
  arrival: Arrival,
  now: string,
): Promise<Outcome<Entered>> {
  const known = await enterKnown(database, arrival);
  if (known !== undefined) return known;
  const { email } = arrival;
  if (email === undefined) return fail('unknownAccount');
  const created = await createByIdentity(database, { ...arrival, email }, now);
  if (!isFailure(created)) return created;
  // Another first arrival of the same person may have created it meanwhile.
  return (await enterKnown(database, arrival)) ?? created;
}

/**
 * Returns undefined, and stores nothing, when no account has the identity. Reads it again under the lock on
 * the account's row: an invitation or a link to a new password may have removed it meanwhile.
 */
async function enterKnown(
  database: Database,
  arrival: Arrival,
): Promise<Outcome<Entered | undefined>> {
  const found = await findByIdentity(database, arrival);
  if (found === undefined) return undefined;
  return atomically(database, { kind: 'token', email: found.email }, async (sql) => {
    const roles = await lockEntering(sql, found, arrival);
    const account = await findByIdentity(sql, arrival);
    if (account?.id !== found.id) return undefined;
    return entered(arrival, { account, ownerless: await renewRoles(sql, account, roles) });
  });
}

function entered(
  { issuer, subject }: Identity,
  of: Pick<Entered, 'account' | 'ownerless'> & { readonly isNew?: boolean },
): Entered {
  return { isNew: false, ...of, identity: { issuer, subject } };
}

type AddressedArrival = Arrival & { readonly email: string };

/**
 * Creates the account of an address, or takes over an unused one. For an unverified address it takes over
 * none, and creates none without a right: such an account would keep out the owner of the address.
 */
function createByIdentity(
  database: Database,
  arrival: AddressedArrival,
  now: string,
): Promise<Outcome<Entered>> {
  const { email, isEmailVerified } = arrival;
  return atomically(database, { kind: 'token', email }, async (sql) => {
    const invitedTo = await listInvited(sql, email, now);
    const roles = await resolveRoles(sql, arrival.roles);
    const isMeant = isEmailVerified || roles.size > 0 || invitedTo.length > 0;
    if (!isMeant) return fail('unknownAccount');
    await lockOrganizations(sql, [...roles.keys(), ...(isEmailVerified ? invitedTo : [])]);
    const created = await insertAccount(sql, { ...arrival, passwordHash: null });
    const account = created ?? (await takeUnused(sql, arrival));
    if (account === undefined || !(await insertIdentity(sql, arrival, account.id))) {
      return fail('accountKnown');
    }
    if (isEmailVerified) await acceptInvitations(sql, account, now);
    const ownerless = await renewRoles(sql, account, roles);
    if (created === undefined) {
      await insertAccountAudit(sql, account, 'account.take-over', { issuer: arrival.issuer });
    }
    return entered(arrival, { account: { ...account, ...NO_PASSWORD }, isNew: true, ownerless });
  });
}

/**
 * Takes an account over from the person who made it for this address: replaces its name, deletes its
 * identities and ends its sessions. Returns undefined, for the transaction to be rolled back, when the
 * address is not verified, or when the account has a password, a passkey or a membership, or has the arriving
 * identity by now. Reads memberships last, because an ended session can create no organization any more.
 */
async function takeUnused(sql: ActorSql, arrival: AddressedArrival): Promise<Account | undefined> {
  const { email, name } = arrival;
  const found = arrival.isEmailVerified ? await findAccount(sql, email) : undefined;
  if (found === undefined) return undefined;
  const { id } = found;
  await lockAccountRow(sql, id);
  await deleteSessions(sql, id, undefined);
  const rows = await sql.query(
    `UPDATE accounts SET name = $2 WHERE id = $1 AND password_hash IS NULL
       AND NOT EXISTS (SELECT FROM passkeys WHERE account_id = $1) RETURNING id`,
    [id, name],
  );
  const isOwn = (await findByIdentity(sql, arrival)) !== undefined;
  if (rows.length === 0 || isOwn || (await hasMembership(sql, id))) return undefined;
  await forgetMaker(sql, id);
  return { id, email, name };
}

const NO_PASSWORD = { passwordHash: null, passwordNumber: 1 } as const;

async function findByIdentity(
  sql: Sql,
  { issuer, subject }: Identity,
): Promise<StoredAccount | undefined> {
  if (!isStorable(issuer, subject)) return undefined;
  const rows = await sql.query<StoredAccount>(
    `SELECT ${ACCOUNT_COLUMNS} FROM oidc_identities JOIN accounts ON accounts.id = account_id
     WHERE issuer = $1 AND subject = $2`,
    [issuer, subject],
  );
  return rows[0];
}

/** Returns false if the account has another identity of the issuer, or another account has this one. */
async function insertIdentity(
  sql: Sql,
  { issuer, subject }: Identity,
  accountId: string,
): Promise<boolean> {
  const rows = await sql.query(
    `INSERT INTO oidc_identities (issuer, subject, account_id) VALUES ($1, $2, $3)
     ON CONFLICT DO NOTHING RETURNING account_id`,
    [issuer, subject, accountId],
  );
  return rows.length > 0;
}

/** Locks the organizations in which an account's roles are renewed, then the account; returns the roles. */
async function lockEntering(
  sql: ActorSql,
  account: StoredAccount,
  arrival: Pick<Arrival, 'roles'>,
): Promise<ReadonlyMap<string, Role>> {
  const roles = await resolveRoles(sql, arrival.roles);
  const held = await listHeld(sql, account.id);
  await lockOrganizations(sql, [...roles.keys(), ...held]);
  await lockAccountRow(sql, account.id);
  return roles;
}

/** Lists the ids of the organizations in which groups have given the account a role. */
async function listHeld(sql: Sql, accountId: string): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string }>(
    `SELECT organization_id AS id FROM memberships
     WHERE account_id = $1 AND role_from_groups IS NOT NULL`,
    [accountId],
  );
  return rows.map(({ id }) => id);
}

async function lockOrganizations(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql.query(
    'SELECT FROM organizations WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE',
    [[...new Set(ids)]],
  );
}

/**
 * Returns the highest role in each organization, by its id. A name that no organization has, or that several
 * have, gives no role: it could let a person into an organization that was not meant.
 */
async function resolveRoles(
  sql: Sql,
  roles: readonly GroupRole[],
): Promise<ReadonlyMap<string, Role>> {
  if (roles.length === 0) return new Map();
  const rows = await sql.query<{ id: string; name: string }>(
    'SELECT id, name FROM organizations WHERE id = ANY ($1::text[]) OR name = ANY ($1::text[])',
    [roles.map(({ organization }) => organization)],
  );
  const resolved = new Map<string, Role>();
  for (const { organization, role } of roles) {
    const byId = rows.find(({ id }) => id === organization);
    const byName = rows.filter(({ name }) => name === organization);
    const found = byId ?? (byName.length === 1 ? byName[0] : undefined);
    if (found !== undefined) resolved.set(found.id, higher(resolved.get(found.id), role) ?? role);
  }
  return resolved;
}

function higher(one: Role | null | undefined, other: Role | null | undefined): Role | undefined {
  return ROLES.find((role) => role === one || role === other);
}

type Held = {
  readonly organizationId: string;
  readonly role: Role;
  readonly fromGroups: Role | null;
  readonly byHand: Role | null;
};

/**
 * Gives the account the roles of its groups, and takes away those that no group gives any more. Roles that
 * people gave stay. Returns the ids of organizations that have no owner any more: a role ends with its group
 * even then, because whoever left the group must not keep it; the operator can invite another owner.
 */
async function renewRoles(
  sql: ActorSql,
  account: Account,
  wanted: ReadonlyMap<string, Role>,
): Promise<readonly string[]> {
  const rows = await sql.query<Held>(
    `SELECT organization_id AS "organizationId", role, role_from_groups AS "fromGroups",
       role_by_hand AS "byHand"
     FROM memberships
     WHERE account_id = $1 AND (role_from_groups IS NOT NULL OR organization_id = ANY ($2::text[]))
     ORDER BY organization_id`,
    [account.id, [...wanted.keys()]],
  );
  const held = new Map(rows.map((row) => [row.organizationId, row]));
  const ownerless: string[] = [];
  for (const organizationId of new Set([...held.keys(), ...wanted.keys()])) {
    const before = held.get(organizationId);
    const groups = wanted.get(organizationId);
    const byHand = before?.fromGroups === null ? before.role : before?.byHand;
    const role = higher(byHand, groups);
    await storeRole(sql, account.id, { organizationId, role, groups, byHand });
    if (before?.role === role) continue;
    const isOwnerless = before?.role === 'owner' && (await countOwners(sql, organizationId)) === 0;
    if (isOwnerless) ownerless.push(organizationId);
    await insertAudit(sql, {
      organizationId,
      action: auditAction(before?.role, role),
      subject: account.email,
      before: before === undefined ? null : { role: before.role },
      after: role === undefined ? null : { role },
      reason: groups === undefined ? (isOwnerless ? OWNERLESS : TAKEN) : GIVEN,
    });
  }
  return ownerless;
}

function auditAction(before: Role | undefined, after: Role | undefined) {
  if (before === undefined) return 'member.join';
  return after === undefined ? 'member.remove' : 'member.update';
}

type GivenRole = {
  readonly organizationId: string;
  /** Undefined for no membership. */
  readonly role: Role | undefined;
  readonly groups: Role | undefined;
  readonly byHand: Role | null | undefined;
};

async function storeRole(
  sql: Sql,
  accountId: string,
  { organizationId, role, groups, byHand }: GivenRole,
): Promise<void> {
  if (role === undefined) {
    await sql.query('DELETE FROM memberships WHERE organization_id = $1 AND account_id = $2', [
      organizationId,
      accountId,
    ]);
    return;
  }
  await sql.query(
    `INSERT INTO memberships (organization_id, account_id, role, role_from_groups, role_by_hand)
     VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (organization_id, account_id) DO UPDATE SET role = excluded.role,
       role_from_groups = excluded.role_from_groups, role_by_hand = excluded.role_by_hand`,
    [
      organizationId,
      accountId,
      role,
      groups ?? null,
      groups === undefined ? null : (byHand ?? null),
    ],
  );
}

/** Lists the ids of the organizations with an open invitation of the address. */
async function listInvited(sql: Sql, email: string, now: string): Promise<readonly string[]> {
  const rows = await sql.query<{ id: string }>(
    `SELECT organization_id AS id FROM invitations WHERE email = $2 AND ${IS_OPEN} LIMIT $3`,
    [now, email, LIMIT.organizationsShownMax],
  );
  return rows.map(({ id }) => id);
}

/** Uses the open invitations of the account's address, which its provider has verified. */
async function acceptInvitations(sql: ActorSql, account: Account, now: string): Promise<void> {
  const used = await sql.query<{ organizationId: string; role: Role }>(
    `UPDATE invitations SET used_at = $1::timestamptz WHERE id IN (
       SELECT id FROM invitations WHERE email = $2 AND ${IS_OPEN} LIMIT $3
     ) AND ${IS_OPEN} RETURNING organization_id AS "organizationId", role`,
    [now, account.email, LIMIT.organizationsShownMax],
  );
  for (const { organizationId, role } of used) {
    await insertMembership(sql, organizationId, account, role);
  }
}

/**
 * Stores an arrival until the person proves that the account of its address is theirs; replaces an earlier
 * one, and deletes some expired arrivals.
 */
export async function storeArrival(
  sql: Sql,
  { issuer, subject, email, roles }: AddressedArrival,
  link: NewLink,
): Promise<void> {
  await sql.query(
    `DELETE FROM oidc_arrivals WHERE (issuer, subject) IN (
       SELECT issuer, subject FROM oidc_arrivals WHERE expires_at <= $1::timestamptz
       ORDER BY expires_at LIMIT $2
     )`,
    [link.at, FORGOTTEN_MAX],
  );
  await storeLink(sql, 'arrival', { issuer, subject, email, roles, ...link });
}

/**
 * Uses up an arrival: joins its identity to the account that was proved, and renews the roles of its groups.
 * Refused as `identityTaken` if the account has another identity of the provider. Deletes the arrival first,
 * so that only one of several calls finds it. Comparing the hash under the account's lock detects a change of
 * the password since it was shown.
 */
export function joinIdentity(
  database: Database,
  tokenHash: string,
  { accountId, passwordHash, actor }: AccountProof,
  now: string,
): Promise<Outcome<Entered>> {
  return atomically(database, actor, async (sql) => {
    const arrival = await useLink(sql, 'arrival', tokenHash, now);
    if (arrival === undefined) return fail('unknownArrival');
    const found = await findAccount(sql, arrival.email);
    if (found === undefined || found.id !== accountId) return fail('unknownArrival');
    const roles = await lockEntering(sql, found, arrival);
    const ownerless = await renewRoles(sql, found, roles);
    const account = (await findAccount(sql, arrival.email)) ?? found;
    const isChanged = passwordHash !== undefined && account.passwordHash !== passwordHash;
    if (isChanged) return fail('unknownArrival');
    if (!(await insertIdentity(sql, arrival, accountId))) return fail('identityTaken');
    await insertAccountAudit(sql, account, 'account.join-provider', {
      issuer: arrival.issuer,
      by: passwordHash === undefined ? 'session' : 'password',
    });
    return entered(arrival, { account, ownerless });
  });
}
