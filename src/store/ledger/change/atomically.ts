// Transactions that write for an actor or end in a refusal, and dry runs of them.

import { type Failure, isFailure, type Outcome, refuseRight } from '../../../contract/failure.ts';
import type { NewEvent } from '../../../contract/notification.ts';
import type { Actor } from '../../ledger-terms.ts';
import type { Database, Sql } from '../database/database.ts';
import { type EventAbout, Outbox } from './outbox.ts';
import { findLostRight } from './rights.ts';

/** Statements of a transaction for an actor. Audited writes take this type, so all run in `atomically`. */
export interface ActorSql extends Sql {
  readonly actor: Actor;

  /** Changes that the transaction makes to the exposure of releases, where a channel asks for approvals. */
  readonly exposure: Exposure;

  /**
   * Reads the actor's right and locks it until the transaction ends; rolls the transaction back if the right
   * is lost. `atomically` calls it last. Work that changes the actor's own right calls it before that change.
   */
  confirmRight(): Promise<void>;

  /** Adds events that the transaction writes last; without events it does nothing. */
  addEvents(about: EventAbout, events: readonly NewEvent[]): void;

  /** Sets the savepoint of `rollBack`, once; locks that are taken before it outlast a rollback. */
  setSavepoint(): Promise<void>;

  /** Rolls back to the savepoint, and drops the events that were added since. */
  rollBack(): Promise<void>;
}

/** Changes of exposure by a transaction (`exposure.ts`). */
type Exposure = {
  /** Whether changes are recorded: a channel asks for approvals, or a stored call is carried out. */
  isWatched: boolean;
  /** States that the stored call met when it was made; empty unless an approval carries it out. */
  askedOn: readonly Omit<RecordedExposure, 'isWider'>[];
  readonly changes: RecordedExposure[];
};

/** Change of a release or of a channel's settings: the state before, and whether it widens exposure. */
export type RecordedExposure = {
  readonly channel: string;
  /** Null for the settings of the channel. */
  readonly version: string | null;
  readonly before: object | null;
  readonly isWider: boolean;
};

/**
 * Runs `work` in a transaction for an actor. A refusal that `work` returns rolls back, as an error does, and
 * is returned. The actor's right is read last and locked until the commit: if its revocation committed
 * before, this is a refusal; a later revocation waits for the commit. Reading it last keeps the lock short,
 * so that calls of a key cannot delay its revocation. It also puts the lock after all others but that of the
 * outbox, which every transaction takes last, so that transactions cannot deadlock.
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
      // After the right, because a transaction that ends a right also locks it before the outbox.
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
    // The value comes from this call's `work`, and so has its type.
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
