// The one way in which the ledger writes: a transaction of which nothing stays when the call is refused.

import { type Failure, isFailure, type Outcome } from '../contract/failure.ts';
import type { Database, Sql } from './database.ts';

/** Runs `work` in a transaction; a refusal it returns rolls back as an error would, and is the answer. */
export async function atomically<Value>(
  database: Database,
  work: (sql: Sql) => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  try {
    return await database.transaction(async (sql) => {
      const outcome = await work(sql);
      if (isFailure(outcome)) throw new Refused(outcome);
      return outcome;
    });
  } catch (error) {
    if (error instanceof Refused) return error.failure;
    throw error;
  }
}

/** Carries a refusal out through the roll-back; never leaves this file. */
class Refused extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}
