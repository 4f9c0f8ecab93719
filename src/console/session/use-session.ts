// Who is signed in, and for which organization the pages speak.

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Account, Membership, Role } from '../../contract/resource.ts';
import type { Session } from '../api/resource.ts';

export type SignedIn = {
  readonly account: Account;
  readonly memberships: readonly Membership[];
  /** The membership in use; undefined for somebody who is in no organization yet. */
  readonly membership: Membership | undefined;
  /** Speaks for another of the organizations from now on. */
  choose(organizationId: string): void;
  /** Takes over what the service says of the session, or asks it. */
  refresh(session?: Session): Promise<void>;
};

/** The session of the person who sees the page. Only below the sign-in. */
export function useSession(): SignedIn {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error('used outside of a session');
  return session;
}

/** Gives the session to everything below. */
export const SessionContext = createContext<SignedIn | undefined>(undefined);

/** Whether the reader may do what this role may: the service asks again, the page does not tempt. */
export function useMay(role: Exclude<Role, 'viewer'>): boolean {
  const own = useSession().membership?.role;
  return own === 'owner' || own === role;
}

/** The organization in use; a person without one never gets to a page that asks. */
export function useOrganization(): Membership['organization'] {
  const membership = useSession().membership;
  if (membership === undefined) throw new Error('used outside of an organization');
  return membership.organization;
}
