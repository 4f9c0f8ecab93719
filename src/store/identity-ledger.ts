// The part of the ledger with people whom an OpenID Connect provider knows, the accounts that they belong to,
// and the roles that their groups give. The obligations of `ledger.ts` and `account-ledger.ts` hold here too.

import type { LostRight, Outcome } from '../contract/failure.ts';
import type { Role } from '../contract/resource.ts';
import type { Identity, StoredAccount } from './account-ledger.ts';
import type { Actor } from './ledger-terms.ts';

/** Role that a group gives in an organization, named by its id, or by its name where only one has it. */
export type GroupRole = { readonly organization: string; readonly role: Role };

/** Person who comes from a provider. */
export type Arrival = Identity & {
  /** E-mail address in lower case; undefined if the provider tells none. */
  readonly email: string | undefined;
  /** Whether the provider says that the address is the person's. */
  readonly isEmailVerified: boolean;
  readonly name: string;
  /** Roles that the groups give now. */
  readonly roles: readonly GroupRole[];
};

/** Account of a person who has come in. */
export type Entered = {
  readonly account: StoredAccount;
  readonly identity: Identity;
  readonly isNew: boolean;
  /** Ids of the organizations whose last owner lost that role, because no group gives it any more. */
  readonly ownerless: readonly string[];
};

/** Proof of the account that a person wants to come in with: its password, or a session. */
export type AccountProof = {
  readonly accountId: string;
  /** Hash of the password that was shown; undefined for a session, which `actor` has. */
  readonly passwordHash: string | undefined;
  readonly actor: Extract<Actor, { kind: 'account' | 'token' }>;
};

export interface IdentityLedger {
  /**
   * Returns the account of a known identity, with the roles of its groups renewed; else of a new account,
   * with those roles and, for a verified address, with what its open invitations at `now` give. A verified
   * address takes over its account where that has neither a password, a passkey nor a membership. Returns
   * `accountKnown` when the address is that of another account, `unknownAccount` when there is no address, or
   * when it is not verified and neither a group nor an open invitation is there for it; and then stores
   * nothing.
   */
  enterByIdentity(
    arrival: Arrival,
    now: string,
  ): Promise<Outcome<Entered, 'accountKnown' | 'unknownAccount'>>;

  /** Stores an arrival that waits for the proof of the address's account; replaces an earlier one. */
  storeArrival(
    arrival: Arrival & { readonly email: string },
    waiting: { readonly tokenHash: string; readonly at: string; readonly expiresAt: string },
  ): Promise<void>;

  /** Returns the address of an arrival; undefined if it is unknown or expired at `now`. */
  findArrival(tokenHash: string, now: string): Promise<{ readonly email: string } | undefined>;

  /**
   * Uses up an arrival: joins its identity to the account that was proved, and renews the roles of its
   * groups. Refused as `identityTaken` if the account has another identity of the provider.
   */
  joinIdentity(
    tokenHash: string,
    proof: AccountProof,
    now: string,
  ): Promise<Outcome<Entered, 'unknownArrival' | 'identityTaken' | LostRight>>;
}
