// Helpers that the ledger's tests of people share: times, members by an invitation, and their sessions.

import { expect } from 'vitest';
import type { Role } from '../../../src/contract/resource.ts';
import type { NewSession } from '../../../src/store/account-ledger.ts';
import type { Ledger } from '../../../src/store/ledger.ts';
import type { AccountActor } from '../../../src/store/ledger-terms.ts';
import { iso, START } from './fleet-fixture.ts';
import { expectValue, OPENED, OPERATOR, type TestTenant, unique } from './ledger-fixture.ts';

export const NOW = iso(START);
export const LATER = iso(START + 86_400_000);

/** Account with a password, as it signs in. */
type Member = Readonly<Record<'id' | 'email' | 'name' | 'passwordHash', string>> & {
  readonly passwordNumber: number;
};

/** Invites an address; returns the hash of the link. */
export async function invite(
  ledger: Ledger,
  organizationId: string,
  email: string,
  role: Role = 'viewer',
): Promise<string> {
  const tokenHash = unique('invitation');
  const invitation = { organizationId, email, role, at: NOW, expiresAt: LATER };
  expectValue(await ledger.createInvitation({ ...invitation, tokenHash }, OPERATOR));
  return tokenHash;
}

/** Makes a new account a member. */
export async function join(
  ledger: Ledger,
  { organizationId }: Pick<TestTenant, 'organizationId'>,
  role: Role = 'owner',
): Promise<Member> {
  const email = `${unique('person')}@example.com`;
  const tokenHash = await invite(ledger, organizationId, email, role);
  const account = { email, name: 'A Person', passwordHash: 'hash' };
  const joined = await ledger.acceptInvitation(tokenHash, { ...account, as: 'new' }, NOW);
  return { ...account, id: expectValue(joined).id, passwordNumber: 1 };
}

export function newSession(more: Partial<NewSession> = {}): NewSession {
  return { tokenHash: unique('session'), at: NOW, expiresAt: LATER, ...OPENED, ...more };
}

/** Opens a session with the password; returns its token's hash. */
export async function open(ledger: Ledger, account: Member, at = NOW): Promise<string> {
  const session = newSession({ at });
  expect(await ledger.openSession(account, session)).toBe(account.passwordNumber);
  return session.tokenHash;
}

/** Returns the account as the actor of changes that every account may make. */
export function actorOf({ id, email }: Member, tokenHash: string): AccountActor {
  return { kind: 'account', email, accountId: id, tokenHash, needs: undefined };
}
