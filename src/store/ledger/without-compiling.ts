// Transactions whose statements PostgreSQL runs as they are.

import type { Database, Sql } from './database.ts';

/**
 * Runs `work` in a transaction in which PostgreSQL compiles no statement. It takes those that read signals
 * for long ones, also where it knows the tables well, and compiles for a second what takes a quarter of it.
 */
export function withoutCompiling<Value>(
  database: Database,
  work: (sql: Sql) => Promise<Value>,
): Promise<Value> {
  return database.transaction(async (sql) => {
    await compileNothing(sql);
    return work(sql);
  });
}

/** Keeps PostgreSQL from compiling the statements that follow in the transaction. */
export async function compileNothing(sql: Sql): Promise<void> {
  await sql.query('SET LOCAL jit = off');
}
