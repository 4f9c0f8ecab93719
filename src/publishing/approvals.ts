// Requests that wait for an approval: how they are shown, and how people decide about them.

import type { Principal } from '../access/api-keys.ts';
import type { Effect } from '../contract/dry-run.ts';
import { type Failure, fail, isFailure, type Outcome } from '../contract/failure.ts';
import type { Approval, ApprovalPage, StoredApproval } from '../contract/resource.ts';
import type { Ledger } from '../store/ledger.ts';
import type { ApprovalFilter, ApprovingCall } from '../store/ledger-terms.ts';

export class Approvals {
  /** `address` returns the base URL of the console, without a trailing slash. */
  constructor(
    private readonly ledger: Ledger,
    private readonly address: () => string,
  ) {}

  /** Lists approvals of the caller's apps, newest first. */
  async list({ scope }: Principal, filter: ApprovalFilter): Promise<Outcome<ApprovalPage>> {
    const page = await this.ledger.listApprovals(scope, filter);
    if (isFailure(page)) return page;
    return { ...page, approvals: page.approvals.map((each) => this.shown(each)) };
  }

  async find({ scope }: Principal, id: string): Promise<Outcome<{ readonly approval: Approval }>> {
    const approval = await this.ledger.findApproval(scope, id);
    return isFailure(approval) ? approval : { approval: this.shown(approval) };
  }

  /** Stores the effect of a new request, without the ids of devices; returns it as people see it. */
  async storeEffect(approval: StoredApproval, effect: Effect | undefined): Promise<Approval> {
    if (effect === undefined) return this.shown(approval);
    const stored = { ...effect, examples: { gain: [], lose: [] } };
    await this.ledger.storeApprovalEffect(approval.id, stored);
    return this.shown({ ...approval, effect: stored });
  }

  /** Approves a request: `carryOut` makes its change. Returns the approval as it is then. */
  async approve(
    who: Principal,
    call: ApprovingCall,
    carryOut: () => Promise<Outcome<unknown>>,
  ): Promise<Outcome<{ readonly approval: Approval }>> {
    // The ledger refuses every other actor; without this, it would make the change as its own.
    if (who.actor.kind !== 'account') return fail('forbidden', NO_PERSON);
    const carried = await carryOut();
    if (!isFailure(carried)) return this.find(who, call.id);
    if (!isUnread(carried)) return carried;
    return this.ledger.failApproval(call, who.actor, carried);
  }

  /** Declines a request, which nobody can approve after that. */
  async decline(
    who: Principal,
    call: ApprovingCall,
  ): Promise<Outcome<{ readonly approval: Approval }>> {
    if (who.actor.kind !== 'account') return fail('forbidden', NO_PERSON);
    const declined = await this.ledger.declineApproval(call, who.actor);
    return isFailure(declined) ? declined : this.find(who, call.id);
  }

  private shown(approval: StoredApproval): Approval {
    return { ...approval, url: `${this.address()}/console/approvals/${approval.id}` };
  }
}

const NO_PERSON = 'Only a member may decide about this';

/** Returns whether a stored call was refused for its text, before its change began. */
function isUnread({ failure }: Failure): boolean {
  return failure === 'invalid';
}
