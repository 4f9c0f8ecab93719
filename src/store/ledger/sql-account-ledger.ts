// SQL implementation of the ledger's accounts, sessions, members and invitations. Each method is one function
// of query/.

import type { AccountLedger } from '../account-ledger.ts';
import { openSession } from './accounts.ts';
import { changeMember } from './change-member.ts';
import { changePassword } from './change-password.ts';
import { createFirstAccount } from './create-first-account.ts';
import { createInvitation } from './create-invitation.ts';
import { createPasswordReset } from './create-password-reset.ts';
import type { Database } from './database.ts';
import { endSession, endSessions } from './end-sessions.ts';
import { findAccessRight } from './find-access-right.ts';
import { findAccount, hasAccounts } from './find-account.ts';
import { findAppAccessRight } from './find-app-access-right.ts';
import { findInvitation } from './find-invitation.ts';
import { findPasswordReset } from './find-password-reset.ts';
import { findSession } from './find-session.ts';
import { listInvitations } from './list-invitations.ts';
import { listMembers } from './list-members.ts';
import { listMemberships } from './list-memberships.ts';
import { acceptInvitation } from './organizations.ts';
import { readSigningKey } from './read-signing-key.ts';
import { recordFailedSignIns } from './record-failed-sign-ins.ts';
import { renameOrganization } from './rename-organization.ts';
import { revokeInvitation } from './revoke-invitation.ts';
import { usePasswordReset } from './use-password-reset.ts';

/** Creates the account part of the ledger on a database, as `createSqlLedger` requires it. */
export function createSqlAccountLedger(database: Database): AccountLedger {
  return {
    hasAccounts: () => hasAccounts(database),
    createFirstAccount: (account, name) => createFirstAccount(database, account, name),
    findAccount: (email) => findAccount(database, email),
    openSession: (account, session) => openSession(database, account, session),
    recordFailedSignIns: (failed) => recordFailedSignIns(database, failed),
    readSigningKey: (name, draft) => readSigningKey(database, name, draft),
    findSession: (tokenHash, now, idleSince) => findSession(database, tokenHash, now, idleSince),
    endSession: (tokenHash) => endSession(database, tokenHash),
    endSessions: (accountId) => endSessions(database, accountId),
    changePassword: (before, after, actor) => changePassword(database, before, after, actor),
    createPasswordReset: (reset, actor) => createPasswordReset(database, reset, actor),
    findPasswordReset: (tokenHash, now) => findPasswordReset(database, tokenHash, now),
    usePasswordReset: (tokenHash, passwordHash, now) =>
      usePasswordReset(database, tokenHash, passwordHash, now),
    listMemberships: (accountId) => listMemberships(database, accountId),
    findAccessRight: (accountId, target) => findAccessRight(database, accountId, target),
    findAppAccessRight: (accountId, app) => findAppAccessRight(database, accountId, app),
    listMembers: (organizationId) => listMembers(database, organizationId),
    changeMember: (organizationId, accountId, role, actor) =>
      changeMember(database, organizationId, accountId, role, actor),
    listInvitations: (organizationId, now) => listInvitations(database, organizationId, now),
    createInvitation: (invitation, actor) => createInvitation(database, invitation, actor),
    revokeInvitation: (id, now, actor) => revokeInvitation(database, id, now, actor),
    findInvitation: (tokenHash, now) => findInvitation(database, tokenHash, now),
    acceptInvitation: (tokenHash, account, now) =>
      acceptInvitation(database, tokenHash, account, now),
    renameOrganization: (id, name, actor) => renameOrganization(database, id, name, actor),
  };
}
