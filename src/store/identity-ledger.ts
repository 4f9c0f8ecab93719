// Terms of the ledger's calls for people whom an OpenID Connect provider knows, the accounts that they belong
// to, and the roles that their groups give.

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
