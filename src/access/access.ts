// Access rights of callers of the console API. Every request reads roles from the ledger, so that the removal
// of a role takes effect at once.

import { fail, isFailure, type Outcome } from '../contract/failure.ts';
import { ROLES, type Role } from '../contract/resource.ts';
import type { AccessRight, AccessTarget, AppAccessRight } from '../store/account-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Actor, NeededRole } from '../store/ledger-terms.ts';
import { type Accounts, type Session, sessionActor } from './accounts.ts';
import { hashSecret } from './api-keys.ts';

/** Caller of the console API: an account with a session, or the operator, who may do everything. */
export type Visitor = {
  readonly session: Session | undefined;
  /** Admin token of the operator; undefined for an account. */
  readonly adminToken?: PresentedToken | undefined;
  /** Id of the visitor's request. */
  readonly requestId?: string | undefined;
};

/** Admin token that the operator presented. */
type PresentedToken = {
  /** Hash that distinguishes this token from other admin tokens. */
  readonly hash: string;
  /** Returns whether it is still accepted: tokens are rotated while the service runs. */
  readonly isAccepted: () => boolean;
};

export class Access {
  constructor(private readonly ledger: Pick<Ledger, 'findAccessRight' | 'findAppAccessRight'>) {}

  /**
   * Returns the visitor's right if it includes `role`. A visitor who is not a member gets the same refusal as
   * for an unknown target. A session that lacks the second factor which the organization demands is refused.
   */
  async to(visitor: Visitor, target: AccessTarget, role: Role): Promise<Outcome<AccessRight>> {
    const { account, isStrong } = visitor.session ?? {};
    return atLeast(role, await this.ledger.findAccessRight(account?.id, target, isStrong));
  }

  /** Returns the visitor's right to an app, given by ref or id, like `to`. */
  async toApp(visitor: Visitor, app: string, role: Role): Promise<Outcome<AppAccessRight>> {
    const { account, isStrong } = visitor.session ?? {};
    return atLeast(role, await this.ledger.findAppAccessRight(account?.id, app, isStrong));
  }
}

function atLeast<Found extends AccessRight>(role: Role, right: Outcome<Found>): Outcome<Found> {
  if (isFailure(right)) return right;
  return ROLES.indexOf(right.role) <= ROLES.indexOf(role) ? right : fail('forbidden');
}

/** Returns the operator who presents an admin token; undefined if the token is not accepted. */
export function operatorBy(
  token: string,
  accounts: Pick<Accounts, 'isAdminToken'>,
): Visitor | undefined {
  const isAccepted = () => accounts.isAdminToken(token);
  if (!isAccepted()) return undefined;
  return { session: undefined, adminToken: { hash: hashSecret(token), isAccepted } };
}

/** Returns the actor of a visitor's change; `needs` is the role that the change needs, if any. */
export function actorOf({ session, requestId }: Visitor, needs: NeededRole | undefined): Actor {
  const actor = session === undefined ? OPERATOR_ACTOR : sessionActor(session, needs);
  return { ...actor, requestId };
}

const OPERATOR_ACTOR = { kind: 'admin-token' } as const;
