// The part of the ledger that keeps accounts, their sessions, memberships and invitations. The obligations of
// `ledger.ts` hold here too. Times are RFC 3339; the caller's clock decides what has expired. Tokens are
// passed as hashes (lower-case hex SHA-256), passwords as the hasher encoded them.

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
  /** Number of the present password, from 1; every new password has the next one. */
  readonly passwordNumber: number;
};

/**
 * Account that accepts an invitation: a new one, one whose password was right, or one that gets this name and
 * password. The last is only for accounts that are a member nowhere, which have nothing to take: whoever made
 * such an account does not keep its address from the person who is invited.
 */
export type Joining = NewAccount & { readonly as: 'new' | 'known' | 'claimed' };

export type NewPasswordReset = {
  readonly email: string;
  readonly tokenHash: string;
  readonly at: string;
  readonly expiresAt: string;
};

/** Failed sign-ins of an account, and the address of the last one. */
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

/** Role of an account in the organization that a target belongs to. */
export type AccessRight = { readonly organizationId: string; readonly role: Role };

/** Role of an account in the organization of an app, and the app itself. */
export type AppAccessRight = AccessRight & {
  readonly app: { readonly id: string; readonly ref: string; readonly name: string };
};

/** Target of an access check: an organization, or a key or an invitation by its id. */
export type AccessTarget = {
  readonly type: 'organization' | 'key' | 'invitation';
  readonly id: string;
};

/** Kinds of refusal of a target that does not exist, or that the account must not know of. */
export type UnknownTarget = 'unknownOrganization' | 'unknownKey' | 'unknownInvitation';

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
   * Creates the first account of all, as owner of a new organization of this name and of every organization
   * there is. Of several calls at once one succeeds; the others, and every later one, are `alreadySetUp`.
   */
  createFirstAccount(
    account: NewAccount,
    organizationName: string,
  ): Promise<Outcome<Account, 'alreadySetUp'>>;

  findAccount(email: string): Promise<StoredAccount | undefined>;

  /**
   * Opens a session if the account's password hash is still this one, and ends the account's oldest sessions
   * beyond the bound. Tells the audit, with the failures that it was not told of. Returns the number of the
   * password; `wrongLogin` when the hash has changed.
   */
  openSession(
    account: { readonly id: string; readonly email: string; readonly passwordHash: string },
    session: NewSession,
  ): Promise<Outcome<number, 'wrongLogin'>>;

  /** Counts failed sign-ins; tells the audit of them at once, but not twice within an hour. */
  recordFailedSignIns(failed: FailedSignIn): Promise<void>;

  /** Returns the signing key of this name that all nodes share; stores `draft` when there is none yet. */
  readSigningKey(name: string, draft: string): Promise<string>;

  /**
   * Finds the account of a session that is not expired at `now` and was used since `idleSince`. Records the
   * use of the session once a minute.
   */
  findSession(
    tokenHash: string,
    now: string,
    idleSince: string,
  ): Promise<StoredAccount | undefined>;

  /** Ends a session; an unknown one is no error. */
  endSession(tokenHash: string): Promise<void>;

  /** Ends all sessions of an account. */
  endSessions(accountId: string): Promise<void>;

  /**
   * Replaces the actor's password hash if it is still `before`, and ends all sessions except the actor's and
   * a link that was made for the account. Returns the number of the password, undefined when the hash has
   * changed.
   */
  changePassword(
    before: string,
    after: string,
    actor: Extract<Actor, { kind: 'account' }>,
  ): Promise<Outcome<number | undefined, LostRight>>;

  /** Makes a link by which an account gets a new password; an earlier one of the account ends. */
  createPasswordReset(
    reset: NewPasswordReset,
    actor: Actor,
  ): Promise<Outcome<{ readonly email: string }, 'unknownAccount' | LostRight>>;

  /** Finds the account that a link is for; undefined when it cannot be used at `now`. */
  findPasswordReset(
    tokenHash: string,
    now: string,
  ): Promise<{ readonly email: string } | undefined>;

  /** Uses a link: the account has this password, and no session. Of several concurrent calls one succeeds. */
  usePasswordReset(
    tokenHash: string,
    passwordHash: string,
    now: string,
  ): Promise<Outcome<StoredAccount, 'unknownReset'>>;

  /**
   * Lists an account's memberships by organization name; undefined is the operator, who owns every
   * organization.
   */
  listMemberships(accountId: string | undefined): Promise<readonly Membership[]>;

  /**
   * Reads the account's role at the target as it is now; undefined stands for the operator, who is owner of
   * every organization. A target in an organization that the account is no member of is unknown.
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

  /**
   * Changes a member's role, or ends the membership when `role` is undefined. The last owner must stay one.
   */
  changeMember(
    organizationId: string,
    accountId: string,
    role: Role | undefined,
    actor: Actor,
  ): Promise<Outcome<Member, 'unknownMember' | 'lastOwner' | LostRight>>;

  /** Lists the invitations that can be used at `now`, newest first. */
  listInvitations(organizationId: string, now: string): Promise<readonly Invitation[]>;

  /**
   * Creates an invitation; an open one for the same e-mail address ends. Refused when the email's account is
   * a member already, or when too many invitations are open.
   */
  createInvitation(
    invitation: NewInvitation,
    actor: Actor,
  ): Promise<Outcome<Invitation, 'alreadyMember' | 'tooManyInvitations' | LostRight>>;

  /** Ends an invitation. One that was used or revoked stays as it is. */
  revokeInvitation(
    id: string,
    now: string,
    actor: Actor,
  ): Promise<Outcome<RevokedInvitation, LostRight>>;

  findInvitation(tokenHash: string, now: string): Promise<OpenInvitation | undefined>;

  /**
   * Uses the invitation for the account of its e-mail address: a new one, the existing one if its password
   * hash is `account.passwordHash`, or a claimed one. A member keeps the higher role. Of several
   * concurrent calls one succeeds. The refusal is `unknownInvitation` also when it can no longer be used, or
   * when the account has changed meanwhile.
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

// The hash of passwords: slow and salted. Each call costs memory and time by design, so callers limit the
// number of concurrent calls.

export interface PasswordHasher {
  /** Hashes a password; the result contains its parameters and salt. */
  hash(password: string): Promise<string>;

  /** Returns whether the hash belongs to this password; takes equally long for a wrong password. */
  verify(hash: string, password: string): Promise<boolean>;
}
