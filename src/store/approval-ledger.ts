// Terms of the ledger's calls for approvals. A change that widens exposure on a channel which asks for
// approvals is stored as a request, and is refused with it (`awaitsApproval`). One that approves a request is
// made in one transaction with the decision.

import type { ApprovalPage, ApprovalStatus, StoredApproval } from '../contract/approval.ts';

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
