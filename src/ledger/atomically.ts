// Transaction that is rolled back when its work returns a refusal. The ledger's changes that can be refused
// run in it.

import { type Failure, type FailureKind, isFailure, type Outcome } from '../contract/failure.ts';
import type { Database, Sql } from './database.ts';

/** Runs `work` in a transaction. A refusal that it returns rolls back, as an error does, and is returned. */
export async function atomically<Value, Kind extends FailureKind>(
  database: Database,
  work: (sql: Sql) => Promise<Outcome<Value, Kind>>,
): Promise<Outcome<Value, Kind>> {
  try {
    return await database.transaction(async (sql) => {
      const outcome = await work(sql);
      if (isFailure(outcome)) throw new Refused(outcome);
      return outcome;
    });
  } catch (error) {
    // Only `work` above has thrown it, with a refusal of one of its kinds.
    if (error instanceof Refused) return error.failure as Failure<Kind>;
    throw error;
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
