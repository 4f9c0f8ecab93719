// Transactions whose statements PostgreSQL does not compile.

import type { Database, Sql } from './database.ts';

/**
 * Runs `work` in a transaction without JIT. PostgreSQL overestimates the statements that read signals, even
 * with good statistics, and would compile for a second what runs in a quarter of one.
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

/** Switches JIT off for the rest of the transaction. */
export async function compileNothing(sql: Sql): Promise<void> {
  await sql.query('SET LOCAL jit = off');
}
