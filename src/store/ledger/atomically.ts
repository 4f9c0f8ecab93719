// Transactions of operations that write for an actor, or end in a refusal instead of a value, and dry runs
// of them.

import {
  type Failure,
  type FailureKind,
  isFailure,
  type LostRight,
  type Outcome,
} from '../../contract/failure.ts';
import { refuseRight } from '../../contract/refuse-right.ts';
import type { Actor } from '../ledger-terms.ts';
import type { Database, Sql } from './database.ts';
import { findLostRight } from './rights.ts';

/**
 * Statements of a transaction that writes for an actor. Every write that is audited takes this type, so that
 * none can be made outside of `atomically`.
 */
export interface ActorSql extends Sql {
  readonly actor: Actor;

  /**
   * Reads the actor's right and holds it until the transaction ends; ends the transaction when it is lost.
   * `atomically` does so at the end. Work that changes the actor's own right does it before.
   */
  confirmRight(): Promise<void>;
}

/** Kinds of refusal of an actor that lost its right: none where only the work itself can find that. */
type LostRightOf<Author extends Actor> = Author extends {
  readonly kind: 'token' | 'stranger' | 'plan';
}
  ? never
  : LostRight;

/**
 * Runs `work` in a transaction for an actor. A refusal that it returns rolls back, as an error does, and is
 * returned. The actor's right is read last and held until the commit: a revocation that was answered before
 * the commit makes this a refusal, and one that comes later waits for the commit. Read last, the right is
 * held for no longer than the commit takes, so that calls of a key cannot delay its revocation, and after all
 * other locks, so that no two transactions wait for each other.
 */
export async function atomically<
  Value,
  Kind extends FailureKind = never,
  Author extends Actor = Actor,
>(
  database: Database,
  actor: Author,
  work: (sql: ActorSql) => Promise<Outcome<Value, Kind>>,
): Promise<Outcome<Value, Kind | LostRightOf<Author>>> {
  try {
    return await database.transaction(async (connection) => {
      const sql = actorSql(connection, actor);
      const outcome = await work(sql);
      // Before a refusal as well: a caller without a right learns nothing about what it named.
      await sql.confirmRight();
      refuseFirst(outcome, actor);
      return outcome;
    });
  } catch (error) {
    // Only `work` and `confirmRight` have thrown it, with a refusal of one of their kinds.
    if (error instanceof Refused) return error.failure as Failure<Kind | LostRightOf<Author>>;
    throw error;
  }
}

/**
 * Runs `work` as `atomically` does, with the same refusals, and takes back all that it has written, whatever
 * it returns.
 */
export async function dryRun<Value, Kind extends FailureKind = never, Author extends Actor = Actor>(
  database: Database,
  actor: Author,
  work: (sql: ActorSql) => Promise<Outcome<Value, Kind>>,
): Promise<Outcome<Value, Kind | LostRightOf<Author>>> {
  try {
    return await atomically<Value, Kind, Author>(database, actor, async (sql) => {
      const outcome = await work(sql);
      await sql.confirmRight();
      refuseFirst(outcome, actor);
      throw new DryRunRollback(outcome);
    });
  } catch (error) {
    // Only this call's `work` has returned it.
    if (error instanceof DryRunRollback) return error.value as Value;
    throw error;
  }
}

/**
 * Ends the transaction when its outcome is a refusal, or the actor is a key that was not made for such calls.
 * What does not exist is told first, as it is to every caller.
 */
function refuseFirst(outcome: unknown, actor: Actor): void {
  const refusal = isFailure(outcome) ? outcome : undefined;
  const lacks = actor.kind === 'key' ? actor.lacks : undefined;
  const first = refusal?.failure.startsWith('unknown') ? refusal : (refuseRight(lacks) ?? refusal);
  if (first !== undefined) throw new Refused(first);
}

function actorSql(connection: Sql, actor: Actor): ActorSql {
  let isConfirmed = false;
  return {
    actor,
    query: (text, values, timeoutMs) => connection.query(text, values, timeoutMs),
    runScript: (text) => connection.runScript(text),
    async confirmRight() {
      if (isConfirmed) return;
      const lost = await findLostRight(connection, actor, 'held');
      if (lost !== undefined) throw new Refused(lost);
      isConfirmed = true;
    },
  };
}

/** Error that carries a value out of a transaction that rolls back; it never leaves this file. */
class DryRunRollback extends Error {
  readonly value: unknown;

  constructor(value: unknown) {
    super('the transaction was a dry run');
    this.value = value;
  }
}

/** Error that carries a refusal out of the transaction, so that it rolls back; it never leaves this file. */
class Refused extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}
