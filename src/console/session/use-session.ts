// Signed-in account and selected organization.

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { SessionState } from '../../contract/console.ts';
import type { SignInWays } from '../../contract/oidc.ts';
import type { Account, Membership, Role } from '../../contract/resource.ts';

export type SignedIn = {
  readonly account: Account;
  readonly memberships: readonly Membership[];
  /** Membership in the selected organization; undefined without any. */
  readonly membership: Membership | undefined;
  /** Whether the account may create organizations. */
  readonly mayCreateOrganizations: boolean;
  /** Whether the admin token makes the account the owner of the first organization. */
  readonly awaitsSetUp: boolean;
  /** How people sign in; undefined for passwords alone. */
  readonly signIn: SignInWays | undefined;
  readonly hasPassword: boolean;
  /** Selects another organization. */
  choose(organizationId: string): void;
  /** Uses the given session, or loads it from the service. */
  refresh(session?: SessionState): Promise<void>;
};

/** Returns the session; only below `SessionGate`. */
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

/** Returns the selected organization; only on pages for accounts with one. */
export function useOrganization(): Membership['organization'] {
  const membership = useSession().membership;
  if (membership === undefined) throw new Error('used outside of an organization');
  return membership.organization;
}
