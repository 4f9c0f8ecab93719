// SQL of invitations: they are made, listed, revoked and accepted.

import type { RevokedInvitation } from '../../../contract/console.ts';
import { type Failure, fail, type Outcome } from '../../../contract/failure.ts';
import { LIMIT } from '../../../contract/limit.ts';
import type { Account, Invitation, Role } from '../../../contract/resource.ts';
import { isStorable } from '../../../contract/text.ts';
import type { Joining, NewAccount, NewInvitation, StoredAccount } from '../../account-ledger.ts';
import { type Actor, actorText } from '../../ledger-terms.ts';
import { atomically } from '../change/atomically.ts';
import { insertAudit } from '../change/audit.ts';
import { INVITATION_COLUMNS, newId } from '../database/columns.ts';
import type { Database, Sql } from '../database/database.ts';
import {
  findAccount,
  forgetMaker,
  hasMembership,
  insertAccount,
  storePassword,
} from './accounts.ts';
import { insertMail } from './deliveries.ts';
import { IS_OPEN, storeLink } from './one-time-links.ts';
import { insertMembership, lockOrganization } from './organizations.ts';

type Used = {
  readonly id: string;
  readonly organizationId: string;
  readonly email: string;
  readonly role: Role;
};

/**
 * Uses an invitation for the account of its email (see `Joining`), under the organization's lock, which
 * `createInvitation` takes first, too. A member keeps the higher of both roles. The update finds no row if
 * another transaction has used or revoked the invitation. The caller has checked the password of an existing
 * account; comparing the hash detects a password change since then. Returns `unknownInvitation` in both
 * cases.
 */
export function acceptInvitation(
  database: Database,
  tokenHash: string,
  account: Joining,
  now: string,
): Promise<Outcome<Account>> {
  return atomically(database, { kind: 'token', email: account.email }, async (sql) => {
    await lockOrganizationOf(sql, tokenHash);
    const [used] = await sql.query<Used>(
      `UPDATE invitations SET used_at = $1::timestamptz WHERE token_hash = $2 AND ${IS_OPEN}
       RETURNING id, organization_id AS "organizationId", email, role`,
      [now, tokenHash],
    );
    if (used === undefined || used.email !== account.email) return fail('unknownInvitation');
    const holder = await findHolder(sql, account);
    if (holder === undefined) return fail('unknownInvitation');
    await insertMembership(sql, used.organizationId, holder, used.role);
    return holder;
  });
}

async function lockOrganizationOf(sql: Sql, tokenHash: string): Promise<void> {
  const [found] = await sql.query<{ organizationId: string }>(
    'SELECT organization_id AS "organizationId" FROM invitations WHERE token_hash = $1',
    [tokenHash],
  );
  if (found !== undefined) await lockOrganization(sql, found.organizationId);
}

function findHolder(sql: Sql, account: Joining): Promise<Account | undefined> {
  switch (account.as) {
    case 'new':
      return insertAccount(sql, account);
    case 'known':
      return findUnchanged(sql, account);
    case 'claimed':
      return claim(sql, account);
  }
}

async function findUnchanged(sql: Sql, account: NewAccount): Promise<Account | undefined> {
  const stored = await lockAccount(sql, account.email);
  if (stored === undefined || stored.passwordHash !== account.passwordHash) return undefined;
  const { id, email, name } = stored;
  return { id, email, name };
}

/**
 * Gives the account the invited person's name and password, and deletes the passkeys and identities of
 * whoever made it. Returns undefined if the account has a membership by now.
 */
async function claim(
  sql: Sql,
  account: NewAccount & { readonly passwordHash: string },
): Promise<Account | undefined> {
  const stored = await lockAccount(sql, account.email);
  if (stored === undefined) return undefined;
  const { id, email } = stored;
  if (await hasMembership(sql, id)) return undefined;
  await sql.query('UPDATE accounts SET name = $2 WHERE id = $1', [id, account.name]);
  await forgetMaker(sql, id);
  await storePassword(sql, id, account.passwordHash, undefined);
  return { id, email, name: account.name };
}

/** Locks an account, so that concurrent uses of several invitations see each other's changes. */
async function lockAccount(sql: Sql, email: string): Promise<StoredAccount | undefined> {
  await sql.query('SELECT FROM accounts WHERE email = $1 FOR NO KEY UPDATE', [email]);
  return findAccount(sql, email);
}

/**
 * Revokes the email's open invitation, if any, and stores the new one in one transaction under the
 * organization's lock, so that an email has at most one open invitation per organization. Refuses the email
 * of a member, and an invitation when too many are open. The ledger stores only the token's hash; the audit
 * gets neither.
 */
export function createInvitation(
  database: Database,
  invitation: NewInvitation,
  actor: Actor,
): Promise<Outcome<Invitation>> {
  return atomically(database, actor, async (sql) => {
    const { mail, ...link } = invitation;
    const { organizationId, email, role, at, expiresAt } = link;
    const organization = await lockOrganization(sql, organizationId);
    if (organization === undefined) return fail('unknownOrganization');
    await sql.query(
      `UPDATE invitations SET revoked_at = $1::timestamptz
       WHERE organization_id = $2 AND email = $3 AND ${IS_OPEN}`,
      [at, organizationId, email],
    );
    const obstacle = await findObstacle(sql, invitation);
    if (obstacle !== undefined) return obstacle;
    const created = { id: newId('inv'), email, role, expiresAt, createdBy: actorText(actor) };
    await storeLink(sql, 'invitation', { ...link, ...created });
    await insertAudit(sql, {
      organizationId,
      action: 'invitation.create',
      subject: email,
      before: null,
      after: { id: created.id, role, expiresAt },
    });
    await insertMail(sql, mail);
    return created;
  });
}

async function findObstacle(
  sql: Sql,
  { organizationId, email, at }: NewInvitation,
): Promise<Failure | undefined> {
  const rows = await sql.query<{ isMember: boolean; open: number }>(
    `SELECT EXISTS (
       SELECT FROM memberships JOIN accounts ON accounts.id = memberships.account_id
       WHERE memberships.organization_id = $2 AND accounts.email = $3
     ) AS "isMember",
     (SELECT count(*)::int FROM invitations WHERE organization_id = $2 AND ${IS_OPEN}) AS open`,
    [at, organizationId, email],
  );
  if (rows[0]?.isMember) return fail('alreadyMember');
  return (rows[0]?.open ?? 0) >= LIMIT.invitationsMax ? fail('tooManyInvitations') : undefined;
}

/** Lists the invitations that are open at `now`, newest first. */
export function listInvitations(
  sql: Sql,
  organizationId: string,
  now: string,
): Promise<readonly Invitation[]> {
  return sql.query<Invitation>(
    `SELECT ${INVITATION_COLUMNS} FROM invitations
     WHERE organization_id = $2 AND ${IS_OPEN}
     ORDER BY created_at DESC, id DESC LIMIT ${LIMIT.invitationsMax}`,
    [now, organizationId],
  );
}

type Row = { readonly organizationId: string; readonly email: string; readonly isOver: boolean };

/**
 * Revokes an invitation under the lock on its row, so that it is used or revoked, never both. A used or
 * revoked one stays as it is.
 */
export function revokeInvitation(
  database: Database,
  id: string,
  now: string,
  actor: Actor,
): Promise<Outcome<RevokedInvitation>> {
  return atomically(database, actor, async (sql) => {
    if (!isStorable(id)) return fail('unknownInvitation');
    const [found] = await sql.query<Row>(
      `SELECT organization_id AS "organizationId", email,
         used_at IS NOT NULL OR revoked_at IS NOT NULL AS "isOver"
       FROM invitations WHERE id = $1 FOR UPDATE`,
      [id],
    );
    if (found === undefined) return fail('unknownInvitation');
    if (found.isOver) return { id };
    await sql.query('UPDATE invitations SET revoked_at = $2::timestamptz WHERE id = $1', [id, now]);
    await insertAudit(sql, {
      organizationId: found.organizationId,
      action: 'invitation.revoke',
      subject: found.email,
      before: { id },
      after: null,
    });
    return { id };
  });
}
