// Requests that wait for an approval: how they are shown, and how people decide about them.

import type { Principal } from '../access/api-keys.ts';
import type { Approval, ApprovalPage, StoredApproval } from '../contract/approval.ts';
import type { Effect } from '../contract/dry-run.ts';
import {
  type ApprovalObstacle,
  type Failure,
  type FailureKind,
  isFailure,
  type LostRight,
  type Outcome,
} from '../contract/failure.ts';
import type { ApprovalFilter } from '../store/approval-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { ApprovingCall } from '../store/ledger-terms.ts';

/** Measures what a call would do, without doing it. */
type Measure = () => Promise<Outcome<{ readonly effect: Effect }, FailureKind>>;

export class Approvals {
  private readonly ledger: Ledger;
  private readonly address: () => string;

  /** `address` returns the base URL of the console, without a trailing slash. */
  constructor(ledger: Ledger, address: () => string) {
    this.ledger = ledger;
    this.address = address;
  }

  /** Lists approvals of the caller's apps, newest first. */
  async list(
    { scope }: Principal,
    filter: ApprovalFilter,
  ): Promise<Outcome<ApprovalPage, 'unknownApp'>> {
    const page = await this.ledger.listApprovals(scope, filter);
    if (isFailure(page)) return page;
    return { ...page, approvals: page.approvals.map((each) => this.shown(each)) };
  }

  async find(
    { scope }: Principal,
    id: string,
  ): Promise<Outcome<{ readonly approval: Approval }, 'unknownApproval'>> {
    const approval = await this.ledger.findApproval(scope, id);
    return isFailure(approval) ? approval : { approval: this.shown(approval) };
  }

  /**
   * Completes the outcome of a call that was stored as a request: with the effect that it would have now,
   * without the ids of devices, and with the page on which people decide. Leaves any other outcome as it is.
   */
  async complete<Answer>(
    outcome: Outcome<Answer, FailureKind>,
    measure?: Measure,
  ): Promise<Outcome<Answer, FailureKind>> {
    const waiting = isFailure(outcome) ? outcome : undefined;
    if (waiting?.approval === undefined) return outcome;
    const isNew = waiting.isRepeated !== true;
    const effect = (isNew && (await this.storeEffect(waiting.approval, measure))) || undefined;
    const approval = this.shown({ ...waiting.approval, ...(effect && { effect }) });
    return { ...waiting, approval };
  }

  /** Approves a request: `carryOut` makes its change. Returns the approval as it is then. */
  async approve(
    who: Principal,
    call: ApprovingCall,
    carryOut: (approver: Principal) => Promise<Outcome<unknown, FailureKind>>,
  ): Promise<Outcome<{ readonly approval: Approval }, FailureKind>> {
    const { actor } = who;
    // The ledger refuses every other actor; without this, it would make the change as its own.
    if (actor.kind !== 'account') return { failure: 'forbidden', message: NO_PERSON };
    const approver = { ...who, actor: { ...actor, approves: call } };
    const carried = await carryOut(approver);
    if (!isFailure(carried)) return this.find(who, call.id);
    if (!isUnread(carried)) return carried;
    return this.ledger.failApproval(approver.actor, carried);
  }

  /** Declines a request, which nobody can approve after that. */
  async decline(
    who: Principal,
    call: ApprovingCall,
  ): Promise<Outcome<{ readonly approval: Approval }, ApprovalObstacle | LostRight>> {
    if (who.actor.kind !== 'account') return { failure: 'forbidden', message: NO_PERSON };
    const declined = await this.ledger.declineApproval(call, who.actor);
    return isFailure(declined) ? declined : this.find(who, call.id);
  }

  private async storeEffect(
    { id }: StoredApproval,
    measure: Measure | undefined,
  ): Promise<Effect | undefined> {
    const measured = await measure?.();
    // Too many effects are being measured, or the channel has changed meanwhile: the request has none.
    if (measured === undefined || isFailure(measured)) return undefined;
    const effect = { ...measured.effect, examples: { gain: [], lose: [] } };
    await this.ledger.storeApprovalEffect(id, effect);
    return effect;
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
