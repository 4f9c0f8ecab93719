// The part of the ledger with accounts, sessions, memberships and invitations. The obligations of `ledger.ts`
// hold here too. Times are RFC 3339, and the caller passes the present time that expiry is compared with.
// Tokens are passed as lower-case hex SHA-256 hashes, passwords as the hasher encoded them.

import type { OpenInvitation, RevokedInvitation } from '../contract/console.ts';
import type { LostRight, Outcome } from '../contract/failure.ts';
import type {
  Account,
  Invitation,
  Member,
  Membership,
  Organization,
  Role,
} from '../contract/resource.ts';
import type { Actor } from './ledger-terms.ts';

export type NewAccount = {
  /** E-mail address in lower case. */
  readonly email: string;
  readonly name: string;
  readonly passwordHash: string;
};

export type StoredAccount = Account & {
  readonly passwordHash: string;
  /** Number of the present password, counted from 1. */
  readonly passwordNumber: number;
};

/**
 * Account that accepts an invitation: `new` creates it, `known` has shown its password, `claimed` gets this
 * name and password. Only an account without memberships can be claimed, so that whoever created it cannot
 * keep its address from the invited person.
 */
export type Joining = NewAccount & { readonly as: 'new' | 'known' | 'claimed' };

export type NewPasswordReset = {
  readonly email: string;
  readonly tokenHash: string;
  readonly at: string;
  readonly expiresAt: string;
};

/** Failed sign-ins of an account, and the address of the client of the last one. */
export type FailedSignIn = {
  readonly account: { readonly id: string; readonly email: string };
  readonly failures: number;
  readonly address: string;
};

export type NewSession = {
  readonly tokenHash: string;
  readonly at: string;
  readonly expiresAt: string;
  /** Address of the client, for the audit. */
  readonly address: string;
};

/** Role of an account in the organization of an access target. */
export type AccessRight = { readonly organizationId: string; readonly role: Role };

/** Role of an account in the organization of an app, and the app itself. */
export type AppAccessRight = AccessRight & {
  readonly app: { readonly id: string; readonly ref: string; readonly name: string };
};

/** Target of an access check: an organization, or what belongs to one by its id. */
export type AccessTarget = {
  readonly type: 'organization' | 'key' | 'invitation' | 'destination';
  readonly id: string;
};

/** Refusals of a target that does not exist, or that the account may not see. */
export type UnknownTarget =
  | 'unknownOrganization'
  | 'unknownKey'
  | 'unknownInvitation'
  | 'unknownDestination';

export type NewInvitation = {
  readonly organizationId: string;
  readonly tokenHash: string;
  readonly email: string;
  readonly role: Role;
  readonly at: string;
  readonly expiresAt: string;
};

export interface AccountLedger {
  hasAccounts(): Promise<boolean>;

  /**
   * Creates the first account, as owner of a new organization with this name and of every existing one. Of
   * several concurrent calls one succeeds; the others, and every later call, get `alreadySetUp`.
   */
  createFirstAccount(
    account: NewAccount,
    organizationName: string,
  ): Promise<Outcome<Account, 'alreadySetUp'>>;

  findAccount(email: string): Promise<StoredAccount | undefined>;

  /**
   * Opens a session if the account still has this password hash, and ends the account's oldest sessions
   * beyond the limit. Writes an audit entry, with the failed sign-ins not yet in the audit. Returns the
   * password's number, or `wrongLogin` when the hash has changed.
   */
  openSession(
    account: { readonly id: string; readonly email: string; readonly passwordHash: string },
    session: NewSession,
  ): Promise<Outcome<number, 'wrongLogin'>>;

  /** Counts failed sign-ins; writes an audit entry at most once an hour for each account. */
  recordFailedSignIns(failed: FailedSignIn): Promise<void>;

  /** Returns the signing key of this name, which all nodes share; stores `draft` if there is none yet. */
  readSigningKey(name: string, draft: string): Promise<string>;

  /**
   * Finds the account of a session that is not expired at `now` and was used since `idleSince`. Stores the
   * time of use at most once a minute.
   */
  findSession(
    tokenHash: string,
    now: string,
    idleSince: string,
  ): Promise<StoredAccount | undefined>;

  /** Ends a session; does nothing for an unknown one. */
  endSession(tokenHash: string): Promise<void>;

  endSessions(accountId: string): Promise<void>;

  /**
   * Replaces the actor's password hash if it is still `before`, ends the account's other sessions and deletes
   * its password reset link. Returns the new password's number; undefined when the hash has changed.
   */
  changePassword(
    before: string,
    after: string,
    actor: Extract<Actor, { kind: 'account' }>,
  ): Promise<Outcome<number | undefined, LostRight>>;

  /** Stores a link with which an account can set a new password; replaces the account's earlier link. */
  createPasswordReset(
    reset: NewPasswordReset,
    actor: Actor,
  ): Promise<Outcome<{ readonly email: string }, 'unknownAccount' | LostRight>>;

  /** Finds the account of a reset link; undefined when the link is unknown or expired at `now`. */
  findPasswordReset(
    tokenHash: string,
    now: string,
  ): Promise<{ readonly email: string } | undefined>;

  /** Uses up a link: sets the password and ends all sessions. Of concurrent calls one succeeds. */
  usePasswordReset(
    tokenHash: string,
    passwordHash: string,
    now: string,
  ): Promise<Outcome<StoredAccount, 'unknownReset'>>;

  /** Lists an account's memberships by organization name; undefined is the operator, who owns all of them. */
  listMemberships(accountId: string | undefined): Promise<readonly Membership[]>;

  /**
   * Reads the account's present role at the target; undefined is the operator, who owns every organization.
   * A target in an organization that the account does not belong to is unknown.
   */
  findAccessRight(
    accountId: string | undefined,
    target: AccessTarget,
  ): Promise<Outcome<AccessRight, UnknownTarget>>;

  /** Reads the account's role at an app, given by ref or id, as `findAccessRight` does. */
  findAppAccessRight(
    accountId: string | undefined,
    app: string,
  ): Promise<Outcome<AppAccessRight, 'unknownApp'>>;

  /** Lists the members of an organization, owners first, then by name. */
  listMembers(organizationId: string): Promise<readonly Member[]>;

  /** Changes a member's role; undefined ends the membership. The last owner must stay owner. */
  changeMember(
    organizationId: string,
    accountId: string,
    role: Role | undefined,
    actor: Actor,
  ): Promise<Outcome<Member, 'unknownMember' | 'lastOwner' | LostRight>>;

  /** Lists the invitations that are open at `now`, newest first. */
  listInvitations(organizationId: string, now: string): Promise<readonly Invitation[]>;

  /**
   * Creates an invitation and ends an open one for the same e-mail address. Refused when the address belongs
   * to a member already, or when too many invitations are open.
   */
  createInvitation(
    invitation: NewInvitation,
    actor: Actor,
  ): Promise<Outcome<Invitation, 'alreadyMember' | 'tooManyInvitations' | LostRight>>;

  /** Ends an invitation. A used or revoked one stays as it is. */
  revokeInvitation(
    id: string,
    now: string,
    actor: Actor,
  ): Promise<Outcome<RevokedInvitation, LostRight>>;

  findInvitation(tokenHash: string, now: string): Promise<OpenInvitation | undefined>;

  /**
   * Uses the invitation for the account of its e-mail address (see `Joining`). A member keeps the higher of
   * both roles. Of several concurrent calls one succeeds. Returns `unknownInvitation` also when the
   * invitation is no longer open, or when the account has changed in the meantime.
   */
  acceptInvitation(
    tokenHash: string,
    account: Joining,
    now: string,
  ): Promise<Outcome<Account, 'unknownInvitation'>>;

  renameOrganization(
    id: string,
    name: string,
    actor: Actor,
  ): Promise<Outcome<Organization, LostRight>>;
}

export interface PasswordHasher {
  /** Hashes a password; the result contains its parameters and salt. */
  hash(password: string): Promise<string>;

  /** Returns whether the hash belongs to this password; takes equally long for a wrong password. */
  verify(hash: string, password: string): Promise<boolean>;
}
