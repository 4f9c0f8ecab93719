// The part of the ledger with accounts, sessions, memberships and invitations. The obligations of `ledger.ts`
// hold here too. Times are RFC 3339, and the caller passes the present time that expiry is compared with.
// Tokens are passed as lower-case hex SHA-256 hashes, passwords as the hasher encoded them. A `mail` tells a
// person of what the call does, and is stored in the same transaction.

import type { NoContent, OpenInvitation, RevokedInvitation } from '../contract/console.ts';
import type { LostRight, Outcome } from '../contract/failure.ts';
import type {
  Account,
  Invitation,
  ListedSession,
  Member,
  Membership,
  Organization,
  Passkey,
  Role,
  SessionOpener,
} from '../contract/resource.ts';
import type { NewMail } from './delivery-ledger.ts';
import type { AccountActor, Actor } from './ledger-terms.ts';

export type NewAccount = {
  /** E-mail address in lower case. */
  readonly email: string;
  readonly name: string;
  /** Null for an account without a password. */
  readonly passwordHash: string | null;
};

export type StoredAccount = Account & {
  /** Null while the account has no password. */
  readonly passwordHash: string | null;
  /** Number of the present password, counted from 1. */
  readonly passwordNumber: number;
};

/**
 * Account that accepts an invitation: `new` creates it, `known` has shown its password, `claimed` gets this
 * name and password. Only an account without memberships can be claimed, so that whoever created it cannot
 * keep its address from the invited person.
 */
export type Joining =
  | (NewAccount & { readonly as: 'known' })
  | (NewAccount & { readonly as: 'new' | 'claimed'; readonly passwordHash: string });

export type NewPasswordReset = {
  readonly email: string;
  readonly tokenHash: string;
  readonly at: string;
  readonly expiresAt: string;
  readonly mail?: NewMail | undefined;
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
  readonly address: string;
  /** Short words for the browser, such as `Firefox on Linux`. */
  readonly browser: string;
  readonly openedBy: SessionOpener;
  /** Whether a passkey was shown. */
  readonly secondFactor: boolean;
  readonly mail?: NewMail | undefined;
};

/** Account for which a session opens, with its password as it was checked; none where none was. */
export type Opening = {
  readonly id: string;
  readonly email: string;
  readonly passwordHash?: string | null | undefined;
  /** Person as the provider knows them that opens the session; undefined where none does. */
  readonly identity?: Identity | undefined;
};

/** Person as a provider knows them. A provider gives a subject to one person only, for ever. */
export type Identity = { readonly issuer: string; readonly subject: string };

/** Account of an open session, and whether the session fulfils the demand for a second factor. */
export type StoredSession = StoredAccount & { readonly isStrong: boolean };

/** Passkey with what a browser needs to find it. */
export type StoredPasskey = Passkey & {
  /** Name that the authenticator gave it, in base64url. */
  readonly credentialId: string;
  readonly transports: readonly string[];
};

/** Passkey as it was registered; `publicKey` is the COSE key in base64url. */
export type NewPasskey = {
  readonly credentialId: string;
  readonly publicKey: string;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly name: string;
  readonly at: string;
  readonly mail?: NewMail | undefined;
};

/** Passkey that somebody claims to have, with its account. */
export type KnownPasskey = {
  readonly id: string;
  readonly publicKey: string;
  readonly account: StoredAccount;
};

/** Challenge that was answered rightly; it is not accepted again until it has expired. */
export type AnsweredChallenge = { readonly text: string; readonly expiresAt: string };

/** Right answer of a passkey, with which a session opens. */
export type ShownPasskey = {
  readonly id: string;
  /** Number of the authenticator's signatures; 0 of one that does not count. */
  readonly counter: number;
  readonly challenge: AnsweredChallenge;
};

export type NewRecovery = {
  readonly tokenHash: string;
  readonly at: string;
  readonly expiresAt: string;
  /** Returns the mail to the address of the account, which the call finds. */
  readonly mailTo?: ((email: string) => NewMail | undefined) | undefined;
};

/** Account that a recovery is for: of an email address, or a member of an organization. */
export type RecoveredAccount =
  | { readonly email: string }
  | { readonly organizationId: string; readonly accountId: string };

/** Role of an account in the organization of an access target. */
export type AccessRight = { readonly organizationId: string; readonly role: Role };

/** Role of an account in the organization of an app, and the app itself. */
export type AppAccessRight = AccessRight & {
  readonly app: { readonly id: string; readonly ref: string; readonly name: string };
};

/** Target of an access check: an organization, or what belongs to one by its id. */
export type AccessTarget = {
  readonly type: 'organization' | 'key' | 'invitation' | 'destination' | 'approval';
  readonly id: string;
};

/** Refusals of a target that does not exist, or that the account may not see. */
export type UnknownTarget =
  | 'unknownOrganization'
  | 'unknownKey'
  | 'unknownInvitation'
  | 'unknownDestination'
  | 'unknownApproval';

export type NewInvitation = {
  readonly organizationId: string;
  readonly tokenHash: string;
  readonly email: string;
  readonly role: Role;
  readonly at: string;
  readonly expiresAt: string;
  readonly mail?: NewMail | undefined;
};

export type OrganizationChange = {
  readonly name?: string | undefined;
  readonly requireSecondFactor?: boolean | undefined;
};

export interface AccountLedger {
  /** Returns whether there is an account and an organization; until then the admin token sets up. */
  isSetUp(): Promise<boolean>;

  /**
   * Creates an account, as owner of a new organization with this name and of every existing one. Of several
   * concurrent calls of this and the next method one succeeds; the others, and every later call, get
   * `alreadySetUp`, and so does the address of an account.
   */
  createFirstAccount(
    account: NewAccount,
    organizationName: string,
  ): Promise<Outcome<Account, 'alreadySetUp'>>;

  /** Creates the first organization, owned by an account that a provider has let in. */
  createFirstOrganization(
    name: string,
    actor: Extract<Actor, { kind: 'account' }>,
  ): Promise<Outcome<Organization, 'alreadySetUp' | LostRight>>;

  findAccount(email: string): Promise<StoredAccount | undefined>;

  /**
   * Opens a session if the account still has this password hash, and ends the account's oldest sessions
   * beyond the limit. Writes an audit entry, with the failed sign-ins not yet in the audit. Returns the
   * password's number, or `wrongLogin` when the hash has changed, or the account is no longer that of the
   * identity by which a provider opens the session. A password alone opens no session of an account with
   * passkeys: `secondFactorFirst`.
   */
  openSession(
    account: Opening,
    session: NewSession,
  ): Promise<Outcome<number, 'wrongLogin' | 'secondFactorFirst'>>;

  /**
   * Opens a session as `openSession` does, for the right answer of a passkey, and uses the challenge up. A
   * counter that did not rise opens none, and is audited: there is a copy of the passkey.
   */
  openSessionByPasskey(
    account: Opening,
    shown: ShownPasskey,
    session: NewSession,
  ): Promise<Outcome<number, 'wrongLogin' | 'wrongPasskey' | 'staleChallenge'>>;

  /** Lists the passkeys of an account, the oldest first. */
  listPasskeys(accountId: string): Promise<readonly StoredPasskey[]>;

  findPasskey(credentialId: string): Promise<KnownPasskey | undefined>;

  /**
   * Adds a passkey to the actor's account, uses the challenge up, and notes at the actor's session that a
   * second factor was shown. A session by password alone may only add the first one.
   */
  addPasskey(
    passkey: NewPasskey,
    challenge: AnsweredChallenge,
    actor: AccountActor,
  ): Promise<
    Outcome<
      Passkey,
      'staleChallenge' | 'passkeyTaken' | 'tooManyPasskeys' | 'secondFactorFirst' | LostRight
    >
  >;

  renamePasskey(
    id: string,
    name: string,
    actor: AccountActor,
  ): Promise<Outcome<Passkey, 'unknownPasskey' | LostRight>>;

  /** Removes a passkey of the actor's account and ends its other sessions. */
  removePasskey(
    id: string,
    actor: AccountActor,
    mail?: NewMail,
  ): Promise<Outcome<NoContent, 'unknownPasskey' | 'secondFactorFirst' | LostRight>>;

  /** Stores a link that removes the passkeys of an account; replaces the account's earlier link. */
  createRecovery(
    of: RecoveredAccount,
    recovery: NewRecovery,
    actor: Actor,
  ): Promise<Outcome<{ readonly email: string }, 'unknownAccount' | 'unknownMember' | LostRight>>;

  /** Finds the account of a recovery link; undefined when the link is unknown or expired at `now`. */
  findRecovery(tokenHash: string, now: string): Promise<{ readonly email: string } | undefined>;

  /** Uses up a link: removes the passkeys and ends all sessions. Of concurrent calls one succeeds. */
  useRecovery(
    account: { readonly id: string; readonly email: string },
    tokenHash: string,
    now: string,
    mail?: NewMail,
  ): Promise<Outcome<{ readonly removed: number }, 'unknownReset'>>;

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
  ): Promise<StoredSession | undefined>;

  /** Lists the open sessions of the actor's account, the last used first. */
  listSessions(
    actor: Pick<AccountActor, 'accountId' | 'tokenHash'>,
    now: string,
    idleSince: string,
  ): Promise<readonly ListedSession[]>;

  /** Ends a session of the actor's account, named by its id. */
  endSessionById(
    id: string,
    actor: AccountActor,
  ): Promise<Outcome<NoContent, 'unknownSession' | LostRight>>;

  /** Ends the sessions of the actor's account, except the actor's own. */
  endOtherSessions(actor: AccountActor): Promise<Outcome<NoContent, LostRight>>;

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
   * A target in an organization that the account does not belong to is unknown. `isStrong` says whether the
   * session fulfils the demand for a second factor.
   */
  findAccessRight(
    accountId: string | undefined,
    target: AccessTarget,
    isStrong?: boolean,
  ): Promise<Outcome<AccessRight, UnknownTarget | 'secondFactorNeeded'>>;

  /** Reads the account's role at an app, given by ref or id, as `findAccessRight` does. */
  findAppAccessRight(
    accountId: string | undefined,
    app: string,
    isStrong?: boolean,
  ): Promise<Outcome<AppAccessRight, 'unknownApp' | 'secondFactorNeeded'>>;

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

  /**
   * Changes an organization; an undefined field stays as it is. A person may only turn `requireSecondFactor`
   * on in a session that fulfils it, so that the demand does not lock its author out.
   */
  updateOrganization(
    id: string,
    change: OrganizationChange,
    actor: Actor,
  ): Promise<Outcome<Organization, 'secondFactorFirst' | LostRight>>;
}

export interface PasswordHasher {
  /** Hashes a password; the result contains its parameters and salt. */
  hash(password: string): Promise<string>;

  /** Returns whether the hash belongs to this password; takes equally long for a wrong password. */
  verify(hash: string, password: string): Promise<boolean>;
}
