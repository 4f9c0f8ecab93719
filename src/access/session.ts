// Session of an account, and the actor of what it changes.

import type { Account } from '../contract/resource.ts';
import type { Actor, NeededRole } from '../store/ledger-terms.ts';

/** Session that was found by its token. */
export type Session = {
  readonly account: Account;
  readonly tokenHash: string;
  readonly passwordHash: string;
};

/** Returns the actor of a change that a session makes; `needs` is the role that it needs, if it needs one. */
export function sessionActor(
  { account, tokenHash }: Session,
  needs?: NeededRole,
): Extract<Actor, { kind: 'account' }> {
  return { kind: 'account', email: account.email, accountId: account.id, tokenHash, needs };
}
