// Approvals: changes that widen exposure on a channel that asks for a second person, until that person
// decides (docs/contract.md 33).

import type { Effect } from './dry-run.ts';

export const APPROVAL_STATUSES = ['pending', 'approved', 'declined', 'expired', 'failed'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** Operations that may wait, by the names that the OpenAPI document gives them. */
export const ASKED_OPERATIONS = [
  'publishRelease',
  'promoteRelease',
  'controlServing',
  'planRollout',
  'steerPlan',
  'resumeStop',
  'updateChannel',
] as const;
export type AskedOperation = (typeof ASKED_OPERATIONS)[number];

/** A call that waits. */
export type ApprovalRequest = {
  readonly operation: AskedOperation;
  /** Ref of the app. */
  readonly app: string;
  /** Name of the channel; null if the call concerns several. */
  readonly channel: string | null;
  /** Version of the release; null if the call concerns none, or several. */
  readonly version: string | null;
  /** Body of the call. */
  readonly body: Readonly<Record<string, unknown>>;
};

export type Approval = {
  readonly id: string;
  readonly status: ApprovalStatus;
  readonly request: ApprovalRequest;
  /** Actor, as in the audit log. */
  readonly requestedBy: string;
  /** Reason that the author gave; null if none. */
  readonly reason: string | null;
  /** Effect of the change when it was asked for, without examples; null where none was measured. */
  readonly effect: Effect | null;
  readonly createdAt: string;
  readonly expiresAt: string;
  /** Actor that decided; null while it is pending, and for one that expired. */
  readonly decidedBy: string | null;
  readonly decidedAt: string | null;
  /**
   * Once approved, what the call would have answered; `{ error }` when it failed; `{ reason }` when it was
   * declined with one; else null.
   */
  readonly result: Readonly<Record<string, unknown>> | null;
  /** Page on which people decide. */
  readonly url: string;
};

/** Approval without the address of its page, which only the service knows. */
export type StoredApproval = Omit<Approval, 'url'>;

export type ApprovalPage = {
  readonly approvals: readonly Approval[];
  /** Cursor of the next page; null on the last. */
  readonly next: string | null;
};
