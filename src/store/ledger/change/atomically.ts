// Transactions that write for an actor or end in a refusal, and dry runs of them.

import { type Failure, isFailure, type Outcome, refuseRight } from '../../../contract/failure.ts';
import type { NewEvent } from '../../../contract/notification.ts';
import type { Actor } from '../../ledger-terms.ts';
import type { Database, Sql } from '../database/database.ts';
import { type EventAbout, Outbox } from './outbox.ts';
import { findLostRight } from './rights.ts';

/** Statements of a transaction for an actor; audited writes need one, so none runs outside `atomically`. */
export interface ActorSql extends Sql {
  readonly actor: Actor;

  /** What the transaction changes of the exposure of releases, as far as a channel asks for it. */
  readonly exposure: Exposure;

  /**
   * Reads the actor's right and holds it until the transaction ends; ends the transaction if the right is
   * lost. `atomically` calls it last. Work that changes the actor's own right calls it before that change.
   */
  confirmRight(): Promise<void>;

  /** Adds events that the transaction writes last; without events it does nothing. */
  addEvents(about: EventAbout, events: readonly NewEvent[]): void;

  /** Sets the savepoint of `rollBack`; locks that are held already stay. At most one at a time. */
  setSavepoint(): Promise<void>;

  /** Takes back what was written, and the events of it, since `setSavepoint`. */
  rollBack(): Promise<void>;
}

/** Changes of exposure by a transaction (`exposure.ts`). */
type Exposure = {
  /** Whether they are recorded: a channel asks for approvals, or a stored call is carried out. */
  isWatched: boolean;
  /** What the stored call met that is carried out. */
  askedOn: readonly Omit<RecordedExposure, 'isWider'>[];
  readonly changes: RecordedExposure[];
};

/** Change of a release, or of a channel's settings: what it was before, and whether it gets wider. */
export type RecordedExposure = {
  readonly channel: string;
  /** Null for the settings of the channel. */
  readonly version: string | null;
  readonly before: object | null;
  readonly isWider: boolean;
};

/**
 * Runs `work` in a transaction for an actor. A refusal that it returns rolls back, as an error does, and is
 * returned. The actor's right is read last and held until the commit: a revocation that committed before
 * makes this a refusal, and a later one waits for the commit. Reading it last keeps the lock short, so that
 * calls of a key cannot delay its revocation, and puts it after all other locks but that of the outbox, which
 * is always the last one, so that transactions cannot deadlock.
 */
export async function atomically<Value>(
  database: Database,
  actor: Actor,
  work: (sql: ActorSql) => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  try {
    return await database.transaction(async (connection) => {
      const outbox = new Outbox(actor);
      const sql = actorSql(connection, actor, outbox);
      const outcome = await work(sql);
      // Also before a refusal, so that a caller without the right learns nothing about what it named.
      await sql.confirmRight();
      refuseFirst(outcome, actor);
      // After the right, because a transaction that ends a right holds it before it comes here.
      await outbox.write(connection);
      return outcome;
    });
  } catch (error) {
    if (error instanceof Refused) return error.failure;
    throw error;
  }
}

/** Runs `work` as `atomically` does, with the same refusals, and always rolls back. */
export async function dryRun<Value>(
  database: Database,
  actor: Actor,
  work: (sql: ActorSql) => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  try {
    return await atomically<Value>(database, actor, async (sql) => {
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
 * Ends the transaction if its outcome is a refusal, or if the actor is a key without the needed right. An
 * unknown target is refused first, as it is for every caller.
 */
function refuseFirst(outcome: unknown, actor: Actor): void {
  const refusal = isFailure(outcome) ? outcome : undefined;
  const lacks = actor.kind === 'key' ? actor.lacks : undefined;
  const first = refusal?.failure.startsWith('unknown') ? refusal : (refuseRight(lacks) ?? refusal);
  if (first !== undefined) throw new Refused(first);
}

function actorSql(connection: Sql, actor: Actor, outbox: Outbox): ActorSql {
  let isConfirmed = false;
  let toldBefore = 0;
  return {
    actor,
    exposure: { isWatched: false, askedOn: [], changes: [] },
    query: (text, values, timeoutMs) => connection.query(text, values, timeoutMs),
    runScript: (text) => connection.runScript(text),
    addEvents: (about, events) => outbox.add(about, events),
    async setSavepoint() {
      toldBefore = outbox.size;
      await connection.query('SAVEPOINT before_change');
    },
    async rollBack() {
      outbox.keepFirst(toldBefore);
      await connection.query('ROLLBACK TO SAVEPOINT before_change');
    },
    async confirmRight() {
      if (isConfirmed) return;
      const lost = await findLostRight(connection, actor, 'held');
      if (lost !== undefined) throw new Refused(lost);
      isConfirmed = true;
    },
  };
}

/** Carries a value out of a transaction that rolls back; caught in this file. */
class DryRunRollback extends Error {
  readonly value: unknown;

  constructor(value: unknown) {
    super('the transaction was a dry run');
    this.value = value;
  }
}

/** Carries a refusal out of a transaction, so that it rolls back; caught in this file. */
class Refused extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}
