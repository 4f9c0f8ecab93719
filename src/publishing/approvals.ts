// Requests that wait for an approval: listing them, and deciding about them.

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

  /** Stores the effect of a new request, without example devices; returns the request with its page's URL. */
  async storeEffect(approval: StoredApproval, effect: Effect | undefined): Promise<Approval> {
    if (effect === undefined) return this.shown(approval);
    const stored = { ...effect, examples: { gain: [], lose: [] } };
    await this.ledger.storeApprovalEffect(approval.id, stored);
    return this.shown({ ...approval, effect: stored });
  }

  /** Approves a request: `carryOut` runs the stored change. Returns the approval afterwards. */
  async approve(
    who: Principal,
    call: ApprovingCall,
    carryOut: () => Promise<Outcome<unknown>>,
  ): Promise<Outcome<{ readonly approval: Approval }>> {
    // Without this check, `carryOut` would run the change as another actor's own, not as an approval.
    if (who.actor.kind !== 'account') return fail('forbidden', NO_PERSON);
    const carried = await carryOut();
    if (!isFailure(carried)) return this.find(who, call.id);
    if (!isUnread(carried)) return carried;
    return this.ledger.failApproval(call, who.actor, carried);
  }

  /** Declines a request for good: nobody can approve it afterwards. */
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

/** Returns whether the body of a stored call was refused as invalid, before its change began. */
function isUnread({ failure }: Failure): boolean {
  return failure === 'invalid';
}
