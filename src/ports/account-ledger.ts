// The part of the ledger that keeps people: accounts, their sessions, what they may do where, and
// invitations. The same promises as everything else in the ledger: see `ledger.ts`. Times are RFC 3339; the
// caller's clock decides what has expired. Tokens come here hashed (lower-case hex SHA-256), passwords as
// their hasher left them.

import type { Outcome } from '../contract/failure.ts';
import type {
  Account,
  Invitation,
  Member,
  Membership,
  Organization,
  Role,
} from '../contract/resource.ts';
import type { Actor } from './ledger.ts';

export type NewAccount = {
  /** Lower case. */
  readonly email: string;
  readonly name: string;
  readonly passwordHash: string;
};

export type StoredAccount = Account & { readonly passwordHash: string };

export type NewSession = {
  readonly tokenHash: string;
  readonly at: string;
  readonly expiresAt: string;
};

/** What an account may do where something lies. */
export type Standing = { readonly organizationId: string; readonly role: Role };

export type AppStanding = Standing & {
  readonly app: { readonly id: string; readonly ref: string; readonly name: string };
};

/** Something that belongs to an organization; a key or an invitation by its id. */
export type StandingTarget = {
  readonly kind: 'organization' | 'key' | 'invitation';
  readonly id: string;
};

export type NewInvitation = {
  readonly organizationId: string;
  readonly tokenHash: string;
  readonly email: string;
  readonly role: Role;
  readonly at: string;
  readonly expiresAt: string;
};

/** What the holder of an invitation's token is told. */
export type OpenInvitation = {
  readonly organization: Organization;
  readonly email: string;
  readonly role: Role;
};

export interface AccountLedger {
  hasAccounts(): Promise<boolean>;

  /**
   * The first account of all, as owner of a new organization of this name and of every organization there
   * is. Of several at once one succeeds. 409 when there is an account.
   */
  createFirstAccount(account: NewAccount, organizationName: string): Promise<Outcome<Account>>;

  findAccount(email: string): Promise<StoredAccount | undefined>;

  /**
   * Opens a session, if the account's password hash still is this one (false: it is not). The account's
   * oldest sessions beyond the bound end.
   */
  openSession(accountId: string, passwordHash: string, session: NewSession): Promise<boolean>;

  /**
   * The account of a session that is neither expired at `now` nor unused since before `idleSince`; notes
   * that it was used, once a minute.
   */
  findSession(
    tokenHash: string,
    now: string,
    idleSince: string,
  ): Promise<StoredAccount | undefined>;

  /** No error when there is none. */
  endSession(tokenHash: string): Promise<void>;

  /** Ends all sessions of an account but the one kept. */
  endSessions(accountId: string, keptTokenHash: string | undefined): Promise<void>;

  /** Replaces the password, if it still is `before`, and ends all sessions but the one kept. */
  changePassword(
    accountId: string,
    before: string,
    after: string,
    keptTokenHash: string,
  ): Promise<boolean>;

  /** By the organizations' names; undefined is the operator, owner of every organization. */
  listMemberships(accountId: string | undefined): Promise<readonly Membership[]>;

  /** What the account may do there now. 404 for whatever is in no organization of the account's. */
  findStanding(accountId: string | undefined, target: StandingTarget): Promise<Outcome<Standing>>;

  /** The same for an app, by its ref or id. */
  findAppStanding(accountId: string | undefined, app: string): Promise<Outcome<AppStanding>>;

  /** Owners first, then by name. */
  listMembers(organizationId: string): Promise<readonly Member[]>;

  /**
   * Gives a member this role, or ends the membership (undefined). 404 unknown member, 409 for the last owner.
   */
  changeMember(
    organizationId: string,
    accountId: string,
    role: Role | undefined,
    actor: Actor,
  ): Promise<Outcome<Member>>;

  /** Those that can be used at `now`, newest first. */
  listInvitations(organizationId: string, now: string): Promise<readonly Invitation[]>;

  /**
   * Invites; an open invitation of the same email ends. 409 when the email's account is a member already,
   * or when too many are open.
   */
  createInvitation(invitation: NewInvitation, actor: Actor): Promise<Outcome<Invitation>>;

  /** One that was used or revoked stays as it is. 404 unknown invitation. */
  revokeInvitation(id: string, now: string, actor: Actor): Promise<Outcome<{ id: string }>>;

  findInvitation(tokenHash: string, now: string): Promise<OpenInvitation | undefined>;

  /**
   * Uses the invitation for its email's account: the one there is, if its password hash is
   * `account.passwordHash`, else a new one. A member keeps the higher role. Of several at once one
   * succeeds. 404 when the invitation cannot be used (any more), or the account is another by now.
   */
  acceptInvitation(
    tokenHash: string,
    account: NewAccount & { readonly isNew: boolean },
    now: string,
  ): Promise<Outcome<Account>>;

  renameOrganization(id: string, name: string, actor: Actor): Promise<Outcome<Organization>>;
}
