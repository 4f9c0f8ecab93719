// Changes that may have to wait for an approval. The change itself runs in every case: when it widens
// exposure on a channel that asks for approvals, it is taken back to a savepoint and stored as a request. An
// approval runs it again, in one transaction with the decision, and keeps it only if it meets the same state.
// So no rule of a change has a second implementation (decision 0066).

import type { Finding } from '../../contract/dry-run.ts';
import {
  type ApprovalObstacle,
  type Failure,
  type FailureKind,
  fail,
  isFailure,
  type LostRight,
  type Outcome,
} from '../../contract/failure.ts';
import type { Actor, ApprovingCall } from '../ledger-terms.ts';
import {
  expireApprovals,
  forgetApprovals,
  isAuthorGone,
  type LockedApproval,
  lockApproval,
  refuseApprover,
  refuseDecided,
  settleApproval,
  wordsForMoved,
} from './approval-decisions.ts';
import { insertApproval } from './approvals.ts';
import { type ActorSql, atomically } from './atomically.ts';
import type { LockedChannel } from './channels.ts';
import type { Database } from './database.ts';
import { watchExposure } from './exposure.ts';

/** Change that may have to wait. */
type AskingChange<Value, Kind extends FailureKind> = {
  /** Does the change. It calls `begin` with the channels that it has locked, before it writes. */
  readonly work: (sql: ActorSql, begin: Begin) => Promise<Outcome<Value, Kind>>;
  /** Returns what the call answers, for the approval that carried it out. */
  readonly answer: (value: Value) => object & { readonly findings?: readonly Finding[] };
  /** Stores what else belongs to the request. */
  readonly asked?: (sql: ActorSql, approvalId: string) => Promise<Failure<Kind> | undefined>;
};

/** Takes the channels that a change has locked. */
export type Begin = (channels: readonly LockedChannel[]) => Promise<void>;

/** Refusal whose transaction is kept: it has stored a request, or what became of one. */
class Kept {
  readonly refusal: Failure<ApprovalObstacle>;

  constructor(refusal: Failure<ApprovalObstacle>) {
    this.refusal = refusal;
  }
}

/** Runs a change as `atomically` does. One that has to wait does nothing, and is stored as a request. */
export async function asking<Value, Kind extends FailureKind = never>(
  database: Database,
  actor: Actor,
  change: AskingChange<Value, Kind>,
): Promise<Outcome<Value, Kind | ApprovalObstacle | LostRight>> {
  const outcome = await atomically<Value | Kept, Kind | ApprovalObstacle | LostRight>(
    database,
    actor,
    (sql) =>
      actor.kind === 'account' && actor.approves !== undefined
        ? carryOut(sql, actor.approves, change)
        : changeOrAsk(sql, change),
  );
  return outcome instanceof Kept ? outcome.refusal : outcome;
}

async function changeOrAsk<Value, Kind extends FailureKind>(
  sql: ActorSql,
  { work, answer, asked }: AskingChange<Value, Kind>,
): Promise<Outcome<Value | Kept, Kind | 'tooManyApprovals'>> {
  let locked: readonly LockedChannel[] = [];
  const outcome = await work(sql, async (channels) => {
    locked = channels;
    await watchExposure(sql, channels);
  });
  const { noted } = sql.exposure;
  if (isFailure(outcome) || !noted.some(({ isWider }) => isWider)) return outcome;
  await sql.takeBack();
  const approval = await insertApproval(sql, locked, noted);
  if (isFailure(approval)) return approval;
  const refused = await asked?.(sql, approval.id);
  const { findings } = answer(outcome);
  return (
    refused ?? new Kept({ ...fail('awaitsApproval'), approval, ...(findings && { findings }) })
  );
}

/**
 * Does the change of a stored request. Locks the request before the change locks its channels; no transaction
 * locks a request after a channel. Reads the rights of the approver and of the author last, and holds them.
 */
async function carryOut<Value, Kind extends FailureKind>(
  sql: ActorSql,
  { id, reason }: ApprovingCall,
  { work, answer }: AskingChange<Value, Kind>,
): Promise<Outcome<Value | Kept, ApprovalObstacle | LostRight>> {
  const request = await lockApproval(sql, id);
  if (isFailure(request)) return request;
  if (request.status === 'pending') {
    await sql.beginChange();
    sql.exposure.isWatched = true;
    sql.exposure.askedOn = request.askedOn;
  }
  const outcome =
    request.status === 'pending' ? await work(sql, async () => undefined) : refuseDecided(request);
  const refusal = await refuseDecision(sql, request);
  if (refusal !== undefined) return refusal;
  const words = isFailure(outcome) ? outcome.message : wordsForMoved(request, sql.exposure.noted);
  if (isFailure(outcome) || words !== undefined) {
    await sql.takeBack();
    const result = { error: words };
    await settleApproval(sql, request, { status: 'failed', result, reason });
    return new Kept(fail('approvalFailed', words));
  }
  await settleApproval(sql, request, { status: 'approved', result: answer(outcome), reason });
  return outcome;
}

/**
 * Returns why the actor cannot decide about a locked request. One that is over expires: what the transaction
 * has changed is taken back first.
 */
async function refuseDecision(
  sql: ActorSql,
  request: LockedApproval,
): Promise<Failure<LostRight | 'approvalDecided'> | Kept | undefined> {
  const unfit = await refuseApprover(sql, request);
  if (unfit !== undefined) return unfit;
  if (request.status !== 'pending') return refuseDecided(request);
  if (!(await isAuthorGone(sql, request))) return undefined;
  if (sql.exposure.isWatched) await sql.takeBack();
  await settleApproval(sql, request, { status: 'expired', result: null });
  return new Kept(refuseDecided({ status: 'expired' }));
}

/** Declines a request; only who could approve it may. */
export async function declineApproval(
  database: Database,
  { id, reason }: ApprovingCall,
  actor: Actor,
): Promise<Outcome<undefined, ApprovalObstacle | LostRight>> {
  const outcome = await atomically<Kept | undefined, ApprovalObstacle | LostRight>(
    database,
    actor,
    async (sql) => {
      const request = await lockApproval(sql, id);
      if (isFailure(request)) return request;
      const refusal = await refuseDecision(sql, request);
      if (refusal !== undefined) return refusal;
      const result = reason === undefined ? null : { reason };
      await settleApproval(sql, request, { status: 'declined', result, reason });
      return undefined;
    },
  );
  return outcome instanceof Kept ? outcome.refusal : outcome;
}

/** Fails a request whose call cannot even be read any more. */
export function failApproval(
  database: Database,
  actor: Actor,
  refusal: Failure,
): Promise<Outcome<never, ApprovalObstacle | LostRight>> {
  return asking<never, FailureKind>(database, actor, {
    work: async () => refusal,
    answer: (value) => value,
  }) as Promise<Outcome<never, ApprovalObstacle | LostRight>>;
}

/**
 * Expires requests that are over, and deletes old ones, at most `rowsMax` of each; returns the larger number.
 */
export async function sweepApprovals(database: Database, rowsMax: number): Promise<number> {
  const expired = await atomically<number, never, { readonly kind: 'service' }>(
    database,
    { kind: 'service' },
    (sql) => expireApprovals(sql, rowsMax),
  );
  if (isFailure(expired)) throw new Error(expired.message);
  return Math.max(expired, await forgetApprovals(database, rowsMax));
}
