// Setting of a transaction whose statements PostgreSQL runs as they are.

import type { Sql } from '../database.ts';

/**
 * Keeps PostgreSQL from compiling the statements that follow in the transaction. In a database of which
 * nothing is known yet it takes some of them for long ones, and compiles for half a second what takes a
 * millisecond.
 */
export async function withoutCompiling(sql: Sql): Promise<void> {
  await sql.query('SET LOCAL jit = off');
}
