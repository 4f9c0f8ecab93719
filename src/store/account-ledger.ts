// Terms of the ledger's calls for accounts, sessions, memberships and links that work once. Times are RFC
// 3339, and the caller passes the present time that expiry is compared with. Tokens are passed as lower-case
// hex SHA-256 hashes, passwords as the hasher encoded them. A `mail` tells a person of what the call does,
// and is stored in the same transaction.

import type { OpenInvitation, OpenReset } from '../contract/console.ts';
import type { Account, Passkey, Role, SessionOpener } from '../contract/resource.ts';
import type { NewMail } from './delivery-ledger.ts';
import type { Actor } from './ledger-terms.ts';

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

/**
 * Kinds of tokens that work once: of links for an account, of invitations, and (`arrival`, in a cookie) of a
 * person from a provider who has yet to prove that an account is theirs.
 */
export type LinkKind = AccountLinkKind | 'arrival' | 'invitation';

/** Links for an account: to a new password (`reset`), and to remove lost passkeys (`recovery`). */
export type AccountLinkKind = 'reset' | 'recovery';

export type NewLink = {
  readonly tokenHash: string;
  readonly at: string;
  readonly expiresAt: string;
};

/** What a link of each kind shows to whoever has its token. */
export type LinkOffers = Readonly<Record<Exclude<LinkKind, 'invitation'>, OpenReset>> & {
  readonly invitation: OpenInvitation;
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
  /** Whether the person showed a passkey. */
  readonly secondFactor: boolean;
  readonly mail?: NewMail | undefined;
};

/** Account for which a session opens, with the password hash that was checked; undefined if none was. */
export type Opening = {
  readonly id: string;
  readonly email: string;
  readonly passwordHash?: string | null | undefined;
  /** Identity by which a provider opens the session; undefined if none does. */
  readonly identity?: Identity | undefined;
};

/** Account as a provider knows it. A provider gives a subject to one person only, for ever. */
export type Identity = { readonly issuer: string; readonly subject: string };

/** Account of an open session, and whether the session fulfils the demand for a second factor. */
export type StoredSession = StoredAccount & { readonly isStrong: boolean };

/** Passkey with what a browser needs to find it. */
export type StoredPasskey = Passkey & {
  /** Credential id, which the authenticator chose, in base64url. */
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

/** Challenge that was answered correctly; it is not accepted again until it has expired. */
export type AnsweredChallenge = { readonly text: string; readonly expiresAt: string };

/** Correct answer of a passkey, which opens a session. */
export type ShownPasskey = {
  readonly id: string;
  /** The authenticator's signature counter; 0 if the authenticator does not count. */
  readonly counter: number;
  readonly challenge: AnsweredChallenge;
};

export type NewAccountLink = NewLink & {
  /** Returns the mail to the account's email address, which the call looks up. */
  readonly mailTo?: ((email: string) => NewMail | undefined) | undefined;
};

/** Account that a link is for, named by its email address, or as a member of an organization. */
export type LinkedAccount =
  | { readonly email: string }
  | { readonly organizationId: string; readonly accountId: string };

/** Role of an account in the organization of an access target. */
export type AccessRight = { readonly organizationId: string; readonly role: Role };

/** Role of an account in the organization of an app, and the app itself. */
export type AppAccessRight = AccessRight & {
  readonly app: { readonly id: string; readonly ref: string; readonly name: string };
};

/** Target of an access check, by its id: an organization, or something that belongs to one. */
export type AccessTarget = {
  readonly type: 'organization' | 'key' | 'invitation' | 'destination' | 'approval';
  readonly id: string;
};

export type NewInvitation = NewLink & {
  readonly organizationId: string;
  readonly email: string;
  readonly role: Role;
  readonly mail?: NewMail | undefined;
};

export interface PasswordHasher {
  /** Hashes a password; the result contains its parameters and salt. */
  hash(password: string): Promise<string>;

  /** Returns whether the hash belongs to this password; takes equally long for a wrong password. */
  verify(hash: string, password: string): Promise<boolean>;
}

// Terms of the ledger's calls for people whom an OpenID Connect provider knows, their accounts, and the roles
// that their groups give.

/** Role that a group gives in an organization, named by its id, or by its name where only one has it. */
export type GroupRole = { readonly organization: string; readonly role: Role };

/** Person who comes from a provider. */
export type Arrival = Identity & {
  /** E-mail address in lower case; undefined if the provider names none. */
  readonly email: string | undefined;
  /** Whether the provider says that the address is the person's. */
  readonly isEmailVerified: boolean;
  readonly name: string;
  /** Roles that the groups give now. */
  readonly roles: readonly GroupRole[];
};

/** Account of a person who has signed in with a provider. */
export type Entered = {
  readonly account: StoredAccount;
  readonly identity: Identity;
  readonly isNew: boolean;
  /** Ids of the organizations that have no owner any more, because no group gives this account that role. */
  readonly ownerless: readonly string[];
};

/** Proof that an account belongs to the person from a provider: its password, or a session. */
export type AccountProof = {
  readonly accountId: string;
  /** Hash of the password that was shown; undefined if the proof is the session of `actor`. */
  readonly passwordHash: string | undefined;
  readonly actor: Extract<Actor, { kind: 'account' | 'token' }>;
};
