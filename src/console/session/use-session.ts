// Signed-in account and selected organization.

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { SessionState } from '../../contract/console.ts';
import type { SignInWays } from '../../contract/oidc.ts';
import type { Account, Membership, Role } from '../../contract/resource.ts';

export type SignedIn = {
  readonly account: Account;
  readonly memberships: readonly Membership[];
  /** Membership in the selected organization; undefined if the account is in none. */
  readonly membership: Membership | undefined;
  /** Whether the account may create organizations. */
  readonly mayCreateOrganizations: boolean;
  /** Whether the service is not set up: then the admin token makes the account the first owner. */
  readonly awaitsSetUp: boolean;
  /** How people sign in; undefined if only with passwords and passkeys. */
  readonly signIn: SignInWays | undefined;
  readonly hasPassword: boolean;
  /** Selects another organization. */
  choose(organizationId: string): void;
  /** Uses the given session, or loads it from the service. */
  refresh(session?: SessionState): Promise<void>;
};

/** Returns the session; may be called below `SessionGate` only. */
export function useSession(): SignedIn {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('used outside of a session');
  return session;
}

export const SessionContext = createContext<SignedIn | undefined>(undefined);

/** Returns whether the reader's role includes this one, to hide controls; the service checks rights. */
export function useMay(role: Exclude<Role, 'viewer'>): boolean {
  const own = useSession().membership?.role;
  return own === 'owner' || own === role;
}

/** Returns the selected organization; may be called on pages for accounts with one only. */
export function useOrganization(): Membership['organization'] {
  const membership = useSession().membership;
  if (membership === undefined) throw new Error('used outside of an organization');
  return membership.organization;
}
