// The part of the ledger with approvals. A change that widens exposure on a channel which asks for approvals
// is stored as a request, and is refused with it (`awaitsApproval`). One that approves a request is made in
// one transaction with the decision. The obligations of `ledger.ts` hold here too.

import type { ApprovalPage, ApprovalStatus, StoredApproval } from '../contract/approval.ts';
import type { Effect } from '../contract/dry-run.ts';
import type { Failure, Outcome } from '../contract/failure.ts';
import type { Actor, ApprovingCall, TenantScope } from './ledger-terms.ts';

/** Approvals to list; undefined matches all. */
export type ApprovalFilter = {
  /** Ref or id. */
  readonly app?: string | undefined;
  readonly status?: ApprovalStatus | undefined;
  /** Cursor: `next` of the previous page. */
  readonly before?: string | undefined;
};

export type StoredPage = Omit<ApprovalPage, 'approvals'> & {
  readonly approvals: readonly StoredApproval[];
};

export interface ApprovalLedger {
  /** Lists approvals, newest first. */
  listApprovals(
    scope: TenantScope,
    filter: ApprovalFilter,
  ): Promise<Outcome<StoredPage, 'unknownApp'>>;

  findApproval(scope: TenantScope, id: string): Promise<Outcome<StoredApproval, 'unknownApproval'>>;

  /** Stores the effect of a request, unless it has one. */
  storeApprovalEffect(id: string, effect: Effect): Promise<void>;

  /** Declines a request, which only who could approve it may. */
  declineApproval(call: ApprovingCall, actor: Actor): Promise<Outcome<undefined>>;

  /** Fails a request whose call is refused before it reaches the ledger; returns the refusal. */
  failApproval(call: ApprovingCall, actor: Actor, refusal: Failure): Promise<Failure>;

  /**
   * Expires requests that are over and deletes old ones, at most `rowsMax` of each; returns the larger
   * number.
   */
  sweepApprovals(rowsMax: number): Promise<number>;
}
