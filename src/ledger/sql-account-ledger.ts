// The part of the ledger in SQL that keeps people: each method is one file of query/.

import type { AccountLedger } from '../ports/account-ledger.ts';
import type { Database } from './database.ts';
import { acceptInvitation } from './query/accept-invitation.ts';
import { changeMember } from './query/change-member.ts';
import { changePassword } from './query/change-password.ts';
import { createFirstAccount } from './query/create-first-account.ts';
import { createInvitation } from './query/create-invitation.ts';
import { endSession, endSessions } from './query/end-sessions.ts';
import { findAccount } from './query/find-account.ts';
import { findAppStanding } from './query/find-app-standing.ts';
import { findInvitation } from './query/find-invitation.ts';
import { findSession } from './query/find-session.ts';
import { findStanding } from './query/find-standing.ts';
import { hasAccounts } from './query/has-accounts.ts';
import { listInvitations } from './query/list-invitations.ts';
import { listMembers } from './query/list-members.ts';
import { listMemberships } from './query/list-memberships.ts';
import { openSession } from './query/open-session.ts';
import { renameOrganization } from './query/rename-organization.ts';
import { revokeInvitation } from './query/revoke-invitation.ts';

/** See `createSqlLedger`. */
export function createSqlAccountLedger(database: Database): AccountLedger {
  return {
    hasAccounts: () => hasAccounts(database),
    createFirstAccount: (account, name) => createFirstAccount(database, account, name),
    findAccount: (email) => findAccount(database, email),
    openSession: (accountId, hash, session) => openSession(database, accountId, hash, session),
    findSession: (tokenHash, now, idleSince) => findSession(database, tokenHash, now, idleSince),
    endSession: (tokenHash) => endSession(database, tokenHash),
    endSessions: (accountId, kept) => endSessions(database, accountId, kept),
    changePassword: (accountId, before, after, kept) =>
      changePassword(database, accountId, before, after, kept),
    listMemberships: (accountId) => listMemberships(database, accountId),
    findStanding: (accountId, target) => findStanding(database, accountId, target),
    findAppStanding: (accountId, app) => findAppStanding(database, accountId, app),
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
