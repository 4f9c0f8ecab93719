// What whoever calls the console API may do. Roles are read from the ledger with every request: one that was
// taken away a moment ago is gone.

import { fail, isFailure, type Outcome } from '../contract/failure.ts';
import { ROLES, type Role } from '../contract/resource.ts';
import type { AppStanding, Standing, StandingTarget } from '../ports/account-ledger.ts';
import type { Actor, Ledger } from '../ports/ledger.ts';
import type { Session } from './accounts.ts';

/** A person with a session, or the operator, who holds the admin token and may do everything. */
export type Visitor = { readonly actor: Actor; readonly session: Session | undefined };

export class Access {
  private readonly ledger: Pick<Ledger, 'findStanding' | 'findAppStanding'>;

  constructor(ledger: Pick<Ledger, 'findStanding' | 'findAppStanding'>) {
    this.ledger = ledger;
  }

  /** 404 where the visitor is no member, as if there were nothing; 403 where the role is too low. */
  async to(visitor: Visitor, target: StandingTarget, role: Role): Promise<Outcome<Standing>> {
    return atLeast(role, await this.ledger.findStanding(visitor.session?.account.id, target));
  }

  /** The same for an app, by its ref or id. */
  async toApp(visitor: Visitor, app: string, role: Role): Promise<Outcome<AppStanding>> {
    return atLeast(role, await this.ledger.findAppStanding(visitor.session?.account.id, app));
  }
}

function atLeast<Found extends Standing>(role: Role, standing: Outcome<Found>): Outcome<Found> {
  if (isFailure(standing)) return standing;
  return ROLES.indexOf(standing.role) <= ROLES.indexOf(role) ? standing : fail('forbidden');
}

export const OPERATOR: Visitor = {
  actor: { kind: 'admin-token', name: 'admin-token' },
  session: undefined,
};

/** The person of a session. */
export function visitorOf(session: Session): Visitor {
  return { actor: { kind: 'account', name: session.account.email }, session };
}
