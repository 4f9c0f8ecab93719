// SQL implementation of the ledger's accounts, sessions, members and invitations. Each method is one function
// of query/.

import type { AccountLedger } from '../ports/account-ledger.ts';
import type { Database } from './database.ts';
import { acceptInvitation } from './query/accept-invitation.ts';
import { changeMember } from './query/change-member.ts';
import { changePassword } from './query/change-password.ts';
import { createFirstAccount } from './query/create-first-account.ts';
import { createInvitation } from './query/create-invitation.ts';
import { createPasswordReset } from './query/create-password-reset.ts';
import { endSession, endSessions } from './query/end-sessions.ts';
import { findAccessRight } from './query/find-access-right.ts';
import { findAccount, hasAccounts } from './query/find-account.ts';
import { findAppAccessRight } from './query/find-app-access-right.ts';
import { findInvitation } from './query/find-invitation.ts';
import { findPasswordReset } from './query/find-password-reset.ts';
import { findSession } from './query/find-session.ts';
import { listInvitations } from './query/list-invitations.ts';
import { listMembers } from './query/list-members.ts';
import { listMemberships } from './query/list-memberships.ts';
import { openSession } from './query/open-session.ts';
import { readSigningKey } from './query/read-signing-key.ts';
import { recordFailedSignIns } from './query/record-failed-sign-ins.ts';
import { renameOrganization } from './query/rename-organization.ts';
import { revokeInvitation } from './query/revoke-invitation.ts';
import { usePasswordReset } from './query/use-password-reset.ts';

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
